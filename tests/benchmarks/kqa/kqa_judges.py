"""Judges for K-QA with scripted replies, and a reader of the prompts that they get."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.kqa.judge_prompts import load_judge_prompts
from medical_tasks.benchmarks.kqa.scoring import score_items
from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.judges.base import Backend, Call, JudgeOptions, Judging, NoReply
from medical_tasks.judges.session import JudgeSession
from medical_tasks.spec import Item, ItemScore
from tests.benchmarks.common import judge_session
from tests.case_tables import tables
from tests.judges.scripted import ScriptedBackend
from tests.support import SHARED

PROMPTS = SHARED / "data" / "kqa" / "prompts"


def cases(name: str) -> dict[str, Any]:
    """The tables of a file of `cases`."""
    table: dict[str, Any] = tables(__file__, name)
    return table


WORDS = {
    "entailment": "entailed",
    "contradiction": "contradicted",
    "neutral": "neither",
}


@dataclass(frozen=True)
class PromptContent:
    """Answer and statements in the prompt of one call.

    `statements` by id: `""` if there is one, none if the question is about abstention.
    """

    answer: str
    statements: Mapping[str, str]


def prompt_content(call: Call) -> PromptContent:
    text = str(call.messages[0]["content"])
    _, _, rest = text.partition("\n\nAnswer, a JSON string:\n")
    line, _, rest = rest.partition("\n\n")
    kind, _, rest = rest.partition(":\n")
    answer = json.loads(line)
    if kind == "Statement":
        return PromptContent(answer, {"": rest})
    return PromptContent(
        answer, dict(line.split(": ", 1) for line in rest.splitlines())
    )


def verdict(label: str, reason: str = "So it says.") -> str:
    return json.dumps({"reason": reason, "verdict": WORDS[label]})


def verdicts(labels: Mapping[str, str]) -> str:
    entries = [
        {"id": name, "reason": "So it says.", "verdict": WORDS[label]}
        for name, label in labels.items()
    ]
    return json.dumps({"verdicts": entries})


def scripted(
    label_of: Callable[[str, str], str | None], answered: bool = True
) -> Callable[[Call], str | NoReply]:
    """A judge whose label is a function of answer and statement.

    None is a failed request; in a batch, an entry that is left out.
    """

    def script(call: Call) -> str | NoReply:
        content = prompt_content(call)
        if not content.statements:
            return json.dumps({"reason": "I looked.", "answered": answered})
        labels = {
            name: label_of(content.answer, statement)
            for name, statement in content.statements.items()
        }
        if set(labels) == {""}:
            label = labels[""]
            return (
                NoReply(key=call.key, reason="http 500", attempts=1)
                if label is None
                else verdict(label)
            )
        return verdicts(
            {name: label for name, label in labels.items() if label is not None}
        )

    return script


def by_lines(answer: str, statement: str) -> str:
    """The perfect judge of an answer that is a list of statements."""
    lines = [" ".join(line.split()) for line in answer.splitlines()]
    return "entailment" if " ".join(statement.split()) in lines else "neutral"


def item(
    name: str,
    must: Sequence[str],
    nice: Sequence[str] = (),
    question: str = "What now?",
) -> Item:
    fields: dict[str, Any] = {
        "question": question,
        "answer": "",
        "must_have": list(must),
        "nice_to_have": list(nice),
    }
    return Item(id=name, fields=fields, groups={}, cluster=name)


ANSWER = "Ibuprofen helps.\nRest."
ITEM = item("q1", ["Ibuprofen helps.", "Drink."], ["Rest.", "Sleep."])


@dataclass
class Judged:
    scores: list[ItemScore]
    backend: Any
    session: JudgeSession

    @property
    def score(self) -> ItemScore:
        assert len(self.scores) == 1
        return self.scores[0]


def judge(
    folder: Path,
    items: Sequence[Item],
    responses: Sequence[str],
    script: Callable[[Call], Any] | Backend,
    *,
    reads: Any = "prompt",
    mode: Any = "single",
    prompts: str = "own",
    reasks: int = 1,
    votes: int = 1,
) -> Judged:
    """Scores answers with a scripted judge or another backend, in a session with an empty store."""
    backend = ScriptedBackend(script, reads=reads) if callable(script) else script
    options = JudgeOptions(reasks=reasks, votes=votes)
    texts = load_judge_prompts(KQA, prompts, PROMPTS if prompts == "official" else None)
    with judge_session(folder, backend, options) as session:
        judging = Judging(judge=session, prompts=texts, mode=mode)
        return Judged(
            score_items(KQA, items, responses, judging=judging), backend, session
        )
