"""What MedCalc-Bench is: its dataset here, its tasks and metrics below.

Khandekar et al., "MedCalc-Bench: Evaluating Large Language Models for Medical
Calculations", NeurIPS 2024 Datasets and Benchmarks, https://arxiv.org/abs/2406.12036.
Reference implementation: https://github.com/ncbi-nlp/MedCalc-Bench.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from medical_tasks.benchmarks.medcalc_bench.declarations import (
    CORRECTED_LABELS,
    DATASET,
    FAIR,
    FAIR_METRICS,
    LABEL_METRICS,
    MEDCALC_BENCH,
    MEDCALC_OWN,
    METRICS,
    TOOL_METRICS,
    TWIN_METRICS,
)
from medical_tasks.spec import (
    OWN_PROMPTS,
    PLAIN_SCORING,
    Answer,
    Asking,
    Benchmark,
    HubTask,
    Item,
    ItemScore,
    MultiStep,
    Pairs,
    PaperSetting,
    PersonQuestion,
    Plot,
    PromptSet,
    PublishedAnswer,
    ResultEntry,
    Row,
    Scoring,
    Table,
    TaskSpec,
    View,
    hub_question,
)

if TYPE_CHECKING:
    from pathlib import Path

    from medical_tasks.data.dataset_source import DatasetSource


__all__ = ["BENCHMARK", "MEDCALC", "MEDCALC_BENCH"]

# The longest worked explanation of the benchmark (Caprini) is about 1,100 tokens; twice
# that leaves room to think.
_COT_TOKENS = 2048
_READS = "the number (with its unit, if any), date, or weeks and days that the reply gives as its final answer"
_DIRECT_TOKENS = 128


class MedCalcBench(Benchmark):
    """The benchmark, as the rest of the suite knows it."""

    name = "medcalc_bench"
    position = 1
    short = "medcalc"
    gap_group = "calculator"
    asked_otherwise = frozenset({"corrected"})
    title = "MedCalc-Bench"
    mixed_rows = True
    paper = DATASET.paper
    datasets = (DATASET, MEDCALC_OWN)
    views = tuple(
        View(title=f"By {by}", metrics=("accuracy",), by=by)
        for by in ("category", "calculator")
    )

    def sources(self) -> tuple[DatasetSource, ...]:
        """See `data`."""
        from medical_tasks.benchmarks.medcalc_bench.data import SOURCES

        return SOURCES

    def load_items(self, task: TaskSpec, rows: Sequence[Row]) -> list[Item]:
        """See `data`."""
        from medical_tasks.benchmarks.medcalc_bench.data import load_items

        return load_items(task, rows)

    def load_prompts(self, task: TaskSpec, asking: Asking = OWN_PROMPTS) -> PromptSet:
        """See `prompts`."""
        if task.tools:
            from medical_tasks.benchmarks.medcalc_bench import tool_protocol

            return tool_protocol.load_prompts(task, asking)
        from medical_tasks.benchmarks.medcalc_bench.prompts import load_prompts

        return load_prompts(task, asking.prompts, asking.upstream, config=asking.config)

    def person_questions(
        self, task: TaskSpec, items: Sequence[Item], asking: Asking = OWN_PROMPTS
    ) -> list[PersonQuestion]:
        """The question, and the patient's note."""
        return [
            PersonQuestion(
                question=item.fields["question"], to_read=item.fields["patient_note"]
            )
            for item in items
        ]

    def gold_response(self, task: TaskSpec, item: Item) -> str:
        """See `prompts`."""
        from medical_tasks.benchmarks.medcalc_bench.prompts import gold_response

        return gold_response(task, item)

    def gold_answer(self, task: TaskSpec, item: Item) -> Answer:
        """See `tool_protocol`."""
        if not task.tools:
            return super().gold_answer(task, item)
        from medical_tasks.benchmarks.medcalc_bench.tool_protocol import gold_answer

        return gold_answer(task, item)

    def score_items(
        self,
        task: TaskSpec,
        items: Sequence[Item],
        answers: Sequence[Answer],
        scoring: Scoring = PLAIN_SCORING,
    ) -> list[ItemScore]:
        """See `twins` and `fair` for members of families, `tool_scoring` for calls, else `scoring`."""
        if task.tools:
            from medical_tasks.benchmarks.medcalc_bench.tool_scoring import (
                score_tool_items,
            )

            return score_tool_items(task, items, answers, scoring)

        texts = [answer.text for answer in answers]
        if task.options["style"] == "fair":
            from medical_tasks.benchmarks.medcalc_bench.fair import score_fair

            return score_fair(
                task, items, texts, scoring.readings, arguments=scoring.arguments
            )

        if task.options["style"] == "twins":
            from medical_tasks.benchmarks.medcalc_bench.twins import score_twins

            return score_twins(task, items, texts, arguments=scoring.arguments)

        from medical_tasks.benchmarks.medcalc_bench.scoring import score_items

        return score_items(
            task, items, texts, scoring.readings, arguments=scoring.arguments
        )

    def scoring_identity(
        self, task: TaskSpec, arguments: Mapping[str, str]
    ) -> Mapping[str, object]:
        """See `scoring`."""
        from medical_tasks.benchmarks.medcalc_bench.scoring import scoring_identity

        return scoring_identity(task, arguments)

    def note_words(self) -> frozenset[str]:
        """See `scoring`."""
        from medical_tasks.benchmarks.medcalc_bench.scoring import NOTE_WORDS

        return NOTE_WORDS

    def pairs(self, task: TaskSpec, items: Sequence[Item]) -> Sequence[Pairs]:
        """See `fair`."""
        if task.options["style"] != "fair":
            return ()
        from medical_tasks.benchmarks.medcalc_bench.fair import fair_pairs

        return fair_pairs(items)

    def keeps(self, task: TaskSpec, row: Row) -> bool:
        """Rows of fair families are of their own task alone: they ask the same note twice."""
        fair = str(row.get("note_type")).startswith("Fair: ")
        if fair or task.options["style"] == "fair":
            return fair and task.options["style"] == "fair"
        if task.options["style"] == "twins":  # rows of the demo are families of one
            return str(row.get("note_type")).startswith("Twin: ") or str(
                row["note_id"]
            ).startswith("demo-")
        # Who is not told how has no reply to these.
        return row.get("note_type") not in ("Twin: missing", "Twin: contradiction")

    def found_beside(
        self, task: TaskSpec, folder: Path, config: str
    ) -> Mapping[str, str]:
        from medical_tasks.benchmarks.medcalc_bench.corrected import CORRECTED, V1
        from medical_tasks.data.dataset_store import built_configs

        is_scored = CORRECTED_LABELS in task.scoring_arguments and config == V1
        return (
            {CORRECTED_LABELS: str(folder)}
            if is_scored and CORRECTED in built_configs(folder)
            else {}
        )

    def published_answers(
        self, task: TaskSpec, record: Mapping[str, object]
    ) -> Sequence[PublishedAnswer]:
        """What `run.py` and `generate_code_prompt.py` write.

        Not the reply, but the answer and explanation taken out of it.
        """
        if not {"Row Number", "LLM Answer"} <= record.keys():
            return ()

        reply = answer = record["LLM Answer"]
        if task.options["style"] != "code" and isinstance(answer, str):
            thinking = record.get("LLM Explanation")
            steps = {"step_by_step_thinking": thinking} if thinking else {}
            reply = json.dumps({**steps, "answer": answer}, ensure_ascii=False)

        question = {
            "question": record.get("Question"),
            "note_id": record.get("Note ID"),
        }
        return (
            PublishedAnswer(item=str(record["Row Number"]), text=reply, asked=question),
        )

    def lasting_reasons(self) -> Mapping[str, str]:
        from medical_tasks.benchmarks.medcalc_bench.fair import (
            NO_BASE_TO_SWAP,
            NO_PARAPHRASE,
        )
        from medical_tasks.benchmarks.medcalc_bench.twins import NO_BASE

        return dict.fromkeys(
            (NO_BASE, NO_BASE_TO_SWAP, NO_PARAPHRASE),
            "Members of a family are compared with one another: --subset N draws whole families.",
        )

    def open_protocol(self, task: TaskSpec, asking: Asking = OWN_PROMPTS) -> MultiStep:
        """See `tool_protocol` for tools, else `protocol`."""
        if task.tools:
            from medical_tasks.benchmarks.medcalc_bench import tool_protocol

            return tool_protocol.open_protocol(task, asking)
        from medical_tasks.benchmarks.medcalc_bench.protocol import open_protocol

        return open_protocol(task, prompts=asking.prompts, upstream=asking.upstream)

    def eval_fields(self, task: TaskSpec) -> HubTask:
        """A question about a note, graded by a model."""
        template = "Patient note:\n{patient_note}\n\n{prompt}"
        graded = {"name": "model_graded_qa"}
        return hub_question(
            "question",
            "ground_truth_answer",
            template=template,
            scorer=graded,
            metadata=["patient_note"],
        )

    def plots(
        self, task: TaskSpec, rows: Sequence[Row], items: Mapping[str, Item]
    ) -> list[Plot]:
        from medical_tasks.benchmarks.medcalc_bench.attributes import attribute_plots

        return attribute_plots(rows, items)

    def tables(
        self,
        task: TaskSpec,
        entry: ResultEntry,
        items: Sequence[Item],
        found: Mapping[str, str],
    ) -> list[Table]:
        """The tables of a report: accuracies by gold, and what became of tool calls."""
        from medical_tasks.benchmarks.medcalc_bench.golds import golds_table
        from medical_tasks.benchmarks.medcalc_bench.scoring import corrected_labels

        scored = entry["recipe"].get("scoring") or {}
        labels = corrected_labels(task, found)
        # Labels that are not those of the scoring say nothing about its numbers.
        if labels is None or scored.get(CORRECTED_LABELS) != {"sha256": labels.sha256}:
            labels = None

        shown = task.metrics[: len(LABEL_METRICS)] == LABEL_METRICS
        by_gold = (
            golds_table(entry, (item.fields for item in items), labels)
            if shown
            else None
        )
        tables = [] if by_gold is None else [by_gold]
        if task.tools:
            from medical_tasks.benchmarks.medcalc_bench.tool_scoring import (
                outcome_table,
            )

            calls = outcome_table(entry.get("notes", {}))
            tables += [] if calls is None else [calls]

        return tables


