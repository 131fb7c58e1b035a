"""Admission: results by their recipes, and names, where indistinguishable ones are the same."""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.catalog import task_spec
from medical_tasks.cli.entry import main
from medical_tasks.leaderboard.admission import (
    AdmissionError,
    check_admission,
    marks,
    name_notes,
)
from medical_tasks.leaderboard.board import Board, entries_of, event_name
from medical_tasks.leaderboard.maintaining import check_store
from medical_tasks.leaderboard.records import Event, event_bytes
from medical_tasks.leaderboard.site import write_site
from medical_tasks.leaderboard.storage import LocalStorage
from medical_tasks.leaderboard.submission_package.contents import Package, PackageError
from medical_tasks.leaderboard.submission_package.reading import read_package
from medical_tasks.leaderboard.submission_package.submitters import (
    name_key,
    name_problem,
)
from tests.case_tables import json_of
from tests.leaderboard.made_packages import accepted, cases, package, recipe_of

CASES = cases("admission")


def changed_package(
    recipe: Mapping[str, Any] | None = None, *, task: str = "medcalc", **entry: Any
) -> Package:
    """Makes a well-formed package whose numbers the reader would refuse."""
    original = read_package(package(of=50, right=20))
    was = original.results["tasks"]["medcalc"]
    changed_entry = {
        **was,
        **entry,
        "recipe": recipe_of(task_spec(task), **(recipe or {})),
    }
    if task != "medcalc":
        changed_entry["metrics"] = {
            task_spec(task).metrics[0].name: was["metrics"]["accuracy"]
        }
    return replace(
        original,
        manifest=replace(original.manifest, tasks=(task,)),
        results={"schema_version": 1, "tasks": {task: changed_entry}},
        items=[{**row, "task": task} for row in original.items],
    )


@pytest.mark.parametrize(("task", "recipe", "entry"), CASES["admitted_results"])
def test_admitted_results(
    task: str, recipe: dict[str, Any], entry: dict[str, Any]
) -> None:
    check_admission(changed_package(recipe, task=task, **entry))


@pytest.mark.parametrize(
    ("task", "recipe", "entry", "message"), CASES["refused_results"]
)
def test_refused_results(
    task: str, recipe: dict[str, Any], entry: dict[str, Any], message: str
) -> None:
    with pytest.raises(AdmissionError, match=message):
        check_admission(changed_package(recipe, task=task, **entry))


PUBLISHED: dict[str, dict[str, object] | None] = {
    "prompts": None,
    "generation": None,
    "model": {"name": "imported/A model"},
    "imported": {
        "kind": "authors",
        "address": "https://example.org/answers.csv",
        "licence": "CC-BY-4.0",
        "unknown": ["prompts", "decoding"],
    },
}


def test_published_answers_may_be_partial_and_have_no_rank() -> None:
    published = read_package(
        package(of=150, unanswered=40, right=20, recipe=PUBLISHED, held=False)
    )
    assert published.answers == {}
    check_admission(published)
    assert marks(published.results["tasks"]["medcalc"]) == [
        "Answers that others published, scored here (licence CC-BY-4.0; not known: prompts, decoding).",
        "They are to 110 of 150 items, which need not be like the others.",
    ]
    few = read_package(package(of=150, unanswered=60, recipe=PUBLISHED, held=False))
    with pytest.raises(
        AdmissionError, match="90 of 150 items .* at least 100 items or 90 % are"
    ):
        check_admission(few)


def test_wrong_fields_of_published_answers() -> None:
    for name, odd in (
        ("unknown", 7),
        ("licence", ["MIT"]),
        ("files", {"a.csv": "no hash"}),
    ):
        imported = {**(PUBLISHED["imported"] or {}), name: odd}
        with pytest.raises(PackageError, match=f"recipe, imported, {name}"):
            read_package(package(recipe={**PUBLISHED, "imported": imported}))


@pytest.mark.parametrize("address", ["", "http://example.org/a", "https://localhost/a"])
def test_answers_without_a_public_address_are_required(address: str) -> None:
    imported = {**(PUBLISHED["imported"] or {}), "address": address}
    with pytest.raises(
        PackageError, match=r"answers\.jsonl: lacks the answer|https:// address"
    ):
        read_package(package(recipe={**PUBLISHED, "imported": imported}, held=False))


def test_all_reasons_are_reported_together() -> None:
    with pytest.raises(AdmissionError) as caught:
        check_admission(
            changed_package(
                {"task_version": "1-A", "max_samples": 1, "data+": {"config": "demo"}}
            )
        )
    assert [line.split(":")[0] for line in str(caught.value).splitlines()] == [
        "not taken",
        *["  medcalc"] * 3,
    ]


