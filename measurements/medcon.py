"""How fast MEDCON's index is built and opened, with how much memory, and how fast concepts are found beside QuickUMLS.

    python measurements/medcon.py index [ROWS]                    # 10,000,000 rows of MRCONSO by default, invented
    python measurements/medcon.py match UMLS TEXTS.json [TIMES]   # a folder of MRCONSO.RRF and MRSTY.RRF, a list of texts

`index` writes some gigabytes to the temporary folder (TMPDIR) and removes them. `match`
needs `pip install quickumls`, with a blank tokenizer in place of its spaCy model: both
find the same terms, which is checked, over the texts repeated to 10,000 (TIMES for
another number; QuickUMLS is timed on a tenth).
"""

from __future__ import annotations

import contextlib
import importlib
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from medical_tasks.scoring.umls.index import MEDCON_TYPES, UmlsIndex, build_index
from medical_tasks.scoring.umls.matcher import STOP_WORDS, Matcher

ROWS = 10_000_000
STRINGS_A_CONCEPT = 3
TYPES = ("T047", "T121", "T023", "T060")  # three that count, one that does not
SYLLABLES = [
    first + second
    for first in "bcdfghklmnprstvz"
    for second in ("a", "e", "i", "o", "u", "ar", "en", "itis")
]


def write_umls(folder: Path, rows: int) -> None:
    """Writes invented terms of one to eight words, as long as real ones; one string in four is not English."""
    draw = random.Random(1)
    words = [
        "".join(draw.choices(SYLLABLES, k=draw.randrange(2, 5))) for _ in range(200_000)
    ]
    with (
        (folder / "MRCONSO.RRF").open("w") as strings,
        (folder / "MRSTY.RRF").open("w") as types,
    ):
        for row in range(rows):
            concept = row // STRINGS_A_CONCEPT
            if row % STRINGS_A_CONCEPT == 0:
                types.write(
                    f"C{concept:07d}|{TYPES[concept % len(TYPES)]}|A1.2.3|Some Type|AT{concept:08d}|256|\n"
                )
            term = " ".join(draw.choices(words, k=draw.randrange(1, 9)))
            language = "SPA" if row % 4 == 3 else "ENG"
            strings.write(
                f"C{concept:07d}|{language}|P|L{row:07d}|PF|S{row:07d}|Y|A{row:08d}||M{row:07d}|D{row:06d}|MSH|PEP|D{row:06d}|"
                f"{term}|0|N|256|\n"
            )


def index(rows: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        began = time.perf_counter()
        write_umls(folder, rows)
        size = (folder / "MRCONSO.RRF").stat().st_size / 1e6
        print(
            f"{rows:,} rows: MRCONSO.RRF has {size:,.0f} MB, written in {time.perf_counter() - began:.0f} s",
            flush=True,
        )
        for way in ("build", "open"):
            done = subprocess.run(
                [sys.executable, __file__, way, name],
                check=True,
                capture_output=True,
                text=True,
            )
            print(" ", done.stdout.strip(), flush=True)


def build(folder: Path) -> None:
    began = time.perf_counter()
    info = build_index(folder, folder / "index")
    took = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        f"built {info.terms:,} terms in {took:.1f} s, processor {used.ru_utime + used.ru_stime:.1f} s, peak memory "
        f"{used.ru_maxrss / 1024:,.0f} MiB"
    )


def opened(folder: Path) -> None:
    began = time.perf_counter()
    with UmlsIndex(folder / "index") as umls:
        umls.find(["never there", "batar"])
        print(
            f"opened and searched once in {time.perf_counter() - began:.3f} s, {umls.info.terms:,} terms"
        )


def match(umls: Path, path: Path, times: int) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    texts = content["texts"] if isinstance(content, dict) else content
    texts = (texts * (times // len(texts) + 1))[:times]
    with tempfile.TemporaryDirectory() as name:
        build_index(umls, Path(name) / "ours")
        quick = _quickumls(umls, Path(name) / "theirs")
        with UmlsIndex(Path(name) / "ours") as index:
            matcher = Matcher(index, variant="archehr", parts={})
            matcher.concepts(texts[0])
            began = time.perf_counter()
            ours = [matcher.matches(text) for text in texts]
            took = time.perf_counter() - began
        few = texts[: times // 10]
        began = time.perf_counter()
        theirs = [
            quick.match(text, best_match=True, ignore_syntax=True) for text in few
        ]
        slow = (time.perf_counter() - began) * len(texts) / len(few)
        differ = sum(
            {(span.start, span.end) for span in mine}
            != {(group[0]["start"], group[0]["end"]) for group in other}
            for mine, other in zip(ours, theirs, strict=False)
        )
    print(
        f"{len(texts):,} texts: {took:.2f} s; QuickUMLS {slow:.1f} s (from {len(few):,} of them)"
    )
    print(f"  {slow / took:.0f} times as fast; {differ} of {len(few):,} texts differ")


def _quickumls(umls: Path, folder: Path) -> Any:
    """Opens QuickUMLS without its downloads: with a blank tokenizer, and a local list of NLTK's stop words."""
    nltk, spacy = importlib.import_module("nltk"), importlib.import_module("spacy")
    folder.mkdir()
    vars(spacy)["load"] = lambda *_: spacy.blank("en")
    nltk.corpus.stopwords = SimpleNamespace(words=lambda *_: sorted(STOP_WORDS))
    quickumls, install = (
        importlib.import_module("quickumls"),
        importlib.import_module("quickumls.install"),
    )
    sys.argv = ["install", str(umls), str(folder), "-d", "unqlite"]
    with contextlib.redirect_stdout(sys.stderr):
        install.main()
        return quickumls.QuickUMLS(
            str(folder),
            threshold=1,
            window=5,
            similarity_name="jaccard",
            accepted_semtypes=MEDCON_TYPES,
        )


def main() -> None:
    way, *rest = sys.argv[1:] or ["index"]
    if way == "index":
        index(int(rest[0]) if rest else ROWS)
    elif way == "match":
        match(Path(rest[0]), Path(rest[1]), int(rest[2]) if rest[2:] else 10_000)
    elif way == "build":
        build(Path(rest[0]))
    else:
        opened(Path(rest[0]))


if __name__ == "__main__":
    main()
