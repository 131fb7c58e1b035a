"""Notes found for messages, and the ranking by itself."""

from __future__ import annotations

import csv
import gzip
import importlib
import json
import math
import stat
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.construct.archehr.align import (
    K1,
    B,
    Hit,
    Ranking,
    align_posts,
    bag_of,
    load_candidates,
    read_notes,
)
from medical_tasks.construct.archehr.codes import (
    codes_from_file,
    expand_notes,
    load_admission_codes,
    load_post_codes,
)
from medical_tasks.construct.archehr.posts import filter_posts
from medical_tasks.errors import MedicalTasksError
from tests.construct.archehr.own_files import (
    CODES,
    NOTES,
    SECRET,
    TITLES,
    aligned,
    write_csv,
    write_sources,
)
from tests.construct.sheet_files import read_cells, read_lines


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_sources(tmp_path / "src")


@pytest.fixture
def folder(source: Path, tmp_path: Path) -> Path:
    filter_posts(source / "posts.csv", tmp_path / "own")
    return tmp_path / "own"


def test_codes_by_version_and_admission(source: Path, folder: Path) -> None:
    summary = expand_notes(folder, source / "codes.csv.gz", source / "titles.csv")
    assert (
        summary["admissions"],
        summary["codes"],
        summary["without_description"],
    ) == (3, 5, 1)
    codes = load_admission_codes(folder)
    described = {
        name: [codes.titles[number] for number in codes.of(name)]
        for name in ("h1", "h2", "h4")
    }
    # Both versions of a code have the same description, listed once.
    assert described == {"h1": [TITLES[0][2]], "h2": [TITLES[2][2]], "h4": []}
    # MIMIC-III: one version, other names in capitals, admissions without a code.
    old = write_csv(
        source / "old.csv",
        ("ROW_ID", "HADM_ID", "ICD9_CODE"),
        [("1", "7", "5849"), ("2", "8", "")],
    )
    book = write_csv(
        source / "book.csv",
        ("ICD9_CODE", "SHORT_TITLE", "LONG_TITLE"),
        [("5849", "x", "Kidney failure")],
    )
    summary = expand_notes(folder, old, book)
    assert (summary["admissions"], summary["without_description"]) == (1, 0)
    # Tables of different releases.
    bare = write_csv(
        source / "bare.csv", ("hadm_id", "code"), [code[:2] for code in CODES]
    )
    with pytest.raises(MedicalTasksError, match="has no column icd_version"):
        expand_notes(folder, bare, source / "titles.csv")
    other = write_csv(source / "other.csv", ("code", "description"), [("A1", "x")])
    with pytest.raises(
        MedicalTasksError, match="none of its 5 codes has a description"
    ):
        expand_notes(folder, bare, other)
    with pytest.raises(MedicalTasksError, match="no such file"):
        expand_notes(folder, bare, source / "none.csv")


def test_descriptions_match_notes_without_common_words(
    source: Path, folder: Path, tmp_path: Path
) -> None:
    posts = write_csv(
        source / "one.csv", ("id", "text"), [("p", "Hospitalized: why the puffer?")]
    )
    notes = write_csv(
        source / "two.csv",
        ("note_id", "hadm_id", "text"),
        [("x", "h1", "Albuterol was given."), ("y", "h3", "Was given.")],
    )
    bare, full = tmp_path / "bare", tmp_path / "full"
    for target in (bare, full):
        filter_posts(posts, target, keywords="ours")
    with pytest.raises(
        MedicalTasksError, match="no note shares a word with any of the 1 messages"
    ):
        align_posts(notes, bare)
    table = write_csv(
        source / "p.csv",
        ("id", "code", "description"),
        [("p", "J45", "Asthma, unspecified"), ("q", "I10", "x")],
    )
    assert codes_from_file(full, table)["with_codes"] == 1
    assert load_post_codes(full) == {"p": ["Asthma, unspecified"]}
    expand_notes(full, source / "codes.csv.gz", source / "titles.csv")
    align_posts(notes, full)
    # h3 was coded as asthma; both descriptions have "unspecified".
    assert [candidate.values["note_id"] for candidate in load_candidates(full)] == [
        "y",
        "x",
    ]


