"""Time and memory of aligning messages with notes: BM25 over a file that is streamed.

    python measurements/archehr_align.py [--notes 5000 20000] [--posts 500] [--words 1500]

Synthetic notes and messages of words drawn by a power law, as in texts. Each size runs
in a process of its own. The time covers two passes, the copying of the notes that match,
and the hash of the file; the peak of memory is printed beside it.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from medical_tasks.construct.archehr.align import align_posts
from medical_tasks.construct.archehr.posts import filter_posts

_VOCABULARY = 60_000


def _texts(count: int, words: int, seed: int) -> list[str]:
    drawn = random.Random(seed)
    names = [f"w{number:x}" for number in range(_VOCABULARY)]
    weights = [1 / (number + 3) for number in range(_VOCABULARY)]
    return [" ".join(drawn.choices(names, weights, k=words)) for _ in range(count)]


def write_sources(folder: Path, *, notes: int, posts: int, words: int) -> None:
    """Writes posts.csv and notes.csv.gz."""
    with (folder / "posts.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(("id", "text"))
        writer.writerows(
            (f"p{number}", f"{text} hospital")
            for number, text in enumerate(_texts(posts, 90, 1))
        )
    pool = _texts(200, words, 2)
    shuffled = random.Random(3)
    with gzip.open(
        folder / "notes.csv.gz", "wt", encoding="utf-8", newline="", compresslevel=1
    ) as stream:
        writer = csv.writer(stream)
        writer.writerow(("note_id", "hadm_id", "text"))
        for number in range(notes):
            first, second = shuffled.sample(pool, 2)
            writer.writerow(
                (
                    f"n{number}",
                    f"{number}",
                    f"{first[: len(first) // 2]} {second[len(second) // 2 :]} number{number}",
                )
            )


def measure(folder: Path) -> None:
    """Aligns what `write_sources` wrote, and prints seconds and peak memory."""
    own = folder / "own"
    filter_posts(folder / "posts.csv", own, keywords="ours")
    start = time.perf_counter()
    counts = align_posts(folder / "notes.csv.gz", own)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{counts['notes']:>8,} notes, {counts['posts']:,} messages: {seconds:6.1f} s, "
        f"{1000 * seconds / counts['notes']:.2f} ms a note, "
        f"peak {peak:,.0f} MiB, {counts['candidates']:,} candidates"
    )


def main() -> None:
    """Measures every size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--notes", type=int, nargs="+", default=[5_000, 20_000])
    parser.add_argument("--posts", type=int, default=500)
    parser.add_argument("--words", type=int, default=1_500)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.folder is not None:
        measure(arguments.folder)
        return
    for notes in arguments.notes:
        with tempfile.TemporaryDirectory() as folder:
            write_sources(
                Path(folder), notes=notes, posts=arguments.posts, words=arguments.words
            )
            subprocess.run([sys.executable, __file__, "--folder", folder], check=True)


if __name__ == "__main__":
    main()
