"""How long readers take for the worst texts of 100 kB: every task's scoring, every judge's reader, and those by name.

    python -m measurements.hostile_text [--kilobytes 100] [--limit 1.0]

Each task of the catalogue scores one item of its demo data, whose answer is one of the
texts; judges get no requests. The readers of judges' replies are those of the questions
for the gold answers. Times are CPU time; whatever is over the limit is timed again, and
the faster time counts. The slowest ten are printed, and the exit status is 1 if one is
over the limit.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import medical_tasks as mt
from medical_tasks.benchmarks.archehr_qa.parsing import (
    read_alignment,
    read_answer,
    read_evidence,
)
from medical_tasks.benchmarks.doclens.pieces import divide_note, read_sentences
from medical_tasks.benchmarks.ehrnoteqa.judging import (
    read_official_choice,
    read_official_score,
)
from medical_tasks.benchmarks.kqa.abstention import abstention
from medical_tasks.catalog import datasets, tasks
from medical_tasks.data.task_data import load_task_data
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Judging, Question, Unreadable, Unscored, Verdict
from medical_tasks.judges.reading import (
    read_choice,
    read_closing_claim,
    read_json,
    read_score,
)
from medical_tasks.scoring.letters import read_letter
from medical_tasks.scoring.normal_form import normal_form
from medical_tasks.scoring.numbers.quantities import ages, dates
from medical_tasks.scoring.reasoning import without_reasoning
from medical_tasks.spec import Answer, DatasetSpec, Item, Scoring, TaskSpec

PIECES: Final = (
    " ", "\n", " \n", "\t", "\xa0", "\n\n\t", "(", "[", "{", '"', "'", "“", "`", "|", "*", "_", "~", "#", '\\', "-", ".", ",",
    ":", "=", ">", "<", "?", "!", "9", "1 ", "1.", "1,", "1/", "1-", "a", "A", "A ", "a ", "A. ", "A\n", "D, ", "(A) ", "the ",
    "not ", "or ", "and ", "so ", "if ", "is ", "true ", "True. ", "yes, ", "no ", "answer ", "answer is ", "The answer is D. ",
    "the answer is true, ", "Answer: ", "Score: ", "Score: 1\n", "entailed: yes\n", "provenance: 1\n", "Claim 1: ",
    "I cannot say. ", "\\boxed{", "\\text{", "**A", "[1]", "[1", "|1|", "|1", "|1,", "1: 2\n", "[1-", "```\n", "```json\n",
    "~~", "<b>", "<think>", "</think>", "<answer>", "<|", "<|im_end|>", "<del>", '{"a":', '{"answer": "', "[[", "\u0301",
    "\u200b", "\u202e", "\ud800", "✅", "A ❌ ", "because ", "1 year ", "2 weeks 3 days ", "12/", "mg ", "sentence ",
    "sentences 1 and ", "x, ", "e.g. ", "Dr. ", "a.b",
)  # fmt: skip
"""What is repeated for readers alone; each also between a beginning and an end that a reader looks for."""

SCORED: Final = (
    " ", " \n", "(", "[", "{", '"', "|", "*", "\\", "-", ".", ":", "9", "1, ", "a", "A, ", "a ", "not ", "The answer is D. ",
    "\\boxed{", "|1|", "|1,", "[1-", "```\n", "<b>", "<think>", '{"a":', "\u0301", "1 year ", "I cannot say. ",
)  # fmt: skip
"""Those that whole scoring, which also computes metrics of texts, is timed with."""

FRAMES: Final = ("{}", "The answer is {} D.")
SLOWEST: Final = 10


@dataclass
class AskedJudge:
    """A judge that only lists the claims of a text, and keeps the questions it receives."""

    name: str = "asked"
    comparable: bool = False
    reads: str = "prompt"
    questions: dict[str, Question] = field(default_factory=dict)

    def ask(self, questions: Sequence[Question]) -> list[Verdict | Unscored]:
        """Returns two claims for every text; other questions get no verdict."""
        verdicts: list[Verdict | Unscored] = []
        for question in questions:
            self.questions.setdefault(question.template, question)
            value = question.read('{"claims": ["It hurts.", "It is new."]}')
            verdicts.append(
                Unscored(id=question.id, reason="judge: not asked")
                if isinstance(value, Unreadable)
                else Verdict(id=question.id, value=value, votes=(value,))
            )
        return verdicts


@dataclass(frozen=True)
class Reader:
    """A function that reads a text."""

    name: str
    read: Callable[[str], Any]
    pieces: Sequence[str] = PIECES
    frames: Sequence[str] = FRAMES


def named_readers() -> Iterator[Reader]:
    """Yields readers that no task's scoring calls by themselves."""
    ids = tuple(map(str, range(1, 10)))
    choices = ("aspirin", "a cold", "the first of all days", "no fever", "5 mg")
    yield from (
        Reader("reasoning.without_reasoning", without_reasoning),
        Reader("normal_form", normal_form),
        Reader("reading.read_json", read_json),
        Reader("reading.read_closing_claim", read_closing_claim),
        Reader("reading.read_choice", lambda text: read_choice(text, ("yes", "no"))),
        Reader("reading.read_score", lambda text: read_score(text, 0, 1)),
        Reader("ehrnoteqa.read_official_score", read_official_score),
        Reader("ehrnoteqa.read_official_choice", read_official_choice),
        Reader("ehrnoteqa.read_letter", lambda text: read_letter(text, choices)),
        Reader("kqa.abstention", abstention),
        Reader("archehr.read_answer", lambda text: read_answer(text, ids)),
        Reader("archehr.read_evidence", lambda text: read_evidence(text, ids)),
        Reader("archehr.read_alignment", lambda text: read_alignment(text, ids)),
        Reader("doclens.read_sentences", read_sentences),
        Reader("doclens.divide_note", divide_note),
        Reader("medcalc.quantities.ages", lambda text: list(ages(text))),
        Reader("medcalc.quantities.dates", lambda text: list(dates(text))),
    )


