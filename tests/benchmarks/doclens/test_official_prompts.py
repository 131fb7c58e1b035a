"""The authors' prompts: their files read as they are, and what is refused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.doclens.data import load_items, read_aci_rows
from medical_tasks.benchmarks.doclens.pieces import SECTIONS
from medical_tasks.benchmarks.doclens.prompts import load_prompts
from medical_tasks.errors import MissingError, UsageError
from tests.benchmarks.doclens.doclens_judges import checkout
from tests.benchmarks.doclens.task_items import BY_NAME, items_of
from tests.support import SHARED, needs_shared

UPSTREAM = SHARED / "data" / "doclens"
NAMES = {"acibench": 2, **{f"acibench_{section}": 2 for section in SECTIONS}, "meqsum": 2, "mimic": 12}
"""Their files, each with the examples it has."""

Messages = list[dict[str, Any]]


def messages(name: str, pairs: int) -> Messages:
    """Of the authors' form, in words of our own."""
    examples = [
        {"role": "system", "name": f"example_{who}", "content": f"{name} {who} {number}"}
        for number in range(pairs)
        for who in ("user", "assistant")
    ]
    return [{"role": "system", "content": f"do {name}"}, *examples, {"role": "user", "content": ""}]


def write(folder: Path, change: Callable[[Messages], Any] = lambda made: None) -> Path:
    """All fourteen files; `change` may alter a file's messages or return others."""
    folder.mkdir(parents=True)
    for name, examples in NAMES.items():
        for ending, pairs in (("", examples), ("_dummy", 1)):
            made = messages(f"{name}{ending}", pairs)
            changed = change(made)
            text = json.dumps(made if changed is None else changed)
            (folder / f"{name}_annotated-citation{ending}.json").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("place", ["prompts", ".", "DocLens/prompts"])
def test_the_messages(tmp_path: Path, place: str) -> None:
    write(tmp_path / "up" / place) if place != "." else write(tmp_path / "up")
    for name, stem in (("aci_bench", "acibench"), ("meqsum", "meqsum")):
        item = items_of(name)[0]
        zero, one, two = (
            load_prompts(BY_NAME[f"{name}{shots}"], "official", tmp_path / "up").render(item)
            for shots in ("", "_one_shot", "_two_shot")
        )
        assert [message["role"] for message in two] == ["system", *["user", "assistant"] * 2, "user"]
        assert [message["content"] for message in two[:-1]] == [
            f"do {stem}",
            *(f"{stem} {who} {number}" for number in (0, 1) for who in ("user", "assistant")),
        ]
        assert one == (*two[:3], two[-1])
        assert [message["content"] for message in zero[:-1]] == [
            f"do {stem}_dummy",
            f"{stem}_dummy user 0",
            f"{stem}_dummy assistant 0",
        ]
        assert all(set(message) == {"role", "content"} for message in two)
        # Dialogues have a turn a line, questions are on one line.
        first, second = item.fields["sentences"][:2]
        between = "\n[1]" if name == "aci_bench" else " [1] "
        before = "[0]" if name == "aci_bench" else "[0] "
        given = f"{before}{first}{between}{second}"
        assert two[-1]["content"].startswith(given if name == "aci_bench" else given.lower())
        assert zero[-1] == one[-1] == two[-1]


@pytest.mark.parametrize(("name", "pairs"), [("", 1), ("_six_shot", 6), ("_twelve_shot", 12)])
def test_radiology(tmp_path: Path, name: str, pairs: int) -> None:
    prompts = load_prompts(BY_NAME[f"mimic_rrs{name}"], "official", write(tmp_path / "up"))
    item = items_of("mimic_rrs")[0]
    *before, last = (message["content"] for message in prompts.render(item))
    stem = "mimic" if name else "mimic_dummy"
    assert before == [
        f"do {stem}",
        *(f"{stem} {who} {number}" for number in range(pairs) for who in ("user", "assistant")),
    ]
    # As the authors' inputs: small letters, on one line, a space behind each sentence.
    assert last == "".join(f"[{place}] {text.lower()} " for place, text in enumerate(item.fields["sentences"]))


def test_each_section_has_its_own(tmp_path: Path) -> None:
    folder = write(tmp_path / "up")
    prompts = load_prompts(BY_NAME["aci_bench_section_one_shot"], "official", folder)
    items = items_of("aci_bench_section")[:4]
    for item, section in zip(items, SECTIONS, strict=True):
        asked = prompts.render(item)
        assert asked[0]["content"] == f"do acibench_{section}"
        assert len(asked) == 4
    assert (prompts.name, prompts.settings) == ("official", {"citations": "yes"})


