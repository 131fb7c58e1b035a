"""What a model is asked in each form, and how the gold is written as an answer."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from medical_tasks.benchmarks.doclens import prompts as texts
from medical_tasks.benchmarks.doclens.data import MEQSUM_SOURCE, load_items, read_aci_rows, read_meqsum_rows
from medical_tasks.benchmarks.doclens.pieces import (
    SECTIONS,
    divide_note,
    find_markers,
    heading_section,
    read_sentences,
    remove_citations,
)
from medical_tasks.benchmarks.doclens.prompts import gold_response, load_prompts, numbered_source
from medical_tasks.benchmarks.doclens.spec import TASKS
from medical_tasks.data.task_data import prompt_set
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.spec import Item, PromptSet, TaskSpec
from tests.benchmarks.doclens.task_items import BY_NAME, exemplar_rows, items_of, own_rows
from tests.support import SHARED, needs_shared


def asked(prompts: PromptSet, item: Item) -> str:
    """The one message of an item."""
    messages = prompts.render(item)
    assert [message["role"] for message in messages] == ["user"]
    return messages[0]["content"]


def prompts_of(task: TaskSpec, *, citations: str = "yes") -> PromptSet:
    """As every caller loads them."""
    return prompt_set(task, "own", None, arguments={"citations": citations}, exemplars=exemplar_rows(task))


def test_the_headings_asked_for_are_those_that_divide_notes() -> None:
    assert tuple(texts.HEADINGS) == SECTIONS
    for section, (heading, holds) in texts.HEADINGS.items():
        assert heading_section(heading) == section
        assert heading in texts.TEXTS["note"].task
        assert heading in texts.SECTION_TASKS[section]
        assert all(heading_section(other) == section for other in re.findall(r"[A-Z]{2,}(?: [A-Z]+)*", holds))
    note = "".join(f"{heading}\n\nText of {section}.\n\n" for section, (heading, _) in texts.HEADINGS.items())
    assert {name: part.split()[-1] for name, part in divide_note(note).items()} == {
        name: f"{name}." for name in SECTIONS
    }


@pytest.mark.parametrize("form", ["note", "section", "impression", "question", "text"])
def test_every_form_whole(form: str) -> None:
    (task,) = [each for each in TASKS if (each.options["form"], each.options["shots"]) == (form, "0")]
    said = texts.TEXTS[form]
    for citations in ("yes", "no"):
        prompts = prompts_of(task, citations=citations)
        assert prompts.settings == {"citations": citations}
        for item in items_of(task.name):
            parts = [said.given, said.task]
            parts += [texts.SECTION_TASKS[str(item.groups["section"])]] if form == "section" else []
            parts += [said.citing] if citations == "yes" else []
            parts += [f"{said.source}:\n{numbered_source(item)}", f"{said.answer}:"]
            assert asked(prompts, item) == "\n\n".join(parts)


def test_numbered_sources() -> None:
    visit = items_of("aci_bench")[0]
    lines = numbered_source(visit).splitlines()
    assert lines[0].startswith("[0][doctor] ")
    assert (
        numbered_source(items_of("doclens_own")[0])
        == "[0] Seen for gout.\n[1] Uric acid is 9.\n[2] Allopurinol was started."
    )
    assert numbered_source(items_of("meqsum")[0]).startswith("[0] ")


def test_what_is_said_of_citing() -> None:
    for form, said in texts.TEXTS.items():
        assert [marker.ids for marker in find_markers(said.citing)] == [(3,), (4,)]
        assert "at least one, at most ten" in said.citing
        assert ("turns" if form in ("note", "section") else "sentences") in said.citing
        assert "cite" not in said.task
    assert "15 words" in texts.TEXTS["question"].task


def test_one_worked_example() -> None:
    task = BY_NAME["doclens_own"]
    one = replace(task, options={**task.options, "shots": "1"}, exemplars="train")
    prompts = load_prompts(one, exemplars=own_rows()[:1])
    said = texts.TEXTS["text"]
    assert asked(prompts, items_of("doclens_own")[1]) == "\n\n".join(
        [
            said.given,
            said.task,
            said.citing,
            "Here is one done already.",
            "Text:\n[0] Seen for gout.\n[1] Uric acid is 9.\n[2] Allopurinol was started.",
            "Summary:\nGout [0]. Allopurinol started [2].",
            "Now do this one.",
            "Text:\n[0] x",
            "Summary:",
        ]
    )
    assert prompts.settings == {"citations": "yes", "seed": 17, "examples": ["a"]}
    bare = asked(
        load_prompts(one, arguments={"citations": "no"}, exemplars=own_rows()[1:2]), items_of("doclens_own")[0]
    )
    # The user's own reference had a marker.
    assert "Summary:\nCited already. Gout.\n\n" in bare


@pytest.mark.parametrize("task", [task for task in TASKS if task.exemplars], ids=lambda task: task.name)
def test_worked_examples_of_every_task(task: TaskSpec) -> None:
    shots = int(task.options["shots"])
    said = texts.TEXTS[task.options["form"]]
    opening = texts.ALONE if shots == 1 else texts.AMONG.format(count=shots)
    for citations in ("yes", "no"):
        prompts = prompts_of(task, citations=citations)
        assert prompts.settings["citations"] == citations
        assert len(prompts.settings["examples"]) == len(set(prompts.settings["examples"])) == shots
        for item in items_of(task.name)[:8]:
            before, _, after = asked(prompts, item).partition(f"\n\n{opening}\n\n")
            assert before.endswith(
                said.citing
                if citations == "yes"
                else texts.SECTION_TASKS.get(str(item.groups.get("section")), said.task)
            )
            *examples, last = re.split(f"(?:^|\n\n)(?={said.source}:\n)", after)[1:]
            assert last == f"{said.source}:\n{numbered_source(item)}\n\n{said.answer}:"
            assert len(examples) == shots
            for example in examples:
                answer = example.removesuffix(f"\n\n{texts.ASKED}").rpartition(f"\n\n{said.answer}:\n")[2]
                sentences = read_sentences(answer)
                assert sentences
                assert all(bool(sentence.citations) == (citations == "yes") for sentence in sentences)


def test_examples_of_a_section_are_of_that_section() -> None:
    task = BY_NAME["aci_bench_section_one_shot"]
    prompts = prompts_of(task)
    assert prompts.settings["examples"] == ["DEMO002"]
    (row,) = [row for row in exemplar_rows(task) if row["id"] == "DEMO002"]
    for item in items_of(task.name)[:4]:
        answer = asked(prompts, item).partition("\n\nSection:\n")[2].partition(f"\n\n{texts.ASKED}\n\n")[0]
        assert remove_citations(answer) == row[str(item.groups["section"])].strip()


def test_braces_are_only_text() -> None:
    (odd,) = load_items(
        BY_NAME["doclens_own"], [{"id": "o", "sentences": ["{0} {given} %s {", "}"], "reference": "{answer} of {0}"}]
    )
    assert asked(load_prompts(BY_NAME["doclens_own"]), odd).endswith("Text:\n[0] {0} {given} %s {\n[1] }\n\nSummary:")
    assert gold_response(BY_NAME["doclens_own"], odd) == "{answer} of {0} [0]"


def test_hashes_tell_apart_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def hashes() -> dict[tuple[str, str], str]:
        return {
            (task.name, cites): prompts_of(task, citations=cites).sha256 for task in TASKS for cites in ("yes", "no")
        }

    before = hashes()
    assert len(set(before.values())) == 26
    with monkeypatch.context() as patch:
        changed = replace(texts.TEXTS["note"], citing="Cite!")
        patch.setattr(texts, "TEXTS", {**texts.TEXTS, "note": changed})
        after = hashes()
    assert {key for key in after if after[key] != before[key]} == {
        (f"aci_bench{shots}", "yes") for shots in ("", "_one_shot", "_two_shot")
    }
    for name, tasks in {"LABELLED": 26, "ASKED": 16, "ALONE": 6, "AMONG": 10}.items():
        with monkeypatch.context() as patch:
            patch.setattr(texts, name, f"{getattr(texts, name)}!")
            after = hashes()
        assert sum(after[key] != before[key] for key in after) == tasks, name
    # Other rows, other examples; the same ones under other ids are the same texts.
    task = BY_NAME["meqsum_one_shot"]
    rows = [row | {"summary": "Is it?"} for row in exemplar_rows(task)]
    assert load_prompts(task, exemplars=rows).sha256 != before["meqsum_one_shot", "yes"]
    assert load_prompts(task, exemplars=rows).sha256 == load_prompts(task, exemplars=rows[::-1]).sha256


def test_the_recipe_has_no_text_of_an_example() -> None:
    for task in TASKS:
        prompts = prompts_of(task)
        told = json.dumps(dict(prompts.settings))
        rows = exemplar_rows(task)
        assert not [
            text
            for row in rows
            for text in row.get("sentences", row.get("turns", []))
            if len(text) > 20 and text in told
        ]


def test_wrong_use() -> None:
    task = BY_NAME["meqsum_one_shot"]
    with pytest.raises(UsageError, match="unknown prompt set 'theirs' for meqsum_one_shot. Sets: own, official"):
        load_prompts(task, "theirs")
    with pytest.raises(UsageError, match="meqsum_one_shot: citations must be yes or no, got 'No'"):
        load_prompts(task, arguments={"citations": "No"})
    with pytest.raises(UsageError, match="meqsum_one_shot: 'style' is no setting of this task. It takes: citations"):
        load_prompts(task, arguments={"style": "json"})
    with pytest.raises(
        MissingError, match="meqsum_one_shot: 1 worked examples .* needed, split validation of meqsum has 0"
    ):
        load_prompts(task)


def golds(name: str, items: list[Item]) -> list[str]:
    return [gold_response(BY_NAME[name], item) for item in items]


@pytest.mark.parametrize("name", ["aci_bench", "aci_bench_section", "mimic_rrs", "meqsum", "doclens_own"])
def test_gold_is_the_reference_and_every_sentence_cites(name: str) -> None:
    items = items_of(name)
    assert_gold(items, golds(name, items))


def assert_gold(items: list[Item], golds: list[str]) -> None:
    """Without markers it is the reference; its sections and all their sentences cite what the source has."""
    for item, gold in zip(items, golds, strict=True):
        reference = item.fields["reference"]
        if not reference.strip():
            assert gold == ""
            continue
        assert remove_citations(gold) == remove_citations(reference)
        parts = divide_note(gold) if item.fields["form"] == "note" else {"full": gold}
        for name, part in parts.items():
            if item.fields["form"] == "note":
                assert remove_citations(part) == item.fields["sections"][name]
            for sentence in read_sentences(part):
                assert sentence.citations, (item.id, name)
                assert max(sentence.citations) < len(item.fields["sentences"])
                assert len(sentence.citations) <= 3


def test_gold_of_odd_items() -> None:
    row = {"id": "x", "dataset": "aci", "turns": ["[doctor] hi"], "note": "", **dict.fromkeys(SECTIONS, "")}
    assert golds("aci_bench_section", load_items(BY_NAME["aci_bench_section"], [row])) == ["", "", "", ""]
    blank = load_items(BY_NAME["doclens_own"], own_rows())
    assert golds("doclens_own", blank) == ["Gout [0]. Allopurinol started [2].", "Cited already [0]. Gout [0].", ""]


@needs_shared
@pytest.mark.upstream
def test_gold_of_the_release() -> None:
    folder: Path = SHARED / "data" / "aci_bench" / "challenge_data"
    visits = list(read_aci_rows("doclens", "test1", {"test1": folder / "clinicalnlp_taskB_test1.csv"}))
    name = MEQSUM_SOURCE.files["full"]["test"].places[0].rpartition("/")[2]
    questions = list(read_meqsum_rows("full", "test", {"test": SHARED / "data" / "meqsum" / name}))
    for task, rows, count in (
        ("aci_bench", visits, 40),
        ("aci_bench_section", visits, 160),
        ("meqsum", questions, 100),
    ):
        items = load_items(BY_NAME[task], rows)
        assert len(items) == count
        assert_gold(items, golds(task, items))


@needs_shared
@pytest.mark.upstream
def test_our_texts_are_not_the_authors() -> None:
    """No run of eight words of their prompts or their paper is in ours."""

    def runs(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"\w+", text.lower())
        return {tuple(words[place : place + 8]) for place in range(len(words) - 7)}

    files = sorted((SHARED / "data" / "doclens" / "prompts" / "generation").glob("*.json"))
    assert len(files) == 12
    theirs = runs((SHARED / "seeds" / "001_c45a0873f0615a1b.txt").read_text(encoding="utf-8"))
    for file in files:
        theirs |= {run for message in json.loads(file.read_text(encoding="utf-8")) for run in runs(message["content"])}
    assert len(theirs) > 15_000
    said = [part for each in texts.TEXTS.values() for part in (each.given, each.task, each.citing)]
    ours = {run for text in (*said, *texts.SECTION_TASKS.values()) for run in runs(text)}
    assert len(ours) > 250
    assert not ours & theirs
