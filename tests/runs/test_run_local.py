"""A local model on real rows, end to end: in one process, in two, killed and resumed.

Of the two, the main one starts from scratch; the others start with torch imported.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.medcalc_bench.declarations import DATASET
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC
from medical_tasks.cli.entry import main
from medical_tasks.data.task_data import load_task_data
from medical_tasks.models.stand_ins import make_toy_model
from tests.case_tables import json_of
from tests.support import SHARED, needs_shared
from tests.warm_process import Started, WarmProcess, torchrun

pytestmark = [pytest.mark.slow, pytest.mark.upstream, needs_shared]

ROWS = 40


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the real rows and a toy model."""
    home = tmp_path_factory.mktemp("local")
    build = ["build", "medcalc_bench", "--config", "v1.0"]
    source = ["--source", str(SHARED / "data" / "medcalc")]
    assert main([*build, *source, "--out", str(home / "medcalc_bench")]) == 0
    items = load_task_data(MEDCALC, DATASET, data=home).items
    make_toy_model(home / "toy", [item.fields["patient_note"] for item in items[::20]])
    return home


def _words(out: str) -> list[str]:
    words = "medical_tasks run --tasks medcalc --model hf/toy --data medcalc_bench"
    limits = f"--max-samples {ROWS} --max-new-tokens 8 --model-args batch_size=4"
    return [*words.split(), *limits.split(), "--out", out]


def _environment() -> dict[str, str]:
    return os.environ | {
        "HF_HUB_OFFLINE": "1",
        "ACCELERATE_USE_CPU": "true",
        "OMP_NUM_THREADS": "1",
    }


def _finish(warm: WarmProcess, home: Path, out: str) -> None:
    process = warm.run(["-m", *_words(out)], cwd=home, environment=_environment())
    # 5: a note that is longer than the toy's context stays unanswered.
    assert process.returncode in (0, 5), process.stderr[-3000:]
    assert "Traceback" not in process.stderr


def _records(folder: Path) -> dict[str, Any]:
    connection = sqlite3.connect(folder / "answers.sqlite")
    try:
        # The time of an answer depends on the machine.
        return {
            key: (json.loads(payload) | {"seconds": None}, times)
            for key, payload, times in connection.execute(
                "SELECT key, payload, times FROM records"
            )
        }
    finally:
        connection.close()


def _task(folder: Path) -> dict[str, Any]:
    entry: dict[str, Any] = json_of(folder / "results.json")["tasks"]["medcalc"]
    assert entry["usage"].pop("seconds") >= 0
    assert entry["usage"].pop("tokens_per_second") >= 0
    return entry


@pytest.fixture(scope="module")
def alone(home: Path, warm: WarmProcess) -> Path:
    """An undisturbed run in a single process."""
    _finish(warm, home, "alone")
    records = _records(home / "alone")
    coverage = _task(home / "alone")["coverage"]
    assert coverage["asked"] == ROWS
    assert coverage["answered"] == len(records) >= ROWS - 4
    assert set(coverage["unscored"]) <= {"no answer: prompt too long"}
    assert {times for _, times in records.values()} == {1}
    texts = {payload["text"] for payload, _ in records.values()}
    assert len(texts) > ROWS // 2  # the toy gives different answers
    return home / "alone"


# A single write each: the two share a stream, and print writes in several steps. The main
# process becomes the documents' command, the other one a process that is warm.
_LAUNCHED = """
import os, sys

os.write(2, f"WORLD {os.environ['WORLD_SIZE']}\\n".encode())
warm = [] if os.environ["RANK"] == "0" else os.environ["WARM"].split()
os.execv(sys.executable, [sys.executable, *warm, "-m", *sys.argv[1:]])
"""


def test_two_processes_give_the_same_answers(
    home: Path, alone: Path, warm: WarmProcess
) -> None:
    script = home / "launch.py"
    script.write_text(_LAUNCHED, encoding="utf-8")
    process = warm.run(
        [*torchrun(2), "--", script, *_words("pair"), "--json"],
        cwd=home,
        environment=_environment() | {"WARM": " ".join(warm.asking)},
    )
    assert process.stderr.count("WORLD 2") == 2, process.stderr[-3000:]
    assert "Traceback" not in process.stderr.replace("Traceback : to enable", "")
    # only the main process writes the value
    assert "medcalc" in json.loads(process.stdout)["tasks"]
    assert _records(home / "pair") == _records(alone)
    assert {**_task(home / "pair"), "recipe": None} == {**_task(alone), "recipe": None}


def test_a_run_that_is_killed_and_resumed_repeats_nothing(
    home: Path, alone: Path, warm: WarmProcess
) -> None:
    record_counts: list[int] = []
    for _ in range(2):
        with Path(os.devnull).open("wb") as nowhere:
            outputs = (nowhere.fileno(), nowhere.fileno())
            run = warm.start(
                ["-m", *_words("killed")],
                cwd=home,
                environment=_environment(),
                outputs=outputs,
            )
        _wait_for_more(home / "killed", record_counts[-1] if record_counts else 0, run)
        os.kill(run.pid, signal.SIGKILL)
        assert run.wait() == -signal.SIGKILL
        record_counts.append(len(_records(home / "killed")))
        assert not (home / "killed" / "results.json").exists()
    assert 0 < record_counts[0] < record_counts[1] < ROWS - 4
    _finish(warm, home, "killed")
    # every record was written once: the counts are in the records
    assert _records(home / "killed") == _records(alone)
    assert _task(home / "killed") == _task(alone)


def _wait_for_more(folder: Path, count: int, run: Started) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not run.ended():
        if _record_count(folder) > count:
            return
        time.sleep(0.005)
    pytest.fail("the run ended or hung before it could be killed")


def _record_count(folder: Path) -> int:
    if not (folder / "answers.sqlite").exists():
        return 0
    connection = sqlite3.connect(folder / "answers.sqlite")
    try:
        count: int = connection.execute("SELECT COUNT(*) FROM records").fetchone()[0]
    except sqlite3.OperationalError:  # the table is not there yet
        return 0
    finally:
        connection.close()
    return count