def test_marks_of_results_without_a_rank() -> None:
    def entry(scored: int, **recipe: Any) -> dict[str, Any]:
        return {
            "coverage": {"asked": 1000, "scored": scored},
            "recipe": recipe_of(task_spec("medcalc"), **recipe),
        }

    assert (
        marks(entry(980))
        == marks(entry(1000, prompts=None, model={"name": "baseline/random"}))
        == []
    )
    assert marks(entry(979)) == [
        "Only 97.9 % of the items have a score, 98 % are needed for a rank."
    ]
    (mark,) = marks(entry(1000, prompts=None))
    assert mark.startswith("The answers were made outside this suite")


MODEL, ORGANISATION = "Honest Model 10", "Lab of Illness"


@functools.cache
def characters() -> tuple[str, ...]:
    """All that have a name: over a hundred thousand."""
    codes = range(sys.maxunicode + 1)
    return tuple(chr(code) for code in codes if unicodedata.name(chr(code), ""))


# Invisible characters, by their names; no single category has all of them.
BLANK = re.compile(
    r"FILLER|VARIATION SELECTOR|JOINER|BLANK|INHERENT|INVISIBLE|ZERO WIDTH|MONGOLIAN FREE|TAG |SHORTHAND"
)

ALPHABETS = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "DESERET")


def with_replaced_character(
    text: str, places: Callable[[str], Collection[str]]
) -> Iterator[str]:
    """Yields the text with the first letter that a character can stand for replaced by it, for all characters."""
    for character in characters():
        letters = places(character)
        for position, was in enumerate(text if letters else ""):
            if character != was and was in letters:
                yield text[:position] + character + text[position + 1 :]
                break


def compatible(character: str) -> Collection[str]:
    """Returns the ASCII letters of which a character is another form."""
    folded = unicodedata.normalize("NFKC", character).casefold()
    is_form = folded.isascii() and not character.isascii()
    return {folded, folded.upper()} if is_form else ()


def with_inserted_character(text: str, fits: Callable[[str], bool]) -> Iterator[str]:
    """Yields the text with each character that fits inserted after its third."""
    return (
        text[:3] + character + text[3:] for character in characters() if fits(character)
    )


FAMILIES: dict[str, Callable[[str], Iterator[str]]] = {
    "case": lambda text: iter(
        {
            text.upper(),
            text.lower(),
            text.swapcase(),
            *(text[:n] + text[n:].swapcase() for n in range(1, len(text))),
        }
    ),
    "compatible forms": lambda text: with_replaced_character(text, compatible),
    "nothing to be seen": lambda text: with_inserted_character(
        text, lambda character: bool(BLANK.search(unicodedata.name(character)))
    ),
    "format and direction": lambda text: with_inserted_character(
        text, lambda character: unicodedata.category(character) == "Cf"
    ),
    "marks": lambda text: with_inserted_character(
        text, lambda character: unicodedata.category(character) in ("Mn", "Me")
    ),
    "piles of marks": lambda text: iter(
        text[:3] + chr(0x300 + n) * 3 + chr(0x310) + chr(0x323) + text[3:]
        for n in range(40)
    ),
    "spaces": lambda text: with_replaced_character(
        text,
        lambda character: " " if unicodedata.category(character)[0] == "Z" else "",
    ),
    "dashes and punctuation": lambda text: with_replaced_character(
        text,
        lambda character: " " if unicodedata.category(character)[0] == "P" else "",
    ),
    "punctuation behind": lambda text: (
        text + character
        for character in characters()
        if unicodedata.category(character)[0] == "P"
    ),
    "other alphabets": lambda text: with_replaced_character(
        text,
        lambda character: (
            "oeaiscpxyh"
            if character.isalpha() and unicodedata.name(character).startswith(ALPHABETS)
            else ""
        ),
    ),
    "letters and digits": lambda text: iter(
        text.replace(was, substitute)
        for was, alike in (
            ("l", "1I|i"),
            ("1", "lI|i"),
            ("0", "Oo"),
            ("o", "0O"),
            ("m", ["rn", "RN"]),
            ("M", ["rn"]),
        )
        for substitute in alike
        if was in text
    ),
    "run together": lambda text: iter(
        [text.replace(" ", ""), text.replace(" ", "", 1), text.replace(" ", "  ")]
    ),
}


def variants(text: str) -> list[tuple[str, str]]:
    """Returns pairs of family and variant."""
    return [
        (family, variant)
        for family, make in FAMILIES.items()
        for variant in dict.fromkeys(make(text))
        if variant != text
    ]


def test_thousands_of_variants_are_refused_or_the_same_name() -> None:
    for text in (MODEL, ORGANISATION):
        pairs = variants(text)
        assert len(pairs) > 3000
        assert {family for family, _ in pairs} == set(FAMILIES)
        accepted_names = [pair for pair in pairs if not name_problem(pair[1])]
        assert len(accepted_names) > 60
        assert [
            pair for pair in accepted_names if name_key(pair[1]) != name_key(text)
        ] == []


@pytest.mark.parametrize("name", CASES["accepted_names"])
def test_accepted_names(name: str) -> None:
    assert name_problem(name) == ""
    assert name_key(name)


