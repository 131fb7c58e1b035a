"""What is asked, what is wrong with a reply, and gold answers."""

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
from tests.benchmarks.archehr_qa.asked_items import SENTENCES, TASK, case
from tests.case_tables import tables

CASES = tables(__file__, "prompts")

ASKED = [
    task
    for task in (*ANSWER_TASKS, *SUBTASKS)
    if task.options.get("steps") != "heuristic"
]


def asked(name: str, item: Item | None = None, **arguments: str) -> str:
    (message,) = load_prompts(TASK[name], arguments=arguments).render(item or case())
    assert message["role"] == "user"
    return message["content"]


def essential(item: Item) -> list[str]:
    pairs = zip(item.fields["sentence_ids"], item.fields["relevance"], strict=True)
    return [each for each, label in pairs if label == "essential"]


@pytest.mark.parametrize("task", ASKED, ids=lambda task: task.name)
def test_a_question_is_one_message_that_ends_with_what_is_given(task: TaskSpec) -> None:
    (message,) = load_prompts(task).render(case())
    text = message["content"]
    assert message["role"] == "user"
    assert "My mother (7) had a fever for days.\nWhy did she have it?" in text
    asks_question = task.name == "archehr_question"
    assert (
        "Clinician's question: What was the cause of her fever?" in text
    ) is not asks_question
    # A line a sentence, behind its number; line ends within a sentence are none.
    assert (
        "\n2: A stone blocked the duct, and the fever came from it.\n" in text
    ) is not asks_question
    assert "essential" not in text  # the key stays out


def test_what_the_forms_ask_for() -> None:
    assert "|" not in asked("answer_first")
    assert asked("alignment").endswith(
        "Answer:\n1: The fever came from a stone in the duct.\n2: The stone was taken out.\n3: "
        "Then the fever went away."
    )
    for name in ("together", "answer_first", "answer", "evidence"):
        # the clinician's answer stays out
        assert "stone in the duct" not in asked(name)
    assert question_text("cite", case(), answer=("One.", "Two.")).endswith(
        "Answer:\nOne.\nTwo."
    )
    # The example of the form is of the form.
    (line,) = re.findall(
        r"^.*\|3,4\|$", prompts.texts()["asked"]["together"]["form"], re.MULTILINE
    )
    assert read_answer(line, ("3", "4")).problems == ()


def test_evidence_first_shows_what_is_most_like_the_questions() -> None:
    text = asked("evidence_first", evidence="2")
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
    # More than there are: all, in their order.
    assert len(asked("evidence_first").partition("Note:\n")[2].splitlines()) == len(
        SENTENCES
    )


def test_what_a_case_lacks_is_left_out_with_its_label_and_braces_are_text() -> None:
    bare = case(clinician_question=" ", patient_narrative="")
    text = asked("together", bare)
    assert "Clinician's question:" not in text
    assert "Message:\nWhy did she have it?\n" in text
    odd = case(
        patient_narrative="{text} {0} %s", sentences=["{number}", *SENTENCES[1:]]
    )
    text = asked("together", odd)
    assert "Message:\n{text} {0} %s\n" in text
    assert "\n1: {number}\n" in text


def test_the_hash_is_of_all_texts_of_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    def hashes() -> dict[str, str]:
        return {task.name: load_prompts(task).sha256 for task in ASKED}

    before = hashes()
    assert len(set(before.values())) == len(ASKED) == 7
    said = prompts.texts()
    with monkeypatch.context() as patch:
        patch.setitem(said["feedback"], "cut", "more")
        changed = {name for name, value in hashes().items() if value != before[name]}
    assert changed == {task.name for task in ANSWER_TASKS if task.protocol}
    monkeypatch.setitem(said["asked"]["cite"], "task", "Cite.")
    assert {name for name, value in hashes().items() if value != before[name]} == {
        "archehr_answer_first"
    }


@pytest.mark.parametrize(("task", "name", "arguments", "message"), CASES["refused"])
def test_what_is_refused(
    task: str, name: str, arguments: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        load_prompts(TASK[task], name, arguments=arguments)


def test_the_gold_of_each_form() -> None:
    item = case()
    # The clinician cites a supplementary sentence, which the gold does not.
    cited = "The fever came from a stone in the duct. |2|\nThe stone was taken out. |3|\nThen the fever went away."
    for task in ANSWER_TASKS:
        assert gold_response(task, item) == cited
    assert gold_response(TASK["question"], item) == "What was the cause of her fever?"
    assert gold_response(TASK["evidence"], item) == "2,3"
    assert gold_response(TASK["answer"], item) == item.fields["clinician_answer"]
    assert gold_response(TASK["alignment"], item) == "1: 2\n2: 3\n3: 5"
    # What is not released.
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
    # No key: what the clinician cites. Neither: nothing.
    assert gold_response(together, case(relevance=[])).endswith(
        "Then the fever went away. |5|"
    )
    assert gold_response(together, case(relevance=[], **unanswered)) == ""
    # Sentences without their citations: the last one has what must be cited.
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
def test_a_gold_answer_is_official_and_cites_exactly_what_is_essential(
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
def test_faults_by_their_first_words(reply: str, faults: list[str]) -> None:
    found = cited_faults(reply, IDS)
    assert len(found) == len(faults)
    assert all(
        fault.startswith(wanted) for fault, wanted in zip(found, faults, strict=True)
    )
    assert (uncited_faults(reply, IDS) == faults) or "It is empty." not in faults


def test_the_number_of_words_unknown_ids_and_a_changed_answer_are_named() -> None:
    assert uncited_faults(LONG, IDS) == []
    for extra, words in (("", 76), ("and more ", 78)):
        said = f"It is too long: it has {words} words, and at most 75 are allowed."
        assert (
            cited_faults(f"{LONG} {extra}end. |1|", IDS)
            == uncited_faults(f"{LONG} {extra}end.", IDS)
            == [said]
        )
        # What is cited behind the words that count is cited.
        assert cited_faults(f"{LONG}\n{extra}end. |1|", IDS) == [said]
    said = "It cites numbers that no sentence given here has: 9, 12."
    assert cited_faults("She had a stone. |9,2|\nIt was taken out. |12,9|", IDS) == [
        said
    ]
    many = ",".join(map(str, range(10, 40)))
    (fault,) = cited_faults(f"She had a stone. |{many}|", IDS)
    assert fault.endswith("18, 19 [...].")
    # Also such as stand behind the limit.
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
    # A long answer that was to be cited is not too long, and may not be changed beyond
    # the limit either.
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


def test_what_stands_below_the_question() -> None:
    said = feedback_text(
        "She had a stone.", ["It is short.", "It is bare."], number=3, tries=5
    )
    assert said == (
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
    # Sentences as they were written.
    reply = "```\nShe had a stone [2]. It hurt. |3|\n\nIt was taken\tout |4|\n```"
    # With bars in a line, brackets are prose; without, they are citations.
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
def test_a_reply_without_faults_is_one_without_problems(reply: str) -> None:
    assert (cited_faults(reply, IDS) == []) == (read_answer(reply, IDS).problems == ())
