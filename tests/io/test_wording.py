"""Messages are in the words of whoever reads them."""

from __future__ import annotations

import inspect

import pytest

import medical_tasks as mt
from medical_tasks.errors import MedicalTasksError
from medical_tasks.io.wording import in_python, quoted_question
from tests.support import ROOT

KNOWN = ("max_samples", "out", "config")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("--out runs: is a file", "out runs: is a file"),
        ("Give --max-samples. Or --strange.", "Give max_samples. Or --strange."),
        ("a--out, --output", "a--out, --output"),
        # A command stays as it is, and ends with its sentence.
        (
            "Build it: medical-tasks build kqa --config demo. Or name another --config.",
            "Build it: medical-tasks build kqa --config demo. Or name another config.",
        ),
        (
            "1. medical-tasks build x --out y\n2. another --out",
            "1. medical-tasks build x --out y\n2. another out",
        ),
        ("(torchrun -m medical_tasks run --out x) and --out", "(torchrun -m medical_tasks run --out x) and out"),
    ],
)  # fmt: skip
def test_options_become_parameters_and_commands_stay(
    message: str, expected: str
) -> None:
    assert in_python(message, KNOWN) == expected


def test_a_question_is_quoted_in_one_line_and_not_whole() -> None:
    assert quoted_question("Is it\n  safe?") == "'Is it safe?'"
    assert len(quoted_question("why " * 100)) < 70


def test_a_function_names_no_option_of_another_door() -> None:
    # mt.gate has no `out`; `score` has, whose folder the message is about.
    assert "out" not in inspect.signature(mt.gate).parameters
    with pytest.raises(MedicalTasksError) as caught:
        mt.gate(ROOT / "examples" / "gate.toml", "nowhere")
    assert "(its out)" in str(caught.value)
    assert "--" not in str(caught.value)
