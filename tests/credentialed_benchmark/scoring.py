from __future__ import annotations

from collections.abc import Sequence

from medical_tasks.judges.base import Judging, Pair, Question, Verdict
from medical_tasks.judges.reading import read_closing_claim
from medical_tasks.spec import Item, ItemScore, Message, TaskSpec


def score_items(
    task: TaskSpec, items: Sequence[Item], responses: Sequence[str], *, judging: Judging
) -> list[ItemScore]:
    questions = [
        Question(
            id=f"{item.id}/right",
            messages=(
                Message(
                    role="user",
                    content=f"Judge case {item.id}. {judging.prompts.texts['ask']}\n{item.fields['note']}\nAnswer: {response}",
                ),
            ),
            template=judging.prompts.sha256,
            read=read_closing_claim,
            again="That cannot be read ({problem}). Say true or false.",
            pair=Pair(
                premise=item.fields["note"],
                hypothesis=response,
                values={
                    "entailment": True,
                    "neutral": False,
                    "contradiction": False,
                    "not_entailment": False,
                },
            ),
        )
        for item, response in zip(items, responses, strict=True)
    ]
    scores = []
    for item, response, outcome in zip(
        items, responses, judging.judge.ask(questions), strict=True
    ):
        why = f"the note says {item.fields['note']}; the answer was {response}"
        if isinstance(outcome, Verdict):
            explanation = f"{why}; the judge said {outcome.text}"
            scores.append(
                ItemScore(
                    id=item.id,
                    values={"correct": float(outcome.value)},
                    parsed=response,
                    why=explanation,
                )
            )
        else:
            reason = f"{outcome.reason} about {item.fields['note']}"
            scores.append(
                ItemScore(
                    id=item.id, values={}, parsed=response, why=why, unscored=reason
                )
            )
    return scores
