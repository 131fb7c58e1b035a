"""Building `mimic_rrs` from a synthetic file of notes: how long, how much memory, how both grow with the file.

    python -m measurements.mimic_build [NOTES ...]

For each number of notes (30,000, then 300,000; at least 6,000) a synthetic `NOTEEVENTS.csv.gz` is
written to a temporary folder, which is removed at the end. Each measured thing is a
process of its own: its time, the processor seconds it took (which other programs on the
machine change less), and the largest memory it had. From the last two sizes the figures
of MIMIC-III's 2,083,180 notes are extrapolated.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measurements.mimic_twin import NOTES_FILE, write_twin

NOTES = (30_000, 300_000)
RELEASE = 2_083_180
MEBIBYTE = 1024 * 1024


def build(folder: Path) -> None:
    """Runs the whole build: hashing, reading, sampling, writing."""
    from medical_tasks.benchmarks.doclens.mimic_data import MIMIC_SOURCE
    from medical_tasks.data.building import build_source

    built = build_source(
        MIMIC_SOURCE, source_path=folder, config="notes", folder=folder / "built"
    )
    if built.splits["test"] != 200:
        raise SystemExit(f"built {built.splits}")


def read(folder: Path) -> None:
    """Reads, finds the reports and samples, without writing."""
    from medical_tasks.benchmarks.doclens.mimic_data import read_note_rows

    read_note_rows(folder / NOTES_FILE)


def rows(folder: Path) -> None:
    """Reads the rows of radiology alone."""
    from medical_tasks.benchmarks.doclens.mimic_data import NOTE_COLUMNS
    from medical_tasks.io.csv_files import stream_rows

    for _ in stream_rows(
        folder / NOTES_FILE,
        NOTE_COLUMNS,
        selected={"CATEGORY": ("Radiology",)},
        release="",
    ):
        pass


def imports(_: Path) -> None:
    """Imports the libraries alone."""
    import datasets  # noqa: F401


WAYS = (build, read, rows, imports)


def run_way(way: str, folder: Path) -> None:
    began = time.perf_counter()
    next(function for function in WAYS if function.__name__ == way)(folder)
    took = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "seconds": took,
                "processor": used.ru_utime + used.ru_stime,
                "peak": used.ru_maxrss / 1024,
            }
        )
    )


def measured(folder: Path, way: str) -> dict[str, float]:
    command = [
        sys.executable,
        "-m",
        "measurements.mimic_build",
        "--one",
        way,
        str(folder),
    ]
    done = subprocess.run(
        command,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    shutil.rmtree(folder / "built", ignore_errors=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        run_way(sys.argv[2], Path(sys.argv[3]))
        return
    sizes = list(map(int, sys.argv[1:])) or list(NOTES)
    figures: list[dict[str, float]] = []
    for notes in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            began = time.perf_counter()
            write_twin(folder, seed=1, notes=notes, compresslevel=4)
            took = time.perf_counter() - began
            size = (folder / NOTES_FILE).stat().st_size / MEBIBYTE
            print(
                f"{notes:,} notes: {NOTES_FILE} has {size:,.0f} MiB, written in {took:.0f} s",
                flush=True,
            )
            for way in WAYS:
                figure = measured(folder, way.__name__)
                print(
                    f"  {way.__name__:<7} {figure['seconds']:7.1f} s, processor {figure['processor']:7.1f} s, peak memory "
                    f"{figure['peak']:6,.0f} MiB",
                    flush=True,
                )
                if way is build:
                    figures.append(figure)
    if len(sizes) > 1:
        more = (RELEASE - sizes[-1]) / (sizes[-1] - sizes[-2])
        seconds, processor, peak = (
            figures[-1][name] + more * (figures[-1][name] - figures[-2][name])
            for name in ("seconds", "processor", "peak")
        )
        print(
            f"{RELEASE:,} notes by a straight line: build {seconds:,.0f} s, processor {processor:,.0f} s; peak memory at most "
            f"{peak:,.0f} MiB, were it to grow on"
        )


if __name__ == "__main__":
    main()
