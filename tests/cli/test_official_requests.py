"""The judge's requests in `score --prompts official` are those of the authors' scripts for the same texts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.ehrnoteqa.data import demo_pairs
from medical_tasks.benchmarks.kqa.data import demo_rows
from medical_tasks.cli.entry import main
from tests.benchmarks.ehrnoteqa.judged import (
    CHOICE_TEMPLATE,
    OPEN_TEMPLATE,
    write_judge_checkout,
)
from tests.conftest import Serving
from tests.fault_server import Call
from tests.run_files import task_entry

UNTIDY = (
    "",
    " ",
    "\n \t",
    " Rest.\r\n\n- Drink.\n",
    "薬は要りません – {question} {0} }{",
    'Say "True".\n{"score": 1}',
    "word " * 900,
    "I don't know.",
)
TEMPLATES = {
    "is_entails": "Does it follow?\nQ: {question} Think.\nP: {llm_answer}\nH: {answer}\nAnswer:",
    "is_contradict": "Is it denied?\nQ: {question} Think.\nP: {llm_answer}\nH: {answer}\nAnswer:",
}

pytestmark = pytest.mark.usefixtures("demo_home")


def untidy(number: int) -> str:
    return UNTIDY[number % len(UNTIDY)]


def _true(prompt: str) -> bool:
    return sha256(prompt.encode()).digest()[0] % 2 == 0


def reply_true_or_false(call: Call) -> str:
    """Ends like the authors' examples; our own prompt, whether a text is an answer, has a JSON reply."""
    if '"answered"' in call.prompt:
        return json.dumps({"reason": "It is.", "answered": True})
    return f"So. The answer is {_true(call.prompt)}."


def score(task: str, responses: Path, upstream: Path) -> dict[str, Any]:
    judge = ["--judge", "openai-api/test-host/j", "--judge-args", "temperature=0"]
    prompts = ["--prompts", "official", "--upstream", str(upstream)]
    words = ["score", task, "--config", "demo", "--responses", str(responses)]
    assert main([*words, *prompts, *judge, "--votes", "1", "--out", "out"]) == 0
    metrics: dict[str, Any] = task_entry("out", task)["metrics"]
    return metrics


def write_kqa_checkout(folder: Path) -> Path:
    prompts = folder / "evaluation" / "prompts"
    prompts.mkdir(parents=True)
    for name, text in TEMPLATES.items():
        (prompts / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("before", ["", "<think>\nTrue?\n</think>\n\n"])
def test_kqa_sends_what_run_eval_sends(
    here: Path, serving: Serving, before: str
) -> None:
    """On a file in the authors' form; reasoning, for which they have no rule, does not belong to an answer."""
    rows = list(demo_rows())
    answers = [untidy(number) for number in range(len(rows))]
    results = [
        {"Question": row["question"], "result": before + text}
        for row, text in zip(rows, answers, strict=True)
    ]
    (here / "results.json").write_text(json.dumps(results), encoding="utf-8")
    expected: list[str] = []
    comp = hall = 0.0
    for row, text in zip(rows, answers, strict=True):
        fields = {
            "question": row["question"],
            "llm_answer": text.strip() if before else text,
        }
        must, nice = row["must_have"], row["nice_to_have"]
        entails = [
            TEMPLATES["is_entails"].format(answer=claim, **fields) for claim in must
        ]
        denies = [
            TEMPLATES["is_contradict"].format(answer=claim, **fields)
            for claim in must + nice
        ]
        expected += entails + denies
        comp += sum(map(_true, entails)) / len(must)
        hall += sum(map(_true, denies))
    with serving(answer=reply_true_or_false) as server:
        metrics = score("kqa", here / "results.json", write_kqa_checkout(here / "K-QA"))
    sent = [call for call in server.calls if '"answered"' not in call.prompt]
    assert {message["role"] for call in sent for message in call.body["messages"]} == {
        "user"
    }
    assert Counter(call.prompt for call in sent) == Counter(expected)
    assert {call.body["temperature"] for call in sent} == {0.0}
    assert metrics["comprehensiveness_official"]["value"] == pytest.approx(
        comp / len(rows)
    )
    assert metrics["hallucination_official"]["value"] == pytest.approx(hall / len(rows))
    # This suite's own figure counts blank answers.
    assert metrics["answered"]["value"] < 1.0


def open_prompt(question: Any, output: str) -> str:
    right = question.choices["ABCDE".index(question.answer)]
    notes = next(
        notes
        for demo_question, notes in demo_pairs()
        if demo_question.patient_id == question.patient_id
    )
    blocks = [
        f"[note {number} start]\n{note.text}\n[note {number} end]"
        for number, note in enumerate(notes, start=1)
    ]
    return OPEN_TEMPLATE.format(
        note="\n\n".join(blocks),
        question=question.question,
        correct_answer=right,
        output=output,
    )


def choice_prompt(question: Any, output: str) -> str:
    lines = [
        f"{letter}. {text}"
        for letter, text in zip("ABCDE", question.choices, strict=True)
    ]
    answer = lines["ABCDE".index(question.answer)]
    return CHOICE_TEMPLATE.format(
        output=output, choices="\n".join(lines), answer=answer
    )


@pytest.mark.parametrize(
    ("form", "render", "replies"),
    [
        ("open", open_prompt, ("Score: 0", "Score: 1")),
        ("mc", choice_prompt, ("no", "yes")),
    ],
)
def test_ehrnoteqa_sends_what_evaluate_sends(
    here: Path,
    serving: Serving,
    form: str,
    render: Callable[[Any, str], str],
    replies: tuple[str, str],
) -> None:
    """The authors' script reads a CSV file with pandas, which turns an empty answer into the word `nan`."""
    questions = [question for question, _ in demo_pairs() if question.level == 1]
    answers = [untidy(number) for number in range(len(questions))]
    lines = [
        {"id": question.patient_id, "response": text}
        for question, text in zip(questions, answers, strict=True)
    ]
    (here / "r.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    expected = [
        render(question, text or "nan")
        for question, text in zip(questions, answers, strict=True)
    ]
    with serving(answer=lambda call: replies[_true(call.prompt)]) as server:
        metrics = score(
            f"ehrnoteqa_{form}_level1",
            here / "r.jsonl",
            write_judge_checkout(here / "tree"),
        )
    assert Counter(call.prompt for call in server.calls) == Counter(expected)
    assert {call.body["max_tokens"] for call in server.calls} == {600}
    right = sum(map(_true, expected)) / len(expected)
    assert metrics["accuracy"]["value"] == pytest.approx(right)
