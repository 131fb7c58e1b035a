"""How fast K-QA answers are scored, beside the judge's own time.

    python measurements/kqa_scoring.py --source questions_w_answers.jsonl [--answers results.json]

Scores the golds of the authors' file, and answers in their format where given, by a
judge that takes no time, one call a statement and batched, by the lexical judge behind
a session with its store, and again from that store; and decides by rule which answers
abstain. The time is the fastest of several rounds.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.kqa.abstention import abstention
from medical_tasks.benchmarks.kqa.data import load_items, read_rows
from medical_tasks.benchmarks.kqa.judge_prompts import load_judge_prompts
from medical_tasks.benchmarks.kqa.scoring import score_items
from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.io.store import Store
from medical_tasks.judges.base import JudgeOptions, Judging, Question, Unscored, Verdict
from medical_tasks.judges.lexical import LexicalJudge
from medical_tasks.judges.session import JudgeSession
from medical_tasks.spec import Item, ItemScore


class Instant:
    """A judge that calls every statement neutral at once, and counts its questions."""

    name = "instant"
    comparable = False

    def __init__(self) -> None:
        self.asked = 0

    def ask(self, questions: Sequence[Question]) -> list[Verdict | Unscored]:
        """Answers all questions at once."""
        self.asked += len(questions)
        return [self._decide(question) for question in questions]

    def _decide(self, question: Question) -> Verdict:
        if question.pair is not None:
            value: Any = "neutral"
        elif question.id.endswith("/answered"):
            value = True
        else:
            lines = (
                str(question.messages[0]["content"]).rpartition(":\n")[2].splitlines()
            )
            value = tuple((line.partition(":")[0], "neutral") for line in lines)
        return Verdict(id=question.id, value=value, votes=(value,))


def fastest(rounds: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """Returns the seconds of the fastest round, and its result."""
    best, result = float("inf"), None
    for _ in range(rounds):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result


def measure(
    name: str, items: Sequence[Item], answers: Sequence[str], rounds: int
) -> None:
    """Prints one line for each way of judging."""
    prompts = load_judge_prompts(KQA)

    def score(judge: Any, mode: Any) -> list[ItemScore]:
        return score_items(
            KQA,
            items,
            answers,
            judging=Judging(judge=judge, prompts=prompts, mode=mode),
        )

    for mode in ("single", "batched"):
        judge = Instant()
        seconds, _ = fastest(rounds, lambda judge=judge, mode=mode: score(judge, mode))  # type: ignore[misc]
        show(
            f"{name}, instant judge, {mode}",
            seconds,
            judge.asked // rounds,
            "questions",
        )
    with tempfile.TemporaryDirectory() as folder:
        for again in ("lexical judge", "lexical judge, from its store"):
            with Store(Path(folder) / "judge.sqlite") as store:
                session = JudgeSession(
                    LexicalJudge(), JudgeOptions(), store, quiet=True
                )
                seconds, scores = fastest(1, partial(score, session, "single"))
            show(f"{name}, {again}", seconds, session.stats.questions, "questions")
            comp = [item_score.values["comprehensiveness"] for item_score in scores]
            hall = [item_score.values["hallucination_rate"] for item_score in scores]
            print(
                f"    comprehensiveness {sum(comp) / len(comp):.4f}, hallucination rate {sum(hall) / len(hall):.4f}"
            )
    seconds, kinds = fastest(rounds, lambda: [abstention(answer) for answer in answers])
    show(f"{name}, abstention rule", seconds, len(answers), "answers")
    print(
        f"    {kinds.count('none')} answers, {kinds.count('unsure')} for a judge, {kinds.count('sure')} abstentions"
    )


def show(name: str, seconds: float, count: int, unit: str) -> None:
    print(
        f"{name:<55} {seconds * 1000:8.1f} ms  {count:>5} {unit}  {count / seconds:10,.0f} a second"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument(
        "--source",
        type=Path,
        required=True,
        help="the authors' questions_w_answers.jsonl",
    )
    parser.add_argument(
        "--answers",
        type=Path,
        help="answers in the authors' form: a JSON list of Question and result",
    )
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    items = load_items(
        KQA, list(read_rows("answered", "test", {"test": options.source}))
    )
    gold = [
        "\n".join((*item.fields["must_have"], *item.fields["nice_to_have"]))
        for item in items
    ]
    measure("statements", items, gold, options.rounds)
    measure(
        "physicians' answers",
        items,
        [str(item.fields["answer"]) for item in items],
        options.rounds,
    )
    if options.answers:
        results = {
            row["Question"]: row["result"]
            for row in json.loads(options.answers.read_text(encoding="utf-8"))
        }
        answered = [item for item in items if item.fields["question"] in results]
        measure(
            options.answers.name,
            answered,
            [results[item.fields["question"]] for item in answered],
            options.rounds,
        )


if __name__ == "__main__":
    main()
