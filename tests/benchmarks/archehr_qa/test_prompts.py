"""ArchEHR-QA's questions and gold answers."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.archehr_qa import prompts
from medical_tasks.benchmarks.archehr_qa.parsing import read_answer
from medical_tasks.benchmarks.archehr_qa.prompts import gold_response, load_prompts, question_text
from medical_tasks.benchmarks.archehr_qa.spec import ANSWER_TASKS, SUBTASKS
from medical_tasks.errors import UsageError
from medical_tasks.spec import Item, TaskSpec
from tests.benchmarks.archehr_qa.asked_items import HEURISTIC, SENTENCES, case, task_of

ASKED = [task for task in (*ANSWER_TASKS, *SUBTASKS) if task.options.get("steps") != "heuristic"]


def asked(name: str, item: Item | None = None, **arguments: str) -> str:
    (message,) = load_prompts(task_of(name), arguments=arguments).render(item or case())
    assert message["role"] == "user"
    return message["content"]


def essential(item: Item) -> list[str]:
    pairs = zip(item.fields["sentence_ids"], item.fields["relevance"], strict=True)
    return [each for each, label in pairs if label == "essential"]


def test_seven_tasks_are_asked() -> None:
    assert len(ASKED) == 7


@pytest.mark.parametrize("task", ASKED, ids=lambda task: task.name)
def test_a_question_is_one_message_that_ends_with_what_is_given(task: TaskSpec) -> None:
    (message,) = load_prompts(task).render(case())
    text = message["content"]
    assert message["role"] == "user"
    assert "My mother (7) had a fever for days.\nWhy did she have it?" in text
    asks_question = task.name == "archehr_question"
    assert ("Clinician's question: What was the cause of her fever?" in text) is not asks_question
    # A line a sentence, behind its number; line ends within a sentence are none.
    assert ("\n2: A stone blocked the duct, and the fever came from it.\n" in text) is not asks_question
    assert "essential" not in text  # the key stays out


def test_what_the_forms_ask_for() -> None:
    for name in ("together", "evidence_first"):
        assert "at most 75 words" in asked(name)
        assert "|3,4|" in asked(name)
    assert "at most 75 words" in asked("answer_first")
    assert "|" not in asked("answer_first")
    assert "at most 15 words" in asked("question")
    assert asked("evidence").count("3,4,9") == 1
    assert "Do not cite" in asked("answer")
    assert asked("alignment").endswith(
        "Answer:\n1: The fever came from a stone in the duct.\n2: The stone was taken out.\n3: Then the fever went away."
    )
    for name in ("together", "answer_first", "answer", "evidence"):
        assert "stone in the duct" not in asked(name)  # the clinician's answer stays out


def test_the_example_of_the_form_is_of_the_form() -> None:
    (line,) = re.findall(r"^.*\|3,4\|$", prompts.TEXTS["together"].form, re.MULTILINE)
    assert read_answer(line, ("3", "4")).problems == ()


def test_evidence_first_shows_what_is_most_like_the_questions() -> None:
    text = asked("evidence_first", evidence="2")
    note = text.partition("Note:\n")[2].splitlines()
    assert note == [
        "2: A stone blocked the duct, and the fever came from it.",
        "5: The fever was gone on the third day.",
    ]
    prompts = load_prompts(task_of("evidence_first"), arguments={"evidence": "2"})
    assert prompts.sources is not None
    assert prompts.sources(case()) == ("2", "5")
    assert prompts.settings["evidence"] == 2
    assert prompts.settings["similarity"]["method"] == "bm25"
    # More than there are: all, in their order.
    assert len(asked("evidence_first").partition("Note:\n")[2].splitlines()) == len(SENTENCES)


def test_what_a_case_lacks_is_left_out_with_its_label() -> None:
    bare = case(clinician_question=" ", patient_narrative="")
    text = asked("together", bare)
    assert "Clinician's question:" not in text
    assert "Message:\nWhy did she have it?\n" in text


def test_braces_in_a_case_are_text() -> None:
    odd = case(patient_narrative="{text} {0} %s", sentences=["{number}", *SENTENCES[1:]])
    text = asked("together", odd)
    assert "Message:\n{text} {0} %s\n" in text
    assert "\n1: {number}\n" in text


def test_the_hash_is_of_all_texts_of_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    def hashes() -> dict[str, str]:
        return {task.name: load_prompts(task).sha256 for task in ASKED}

    before = hashes()
    assert len(set(before.values())) == len(ASKED)
    with monkeypatch.context() as patch:
        patch.setattr(prompts, "SAID", (*prompts.SAID, "more"))
        changed = {name for name, value in hashes().items() if value != before[name]}
    assert changed == {task.name for task in ANSWER_TASKS if task.protocol}
    cite = prompts.TEXTS["cite"]
    other = prompts.Texts(given=cite.given, task="Cite.", form=cite.form)
    monkeypatch.setitem(prompts.TEXTS, "cite", other)
    assert {name for name, value in hashes().items() if value != before[name]} == {"archehr_answer_first"}


@pytest.mark.parametrize(
    ("task", "name", "arguments", "message"),
    [
        (
            task_of("together"),
            "official",
            {},
            "archehr_together has no official prompts: the paper describes its prompts",
        ),
        (task_of("evidence"), "mine", {}, "unknown prompt set 'mine' for archehr_evidence. Sets: own"),
        (HEURISTIC, "own", {}, "archehr_heuristic is answered without a model. Use --model baseline/heuristic"),
        (task_of("together"), "own", {"tries": "0"}, "tries must be a whole number from 1 to 20, got '0'"),
        (task_of("together"), "own", {"tries": "5.0"}, "tries must be a whole number from 1 to 20, got '5.0'"),
        (
            task_of("evidence_first"),
            "own",
            {"evidence": "all"},
            "evidence must be a whole number from 1 to 1000, got 'all'",
        ),
        (task_of("evidence_first"), "own", {"embedder": " "}, "embedder must be the folder of a checkpoint, got ' '"),
        (task_of("together"), "own", {"embedder": "x"}, "takes no argument 'embedder'. Arguments: tries"),
        (task_of("question"), "own", {"tries": "2"}, "takes no argument 'tries'. Arguments: none"),
    ],
)
def test_what_is_refused(task: TaskSpec, name: str, arguments: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        load_prompts(task, name, arguments=arguments)


def test_the_gold_of_each_form() -> None:
    item = case()
    # The clinician cites a supplementary sentence, which the gold does not.
    cited = "The fever came from a stone in the duct. |2|\nThe stone was taken out. |3|\nThen the fever went away."
    for task in ANSWER_TASKS:
        assert gold_response(task, item) == cited
    assert gold_response(task_of("question"), item) == "What was the cause of her fever?"
    assert gold_response(task_of("evidence"), item) == "2,3"
    assert gold_response(task_of("answer"), item) == item.fields["clinician_answer"]
    assert gold_response(task_of("alignment"), item) == "1: 2\n2: 3\n3: 5"


def test_gold_of_what_is_not_released() -> None:
    unanswered: dict[str, Any] = {
        "clinician_answer": "",
        "answer_sentences": [],
        "answer_citations": [],
        "answer_sentence_ids": [],
    }
    together = task_of("together")
    assert gold_response(together, case(**unanswered)) == (
        "A stone blocked the duct, and the fever came from it. |2|\nThe stone was taken out by endoscopy. |3|"
    )
    # No key: what the clinician cites. Neither: nothing.
    assert gold_response(together, case(relevance=[])).endswith("Then the fever went away. |5|")
    assert gold_response(together, case(relevance=[], **unanswered)) == ""
    # Sentences without their citations: the last one has what must be cited.
    assert gold_response(together, case(answer_citations=[])).endswith("taken out.\nThen the fever went away. |2,3|")
    assert gold_response(task_of("alignment"), case(answer_citations=[])) == ""
    assert gold_response(task_of("alignment"), case(answer_citations=["2,3", "", "5"])) == "1: 2,3\n2:\n3: 5"
    assert gold_response(task_of("evidence"), case(relevance=[])) == ""
    assert gold_response(task_of("answer"), case(**unanswered)) == ""


@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_a_gold_answer_is_official_and_cites_exactly_what_is_essential(data: st.DataObject) -> None:
    labels = st.sampled_from(("essential", "supplementary", "not-relevant"))
    words = st.integers(1, 60).map(lambda count: " ".join(["word"] * count) + ".")
    note = data.draw(st.lists(words, min_size=1, max_size=12))
    ids = [str(number) for number in range(1, len(note) + 1)]
    relevance = data.draw(st.lists(labels, min_size=len(note), max_size=len(note)))
    answer = data.draw(st.lists(words, max_size=6))
    cites = st.lists(st.sampled_from(ids), max_size=4, unique=True).map(",".join)
    citations = data.draw(st.lists(cites, min_size=len(answer), max_size=len(answer)))
    item = case(
        sentences=note, sentence_ids=ids, relevance=relevance, answer_sentences=answer, answer_citations=citations
    )
    read = read_answer(gold_response(task_of("together"), item), ids)
    assert sorted(read.citations, key=int) == essential(item)
    assert read.words <= 75
    if essential(item):
        assert read.problems == ()


def test_the_second_step_shows_the_answer() -> None:
    text = question_text("cite", case(), answer=("One.", "Two."))
    assert text.endswith("Answer:\nOne.\nTwo.")
    assert "\n5: The fever was gone" in text