def test_the_sheet_of_candidates(source: Path, tmp_path: Path) -> None:
    folder = aligned(source, tmp_path / "own")
    rows = read_cells(folder / "candidates.csv")
    names = ("index", "post_id", "rank", "note_id", "chosen")
    actual = [[row[name] for name in names] for row in rows]
    assert actual == [
        ["1", "m1", "1", "n1", ""],
        ["2", "m2", "1", "n2", ""],
        ["3", "m4", "1", "n3", ""],
    ]
    # Scores are numbers to a spreadsheet: no apostrophe, two digits.
    header, *raw = csv.reader(
        (folder / "candidates.csv").read_text(encoding="utf-8-sig").splitlines()
    )
    scores = [row[header.index("score")] for row in raw]
    assert [f"{float(score):g}" for score in scores] == scores
    assert all(0 < float(score) < 100 for score in scores)
    assert (folder / rows[0]["notes"]).read_bytes().decode() == NOTES[0][2]
    assert {path.name for path in (folder / "notes").iterdir()} == {
        "n1.txt",
        "n2.txt",
        "n3.txt",
    }
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) == 11
    assert "all of them are essential" in (folder / "guidelines.txt").read_text()
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert (
        SECRET
        not in (folder / "align.json").read_text()
        + (folder / "candidates.jsonl").read_text()
    )
    # The same settings again change nothing; after that no input may change.
    before = {path: path.read_bytes() for path in files}
    align_posts(source / "notes.csv.gz", folder, top=2)
    assert {path: path.read_bytes() for path in files} == before
    with pytest.raises(MedicalTasksError, match="holds another alignment"):
        align_posts(source / "notes.csv.gz", folder, top=3)
    with pytest.raises(MedicalTasksError, match="notes were aligned already"):
        expand_notes(folder, source / "codes.csv.gz", source / "titles.csv")
    # The order of rows does not matter.
    write_csv(
        source / "notes.csv.gz",
        ("text", "hadm_id", "note_id"),
        [note[::-1] for note in reversed(NOTES)],
    )
    assert read_lines(folder / "candidates.jsonl") == read_lines(
        aligned(source, tmp_path / "two") / "candidates.jsonl"
    )


def test_notes_of_mimic_iii(tmp_path: Path) -> None:
    header = ("ROW_ID", "SUBJECT_ID", "HADM_ID", "CATEGORY", "ISERROR", "TEXT")
    kinds = (
        ("77", "Radiology", ""),
        ("77", "Discharge summary", ""),
        ("77", "Discharge summary", "1"),
    )
    notes = enumerate((*kinds, ("", "Discharge summary", "")), start=1)
    rows = [(str(number), "9", *kind, f"She {SECRET}.") for number, kind in notes]
    path = write_csv(tmp_path / "NOTEEVENTS.csv.gz", header, rows)
    actual = [(note.id, note.hadm_id, note.document_id) for note in read_notes(path)]
    assert actual == [("2", "77", "77_2"), ("4", "", "4")]
    assert [note.id for note in read_notes(path, only={"1", "4"})] == ["4"]
    with pytest.raises(
        MedicalTasksError,
        match="has no note with the requested ids, or none of the category 'Discharge summary'",
    ):
        list(read_notes(path, only={"1"}))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (
            f"{SECRET}\n".encode(),
            "missing, or more than once: note_id or row_id, hadm_id, text",
        ),
        (
            f"note_id,hadm_id,text\nn 1,h,{SECRET}\n".encode(),
            "row 2: note_id must be an id, got a text of 3 characters",
        ),
        (
            f"note_id,hadm_id,text\nn1,h,{SECRET}\nn1,h,{SECRET} ICU\n".encode(),
            "a note's id appears twice",
        ),
        (
            gzip.compress(
                f"note_id,hadm_id,text\nn1,h,{SECRET}\n".encode() * 50, mtime=0
            )[:-30],
            "cut off",
        ),
    ],
)
def test_invalid_files_of_notes(folder: Path, content: bytes, message: str) -> None:
    path = folder / "broken.csv"
    path.write_bytes(content)
    with pytest.raises(MedicalTasksError, match=message) as caught:
        align_posts(path, folder)
    assert SECRET not in str(caught.value)
    assert not (folder / "align.json").exists()


