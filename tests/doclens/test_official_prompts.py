"""The authors' prompts: their files read as they are, and what is refused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.doclens.aci_data import read_aci_rows
from medical_tasks.doclens.data import load_items
from medical_tasks.doclens.prompts import load_prompts
from medical_tasks.doclens.sections import SECTIONS
from medical_tasks.errors import MissingError, UsageError
from tests.doclens.task_items import BY_NAME, items_of
from tests.support import SHARED, needs_shared

UPSTREAM = SHARED / "data" / "doclens"
NAMES = ("acibench", *(f"acibench_{section}" for section in SECTIONS), "meqsum")

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
    """All twelve files; `change` may alter a file's messages or return others."""
    folder.mkdir(parents=True)
    for name in NAMES:
        for ending, pairs in (("", 2), ("_dummy", 1)):
            made = messages(f"{name}{ending}", pairs)
            changed = change(made)
            text = json.dumps(made if changed is None else changed)
            (folder / f"{name}_annotated-citation{ending}.json").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("place", ["prompts/generation", "generation", ".", "DocLens/prompts/generation"])
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
        assert two[-1]["content"].startswith(f"{before}{first}{between}{second}")
        assert zero[-1] == one[-1] == two[-1]


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


def _role(made: Messages) -> None:
    made[1]["role"] = "user"


def _swapped(made: Messages) -> None:
    made[1], made[2] = made[2], made[1]


def _named(made: Messages) -> None:
    made[0]["name"] = "example_user"


def _filled(made: Messages) -> None:
    made[-1]["content"] = "x"


def _number(made: Messages) -> None:
    made[1]["content"] = 5


def _odd(made: Messages) -> None:
    del made[-2]


def _more(made: Messages) -> None:
    made[1]["tool"] = "x"


def _blank(made: Messages) -> None:
    made[2]["content"] = " "


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_role, "message 2 must be a system message named example_user"),
        (_swapped, "message 2 must be a system message named example_user"),
        (_blank, "message 3 must be a system message named example_assistant"),
        (_named, "must begin with a message of the system that has the instruction"),
        (_filled, "must end with an empty message of the user"),
        (_number, "message 2 must have role and content, may have name, all texts"),
        (_more, "message 2 must have role and content, may have name, all texts"),
        (_odd, "1 examples of two messages each are needed, it has 3 example messages"),
        (lambda made: [made[0], made[-1]], "1 examples of two messages each are needed, it has 0 example messages"),
        (lambda made: made[-1:], "must begin with a message of the system"),
        (lambda made: [], "must be a list of messages"),
        (lambda made: {"messages": made}, "must be a list of messages"),
        (lambda made: ["x"], "message 1 must have role and content"),
    ],
)
def test_damaged_files(tmp_path: Path, change: Callable[[Messages], Any], message: str) -> None:
    folder = write(tmp_path / "up", change)
    with pytest.raises(UsageError, match=f"meqsum_annotated-citation.json: {message}.* Download it again"):
        load_prompts(BY_NAME["meqsum_one_shot"], "official", folder)


def test_two_examples_need_two(tmp_path: Path) -> None:
    folder = write(tmp_path / "up", lambda made: [*made[:3], made[-1]])
    assert load_prompts(BY_NAME["meqsum_one_shot"], "official", folder).name == "official"
    with pytest.raises(UsageError, match="2 examples of two messages each are needed, it has 2 example messages"):
        load_prompts(BY_NAME["meqsum_two_shot"], "official", folder)


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 100_000])
def test_files_that_are_no_json(tmp_path: Path, content: bytes) -> None:
    folder = write(tmp_path / "up")
    (folder / "meqsum_annotated-citation_dummy.json").write_bytes(content)
    with pytest.raises(UsageError, match=r"meqsum_annotated-citation_dummy.json: is no JSON in UTF-8"):
        load_prompts(BY_NAME["meqsum"], "official", folder)


def test_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"meqsum: the official prompts .*Clone https.*--upstream"):
        load_prompts(BY_NAME["meqsum"], "official")
    with pytest.raises(
        MissingError, match=r"generation/meqsum_annotated-citation_dummy.json is not there .*Clone https"
    ):
        load_prompts(BY_NAME["meqsum"], "official", tmp_path)
    folder = write(tmp_path / "up")
    for name in ("mimic_rrs", "mimic_rrs_six_shot", "doclens_own"):
        with pytest.raises(
            UsageError, match=f"{name} has no official prompts: .*ACI-BENCH and MeQSum alone. Use --prompts own"
        ):
            load_prompts(BY_NAME[name], "official", folder)
    with pytest.raises(UsageError, match="meqsum: the authors' prompts ask for citations. Leave citations=no out"):
        load_prompts(BY_NAME["meqsum"], "official", folder, arguments={"citations": "no"})


@needs_shared
@pytest.mark.upstream
def test_the_released_prompts() -> None:
    """Their numbers of characters and, of all messages together, a sum; the dialogues are numbered as ours."""
    path = SHARED / "data" / "aci_bench" / "challenge_data" / "clinicalnlp_taskB_test1.csv"
    visits = list(read_aci_rows("doclens", "test1", {"test1": path}))
    released = json.loads((UPSTREAM / "ACI-Bench-TestSet-1_clean.json").read_text(encoding="utf-8"))
    inputs = {row["example_id"]: row["input"] for row in released}
    lengths = {
        "aci_bench": [608, 48, 42],
        "aci_bench_one_shot": [645, 7922, 4069],
        "aci_bench_two_shot": [645, 7922, 4069, 6919, 3831],
        "meqsum": [397, 23, 11],
        "meqsum_one_shot": [397, 713, 69],
        "meqsum_two_shot": [397, 713, 69, 394, 78],
    }
    for name, expected in lengths.items():
        prompts = load_prompts(BY_NAME[name], "official", UPSTREAM)
        items = load_items(BY_NAME[name], visits) if name.startswith("aci") else items_of(name)
        for item in items:
            *before, last = prompts.render(item)
            assert [len(message["content"]) for message in before] == expected
            assert last["content"] == inputs.get(item.id, last["content"])
        assert len(items) == (40 if name.startswith("aci") else 7)
    sections = load_prompts(BY_NAME["aci_bench_section_two_shot"], "official", UPSTREAM)
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
