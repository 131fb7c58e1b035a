from __future__ import annotations

import logging
from typing import Any

import pytest

from medical_tasks.cli.lighteval import _FLAGS, translate
from medical_tasks.errors import UsageError
from medical_tasks.harness.lighteval_launcher import load_app

ADDED = ["--custom-tasks", "medical_tasks.lighteval_tasks"]


@pytest.mark.parametrize("spelling", ["medical|medcalc", "medical:medcalc", "medical|medcalc|0", "medical:medcalc|0"])
def test_every_spelling_becomes_lightevals(spelling: str) -> None:
    words = ["accelerate", "model_name=m", spelling, "--max-samples", "3"]
    assert translate(words) == ["accelerate", "model_name=m", "medical:medcalc|0", "--max-samples", "3", *ADDED]


def test_a_number_of_examples_becomes_the_task_that_shows_them() -> None:
    assert translate(["accelerate", "m", "medical|medcalc|1"])[2] == "medical:medcalc_one_shot|0"


def test_the_suite_becomes_all_tasks() -> None:
    assert translate(["accelerate", "m", "medical"])[2].split(",")[:2] == [
        "medical:medcalc|0",
        "medical:medcalc_direct|0",
    ]


def test_the_suite_has_no_task_that_lighteval_does_not_know() -> None:
    from medical_tasks.lighteval_tasks import TASKS_TABLE

    named = [name.removesuffix("|0") for name in translate(["accelerate", "m", "medical"])[2].split(",")]
    assert len(named) > 20
    assert set(named) <= {config.name for config in TASKS_TABLE}


@pytest.mark.parametrize("words", [["--tasks", "medical|medcalc"], ["--tasks=medcalc"]])
def test_the_tasks_option_becomes_the_positional_argument(words: list[str]) -> None:
    assert translate(["accelerate", "model_name=m", *words]) == [
        "accelerate",
        "model_name=m",
        "medical:medcalc|0",
        *ADDED,
    ]


def test_the_tasks_option_in_front_of_the_model() -> None:
    words = ["accelerate", "--tasks", "medcalc", "model_name=m"]
    assert translate(words) == ["accelerate", "model_name=m", "medical:medcalc|0", *ADDED]


def test_options_with_values_keep_them() -> None:
    words = ["accelerate", "model_name=m", "--output-dir", "medical", "--tasks", "medcalc"]
    assert translate(words) == ["accelerate", "model_name=m", "--output-dir", "medical", "medical:medcalc|0", *ADDED]


def test_a_flag_takes_no_value() -> None:
    words = ["accelerate", "model_name=m", "--save-details", "medical|medcalc"]
    assert translate(words) == ["accelerate", "model_name=m", "--save-details", "medical:medcalc|0", *ADDED]


def test_the_flags_are_lightevals() -> None:
    from typer.main import get_command

    before = logging.getLogger("medical_tasks.made_before_lighteval")
    accelerate: Any = get_command(load_app()).commands["accelerate"]  # type: ignore[attr-defined]
    flags = {name for option in accelerate.params if getattr(option, "is_flag", False) for name in option.opts}
    assert flags
    assert {flag for flag in flags if not flag.startswith("--no-")} <= set(_FLAGS)
    assert not before.disabled


def test_a_list_of_tasks_and_a_subcommand() -> None:
    words = ["endpoint", "litellm", "model_name=m", "--tasks", "medcalc,medcalc_direct"]
    assert translate(words)[:4] == ["endpoint", "litellm", "model_name=m", "medical:medcalc|0,medical:medcalc_direct|0"]


@pytest.mark.parametrize("given", [["--custom-tasks", "mine.py"], ["--custom-tasks=mine.py"]])
def test_own_custom_tasks_are_kept(given: list[str]) -> None:
    words = ["accelerate", "m", "medical:medcalc", *given]
    assert translate(words) == ["accelerate", "m", "medical:medcalc|0", *given]


def test_bare_names_behind_the_model_are_tasks() -> None:
    assert (
        translate(["accelerate", "model_name=m", "medcalc,medcalc|1"])[2]
        == "medical:medcalc|0,medical:medcalc_one_shot|0"
    )
    assert translate(["accelerate", "medcalc", "other|task"])[1:3] == ["medcalc", "other|task"]


def test_no_arguments_and_help_pass_through() -> None:
    assert translate([]) == []
    assert translate(["--help"]) == ["--help"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["accelerate", "m", "--tasks"], "--tasks needs a value"),
        (["accelerate", "m", "medical|x"], "unknown task 'x'"),
        (["accelerate", "m", "archehr_heuristic"], "no model is asked.*medical-tasks run --tasks archehr_heuristic`"),
        # inspect refuses credentialed data, so it is not what the message tells to use.
        (["accelerate", "m", "archehr_together"], r"one question an item.*run --tasks archehr_together`\.$"),
        (["accelerate", "m", "medcalc_code"], "or `inspect eval medical_tasks/medcalc_code`"),
    ],
)
def test_mistakes_by_message(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        translate(words)
