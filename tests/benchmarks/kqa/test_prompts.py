"""The prompts, and the gold as a response."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import medical_tasks.benchmarks.kqa.prompts as module
from medical_tasks.benchmarks.kqa.data import (
    demo_documents,
    demo_rows,
    load_items,
    typed_row,
)
from medical_tasks.benchmarks.kqa.prompts import (
    DOCUMENTS_VARIABLE,
    EXEMPLARS,
    TEXTS,
    gold_response,
    load_prompts,
)
from medical_tasks.benchmarks.kqa.spec import (
    BENCHMARK,
    KQA,
    KQA_ICL,
    KQA_ICL_RAG,
    KQA_RAG,
)
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.spec import Item, TaskSpec
from tests.support import SHARED, needs_shared, user_message, word_runs

ITEMS = load_items(KQA, demo_rows())
MOLE = next(item for item in ITEMS if "mole" in item.fields["question"])


def other_item(**columns: Any) -> Item:
    (item,) = load_items(
        KQA,
        [
            typed_row(
                **{"question": "Is it a mole?", "must_have": ["It is."], **columns}
            )
        ],
    )
    return item


def test_prompts_of_the_four_tasks() -> None:
    for item in ITEMS:
        assert user_message(load_prompts(KQA), item) == item.fields["question"]
    assert (
        user_message(load_prompts(KQA), other_item(question=" Can it?\n")) == "Can it?"
    )
    assert len(EXEMPLARS) == 3
    text = user_message(load_prompts(KQA_ICL), MOLE)
    assert text.startswith(TEXTS["instructions"])
    assert text.endswith(f"Question: {MOLE.fields['question']}\nAnswer:")
    for exemplar in EXEMPLARS:
        whole = "Question: {question}\nAnswer: {answer}\nWhat a better answer adds: {better}"
        assert text.count(whole.format_map(exemplar)) == 1
    assert text.count("Question: ") == 4
    assert "Sources:" not in text
    prompts = load_prompts(KQA_RAG)
    text = user_message(prompts, MOLE)
    assert text.startswith(TEXTS["sources_only"])
    assert "Sources:\n\n[1] Checking your moles\nNearly all moles are harmless." in text
    assert prompts.sources is not None
    ids = prompts.sources(MOLE)
    assert ids[0] == "demo/moles#1"
    assert text.count("\n[") == len(ids)
    assert text.endswith(f"Question: {MOLE.fields['question']}\nAnswer:")
    assert TEXTS["instructions"] not in text
    text = user_message(load_prompts(KQA_ICL_RAG), MOLE)
    positions = [
        text.index(heading)
        for heading in (
            TEXTS["instructions"],
            TEXTS["sources_too"],
            TEXTS["examples"],
            "Sources:",
            "Answer:",
        )
    ]
    positions[-1] = text.rindex("Answer:")
    assert positions == sorted(positions)
    assert TEXTS["sources_only"] not in text


@pytest.mark.parametrize("task", [KQA_ICL, KQA_RAG, KQA_ICL_RAG])
def test_the_prompt_has_the_words_of_an_abstention(task: TaskSpec) -> None:
    assert "I don't know" in user_message(load_prompts(task), MOLE)


def test_sources_of_the_users_own(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# {title}\n\n{text} mole {0} %s", encoding="utf-8")
    item = other_item(question="mole {number} %d {}?")
    text = user_message(
        load_prompts(KQA_ICL_RAG, arguments={"documents": str(tmp_path)}), item
    )
    assert "[1] {title}\n# {title}\n\n{text} mole {0} %s" in text
    assert "Question: mole {number} %d {}?\nAnswer:" in text
    line = '{"text": "A mole may itch.", "title": "On\\nmoles", "url": "https://x.example/m"}'
    (tmp_path / "a.jsonl").write_text(line, encoding="utf-8")
    text = user_message(
        load_prompts(KQA_RAG, arguments={"documents": str(tmp_path)}), MOLE
    )
    assert "[1] On moles (https://x.example/m)\nA mole may itch." in text


def test_a_question_without_a_matching_passage(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("zebras", encoding="utf-8")
    prompts = load_prompts(KQA_RAG, arguments={"documents": str(tmp_path)})
    assert TEXTS["no_source"] in user_message(prompts, MOLE)
    assert prompts.sources is not None
    assert prompts.sources(MOLE) == ()


def test_without_documents_only_demo_questions_are_asked() -> None:
    for task, plain in ((KQA_RAG, "kqa"), (KQA_ICL_RAG, "kqa_icl")):
        for arguments in (None, {}, {"documents": "demo"}):
            prompts = load_prompts(task, arguments=arguments)
            assert prompts.settings["corpus"] == "demo"
            assert len([user_message(prompts, item) for item in ITEMS]) == 13
            expected = f"{task.name}: question .* --task-args documents=FOLDER, .*{DOCUMENTS_VARIABLE}=.*the task {plain}\\."
            with pytest.raises(MissingError, match=expected):
                prompts.render(other_item())


def test_the_environment_variable_is_the_default_of_the_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.txt").write_text(
            f"A mole in {name}.", encoding="utf-8"
        )
    monkeypatch.setenv(DOCUMENTS_VARIABLE, str(tmp_path / "one"))
    assert "A mole in one." in user_message(load_prompts(KQA_RAG), other_item())
    chosen = load_prompts(KQA_RAG, arguments={"documents": str(tmp_path / "two")})
    assert "A mole in two." in user_message(chosen, other_item())


def test_hashes_differ_between_tasks_and_with_the_examples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = {task.name: load_prompts(task).sha256 for task in BENCHMARK.tasks}
    assert len(set(before.values())) == 4
    assert before == {
        task.name: load_prompts(task, "official").sha256 for task in BENCHMARK.tasks
    }
    changed = {**EXEMPLARS[0], "question": "other"}
    monkeypatch.setattr(module, "EXEMPLARS", (changed, *EXEMPLARS[1:]))
    after = {task.name: load_prompts(task).sha256 for task in BENCHMARK.tasks}
    assert {name for name in after if after[name] != before[name]} == {
        "kqa_icl",
        "kqa_icl_rag",
    }


def test_unknown_prompt_sets_and_settings_are_refused() -> None:
    with pytest.raises(
        UsageError, match=r"unknown prompt set 'theirs' for kqa. Sets: own, official"
    ):
        load_prompts(KQA, "theirs")
    with pytest.raises(
        UsageError,
        match=r"kqa_icl: 'top_k' is not a setting of this task. It has none",
    ):
        load_prompts(KQA_ICL, arguments={"top_k": "3"})
    with pytest.raises(
        UsageError,
        match=r"kqa_rag: 'topk' is not a setting of this task. Its settings: documents, top_k, ch",
    ):
        load_prompts(KQA_RAG, arguments={"topk": "3"})


def lines_of(item: Item) -> list[str]:
    return gold_response(KQA, item).split("\n")


def test_gold_has_each_statement_on_its_own_line() -> None:
    for item in ITEMS:
        assert lines_of(item) == [
            *item.fields["must_have"],
            *item.fields["nice_to_have"],
        ]
    item = other_item(
        must_have=[" first ", "", "in\ntwo\r\nlines"], nice_to_have=["\t", "last"]
    )
    assert lines_of(item) == ["first", "in two lines", "last"]


@needs_shared
@pytest.mark.upstream
def test_our_texts_are_not_the_authors() -> None:
    """No run of eight words of the release's judge prompts, answers or statements is in our prompts or examples."""
    folder = SHARED / "data" / "kqa"
    theirs: set[tuple[str, ...]] = set()
    for path in sorted((folder / "prompts").glob("*.txt")):
        theirs |= word_runs(path.read_text(encoding="utf-8"))
    for line in (
        (folder / "questions_w_answers.jsonl").read_text(encoding="utf-8").splitlines()
    ):
        values = json.loads(line)
        for text in (
            values["Question"],
            values["Free_form_answer"],
            *values["Must_have"],
            *values["Nice_to_have"],
        ):
            theirs |= word_runs(text)
    assert len(theirs) > 10_000

    ours = [
        *TEXTS.values(),
        *(text for exemplar in EXEMPLARS for text in exemplar.values()),
    ]
    ours += [document.text for document in demo_documents()]
    for row in demo_rows():
        ours += [
            row["question"],
            row["answer"],
            *row["must_have"],
            *row["nice_to_have"],
        ]
    assert len(ours) > 100
    for text in ours:
        assert not word_runs(text) & theirs