def task_readers(home: Path) -> Iterator[Reader]:
    """Yields each task's scoring, and the readers of its judge's replies about gold answers."""
    for name in datasets():
        mt.build(name, config="demo", out=home / name)
    judge = AskedJudge()
    for task in tasks().values():
        try:
            items = load_task_data(
                task, dataset_of(task), data=home, config="demo", max_samples=1
            ).items
        except UsageError as error:
            print(f"not timed: {task.name}: {error}", file=sys.stderr)
            continue
        yield Reader(
            f"score {task.name}",
            scoring(task, items[:1], AskedJudge()),
            SCORED,
            ("{}",),
        )
        if task.judge:
            scoring(task, items[:1], judge)(
                task.benchmark.gold_response(task, items[0])
            )
    for question in judge.questions.values():
        yield Reader(f"judge's reply: {question.id}", question.read)


def dataset_of(task: TaskSpec) -> DatasetSpec:
    """The dataset of a task."""
    return datasets()[task.dataset]


def scoring(task: TaskSpec, items: Sequence[Item], judge: Any) -> Callable[[str], Any]:
    """Returns a function that scores one text as the answer to one item."""
    judging = (
        Judging(judge=judge, prompts=task.benchmark.load_judge_prompts(task))
        if task.judge
        else None
    )
    return lambda text: task.benchmark.score_items(
        task, items, [Answer(text=text)] * len(items), Scoring(judging=judging)
    )


def texts(reader: Reader, size: int) -> Iterator[tuple[str, str]]:
    """The texts for a reader, with a name for each."""
    for piece in reader.pieces:
        run = piece * (size // len(piece.encode("utf-8", "surrogatepass")))
        for frame in reader.frames:
            yield f"{frame.format(json.dumps(piece))}", frame.format(run)


def seconds(read: Callable[[str], Any], text: str) -> float:
    """Measures the CPU time of one reading; a refusal with a message counts as read."""
    began = time.process_time()
    with contextlib.suppress(UsageError):
        read(text)
    return time.process_time() - began


def main() -> int:
    """Times all readers; 1 if one takes longer than the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kilobytes", type=int, default=100)
    parser.add_argument(
        "--limit", type=float, default=1.0, help="seconds a reading may take"
    )
    parser.add_argument("--only", default="", help="readers whose name holds this")
    parser.add_argument(
        "--named", action="store_true", help="without tasks and their judges"
    )
    options = parser.parse_args()
    taken: list[tuple[float, str, str]] = []
    with tempfile.TemporaryDirectory() as home:
        readers = [
            reader
            for reader in (
                *named_readers(),
                *(() if options.named else task_readers(Path(home))),
            )
            if options.only in reader.name
        ]
        for reader in readers:
            for name, text in texts(reader, options.kilobytes * 1000):
                took = seconds(reader.read, text)
                if took > options.limit:
                    took = min(took, seconds(reader.read, text))
                if took > options.limit:
                    print(
                        f"{took:.1f} s: {reader.name}: {name}",
                        file=sys.stderr,
                        flush=True,
                    )
                taken.append((took, reader.name, name))
    taken.sort(reverse=True)
    print(
        f"{len(readers)} readers, {len(taken)} texts of {options.kilobytes} kB; the slowest:"
    )
    for took, reader_name, name in taken[:SLOWEST]:
        print(f"{took:8.2f} s  {reader_name:44} {name}")
    over = sum(took > options.limit for took, _, _ in taken)
    print(f"{over} of {len(taken)} readings over {options.limit} s")
    return int(over > 0)


if __name__ == "__main__":
    sys.exit(main())