def test_hashes_cover_what_is_shown(tmp_path: Path) -> None:
    names = [
        f"{name}{shots}"
        for name in ("aci_bench", "aci_bench_section", "meqsum")
        for shots in ("", "_one_shot", "_two_shot")
    ]

    def hashes(folder: Path) -> dict[str, str]:
        return {name: load_prompts(BY_NAME[name], "official", folder).sha256 for name in names}

    before = hashes(write(tmp_path / "a"))
    assert len(set(before.values())) == 9
    assert before == hashes(write(tmp_path / "b"))

    def second_pair(made: Messages) -> None:
        if len(made) == 6:
            made[4]["content"] += "!"

    after = hashes(write(tmp_path / "c", second_pair))
    assert {name for name in names if after[name] != before[name]} == {
        name for name in names if name.endswith("_two_shot")
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda made: made[1].update(role="user"), "message 2 has a name, which only the system's example_user and"),
        (lambda made: made.insert(1, made.pop(2)), "message 2 must be a text of the system named example_user"),
        (lambda made: made[2].update(content=" "), "message 3 must be a text of the system named example_assistant"),
        (lambda made: made[0].update(name="example_user"), "it needs an instruction of the system first and an empty"),
        (lambda made: made[-1].update(content="x"), "it needs an instruction of the system first and an empty message"),
        (lambda made: made[1].update(content=5), "message 2 must have role and content and may have a name"),
        (lambda made: made[1].update(tool="x"), "message 2 must have role and content and may have a name"),
        (lambda made: [*made[:-2], made[-1]], "1 examples of two messages each are needed, it has 3 example messages"),
        (lambda made: [made[0], made[-1]], "1 examples of two messages each are needed, it has 0 example messages"),
        (lambda made: made[-1:], "it needs an instruction of the system first"),
        (lambda made: [], "a prompt of the authors is a list of messages"),
        (lambda made: {"messages": made}, "a prompt of the authors is a list of messages"),
        (lambda made: ["x"], "message 1 has no role"),
    ],
)
def test_damaged_files(tmp_path: Path, change: Callable[[Messages], Any], message: str) -> None:
    folder = write(tmp_path / "up", change)
    with pytest.raises(UsageError, match=f"meqsum_annotated-citation.json: {message}.* Download it again"):
        load_prompts(BY_NAME["meqsum_one_shot"], "official", folder)


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 100_000])
def test_files_that_are_no_json(tmp_path: Path, content: bytes) -> None:
    folder = write(tmp_path / "up")
    (folder / "meqsum_annotated-citation_dummy.json").write_bytes(content)
    with pytest.raises(UsageError, match=r"meqsum_annotated-citation_dummy.json: is no JSON in UTF-8"):
        load_prompts(BY_NAME["meqsum"], "official", folder)


def test_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"meqsum: the official prompts .*Clone https.*--upstream"):
        load_prompts(BY_NAME["meqsum"], "official")
    with pytest.raises(MissingError, match=r"prompts/meqsum_annotated-citation_dummy.json is not there .*Clone https"):
        load_prompts(BY_NAME["meqsum"], "official", tmp_path)
    folder = write(tmp_path / "up")
    with pytest.raises(
        UsageError, match="doclens_own has no official prompts: .*ACI-BENCH, MIMIC and MeQSum. Use --prompts own"
    ):
        load_prompts(BY_NAME["doclens_own"], "official", folder)
    with pytest.raises(UsageError, match="meqsum: the authors' prompts ask for citations. Leave citations=no out"):
        load_prompts(BY_NAME["meqsum"], "official", folder, arguments={"citations": "no"})


@needs_shared
@pytest.mark.upstream
def test_the_released_prompts(tmp_path: Path) -> None:
    """Their numbers of characters and, of all messages together, a sum; the dialogues are numbered as ours."""
    path = SHARED / "data" / "aci_bench" / "challenge_data" / "clinicalnlp_taskB_test1.csv"
    visits = list(read_aci_rows("doclens", "test1", {"test1": path}))
    released = json.loads((UPSTREAM / "ACI-Bench-TestSet-1_clean.json").read_text(encoding="utf-8"))
    inputs = {row["example_id"]: row["input"] for row in released}
    upstream = checkout(tmp_path)
    lengths = {
        "aci_bench": [608, 48, 42],
        "aci_bench_one_shot": [645, 7922, 4069],
        "aci_bench_two_shot": [645, 7922, 4069, 6919, 3831],
        "meqsum": [397, 23, 11],
        "meqsum_one_shot": [397, 713, 69],
        "meqsum_two_shot": [397, 713, 69, 394, 78],
    }
    for name, expected in lengths.items():
        prompts = load_prompts(BY_NAME[name], "official", upstream)
        items = load_items(BY_NAME[name], visits) if name.startswith("aci") else items_of(name)
        for item in items:
            *before, last = prompts.render(item)
            assert [len(message["content"]) for message in before] == expected
            assert last["content"] == inputs.get(item.id, last["content"])
        assert len(items) == (40 if name.startswith("aci") else 7)
    sections = load_prompts(BY_NAME["aci_bench_section_two_shot"], "official", upstream)
    items = load_items(BY_NAME["aci_bench_section"], visits)
    assert len(items) == 160
    said = [[message["content"] for message in sections.render(item)[:-1]] for item in items[:4]]
    assert [[len(text) for text in texts] for texts in said] == [
        [540, 7922, 1879, 6919, 1905],
        [544, 7922, 190, 6919, 238],
        [547, 7922, 157, 6919, 219],
        [549, 7922, 1840, 6919, 1466],
    ]
    assert (
        hashlib.sha256(json.dumps(said).encode()).hexdigest()
        == "95ca83cd0bf7ba3bf6f55d07333686200dbe8da35ac4a3b9a861d18bc01ec232"
    )