def test_damaged_files_of_earlier_steps(source: Path, folder: Path) -> None:
    expand_notes(folder, source / "codes.csv.gz", source / "titles.csv")
    (folder / "note_codes.jsonl").write_text(json.dumps({"titles": [1]}) + "\n")
    with pytest.raises(
        MedicalTasksError, match=r"note_codes.jsonl: not as medical-tasks wrote it"
    ):
        align_posts(source / "notes.csv.gz", folder)
    with pytest.raises(MedicalTasksError, match="--top must be from 1 to 100, got 0"):
        align_posts(source / "notes.csv.gz", folder, top=0)


WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=12)


def ranked(
    queries: Sequence[Sequence[str]],
    notes: Sequence[tuple[str, Sequence[str]]],
    top: int,
) -> list[list[Hit]]:
    ranking = Ranking(queries, top=top)
    numbers = ranking.numbers
    bags = [
        (
            key,
            bag_of(
                Counter(numbers[word] for word in words if word in numbers), len(words)
            ),
        )
        for key, words in notes
    ]
    for _, bag in bags:
        ranking.count(bag)
    for key, bag in bags:
        ranking.rank(bag, key, "")
    return ranking.best()


def test_a_score_by_hand_and_no_match() -> None:
    # Two notes of 2 and 4 words, a in one of them: idf ln(1 + 1.5/1.5) = ln 2; its norm
    # 1.5 (0.25 + 0.75 * 2/3).
    (hits,) = ranked(
        [["a", "z"]], [("n1", ["a", "b"]), ("n2", ["c", "c", "d", "e"])], 5
    )
    assert [hit.key for hit in hits] == ["n1"]
    assert hits[0].score == pytest.approx(math.log(2) / (1 + 1.5 * 0.75), abs=1e-12)
    assert ranked([[], ["a"]], [("n1", []), ("n2", ["b"])], 3) == [[], []]


@given(
    st.lists(WORDS.filter(bool), min_size=1, max_size=4),
    st.lists(WORDS.filter(bool), min_size=1, max_size=14),
)
def test_scores_equal_those_of_bm25s(
    queries: list[list[str]], notes: list[list[str]]
) -> None:
    bm25s = importlib.import_module("bm25s")
    vocabulary: dict[str, int] = {}
    ids = [
        [vocabulary.setdefault(word, len(vocabulary)) for word in words]
        for words in notes
    ]
    library = bm25s.BM25(
        k1=K1, b=B, method="lucene", backend="numpy", csc_backend="numpy"
    )
    library.index((ids, vocabulary), create_empty_token=False, show_progress=False)
    keyed = [(f"{number:02}", words) for number, words in enumerate(notes)]
    for query, hits in zip(queries, ranked(queries, keyed, len(notes)), strict=True):
        known_words = [word for word in query if word in vocabulary]
        scores = (
            library.get_scores(known_words) if known_words else np.zeros(len(notes))
        )
        score_by_note = {int(hit.key): hit.score for hit in hits}
        assert set(score_by_note) == set(np.flatnonzero(scores > 0).tolist())
        # bm25s keeps single precision.
        assert all(
            score == pytest.approx(float(scores[number]), rel=1e-5, abs=1e-6)
            for number, score in score_by_note.items()
        )


@given(
    st.lists(WORDS, min_size=1, max_size=3),
    st.lists(WORDS, min_size=1, max_size=40),
    st.integers(1, 3),
    st.randoms(),
)
def test_the_order_of_notes_does_not_matter(
    queries: list[list[str]], notes: list[list[str]], top: int, random: object
) -> None:
    keyed = [(f"{number:02}", words) for number, words in enumerate(notes)]
    everything = ranked(queries, keyed, 1000)
    shuffled = list(keyed)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    best = ranked(queries, shuffled, top)
    for few, every in zip(best, everything, strict=True):
        assert [(hit.key, hit.negative) for hit in few] == [
            (hit.key, hit.negative) for hit in every[:top]
        ]
        assert [(hit.negative, hit.key) for hit in every] == sorted(
            (hit.negative, hit.key) for hit in every
        )
