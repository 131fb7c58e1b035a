"""Programs that do no harm: what they print, and how they end."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from medical_tasks.errors import UsageError
from medical_tasks.sandbox import Limits, run_code
from tests.case_tables import tables

TABLES: dict[str, Any] = tables(__file__)

pytestmark = pytest.mark.usefixtures("clean")


@pytest.mark.parametrize(("code", "stdout"), TABLES["what_a_program_prints"])
def test_what_a_program_prints(code: str, stdout: str) -> None:
    outcome = run_code(code)
    assert (outcome.exit, outcome.stdout, outcome.stderr_tail) == ("ok", stdout, "")
    assert outcome.seconds > 0


@pytest.mark.parametrize(("code", "message"), TABLES["fails"])
def test_message_of_a_failing_program(code: str, message: str) -> None:
    outcome = run_code(code)
    assert outcome.exit == "error"
    assert message in outcome.stderr_tail


def test_output_and_the_end_of_errors_are_kept() -> None:
    outcome = run_code("print('half', flush=True)\n1/0")
    assert (outcome.stdout, outcome.exit) == ("half\n", "error")
    tail = run_code("import json\njson.loads('{')").stderr_tail
    assert 'File "/program.py", line 2' in tail
    assert 'File "/usr/lib' in tail
    outcome = run_code(
        "import sys\nsys.stderr.write('x' * 30000 + 'END')\nraise SystemExit(1)"
    )
    assert outcome.exit == "error"
    assert len(outcome.stderr_tail) <= 4000
    assert outcome.stderr_tail.endswith("END")
    code = "print({str(n) for n in range(50)})"
    assert run_code(code).stdout == run_code(code).stdout


def test_programs_too_long_and_in_parallel() -> None:
    outcome = run_code("#" * (1 << 20) + "\nprint(1)")
    assert (outcome.exit, outcome.stdout, outcome.seconds) == ("error", "", 0.0)
    assert "longer than 1048576 bytes" in outcome.stderr_tail
    assert run_code("#" * 900_000 + "\nprint(1)").stdout == "1\n"
    with ThreadPoolExecutor(max_workers=4) as pool:
        outcomes = list(
            pool.map(
                run_code, [f"open('n', 'x').write('1')\nprint({n})" for n in range(12)]
            )
        )
    assert [outcome.stdout for outcome in outcomes] == [f"{n}\n" for n in range(12)]


@pytest.mark.parametrize(
    ("limit", "least", "value"),
    [*TABLES["impossible_limits"], ("wall_seconds", 0.1, float("nan"))],
)
def test_impossible_limits_by_message(limit: str, least: float, value: float) -> None:
    with pytest.raises(
        UsageError, match=f"sandbox limit {limit} must be {least} or more, got {value}"
    ):
        Limits(**{limit: value})  # type: ignore[arg-type]
