"""How fast EHRNoteQA is built from a file as large as MIMIC-IV-Note's, with how much memory, beside pandas reading that file.

    python benchmarks/ehrnoteqa_build.py [NOTES ...]

For each number of notes (a tenth of MIMIC-IV-Note's 331,794, then all) a synthetic `discharge.csv.gz` with 961 questions is
written to a temporary folder, which is removed at the end; the largest takes a minute or two and some hundred megabytes. Each
measured thing is a process of its own: its time, and the largest memory it had.
"""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from medical_tasks.ehrnoteqa.twin import NOTES_FILE, QUESTIONS_FILE, write_twin

QUESTIONS = 961
NOTES = (33_179, 331_794)
MEBIBYTE = 1024 * 1024


def build(folder: Path) -> None:
    from medical_tasks.building import build_dataset

    built = build_dataset("ehrnoteqa", source=folder, config="all", out=folder / "built")
    if built.rows != QUESTIONS:
        raise SystemExit(f"built {built.rows} rows instead of {QUESTIONS}")


def read(folder: Path) -> None:
    """What reading the notes alone takes, of the whole build."""
    from medical_tasks.ehrnoteqa.notes import read_notes
    from medical_tasks.ehrnoteqa.questions import read_questions

    read_notes(
        folder / NOTES_FILE, {each.patient_id: each.num_notes for each in read_questions(folder / QUESTIONS_FILE)}
    )


def pandas(folder: Path) -> None:
    import pandas

    pandas.read_csv(folder / NOTES_FILE)


def unpack(folder: Path) -> None:
    """The least that any reader of the file does."""
    with gzip.open(folder / NOTES_FILE) as stream:
        while stream.read(MEBIBYTE):
            pass


WAYS = {"unpack": unpack, "read": read, "build": build, "pandas": pandas}


def one(way: str, folder: Path) -> None:
    began = time.perf_counter()
    WAYS[way](folder)
    took = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": took, "peak": peak}))


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], Path(sys.argv[3]))
        return
    for notes in map(int, sys.argv[1:] or NOTES):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            began = time.perf_counter()
            write_twin(folder, seed=1, questions=QUESTIONS, notes=notes, compresslevel=4)
            took = time.perf_counter() - began
            size = (folder / NOTES_FILE).stat().st_size / MEBIBYTE
            print(f"{notes:,} notes: {NOTES_FILE} has {size:,.0f} MiB, written in {took:.0f} s", flush=True)
            seconds = {}
            for way in WAYS:
                command = [sys.executable, __file__, "--one", way, name]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                told = json.loads(done.stdout.splitlines()[-1])
                seconds[way] = told["seconds"]
                print(f"  {way:<7} {told['seconds']:7.1f} s, peak memory {told['peak']:8,.0f} MiB", flush=True)
            print(f"  build is {seconds['pandas'] / seconds['build']:.1f} times as fast as pandas reading", flush=True)


if __name__ == "__main__":
    main()
