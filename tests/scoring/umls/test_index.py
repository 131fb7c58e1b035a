"""The index of UMLS terms: terms and their concepts, foldings, files of the UMLS, and damaged indices."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.scoring.umls import index as index_module
from medical_tasks.scoring.umls.index import (
    GROUPS,
    MEDCON_TYPES,
    Folding,
    UmlsIndex,
    build_index,
)

TYPES = {1: "T047", 2: "T060", 3: "T121", 4: "T047"}


def row(concept: int, text: str, language: str = "ENG") -> str:
    return f"C{concept:07d}|{language}|P|L1|PF|S1|Y|A1||||MSH|MH|D1|{text}|0|O|256|\n"


def write_umls(folder: Path, strings: str, types: Mapping[int, str] = TYPES) -> Path:
    (folder / "MRCONSO.RRF").write_text(strings)
    (folder / "MRSTY.RRF").write_text(
        "".join(
            f"C{concept:07d}|{tui}|A1|Name|AT1||\n" for concept, tui in types.items()
        )
    )
    return folder


STRINGS = (
    row(1, "Crohn disease")
    + row(1, " Crohn disease ")
    + row(3, "Crohn disease")
    + row(1, "Sjögren's syndrome")
    + row(2, "appendectomy")
    + row(4, "enfermedad", "SPA")
    + row(4, "one two three four five")
    + row(4, "one two three four five six")
    + row(9, "no type")
)


def look_up(folder: Path, *texts: str) -> list[tuple[int, str, tuple[str, ...]]]:
    """Returns the number of the text, the term and its concepts, for each text that is a term."""
    with UmlsIndex(folder) as umls:
        return umls.find([umls.folding.looked_up(text) for text in texts])


def test_terms_are_english_of_accepted_types_and_of_at_most_five_words(
    tmp_path: Path,
) -> None:
    index = tmp_path / "index"
    info = build_index(write_umls(tmp_path, STRINGS), index)
    assert (info.terms, info.strings, info.without_type) == (3, 8, 1)
    texts = ["x", "Crohn disease", "crohn disease", "appendectomy", "enfermedad"]
    assert look_up(index, *texts, "Sjögren's syndrome", "no type") == [
        (1, "Crohn disease", ("C0000001", "C0000003")),
        (5, "Sjo\u0308gren's syndrome", ("C0000001",)),
    ]
    five_words = "one two three four five"
    assert look_up(index, five_words, f"{five_words} six", "") == [
        (0, five_words, ("C0000004",))
    ]
    assert look_up(index) == []


def test_there_are_66_types_in_7_groups() -> None:
    types = [tui for group in GROUPS.values() for tui in group.split()]
    assert len(GROUPS) == 7
    assert len(types) == len(MEDCON_TYPES) == 66


def test_the_folding_decides_which_texts_are_a_term(tmp_path: Path) -> None:
    index = tmp_path / "index"
    write_umls(tmp_path, STRINGS + row(4, "hypertension") + row(4, "Straße"))

    def terms(*texts: str) -> list[str]:
        return [term for _, term, _ in look_up(index, *texts)]

    build_index(tmp_path, index)
    assert terms("HYPERTENSION", "Hypertension") == ["hypertension"]
    build_index(tmp_path, index, folding=Folding(lowercase=True, ascii_only=True))
    expected = ["hypertension", "sjogren's syndrome", "strasse"]
    assert terms("Hypertension", "SJÖGREN’S syndrome", "strasse") == expected


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    strings=st.lists(
        st.tuples(
            st.integers(1, 4), st.text(st.sampled_from("abA é"), min_size=1, max_size=6)
        ),
        min_size=1,
        max_size=30,
    )
)
def test_the_index_equals_a_dictionary(
    tmp_path: Path, strings: list[tuple[int, str]]
) -> None:
    expected: dict[str, set[str]] = {}
    for concept, text in strings:
        if TYPES[concept] in MEDCON_TYPES and text.strip():
            expected.setdefault(Folding().stored(text.strip()), set()).add(
                f"C{concept:07d}"
            )
    write_umls(tmp_path, "".join(row(concept, text) for concept, text in strings))
    if not expected:
        with pytest.raises(UsageError, match="holds no English string"):
            build_index(tmp_path, tmp_path / "index")
        return
    assert build_index(tmp_path, tmp_path / "index").terms == len(expected)
    with UmlsIndex(tmp_path / "index") as umls:
        terms = umls.find([*expected, "never"])
    assert {term: set(concepts) for _, term, concepts in terms} == expected


def test_terms_with_the_same_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "_digest", lambda term: bytes(7) + term[:1])
    write_umls(tmp_path, row(1, "ab") + row(3, "ac") + row(4, "b"))
    build_index(tmp_path, tmp_path / "index")
    assert look_up(tmp_path / "index", "ac", "ad", "ab", "b") == [
        (0, "ac", ("C0000003",)),
        (2, "ab", ("C0000001",)),
        (3, "b", ("C0000004",)),
    ]


def test_the_folders_of_a_release_and_gzip(tmp_path: Path) -> None:
    meta = tmp_path / "2022AA" / "META"
    meta.mkdir(parents=True)
    write_umls(meta, STRINGS)
    (meta / "MRCONSO.RRF.gz").write_bytes(
        gzip.compress((meta / "MRCONSO.RRF").read_bytes())
    )
    plain = build_index(tmp_path / "2022AA", tmp_path / "plain")
    (meta / "MRCONSO.RRF").unlink()
    assert build_index(tmp_path / "2022AA", tmp_path / "packed") == plain


def test_missing_files_of_the_umls(tmp_path: Path) -> None:
    with pytest.raises(
        MissingError,
        match=r"holds no MRCONSO\.RRF\. The UMLS needs a licence of your own, which is free",
    ):
        build_index(tmp_path, tmp_path / "index")
    write_umls(tmp_path, STRINGS)
    (tmp_path / "MRSTY.RRF").unlink()
    with pytest.raises(MissingError, match=r"holds no MRSTY\.RRF"):
        build_index(tmp_path, tmp_path / "index")
    with pytest.raises(
        UsageError, match=r"holds no UMLS index \(umls\.json is missing\)"
    ):
        UmlsIndex(tmp_path / "index")


@pytest.mark.parametrize(
    ("strings", "message"),
    [
        (
            STRINGS + "C0000001|ENG|P\n",
            r"MRCONSO\.RRF: line 10 has 3 fields, expected 18",
        ),
        (
            STRINGS + row(1, "x").replace("C0", "D0"),
            r"line 10 does not begin with a concept id",
        ),
        (row(2, "appendectomy"), "holds no English string of an accepted type"),
    ],
)
def test_files_of_another_form_are_refused_and_leave_no_index(
    tmp_path: Path, strings: str, message: str
) -> None:
    build_index(write_umls(tmp_path, STRINGS), tmp_path / "index")
    write_umls(tmp_path, strings)
    with pytest.raises(UsageError, match=message):
        build_index(tmp_path, tmp_path / "index")
    # The earlier index is gone, and no other has replaced it.
    with pytest.raises(UsageError, match="holds no UMLS index"):
        UmlsIndex(tmp_path / "index")
    assert not list((tmp_path / "index").glob(".building-*"))


def test_a_damaged_index_is_refused(tmp_path: Path) -> None:
    build_index(write_umls(tmp_path, STRINGS), tmp_path / "index")
    records = tmp_path / "index" / "records.bin"
    records.write_bytes(records.read_bytes()[:-1])
    with pytest.raises(UsageError, match="the index is incomplete"):
        UmlsIndex(tmp_path / "index")
    records.unlink()
    with pytest.raises(
        UsageError, match=r"the index is incomplete \(No such file or directory\)"
    ):
        UmlsIndex(tmp_path / "index")
    (tmp_path / "index" / "hashes.u64").write_bytes(b"")
    records.write_bytes(b"")
    with pytest.raises(UsageError, match="the index is incomplete"):
        UmlsIndex(tmp_path / "index")
    (tmp_path / "index" / "umls.json").write_text('{"format": 0}')
    with pytest.raises(UsageError, match="from another version of this package"):
        UmlsIndex(tmp_path / "index")
    (tmp_path / "index" / "umls.json").write_text("{")
    with pytest.raises(UsageError, match="cannot be read"):
        UmlsIndex(tmp_path / "index")
