"""Prompts of each form, the drawn worked examples, and citations added to references."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import example as hypothesis_example
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens import prompts as texts
from medical_tasks.benchmarks.doclens.data import (
    ACI_SOURCE,
    MEQSUM_SOURCE,
    load_items,
    read_aci_rows,
    read_meqsum_rows,
)
from medical_tasks.benchmarks.doclens.pieces import (
    SECTIONS,
    divide_note,
    find_markers,
    heading_section,
    read_sentences,
    remove_citations,
)
from medical_tasks.benchmarks.doclens.prompts import (
    KINDS,
    Source,
    cite,
    draw_exemplars,
    gold_response,
    load_prompts,
    numbered_source,
)
from medical_tasks.benchmarks.doclens.spec import TASKS
from medical_tasks.data.dataset_source import find_files
from medical_tasks.data.task_data import prompt_set
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.spec import Item, PromptSet, Row, TaskSpec
from tests.benchmarks.doclens.task_items import (
    BY_NAME,
    cases,
    exemplar_rows,
    items_of,
    own_rows,
    report,
    reports,
)
from tests.benchmarks.doclens.task_items import KINDS as NAMES
from tests.case_tables import json_of
from tests.support import SHARED, needs_shared, user_message, word_runs


def prompts_of(task: TaskSpec, *, citations: str = "yes") -> PromptSet:
    """Loads prompts as every caller does."""
    return prompt_set(
        task,
        "own",
        None,
        arguments={"citations": citations},
        exemplars=exemplar_rows(task),
    )


def test_headings_in_the_prompts_divide_notes() -> None:
    assert tuple(texts.SECTION_TASKS) == SECTIONS
    note = ""
    for section, task in texts.SECTION_TASKS.items():
        heading, holds = re.fullmatch(
            r"It is the section ([A-Z ]+): (.*)\. Begin with its heading.*", task
        ).groups()  # type: ignore[union-attr]
        assert f"- {heading}: {holds}." in texts.TEXTS["note"]["task"]
        assert all(
            heading_section(other) == section
            for other in re.findall(r"[A-Z]{2,}(?: [A-Z]+)*", task)
            if other != "EMPTY"
        )
        note += f"{heading}\n\nText of {section}.\n\n"
    assert [text.split()[-1] for text in divide_note(note).values()] == [
        f"{name}." for name in SECTIONS
    ]


@pytest.mark.parametrize("form", ["note", "section", "impression", "question", "text"])
def test_the_whole_prompt_of_every_form(form: str) -> None:
    (task,) = [
        candidate
        for candidate in TASKS
        if (candidate.options["form"], candidate.options["shots"]) == (form, "0")
    ]
    form_texts = texts.TEXTS[form]
    for citations in ("yes", "no"):
        prompts = prompts_of(task, citations=citations)
        assert prompts.settings == {"citations": citations}
        for item in items_of(task.name):
            paragraphs = [form_texts["given"], form_texts["task"]]
            paragraphs += (
                [texts.SECTION_TASKS[str(item.groups["section"])]]
                if form == "section"
                else []
            )
            paragraphs += [form_texts["citing"]] if citations == "yes" else []
            paragraphs += [
                f"{form_texts['source']}:\n{numbered_source(item)}",
                f"{form_texts['answer']}:",
            ]
            assert user_message(prompts, item) == "\n\n".join(paragraphs)


def test_instructions_for_citations() -> None:
    for form, form_texts in texts.TEXTS.items():
        assert [marker.ids for marker in find_markers(form_texts["citing"])] == [
            (3,),
            (4,),
        ]
        assert ("turns" if form in ("note", "section") else "sentences") in form_texts[
            "citing"
        ]
        assert "cite" not in form_texts["task"]
    assert numbered_source(items_of("aci_bench")[0]).startswith("[0][doctor] ")
    assert numbered_source(items_of("meqsum")[0]).startswith("[0] ")


def test_a_prompt_with_one_worked_example() -> None:
    task = BY_NAME["doclens_own"]
    one_shot = replace(task, options={**task.options, "shots": "1"}, exemplars="train")
    prompts = load_prompts(one_shot, exemplars=own_rows()[:1])
    prompt = user_message(prompts, items_of("doclens_own")[1])
    assert (
        "[2] Allopurinol was started.\n\nSummary:\nGout [0]. Allopurinol started [2].\n\nNow do "
        "this one." in prompt
    )
    assert prompts.settings == {"citations": "yes", "seed": 17, "examples": ["a"]}
    bare = user_message(
        load_prompts(
            one_shot, arguments={"citations": "no"}, exemplars=own_rows()[1:2]
        ),
        items_of("doclens_own")[0],
    )
    # A marker in the user's own reference is removed.
    assert "Summary:\nCited already. Gout.\n\n" in bare


@pytest.mark.parametrize(
    "task", [task for task in TASKS if task.exemplars], ids=lambda task: task.name
)
def test_prompts_with_worked_examples_of_every_task(task: TaskSpec) -> None:
    shots = int(task.options["shots"])
    form_texts = texts.TEXTS[task.options["form"]]
    opening = texts.ALONE if shots == 1 else texts.AMONG.format(count=shots)
    for citations in ("yes", "no"):
        prompts = prompts_of(task, citations=citations)
        # The recipe has the ids of the examples, not their texts.
        assert prompts.settings.keys() == {"citations", "seed", "examples"}
        assert prompts.settings["citations"] == citations
        assert set(prompts.settings["examples"]) <= {
            row["id"] for row in exemplar_rows(task)
        }
        assert (
            len(prompts.settings["examples"])
            == len(set(prompts.settings["examples"]))
            == shots
        )
        for item in items_of(task.name)[:8]:
            before, _, after = user_message(prompts, item).partition(
                f"\n\n{opening}\n\n"
            )
            assert before.endswith(
                form_texts["citing"]
                if citations == "yes"
                else texts.SECTION_TASKS.get(
                    str(item.groups.get("section")), form_texts["task"]
                )
            )
            *examples, last = re.split(
                f"(?:^|\n\n)(?={form_texts['source']}:\n)", after
            )[1:]
            assert (
                last
                == f"{form_texts['source']}:\n{numbered_source(item)}\n\n{form_texts['answer']}:"
            )
            assert len(examples) == shots
            for example in examples:
                answer = example.removesuffix(f"\n\n{texts.ASKED}").rpartition(
                    f"\n\n{form_texts['answer']}:\n"
                )[2]
                sentences = read_sentences(answer)
                assert sentences
                assert all(
                    bool(sentence.citations) == (citations == "yes")
                    for sentence in sentences
                )


def test_braces_in_texts_are_kept() -> None:
    (odd,) = load_items(
        BY_NAME["doclens_own"],
        [
            {
                "id": "o",
                "sentences": ["{0} {given} %s {", "}"],
                "reference": "{answer} of {0}",
            }
        ],
    )
    assert user_message(load_prompts(BY_NAME["doclens_own"]), odd).endswith(
        "Text:\n[0] {0} {given} %s {\n[1] }\n\nSummary:"
    )
    assert gold_response(BY_NAME["doclens_own"], odd) == "{answer} of {0} [0]"


def test_hashes_differ_between_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    def hashes() -> dict[tuple[str, str], str]:
        return {
            (task.name, cites): prompts_of(task, citations=cites).sha256
            for task in TASKS
            for cites in ("yes", "no")
        }

    before = hashes()
    assert len(set(before.values())) == 26
    with monkeypatch.context() as patch:
        changed = {**texts.TEXTS["note"], "citing": "Cite!"}
        patch.setattr(texts, "TEXTS", {**texts.TEXTS, "note": changed})
        after = hashes()
    assert {key for key in after if after[key] != before[key]} == {
        (f"aci_bench{shots}", "yes") for shots in ("", "_one_shot", "_two_shot")
    }
    # Other rows are other examples; their order makes no difference.
    task = BY_NAME["meqsum_one_shot"]
    rows = [row | {"summary": "Is it?"} for row in exemplar_rows(task)]
    assert load_prompts(task, exemplars=rows).sha256 != before["meqsum_one_shot", "yes"]
    assert (
        load_prompts(task, exemplars=rows).sha256
        == load_prompts(task, exemplars=rows[::-1]).sha256
    )


def test_unknown_prompt_sets_and_settings_are_refused() -> None:
    task = BY_NAME["meqsum_one_shot"]
    with pytest.raises(
        UsageError,
        match="unknown prompt set 'theirs' for meqsum_one_shot. Sets: own, official",
    ):
        load_prompts(task, "theirs")
    with pytest.raises(
        UsageError, match="meqsum_one_shot: citations must be yes or no, got 'No'"
    ):
        load_prompts(task, arguments={"citations": "No"})
    with pytest.raises(
        UsageError,
        match="meqsum_one_shot: 'style' is not a setting of this task. Its settings: citations",
    ):
        load_prompts(task, arguments={"style": "json"})
    with pytest.raises(
        MissingError,
        match="meqsum_one_shot: 1 worked examples .* needed, split validation of meqsum has 0",
    ):
        load_prompts(task)


@pytest.mark.parametrize(
    "name", ["aci_bench", "aci_bench_section", "mimic_rrs", "meqsum", "doclens_own"]
)
def test_gold_is_the_reference_with_citations(name: str) -> None:
    golds = assert_gold(BY_NAME[name], items_of(name))
    if name == "doclens_own":
        assert golds == [
            "Gout [0]. Allopurinol started [2].",
            "Cited already [0]. Gout [0].",
            "",
        ]


def assert_gold(task: TaskSpec, items: list[Item]) -> list[str]:
    """Asserts that gold without markers is the reference, and that each sentence cites the source."""
    golds = [gold_response(task, item) for item in items]
    for item, gold in zip(items, golds, strict=True):
        reference = item.fields["reference"]
        if not reference.strip():
            assert gold == ""
            continue
        assert remove_citations(gold) == remove_citations(reference)
        section_texts = (
            divide_note(gold) if item.fields["form"] == "note" else {"full": gold}
        )
        for name, section_text in section_texts.items():
            if item.fields["form"] == "note":
                assert remove_citations(section_text) == item.fields["sections"][name]
            for sentence in read_sentences(section_text):
                assert sentence.citations, (item.id, name)
                assert max(sentence.citations) < len(item.fields["sentences"])
                assert len(sentence.citations) <= 3
    return golds


def release(visits: str, questions: str) -> tuple[list[Row], list[Row]]:
    """Rows of the released splits of ACI-BENCH and MeQSum."""
    visit_files = find_files(ACI_SOURCE, "doclens", SHARED / "data" / "aci_bench")
    question_files = find_files(MEQSUM_SOURCE, "full", SHARED / "data" / "meqsum")
    return list(read_aci_rows("doclens", visits, visit_files)), list(
        read_meqsum_rows("full", questions, question_files)
    )


@needs_shared
@pytest.mark.upstream
def test_gold_of_the_release() -> None:
    visits, questions = release("test1", "test")
    for task, rows, count in (
        ("aci_bench", visits, 40),
        ("aci_bench_section", visits, 160),
        ("meqsum", questions, 100),
    ):
        items = load_items(BY_NAME[task], rows)
        assert len(items) == count
        assert_gold(BY_NAME[task], items)


@needs_shared
@pytest.mark.upstream
def test_our_prompts_share_no_words_with_the_authors() -> None:
    """No run of eight words of their prompts or their paper is in ours."""
    files = sorted(
        (SHARED / "data" / "doclens" / "prompts" / "generation").glob("*.json")
    )
    assert len(files) == 12
    theirs = word_runs(
        (SHARED / "seeds" / "001_c45a0873f0615a1b.txt").read_text(encoding="utf-8")
    )
    for file in files:
        theirs |= {
            run for message in json_of(file) for run in word_runs(message["content"])
        }
    assert len(theirs) > 15_000
    instructions = [
        text
        for form_texts in texts.TEXTS.values()
        for text in (form_texts["given"], form_texts["task"], form_texts["citing"])
    ]
    ours = {
        run
        for text in (*instructions, *texts.SECTION_TASKS.values())
        for run in word_runs(text)
    }
    assert len(ours) > 250
    assert not ours & theirs


WITH_EXAMPLES = [task for task in TASKS if task.exemplars]


def ids(name: str, rows: list[dict[str, object]] | None = None) -> list[str]:
    drawn = draw_exemplars(
        BY_NAME[name], exemplar_rows(BY_NAME[name]) if rows is None else rows
    )
    return [item.id for items in drawn.values() for item in items]


def test_each_task_has_its_number_of_examples_in_any_order_of_rows() -> None:
    assert [task.options["shots"] for task in WITH_EXAMPLES] == [
        "1",
        "2",
        "1",
        "2",
        "6",
        "12",
        "1",
        "2",
    ]
    for task in WITH_EXAMPLES:
        rows = exemplar_rows(task)
        drawn = draw_exemplars(task, rows)
        assert list(drawn) == (
            list(SECTIONS) if task.options["form"] == "section" else [""]
        )
        for section, items in drawn.items():
            assert len({item.id for item in items}) == int(task.options["shots"])
            assert not section or all(
                item.groups["section"] == section for item in items
            )
        for seed in range(5):
            assert ids(task.name, random.Random(seed).sample(rows, len(rows))) == ids(
                task.name
            )


def test_drawn_examples_are_fixed_and_fewer_are_the_first_of_more() -> None:
    for fewer, more in (
        ("aci_bench_one", "aci_bench_two"),
        ("meqsum_one", "meqsum_two"),
        ("mimic_rrs_six", "mimic_rrs_twelve"),
    ):
        assert ids(f"{more}_shot")[: len(ids(f"{fewer}_shot"))] == ids(f"{fewer}_shot")
    assert ids("aci_bench_two_shot") == ["DEMO002", "DEMO001"]
    assert ids("meqsum_two_shot") == ["3", "1"]
    assert ids("mimic_rrs_six_shot") == ["101", "110", "122", "132", "141", "151"]


def test_examples_of_reports_have_six_kinds_in_equal_numbers() -> None:
    for name, count in (("mimic_rrs_six_shot", 1), ("mimic_rrs_twelve_shot", 2)):
        items = draw_exemplars(BY_NAME[name], reports("train"))[""]
        kinds = [(item.groups["modality"], item.groups["anatomy"]) for item in items]
        assert Counter(kinds) == dict.fromkeys(NAMES, count)
        assert kinds == list(NAMES) * count
    # A seventh kind with fewer rows is not drawn; one with more rows replaces the last
    # by name.
    rare, often = (
        [report(1, "MR", "neck")],
        [report(n, "CT", "aorta") for n in range(4)],
    )
    assert ids("mimic_rrs_six_shot", [*reports("train"), *rare]) == ids(
        "mimic_rrs_six_shot"
    )
    items = draw_exemplars(BY_NAME["mimic_rrs_six_shot"], [*reports("train"), *often])[
        ""
    ]
    assert [item.groups["anatomy"] for item in items] == [
        "aorta",
        "abdomen",
        "chest",
        "head",
        "spine",
        "head",
    ]
    assert len(NAMES) == KINDS


def test_visits_without_a_section_are_not_drawn_for_sections() -> None:
    rows = [
        row | {"objective_results": " "} if row["id"] == "DEMO002" else row
        for row in exemplar_rows(BY_NAME["aci_bench_one_shot"])
    ]
    assert ids("aci_bench_section_one_shot", rows) == [
        f"DEMO001/{section}" for section in SECTIONS
    ]
    assert ids("aci_bench_one_shot", rows) == ["DEMO002"]
    with pytest.raises(
        MissingError,
        match="2 worked examples whose note has all four sections are needed, split train of "
        "aci_bench has 1",
    ):
        ids("aci_bench_section_two_shot", rows)


@pytest.mark.parametrize("task", WITH_EXAMPLES, ids=lambda task: task.name)
def test_too_few_rows_are_refused(task: TaskSpec) -> None:
    name, family = task.name, task.options["family"]
    expected = (
        rf"{name}: .*split {task.exemplars} of .* has 0\. Build .* again .*medical-tasks build .*"
        rf"use {family}, which shows no examples"
    )
    with pytest.raises(MissingError, match=expected):
        ids(name, [])
    # Rows without a reference are not drawn.
    column = {"meqsum": "summary", "mimic_rrs": "impression"}.get(family, "note")
    blank = [
        row | dict.fromkeys((column, *SECTIONS), "\n") for row in exemplar_rows(task)
    ]
    with pytest.raises(MissingError, match=expected):
        ids(name, blank)


def test_a_kind_with_too_few_reports_is_named() -> None:
    rows = [row for row in reports("train") if row["id"] not in ("140", "141")]
    few = "2 worked examples of kind MR head are needed, split train of mimic_rrs has 1"
    with pytest.raises(MissingError, match=few):
        ids("mimic_rrs_twelve_shot", rows)
    kinds = r"from 6 kinds of reports \(modality and anatomy\), split train of mimic_rrs has 5"
    with pytest.raises(MissingError, match=kinds):
        ids("mimic_rrs_six_shot", [row for row in rows if row["id"] != "142"])


VISIT = (
    "[doctor] hi , what brings you in ?",
    "[patient] my left knee hurts when i climb the stairs .",
    "[doctor] any swelling or fever ?",
    "[patient] some swelling in the evening , but no fever at all .",
    "[doctor] okay , the knee is swollen and warm . let's get an x-ray of the knee and give you "
    "ibuprofen .",
)


@pytest.mark.parametrize(
    ("sentence", "cited"),
    [
        # Knee, hurts, climbing and stairs are all in one turn, and no word is left.
        ("The left knee hurts climbing stairs.", (1,)),
        # Turn 4 has x-ray (two words), knee and ibuprofen; turn 1 adds two words, left
        # and stairs.
        ("X-ray of the left knee; ibuprofen for stairs.", (1, 4)),
        # The same with only one word that turn 1 would add.
        ("X-ray of the left knee; ibuprofen.", (4,)),
        # Fever is in turns 2 and 3; turn 2 has fewer words that count (swell, fever).
        ("No fever.", (2,)),
        # No word is shared, so the longest turn is cited. Function words, "doctor" and
        # the speaker do not count.
        ("Hypertension.", (4,)),
        ("The doctor said it is okay.", (4,)),
        ("", (4,)),
        # Words are compared by their stems: hurting, swells, stair.
        ("HURTING, swells, stair", (1,)),
    ],
)
def test_citations_of_a_sentence(sentence: str, cited: tuple[int, ...]) -> None:
    assert Source(VISIT).cited_by(sentence) == cited


def test_at_most_three_citations_and_ties_in_order() -> None:
    source = Source(
        ["alpha beta", "gamma delta", "epsilon zeta", "eta theta", "alpha beta"]
    )
    assert source.cited_by("Alpha beta gamma delta epsilon zeta eta theta.") == (
        0,
        1,
        2,
    )
    assert source.cited_by("theta") == (3,)
    assert Source(["one x", "one y"]).cited_by("one") == (0,)
    assert Source(["3.5 mg", "3.6 mg"]).cited_by("Given 3.6") == (1,)
    assert Source(["a b", "b a"]).cited_by("nothing") == (0,)
    assert cite("Knee pain.", Source([])) == "Knee pain."


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("", ""),
        (" \n", " \n"),
        ("Knee pain.", "Knee pain [1]."),
        ("Knee pain", "Knee pain [1]"),
        ("Stairs and climbing hurt?!\n\n", "Stairs and climbing hurt [1]?!\n\n"),
        ("(Stairs.) Fever .", "(Stairs.) [1] Fever [2] ."),
        (
            "X-ray of the left knee; ibuprofen for stairs.",
            "X-ray of the left knee; ibuprofen for stairs [1][4].",
        ),
        # A sentence that has a citation gets no other, and a heading gets none.
        ("Fever [0]. Knee.", "Fever [0]. Knee [1]."),
        ("PLAN\n\nIbuprofen.\n\nRESULTS\n", "PLAN\n\nIbuprofen [4].\n\nRESULTS\n"),
        (
            "PLAN:\nIbuprofen\nRESULTS\nFever",
            "PLAN:\nIbuprofen [4]\nRESULTS\nFever [2]",
        ),
        # A line in capitals ends the history; the heading under it begins the
        # examination.
        (
            "VITALS\n\nBSA 2.65\n\nPHYSICAL EXAM\n\nKnee",
            "VITALS\n\nBSA 2.65 [4]\n\nPHYSICAL EXAM\n\nKnee [1]",
        ),
    ],
)
def test_positions_of_added_markers(text: str, cited: str) -> None:
    assert cite(text, Source(VISIT)) == cited


# Pieces of notes and unusual texts, in any order.
_PIECES = cases("prompts")["pieces"]
TEXTS = st.lists(st.sampled_from(_PIECES), max_size=30).map("".join) | st.text(
    max_size=80
)


@given(text=TEXTS)
@hypothesis_example(text="Plan:\n. ")
def test_added_markers_leave_the_text_unchanged(text: str) -> None:
    cited = cite(text, Source(VISIT))
    assert remove_citations(cited) == remove_citations(text)
    before, after = divide_note(text), divide_note(cited)
    assert {
        name: remove_citations(section_text) for name, section_text in after.items()
    } == {name: remove_citations(section_text) for name, section_text in before.items()}


@given(
    words=st.lists(
        st.sampled_from(
            "knee fever stairs swelling x-ray ibuprofen the of zzz".split()
        ),
        max_size=12,
    )
)
def test_citations_are_ordered_and_ignore_the_order_of_words(words: list[str]) -> None:
    source = Source(VISIT)
    cited = source.cited_by(" ".join(words))
    assert 1 <= len(cited) <= 3
    assert list(cited) == sorted(set(cited))
    assert cited == source.cited_by(" ".join(reversed(words)))
