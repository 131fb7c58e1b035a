"""Prompts, faults of a reply, and gold answers."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.archehr_qa import prompts
from medical_tasks.benchmarks.archehr_qa.parsing import read_answer
from medical_tasks.benchmarks.archehr_qa.prompts import (
    cited_faults,
    cited_ids,
    feedback_text,
    gold_response,
    load_prompts,
    question_text,
    uncited_faults,
    written_sentences,
)
from medical_tasks.benchmarks.archehr_qa.spec import ANSWER_TASKS, SUBTASKS
from medical_tasks.errors import UsageError
from medical_tasks.spec import Item, TaskSpec
from tests.benchmarks.archehr_qa.archehr_items import SENTENCES, TASK, case
from tests.case_tables import tables

CASES = tables(__file__, "prompts")

MODEL_TASKS = [
    task
    for task in (*ANSWER_TASKS, *SUBTASKS)
    if task.options.get("steps") != "heuristic"
]


def prompt_of(name: str, item: Item | None = None, **arguments: str) -> str:
    (message,) = load_prompts(TASK[name], arguments=arguments).render(item or case())
    assert message["role"] == "user"
    return message["content"]


def essential(item: Item) -> list[str]:
    pairs = zip(item.fields["sentence_ids"], item.fields["relevance"], strict=True)
    return [id_ for id_, label in pairs if label == "essential"]


@pytest.mark.parametrize("task", MODEL_TASKS, ids=lambda task: task.name)
def test_a_prompt_is_one_message_with_the_case(task: TaskSpec) -> None:
    (message,) = load_prompts(task).render(case())
    text = message["content"]
    assert message["role"] == "user"
    assert "My mother (7) had a fever for days.\nWhy did she have it?" in text
    asks_question = task.name == "archehr_question"
    assert (
        "Clinician's question: What was the cause of her fever?" in text
    ) is not asks_question
    # Each sentence is a line after its number, without line ends within it.
    assert (
        "\n2: A stone blocked the duct, and the fever came from it.\n" in text
    ) is not asks_question
    assert "essential" not in text  # the key is not shown


def test_prompts_of_the_forms() -> None:
    assert "|" not in prompt_of("answer_first")
    assert prompt_of("alignment").endswith(
        "Answer:\n1: The fever came from a stone in the duct.\n2: The stone was taken out.\n3: "
        "Then the fever went away."
    )
    for name in ("together", "answer_first", "answer", "evidence"):
        # The clinician's answer is not shown.
        assert "stone in the duct" not in prompt_of(name)
    assert question_text("cite", case(), answer=("One.", "Two.")).endswith(
        "Answer:\nOne.\nTwo."
    )
    # The example in the prompt has the requested form.
    (line,) = re.findall(
        r"^.*\|3,4\|$", prompts.texts()["asked"]["together"]["form"], re.MULTILINE
    )
    assert read_answer(line, ("3", "4")).problems == ()


def test_evidence_first_shows_the_most_similar_sentences() -> None:
    text = prompt_of("evidence_first", evidence="2")
    note = text.partition("Note:\n")[2].splitlines()
    assert note == [
        "2: A stone blocked the duct, and the fever came from it.",
        "5: The fever was gone on the third day.",
    ]
    prompts = load_prompts(TASK["evidence_first"], arguments={"evidence": "2"})
    assert prompts.sources is not None
    assert prompts.sources(case()) == ("2", "5")
    assert prompts.settings["evidence"] == 2
    assert prompts.settings["similarity"]["method"] == "bm25"
    # With a larger number all sentences are shown, in their order.
    assert len(prompt_of("evidence_first").partition("Note:\n")[2].splitlines()) == len(
        SENTENCES
    )


def test_empty_fields_are_left_out_and_braces_are_kept() -> None:
    bare = case(clinician_question=" ", patient_narrative="")
    text = prompt_of("together", bare)
    assert "Clinician's question:" not in text
    assert "Message:\nWhy did she have it?\n" in text
    odd = case(
        patient_narrative="{text} {0} %s", sentences=["{number}", *SENTENCES[1:]]
    )
    text = prompt_of("together", odd)
    assert "Message:\n{text} {0} %s\n" in text
    assert "\n1: {number}\n" in text


def test_the_hash_covers_all_texts_of_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    def hashes() -> dict[str, str]:
        return {task.name: load_prompts(task).sha256 for task in MODEL_TASKS}

    before = hashes()
    assert len(set(before.values())) == len(MODEL_TASKS) == 7
    texts = prompts.texts()
    with monkeypatch.context() as patch:
        patch.setitem(texts["feedback"], "cut", "more")
        changed = {name for name, value in hashes().items() if value != before[name]}
    assert changed == {task.name for task in ANSWER_TASKS if task.protocol}
    monkeypatch.setitem(texts["asked"]["cite"], "task", "Cite.")
    assert {name for name, value in hashes().items() if value != before[name]} == {
        "archehr_answer_first"
    }


@pytest.mark.parametrize(("task", "name", "arguments", "message"), CASES["refused"])
def test_unknown_prompt_sets_and_settings_are_refused(
    task: str, name: str, arguments: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        load_prompts(TASK[task], name, arguments=arguments)


def test_gold_responses_of_each_form() -> None:
    item = case()
    # The clinician cites a supplementary sentence, which the gold does not.
    cited = "The fever came from a stone in the duct. |2|\nThe stone was taken out. |3|\nThen the fever went away."
    for task in ANSWER_TASKS:
        assert gold_response(task, item) == cited
    assert gold_response(TASK["question"], item) == "What was the cause of her fever?"
    assert gold_response(TASK["evidence"], item) == "2,3"
    assert gold_response(TASK["answer"], item) == item.fields["clinician_answer"]
    assert gold_response(TASK["alignment"], item) == "1: 2\n2: 3\n3: 5"
    # Cases without the released answers.
    unanswered: dict[str, Any] = {
        "clinician_answer": "",
        "answer_sentences": [],
        "answer_citations": [],
    }
    together = TASK["together"]
    assert gold_response(together, case(**unanswered)) == (
        "A stone blocked the duct, and the fever came from it. |2|\nThe stone was taken out by "
        "endoscopy. |3|"
    )
    # Without a key, what the clinician cites; without both, nothing.
    assert gold_response(together, case(relevance=[])).endswith(
        "Then the fever went away. |5|"
    )
    assert gold_response(together, case(relevance=[], **unanswered)) == ""
    # Without the sentences' citations, the last one cites all that is essential.
    assert gold_response(together, case(answer_citations=[])).endswith(
        "taken out.\nThen the fever went away. |2,3|"
    )
    assert gold_response(TASK["alignment"], case(answer_citations=[])) == ""
    assert (
        gold_response(TASK["alignment"], case(answer_citations=["2,3", "", "5"]))
        == "1: 2,3\n2:\n3: 5"
    )
    assert gold_response(TASK["evidence"], case(relevance=[])) == ""
    assert gold_response(TASK["answer"], case(**unanswered)) == ""


@given(data=st.data())
def test_a_gold_answer_has_the_official_form_and_cites_the_essential_sentences(
    data: st.DataObject,
) -> None:
    labels = st.sampled_from(("essential", "supplementary", "not-relevant"))
    words = st.integers(1, 60).map(lambda count: " ".join(["word"] * count) + ".")
    note = data.draw(st.lists(words, min_size=1, max_size=12))
    ids = [str(number) for number in range(1, len(note) + 1)]
    relevance = data.draw(st.lists(labels, min_size=len(note), max_size=len(note)))
    answer = data.draw(st.lists(words, max_size=6))
    cites = st.lists(st.sampled_from(ids), max_size=4, unique=True).map(",".join)
    citations = data.draw(st.lists(cites, min_size=len(answer), max_size=len(answer)))
    item = case(
        sentences=note,
        sentence_ids=ids,
        relevance=relevance,
        answer_sentences=answer,
        answer_citations=citations,
    )
    read = read_answer(gold_response(TASK["together"], item), ids)
    assert sorted(read.citations, key=int) == essential(item)
    assert read.words <= 75
    if essential(item):
        assert read.problems == ()


IDS = ("1", "2", "3", "4", "5")
ANSWER = ("She had a stone.", "It was taken out.")
GOOD = "She had a stone. |2|\nIt was taken out. |3,4|"
LONG = " ".join(["word"] * 75)


@pytest.mark.parametrize(("reply", "faults"), CASES["faults"])
def test_faults_of_a_reply(reply: str, faults: list[str]) -> None:
    actual = cited_faults(reply, IDS)
    assert len(actual) == len(faults)
    assert all(
        fault.startswith(beginning)
        for fault, beginning in zip(actual, faults, strict=True)
    )
    assert (uncited_faults(reply, IDS) == faults) or "It is empty." not in faults


def test_faults_name_the_words_unknown_ids_and_a_changed_answer() -> None:
    assert uncited_faults(LONG, IDS) == []
    for extra, words in (("", 76), ("and more ", 78)):
        expected = f"It is too long: it has {words} words, and at most 75 are allowed."
        assert (
            cited_faults(f"{LONG} {extra}end. |1|", IDS)
            == uncited_faults(f"{LONG} {extra}end.", IDS)
            == [expected]
        )
        # Citations after the counted words count as citations.
        assert cited_faults(f"{LONG}\n{extra}end. |1|", IDS) == [expected]
    expected = "It cites numbers that no sentence given here has: 9, 12."
    assert cited_faults("She had a stone. |9,2|\nIt was taken out. |12,9|", IDS) == [
        expected
    ]
    many = ",".join(map(str, range(10, 40)))
    (fault,) = cited_faults(f"She had a stone. |{many}|", IDS)
    assert fault.endswith("18, 19 [...].")
    # Unknown ids after the limit, too.
    faults = cited_faults(f"{LONG} |1|\nend. |77|", IDS)
    assert [fault[:14] for fault in faults] == ["It is too long", "It cites numbe"]
    assert faults[1].endswith(": 77.")
    changed = "It changes the answer. Repeat"
    assert cited_faults(GOOD, IDS, answer=ANSWER) == []
    for same in (
        "she had a stone |2|\nIt was taken out! |3|",
        "She had a stone. It was taken out. |2,3|",
    ):
        assert cited_faults(same, IDS, answer=ANSWER) == []
    for other in (
        "She had a stone. |2|",
        f"{GOOD}\nShe is well. |5|",
        "It was taken out. |3|\nShe had a stone. |2|",
    ):
        assert [
            fault[: len(changed)] for fault in cited_faults(other, IDS, answer=ANSWER)
        ] == [changed]
    # A long answer of the first step is not too long when it is cited, and may not be
    # changed after the limit either.
    answer = (f"{LONG}.", "More of it.")
    assert cited_faults(f"{LONG}. |1|\nMore of it. |2|", IDS, answer=answer) == []
    (fault,) = cited_faults(f"{LONG}. |1|\nLess of it. |2|", IDS, answer=answer)
    assert fault.startswith(changed)
    faults = cited_faults(f"{LONG} end. [2] And [9]", IDS, answer=ANSWER)
    assert [fault[:12] for fault in faults] == [
        "It changes t",
        "Its form is ",
        "It cites num",
    ]


def test_feedback_and_the_sentences_of_an_answer() -> None:
    text = feedback_text(
        "She had a stone.", ["It is short.", "It is bare."], number=3, tries=5
    )
    assert text == (
        "This is try 3 of 5. The reply before was:\nShe had a stone.\n\n"
        "What is wrong with it:\n- It is short.\n- It is bare.\nWrite the whole reply again with "
        "this put right."
    )
    assert "was:\n(nothing)\n" in feedback_text(
        " ", ["It is empty."], number=2, tries=5
    )
    shown = feedback_text("x" * 5_000, ["It is too long."], number=2, tries=5)
    assert len(shown) < 1_500
    assert "x [...]\n" in shown
    # Sentences as they were written, without citations.
    reply = "```\nShe had a stone [2]. It hurt. |3|\n\nIt was taken\tout |4|\n```"
    # Brackets are prose in an answer with bars, and citations in one without.
    assert written_sentences(reply, IDS) == (
        "She had a stone [2].",
        "It hurt.",
        "It was taken out",
    )
    assert written_sentences("She had a stone [2]. It hurt [3].", IDS) == (
        "She had a stone.",
        "It hurt.",
    )
    assert cited_ids("a [2]\nb |3,9|\nc", IDS) == ("2", "3", "9")
    assert written_sentences("", IDS) == ()


@given(reply=st.text(alphabet=st.sampled_from("ab |1,9[]-.`\n<think>/ "), max_size=60))
def test_a_reply_has_faults_if_its_reading_has_problems(reply: str) -> None:
    assert (cited_faults(reply, IDS) == []) == (read_answer(reply, IDS).problems == ())
