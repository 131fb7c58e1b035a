"""How fast EHRNoteQA is built from a file as large as MIMIC-IV-Note's, with how much memory, beside pandas reading that file.

    python -m measurements.ehrnoteqa_build [NOTES ...]

For each number of notes (a tenth of MIMIC-IV-Note's 331,794, then all; at least 1,647) a synthetic
`discharge.csv.gz` with 961 questions is written to a temporary folder, which is removed
at the end; the largest takes a minute or two and some hundred megabytes. Each measured
thing is a process of its own from its start to its end, run a few times by turns: the
medians of its times and of the processor seconds it took (which other programs on the
machine change less), its least time, and the largest memory it had.
"""

from __future__ import annotations

import gzip
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measurements.ehrnoteqa_twin import NOTES_FILE, QUESTIONS_FILE, write_twin

QUESTIONS = 961
NOTES = (33_179, 331_794)
MEBIBYTE = 1024 * 1024


def build(folder: Path) -> None:
    """The whole command."""
    from medical_tasks.cli.entry import main
    from medical_tasks.data.dataset_store import built_configs

    sys.argv[1:] = [
        "build",
        "ehrnoteqa",
        "--source",
        str(folder),
        "--config",
        "all",
        "--partial",
        "--out",
        str(folder / "built"),
    ]
    if main() != 0:
        raise SystemExit("the command failed")
    rows = built_configs(folder / "built")["all"].splits["test"].rows
    if rows != QUESTIONS:
        raise SystemExit(f"built {rows} rows instead of {QUESTIONS}")


def read(folder: Path) -> None:
    """Reads the notes, which is one part of the build."""
    from medical_tasks.benchmarks.ehrnoteqa.notes import read_notes
    from medical_tasks.benchmarks.ehrnoteqa.questions import read_questions

    read_notes(
        folder / NOTES_FILE,
        {
            question.patient_id: question.num_notes
            for question in read_questions(folder / QUESTIONS_FILE)
        },
    )


def pandas(folder: Path) -> None:
    import pandas

    pandas.read_csv(folder / NOTES_FILE)


def unpack(folder: Path) -> None:
    """Unpacks the file as the builder does, and no more."""
    from medical_tasks.io.files import read_chunks

    for _ in read_chunks(folder / NOTES_FILE, again=""):
        pass


def gunzip(folder: Path) -> None:
    """The same with Python's own gzip."""
    with gzip.open(folder / NOTES_FILE) as stream:
        while stream.read(MEBIBYTE):
            pass


# How often each is run.
WAYS = {build: 3, pandas: 3, read: 1, unpack: 1, gunzip: 1}


def run_way(way: str, folder: Path) -> None:
    next(function for function in WAYS if function.__name__ == way)(folder)
    # The two peaks need not coincide, so their sum is an upper bound.
    print(
        sum(
            resource.getrusage(who).ru_maxrss
            for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
    )


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(folder: Path) -> dict[str, list[dict[str, float]]]:
    runs: dict[str, list[dict[str, float]]] = {way.__name__: [] for way in WAYS}
    for turn in range(max(WAYS.values())):
        for way, times in WAYS.items():
            if turn < times:
                command = [
                    sys.executable,
                    "-m",
                    "measurements.ehrnoteqa_build",
                    "--one",
                    way.__name__,
                    str(folder),
                ]
                began, before = time.perf_counter(), processor_seconds()
                done = subprocess.run(
                    command,
                    check=True,
                    stdout=subprocess.PIPE,
                    text=True,
                )
                took, used = time.perf_counter() - began, processor_seconds() - before
                peak = int(done.stdout.splitlines()[-1]) / 1024
                runs[way.__name__].append(
                    {"seconds": took, "processor": used, "peak": peak}
                )
                shutil.rmtree(folder / "built", ignore_errors=True)
    return runs


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        run_way(sys.argv[2], Path(sys.argv[3]))
        return
    for notes in map(int, sys.argv[1:] or NOTES):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            began = time.perf_counter()
            write_twin(folder, seed=1, questions=QUESTIONS, notes=notes)
            took = time.perf_counter() - began
            size = (folder / NOTES_FILE).stat().st_size / MEBIBYTE
            print(
                f"{notes:,} notes: {NOTES_FILE} has {size:,.0f} MiB, written in {took:.0f} s",
                flush=True,
            )
            seconds, least, processor = {}, {}, {}
            for way, runs in measured(folder).items():
                seconds[way] = statistics.median(run["seconds"] for run in runs)
                least[way] = min(run["seconds"] for run in runs)
                processor[way] = statistics.median(run["processor"] for run in runs)
                peak = max(run["peak"] for run in runs)
                print(
                    f"  {way:<7} {seconds[way]:7.1f} s (least {least[way]:5.1f}), processor {processor[way]:7.1f} s, "
                    f"peak memory {peak:8,.0f} MiB, {len(runs)} runs"
                )
            print(
                f"  build is {seconds['pandas'] / seconds['build']:.1f} times as fast as pandas reading (by the least times "
                f"{least['pandas'] / least['build']:.1f}), and takes 1/{processor['pandas'] / processor['build']:.1f} of its "
                "processor time",
                flush=True,
            )


if __name__ == "__main__":
    main()
