"""Commands on a machine without enough memory, and with paths that are not usable files."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from medical_tasks.cli.entry import main
from medical_tasks.runs import finishing
from tests.support import ROOT

RUN = tuple(
    "run --tasks medcalc --config demo --model baseline/random --max-samples 4".split()
)
pytestmark = pytest.mark.usefixtures("demo_home")

SCORER = "medical_tasks.benchmarks.medcalc_bench.scoring.score_items"
BUILD = ("build", "medcalc_bench", "--config", "demo", "--out", "NEW")
SHORT = (
    MemoryError,
    lambda: OSError(12, "Cannot allocate memory"),
    lambda: RuntimeError("can't start new thread"),
)


@pytest.mark.parametrize(
    ("words", "function", "step"),
    [
        (
            RUN,
            "medical_tasks.runs.evaluating.run_baseline",
            "answer medcalc with baseline/random",
        ),
        (
            RUN,
            "medical_tasks.data.dataset_store.file_sha256",
            "load the items of the tasks",
        ),
        (RUN, SCORER, "score 4 answers to medcalc"),
        (
            ("score", "medcalc", "--responses", "RUN"),
            SCORER,
            "score 4 answers to medcalc",
        ),
        (
            ("report", "RUN"),
            "medical_tasks.report.collect.read_run",
            "gather the results and items of 1 runs",
        ),
        (("report", "RUN"), "medical_tasks.report.page.render_page", "write "),
        (
            BUILD,
            "medical_tasks.data.building._write_splits",
            "build medcalc_bench, configuration demo",
        ),
    ],
)
def test_too_little_memory_is_reported_with_the_step(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    function: str,
    step: str,
) -> None:
    folder = here / "run"
    assert main([*RUN, "--out", str(folder)]) == 0
    out = ("--out", str(here / "other")) if words[0] in ("run", "score") else ()
    paths = {"RUN": str(folder), "NEW": str(here / "new")}
    command = [paths.get(word, word) for word in words]
    for error in SHORT:

        def short(
            *args: object, error: Callable[[], Exception] = error, **kwargs: object
        ) -> None:
            raise error()

        monkeypatch.setattr(function, short)
        assert main([*command, *out]) == 5
        assert f"error: not enough memory to {step}" in capsys.readouterr().err
        assert not (here / "other").exists()


def test_memory_of_a_real_process_runs_out(here: Path) -> None:
    with (here / "answers.jsonl").open("wb") as file:
        file.truncate(64 << 30)  # takes no room on the disk
    command = [
        sys.executable,
        *"-m medical_tasks score medcalc --config demo --responses".split(),
        str(here / "answers.jsonl"),
    ]
    process = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (32 << 30, 32 << 30)),
    )  # fmt: skip
    assert process.returncode == 5
    assert (
        f"error: not enough memory to read {here / 'answers.jsonl'}." in process.stderr
    )
    assert "Traceback" not in process.stderr


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize(
    "words",
    [
        ("score", "medcalc", "--config", "demo", "--responses"),
        ("build", "medcalc_bench", "--config", "v1.0", "--source"),
        ("calc", "--out", "out.jsonl", "--batch"),
        ("correlate", "--against", "a"),
        ("meta",),
        ("verify",),
        ("leakcheck", "scanned", "--source"),
    ],
    ids=lambda words: words[0],
)
def test_a_path_that_is_not_a_file_is_refused_by_name(
    here: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], kind: str
) -> None:
    path = here / "test_data.csv" if kind == "pipe" else Path("/dev/zero")
    if kind == "pipe":
        os.mkfifo(path)
    (here / "scanned").mkdir()
    (here / "scanned" / "file").touch()
    assert main([*words, str(path)]) in (2, 3)
    assert str(path) in capsys.readouterr().err


def test_absurdly_wide_files_are_refused_by_a_stated_limit(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wide, long = here / "wide.csv", here / "long.jsonl"
    wide.write_text(
        ",".join(f"c{n}" for n in range(1_000_000)) + "\n" + "1," * 999_999 + "1\n"
    )
    for words in (
        ("build", "medcalc_bench", "--config", "v1.0", "--source", str(wide)),
        ("correlate", str(wide), "--against", "c1"),
        ("meta", str(wide)),
    ):
        assert main(list(words)) == 2
        assert (
            f"{wide}: has about 1,000,000 columns in its first line, and at most 2,000 are read."
            in capsys.readouterr().err
        )
    long.write_text(json.dumps({"id": "1", "response": "a" * (1 << 24)}) + "\n")
    assert main(["score", "medcalc", "--config", "demo", "--responses", str(long)]) == 2
    assert (
        f"{long}, line 1: a line has more than 16,777,216 characters"
        in capsys.readouterr().err
    )


def test_a_command_creates_nothing_that_others_can_write(here: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "medical_tasks",
        *RUN,
        "--out",
        str(here / "new" / "run"),
    ]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, umask=0)
    paths = [here / "new", *(here / "new").rglob("*")]
    assert len(paths) > 4
    assert {oct(path.stat().st_mode & 0o777) for path in paths if path.is_dir()} == {
        "0o755"
    }
    assert [path for path in paths if path.stat().st_mode & 0o022] == []


def test_a_run_without_results_leaves_no_folder_and_is_not_reported(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good, orphan, stopped = here / "good", here / "orphan", here / "stopped"
    assert main([*RUN, "--out", str(good)]) == 0
    monkeypatch.setattr(
        finishing,
        "_scored_blocks",
        lambda *args, **kwargs: (_ for _ in ()).throw(KeyboardInterrupt),
    )
    assert main([*RUN, "--out", str(orphan)]) == 130
    assert not orphan.exists()
    # A run that was stopped with answers can resume; a report of all runs omits it.
    stopped.mkdir()
    (stopped / "run.json").write_text("{}")
    (stopped / "answers.sqlite").touch()
    out = str(here / "report.html")
    assert main(["report", str(good), str(stopped), "--out", out]) == 0
    assert (
        f"note: left out, since these runs have no results yet: {stopped}"
        in capsys.readouterr().err
    )
    assert main(["report", str(stopped), "--out", out]) == 3
