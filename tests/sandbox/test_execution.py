"""Programs that do no harm: what they print, and how they end."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from medical_tasks.errors import UsageError
from medical_tasks.sandbox import Limits, run_code

pytestmark = pytest.mark.usefixtures("clean")


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        ("print(6 * 7)", "42\n"),
        ("", ""),
        ("   \n\n", ""),
        ("import math\nprint(round(math.exp(math.log(3)), 6))", "3.0\n"),
        ("from datetime import date, timedelta\nprint(date(2024, 2, 28) + timedelta(days=2))", "2024-03-01\n"),
        ("from decimal import Decimal\nprint(Decimal('0.1') + Decimal('0.2'))", "0.3\n"),
        ("import statistics, fractions, random, re, json, itertools\nprint(statistics.mean([1, 2]))", "1.5\n"),
        ("print('µmol/L ≥ 5')", "µmol/L ≥ 5\n"),
        ("print(1)\nexit()", "1\n"),
        ("import sys\nsys.stdout.write('no newline')", "no newline"),
        ("open('x.txt', 'w').write('in its folder')\nprint(open('x.txt').read())", "in its folder\n"),
        ("import tempfile\nwith tempfile.TemporaryFile() as f:\n    f.write(b'1')\nprint('kept')", "kept\n"),
        ("print(sorted({'b', 'a', 'c'}), hash('a') == hash('a'))", "['a', 'b', 'c'] True\n"),
        ("import zoneinfo, ctypes, hashlib, bz2, lzma, unicodedata\nprint(hashlib.md5(b'').hexdigest()[:4])", "d41d\n"),
    ],
)
def test_what_a_program_prints(code: str, printed: str) -> None:
    outcome = run_code(code)
    assert (outcome.exit, outcome.stdout, outcome.stderr_tail) == ("ok", printed, "")
    assert outcome.seconds > 0


def test_the_same_set_prints_the_same_twice() -> None:
    code = "print({str(n) for n in range(50)})"
    assert run_code(code).stdout == run_code(code).stdout


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("1/0", "ZeroDivisionError: division by zero"),
        ("print(", "SyntaxError"),
        ("x = 'a\ud800b'", "SyntaxError"),
        ("x = 'a\0b'", "SyntaxError: source code cannot contain null bytes"),
        ("raise SystemExit(3)", ""),
        ("import numpy", "No module named 'numpy'"),
        ("input()", "EOFError"),
        ("import os\nos.abort()", "It was ended by signal 6."),
        ("import ctypes\nctypes.string_at(0)", "It was ended by signal 11."),
        ("def f(): f()\nf()", "RecursionError"),
        ("x = " + "(" * 500 + ")" * 500, "SyntaxError"),
    ],
)
def test_what_a_failing_program_tells(code: str, told: str) -> None:
    outcome = run_code(code)
    assert outcome.exit == "error"
    assert told in outcome.stderr_tail


def test_an_error_names_the_program_and_no_place_of_the_machine() -> None:
    tail = run_code("import json\njson.loads('{')").stderr_tail
    assert 'File "/program.py", line 2' in tail
    assert 'File "/usr/lib' in tail


def test_what_was_printed_before_an_error_is_kept() -> None:
    outcome = run_code("print('half', flush=True)\n1/0")
    assert (outcome.stdout, outcome.exit) == ("half\n", "error")


def test_only_the_end_of_a_long_error_is_kept() -> None:
    outcome = run_code("import sys\nsys.stderr.write('x' * 30000 + 'END')\nraise SystemExit(1)")
    assert outcome.exit == "error"
    assert len(outcome.stderr_tail) <= 4000
    assert outcome.stderr_tail.endswith("END")


def test_a_program_too_long_to_be_one_is_not_run() -> None:
    outcome = run_code("#" * (1 << 20) + "\nprint(1)")
    assert (outcome.exit, outcome.stdout, outcome.seconds) == ("error", "", 0.0)
    assert "longer than 1048576 bytes" in outcome.stderr_tail


def test_a_long_program_is_run() -> None:
    assert run_code("#" * 900_000 + "\nprint(1)").stdout == "1\n"


def test_programs_run_beside_each_other() -> None:
    with ThreadPoolExecutor(max_workers=4) as pool:
        outcomes = list(pool.map(run_code, [f"open('n', 'x').write('1')\nprint({n})" for n in range(12)]))
    assert [outcome.stdout for outcome in outcomes] == [f"{n}\n" for n in range(12)]


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"cpu_seconds": 0}, "sandbox limit cpu_seconds must be 1 or more, got 0"),
        ({"wall_seconds": float("nan")}, "sandbox limit wall_seconds must be 0.1 or more, got nan"),
        ({"memory_mb": 10}, "sandbox limit memory_mb must be 64 or more, got 10"),
        ({"output_bytes": 0}, "sandbox limit output_bytes must be 1 or more, got 0"),
        ({"folder_mb": -1}, "sandbox limit folder_mb must be 1 or more, got -1"),
        ({"open_files": 3}, "sandbox limit open_files must be 16 or more, got 3"),
    ],
)
def test_impossible_limits_by_message(limit: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Limits(**limit)  # type: ignore[arg-type]