@pytest.mark.parametrize(
    ("first", "second"), CASES["visibly_different_names_are_distinct"]
)
def test_visibly_different_names_are_distinct(first: str, second: str) -> None:
    assert name_key(first) != name_key(second)


@pytest.mark.parametrize(("name", "message"), CASES["a_refusal_names_the_character"])
def test_a_refusal_names_the_character(name: str, message: str) -> None:
    assert message in name_problem(name)
    with pytest.raises(PackageError, match="organisation: .*Write the package again"):
        Board(LocalStorage(Path("nowhere"))).submit(package("x", organisation=name))


def test_from_a_taken_name_to_its_replacement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str]:
        code = main(["leaderboard", *words, "--store", "board"])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    def accept(name: str, *more: str) -> tuple[int, str]:
        return run("accept", name, "--by", "Ann", "--unverified", *more)

    board = Board(LocalStorage(Path("board")))
    first = board.submit(package("Honest Model", organisation="Org A", right=4)).id
    report = {"package": first, "matches": True, "checks": []}
    board.decide(first, "accepted", by="Ann", verified=report)
    second = board.submit(package("HONEST MODEL", organisation="org a", right=1)).id
    beside = board.submit(
        package("Honest-Model", organisation="Somebody else", right=2)
    ).id
    taken = f"its name is taken: it cannot be distinguished from {first} (Honest Model, Org A)"
    Path("third.zip").write_bytes(package("Honest_Model", organisation="Org A"))
    for words in (
        ("list", "--state", "pending"),
        ("show", second),
        ("submit", "third.zip"),
    ):
        assert taken in run(*words)[1]
    write_site(board, tmp_path / "site")
    queue = {
        entry["id"]: entry
        for entry in json_of(tmp_path / "site" / "data" / "queue.json")
    }
    assert (queue[second]["notes"], queue[first]["notes"]) == ([taken], [])
    assert {entry["alike"] for entry in queue.values()} == {queue[first]["alike"]}
    code, output = accept(second)
    assert code == 2
    assert taken in output
    assert f"--replace {first}" in output
    code, output = accept(second, "--replace", first)
    assert code == 2
    assert (
        f"medcalc of {first} (Honest Model, Org A) is verified, and of this one it is not"
        in output
    )
    code, output = accept(second, "--replace", beside)
    assert code == 2
    assert f"got '{beside}'. There is {first} (Honest Model, Org A)." in output
    code, output = accept(beside, "--replace", first)
    assert code == 2
    assert "There is none; leave it out." in output
    assert [entry.submission for entry in entries_of(board, published=False)] == [first]
    code, output = accept(beside)
    assert code == 0
    assert (
        f"note: under this model's name another organisation has results: {first} (Honest Model, Org A)"
        in output
    )
    report = {"package": second, "matches": True, "checks": []}
    board.decide(second, "accepted", by="Ben", verified=report, replaces=first)
    assert f"accepted (verified) instead of {first} by Ben" in run("history", second)[1]
    assert {
        entry.submission: entry.state for entry in entries_of(board, published=False)
    } == {
        second: "verified",
        beside: "unverified",
    }
    assert check_store(board).problems == ()


def test_the_first_of_two_simultaneous_acceptances_is_shown(tmp_path: Path) -> None:
    board = Board(LocalStorage(tmp_path))
    first, second = (board.submit(package(name)).id for name in ("Model", "MODEL"))
    board.decide(first, "accepted", by="Ann")
    # Ben looked before Ann had decided
    late = Event(state="accepted", at="2099-01-01T00:00:00Z", by="Ben")
    board.storage.create(event_name(second, 2), event_bytes(late))
    assert [entry.submission for entry in entries_of(board, published=False)] == [first]
    (note,) = name_notes(board.submission(second), board.submissions("accepted"))
    assert (
        note
        == f"it is not shown: its name was taken before by {first} (Model, An organisation)"
    )
    # An unverified submission does not replace a verified one, whatever the events state.
    board.decide(first, "rejected", by="Ann", reason="x")
    report = {"package": first, "matches": True, "checks": []}
    board.decide(
        first, "accepted", by="Ann", reason="x", verified=report, replaces=second
    )
    board.storage.create(
        event_name(second, 3),
        event_bytes(Event(state="rejected", at=late.at, by="B", reason="x")),
    )
    board.storage.create(
        event_name(second, 4),
        event_bytes(replace(late, at="2099-01-02T00:00:00Z", replaces=first)),
    )
    assert [entry.submission for entry in entries_of(board, published=False)] == [first]


def test_events_of_format_1_are_read(tmp_path: Path) -> None:
    board = Board(LocalStorage(tmp_path))
    name = accepted(board, package())
    for number in (1, 2):
        path = tmp_path / event_name(name, number)
        path.write_text(
            path.read_text()
            .replace('"format": 2', '"format": 1')
            .replace(',\n "replaces": ""', "")
        )
        assert "replaces" not in path.read_text()
    assert check_store(Board(board.storage)).problems == ()