BENCHMARK = MedCalcBench()


_OF_THE_PAPER = ("cot", "direct", "one_shot", "code")
_PAPER = PaperSetting(items=1047, configs=("v1.0",))


def _task(
    name: str,
    title: str,
    *,
    style: str,
    tokens: int,
    shots: int = 0,
    protocol: str = "",
    version: str = "3-A",
) -> TaskSpec:
    return TaskSpec(
        name=name,
        title=title,
        benchmark=BENCHMARK,
        dataset=DATASET.name,
        split="test",
        metrics=METRICS,
        version=version,
        generation_size=tokens,
        groups=("category", "calculator"),
        strata=("category", "calculator"),
        cluster="note",
        options={
            "style": style,
            "shots": str(shots),
            "family": "medcalc" if style in ("cot", "one_shot") else name,
        },
        scoring_arguments={
            CORRECTED_LABELS: (
                "folder of the built medcalc_bench whose configuration corrected is a second set "
                "of labels of v1.0; found by itself where both are built"
            )
        },
        protocol=protocol,
        reads=_READS,
        paper=_PAPER if style in _OF_THE_PAPER else None,
    )


MEDCALC = _task(
    "medcalc",
    "MedCalc-Bench, zero-shot chain of thought",
    style="cot",
    tokens=_COT_TOKENS,
)
MEDCALC_DIRECT = _task(
    "medcalc_direct",
    "MedCalc-Bench, the answer without reasoning",
    style="direct",
    tokens=_DIRECT_TOKENS,
)
MEDCALC_ONE_SHOT = _task(
    "medcalc_one_shot",
    "MedCalc-Bench, chain of thought after one worked example of the same calculator",
    style="one_shot",
    tokens=_COT_TOKENS,
    shots=1,
    version="3-A",
)
MEDCALC_OPEN_BOOK = _task(
    "medcalc_open_book",
    "MedCalc-Bench, chain of thought with the calculator's specification given",
    style="open_book",
    tokens=_COT_TOKENS,
)
MEDCALC_CODE = _task(
    "medcalc_code",
    "MedCalc-Bench, the model writes a program that is run, up to 20 tries",
    style="code",
    tokens=_COT_TOKENS,
    protocol="code",
)
MEDCALC_TOOLS = replace(
    _task(
        "medcalc_tools",
        "MedCalc-Bench, calculators offered as tools",
        style="tools",
        tokens=_COT_TOKENS,
        protocol="tools",
        version="1-A",
    ),
    metrics=TOOL_METRICS,
    tools=True,
    arguments={
        "tools": "how many tools are offered, the right one among others, or all (10)",
        "turns": "how often the model is asked at most (5)",
    },
)
MEDCALC_TWINS = replace(
    MEDCALC,
    name="medcalc_twins",
    title="MedCalc-Bench, families of notes that differ in one thing",
    metrics=TWIN_METRICS,
    version="2-A",
    scoring_arguments={},
    groups=("kind", *MEDCALC.groups),
    drawn_whole=True,
    reads="",
    options={
        "style": "twins",
        "shots": "0",
        "family": "medcalc_twins",
        "config": "twins",
    },
    paper=None,
)
MEDCALC_FAIR = replace(
    MEDCALC,
    name="medcalc_fair",
    title="MedCalc-Bench, families of notes that differ in one attribute of the patient",
    split=FAIR,
    metrics=FAIR_METRICS,
    version="1-A",
    scoring_arguments={},
    groups=("variant", "attribute", "group", "expected", *MEDCALC.groups),
    drawn_whole=True,
    options={
        "style": "fair",
        "shots": "0",
        "family": "medcalc_fair",
        "config": "fair",
    },
    paper=None,
)
MEDCALC_NOTES = replace(
    MEDCALC,
    name="medcalc_own",
    title="MedCalc-Bench's form, credentialed notes, chain of thought",
    dataset="medcalc_own",
    metrics=LABEL_METRICS,
    scoring_arguments={},
    version="2-A",
    paper=None,
)

MedCalcBench.tasks = (
    MEDCALC, MEDCALC_DIRECT, MEDCALC_ONE_SHOT, MEDCALC_OPEN_BOOK, MEDCALC_CODE, MEDCALC_TOOLS, MEDCALC_TWINS,
    MEDCALC_FAIR, MEDCALC_NOTES
)  # fmt: skip
