"""How fast `leakcheck` compares a source with a run, and that its memory does not grow with the source.

    python measurements/leakcheck.py [ROWS ...]

Each size of source runs in a process of its own: made-up notes of 1,500 words in a
csv.gz, against a run of 2,000 made-up answers of 200 words.
"""

from __future__ import annotations

import csv
import gzip
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from medical_tasks.data.dataset_store import source_files
from medical_tasks.guard.leakcheck import check_leaks

NOTE_WORDS = 1500
ANSWERS = 2000
ANSWER_WORDS = 200


def _words(draw: random.Random, count: int) -> str:
    return " ".join(f"w{draw.randrange(50_000)}" for _ in range(count))


def measure(rows: int) -> None:
    draw = random.Random(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = folder / "run"
        run.mkdir()
        with (run / "answers.jsonl").open("w") as out:
            for number in range(ANSWERS):
                out.write(
                    json.dumps({"id": number, "response": _words(draw, ANSWER_WORDS)})
                    + "\n"
                )
        notes = [_words(draw, NOTE_WORDS) for _ in range(200)]
        with gzip.open(
            folder / "notes.csv.gz", "wt", newline="", compresslevel=1
        ) as stream:
            writer = csv.writer(stream)
            writer.writerow(["note_id", "text"])
            for number in range(rows):
                writer.writerow([f"n{number}", notes[number % len(notes)]])
        began, computed = time.perf_counter(), time.process_time()
        report = check_leaks(run, source_files(str(folder / "notes.csv.gz")))
        took, computed = time.perf_counter() - began, time.process_time() - computed
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{rows:>7} notes, {report.source_words / 1e6:6.1f} M words: {took:6.2f} s ({computed:.2f} s of CPU), "
        f"{report.source_words / took / 1e6:5.2f} M words/s, peak memory {peak:.0f} MiB, found in {len(report.found)} files"
    )


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        measure(int(sys.argv[2]))
        return
    for rows in sys.argv[1:] or ["2000", "20000"]:
        subprocess.run([sys.executable, __file__, "--one", rows], check=True)


if __name__ == "__main__":
    main()
