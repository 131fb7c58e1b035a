"""Declares the benchmark DocLens and its tasks; `declarations` has its datasets and metrics.

A family has a task without worked examples and two with 1 or 2 of each kind (paper,
appendix on the evaluated methods).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from medical_tasks.benchmarks.doclens.declarations import (
    ACI_BENCH,
    BLEURT,
    BY_SECTION,
    CLAIMS,
    DATASETS,
    DOCLENS,
    MEDCON,
    MEQSUM,
    MIMIC_RRS,
    OFFICIAL,
    OWN,
    RADGRAPH,
    SECTIONS,
    TEXT,
    WORDS,
)
from medical_tasks.spec import (
    OWN_PROMPTS,
    PLAIN_SCORING,
    Answer,
    Asking,
    Benchmark,
    DatasetSpec,
    HubQuestion,
    HubTask,
    Item,
    ItemScore,
    MetricSpec,
    PaperSetting,
    PromptSet,
    PublishedAnswer,
    Row,
    Scoring,
    TaskSpec,
    View,
    hub_question,
)

if TYPE_CHECKING:
    from pathlib import Path

    from medical_tasks.data.dataset_source import DatasetSource
    from medical_tasks.judges.base import JudgePrompts
    from medical_tasks.judges.check_sets import CheckSetSource


_ARGUMENTS: Final = {
    "citations": "yes (default) or no: whether the output is asked to cite its source"
}

_SCORING: Final = {
    "citations": _ARGUMENTS["citations"],
    "style": "how a judge that reads prompts is asked: json_cot (default), json, cot or plain",
    "claims": "file of the references' claims, in the authors' form (default: the judge makes "
    "them)",
    "output_claims": "file of the outputs' claims, likewise",
    "official": "yes: with --prompts official also the figures by the authors' scripts, which "
    "ask the judge other questions",
    "bertscore": "checkpoint for BERTScore, as FOLDER or FOLDER@LAYER",
}
_PUNKT: Final = {
    "punkt": "folder of NLTK's punkt_tab/english, by which the authors' scripts split notes "
    "(default: untrained)"
}
_UMLS: Final = {"umls": "folder of a UMLS index, made by: medical-tasks umls build"}
_BLEURT_ARGUMENT: Final = {"bleurt": "folder of a BLEURT checkpoint"}
_RADGRAPH_ARGUMENT: Final = {"radgraph": "folder of a RadGraph checkpoint"}

_NUMBERS: Final = {1: "one", 2: "two", 6: "six", 12: "twelve"}

_HUB_QUESTIONS: Final[Mapping[str, HubQuestion]] = {
    "aci_bench": {
        "asked": "id",
        "target": "note",
        "template": "Write the clinical note of this visit:\n{turns}",
        "metadata": ["turns"],
    },
    "mimic_rrs": {
        "asked": "findings",
        "target": "impression",
        "template": "Write the impression section that belongs to these findings:\n{prompt}",
    },
    "meqsum": {
        "asked": "question",
        "target": "summary",
        "template": "Say in one short question what this person asks:\n{prompt}",
    },
}
"""The question of `eval.yaml`, by dataset."""


class DocLens(Benchmark):
    """The benchmark's interface to the suite."""

    name = "doclens"
    position = 4
    title = "DocLens"
    paper = "https://arxiv.org/abs/2311.09581"
    datasets = DATASETS
    check_set = "doclens"

    def sources(self) -> tuple[DatasetSource, ...]:
        """See `data`."""
        from medical_tasks.benchmarks.doclens.data import SOURCES

        return SOURCES

    def load_items(self, task: TaskSpec, rows: Sequence[Row]) -> list[Item]:
        """See `data`."""
        from medical_tasks.benchmarks.doclens.data import load_items

        return load_items(task, rows)

    def load_prompts(self, task: TaskSpec, asking: Asking = OWN_PROMPTS) -> PromptSet:
        """See `prompts`."""
        from medical_tasks.benchmarks.doclens.prompts import load_prompts

        return load_prompts(
            task,
            asking.prompts,
            asking.upstream,
            arguments=asking.arguments,
            exemplars=asking.exemplars,
        )

    def gold_response(self, task: TaskSpec, item: Item) -> str:
        """See `prompts`."""
        from medical_tasks.benchmarks.doclens.prompts import gold_response

        return gold_response(task, item)

    def score_items(
        self,
        task: TaskSpec,
        items: Sequence[Item],
        answers: Sequence[Answer],
        scoring: Scoring = PLAIN_SCORING,
    ) -> list[ItemScore]:
        """See `scoring`."""
        from medical_tasks.benchmarks.doclens.scoring import score_items

        texts = [answer.text for answer in answers]
        return score_items(
            task, items, texts, judging=scoring.judge, arguments=scoring.arguments
        )

    def scoring_identity(
        self, task: TaskSpec, arguments: Mapping[str, str]
    ) -> Mapping[str, object]:
        """See `scoring`."""
        from medical_tasks.benchmarks.doclens.scoring import scoring_identity

        return scoring_identity(task, arguments)

    def note_words(self) -> frozenset[str]:
        """See `scoring`."""
        from medical_tasks.benchmarks.doclens.scoring import NOTE_WORDS

        return NOTE_WORDS

    def unanswered_limits(
        self, task: TaskSpec, item: Item
    ) -> Mapping[str, tuple[float, float]]:
        """See `scoring`."""
        from medical_tasks.benchmarks.doclens.scoring import unanswered_limits

        return unanswered_limits(task, item)

    def load_judge_prompts(
        self, task: TaskSpec, name: str = "own", upstream: Path | None = None
    ) -> JudgePrompts:
        """See `judge_prompts`."""
        from medical_tasks.benchmarks.doclens.judge_prompts import load_judge_prompts

        return load_judge_prompts(task, name, upstream)

    def check_sets(self) -> Mapping[str, CheckSetSource]:
        """`doclens`: claims labelled by clinicians, from VeriFact-BHC or FactEHR."""
        from medical_tasks.benchmarks.doclens.judge_check import check_set

        return {"doclens": check_set(next(task for task in TASKS if task.judge))}

    def eval_fields(self, task: TaskSpec) -> HubTask:
        """The fields of a text to summarise, compared with the reference by words."""
        question = _HUB_QUESTIONS.get(task.dataset)
        return (
            {} if question is None else hub_question(**question, scorer={"name": "f1"})
        )

    def published_answers(
        self, task: TaskSpec, record: Mapping[str, object]
    ) -> Sequence[PublishedAnswer]:
        """Reads a record of a note generated section by section, as `divide_section.py` joins them."""
        fields = {section: f"output_{section}" for section in SECTIONS}
        if (
            task.items_a_row == 1
            or not {"example_id", *fields.values()} <= record.keys()
        ):
            return ()

        return [
            PublishedAnswer(
                item=f"{record['example_id']}/{section}", text=record[field]
            )
            for section, field in fields.items()
        ]


BENCHMARK = DocLens()


def _family(
    name: str,
    title: str,
    dataset: DatasetSpec,
    *,
    split: str,
    exemplars: str,
    shots: tuple[int, ...],
    metrics: tuple[MetricSpec, ...],
    size: int,
    scoring: dict[str, str],
    form: str,
    groups: tuple[str, ...] = (),
    cluster: str | None = None,
    paper: PaperSetting | None = None,
) -> tuple[TaskSpec, ...]:
    """The tasks of one dataset, which differ only in the number of worked examples.

    Args:
        name: of the task without examples; others are `NAME_two_shot`.
        title: likewise.
        dataset: whose items are asked.
        split: scored.
        exemplars: the split that examples are drawn from.
        shots: numbers of examples; 0 is the task without any.
        metrics: of all of them.
        size: most tokens of an answer.
        scoring: arguments of scoring, beside those of every family.
        form: of the text: `note`, `section`, `impression`, `question` or `text`.
        groups: what results are also reported by.
        cluster: what items depend on together.
        paper: the setting of the paper that the task follows.
    """
    return tuple(
        TaskSpec(
            name=f"{name}_{_NUMBERS[count]}_shot" if count else name,
            title=f"{title}, {_NUMBERS[count]} worked example{'s' * (count > 1)}"
            if count
            else title,
            benchmark=BENCHMARK,
            dataset=dataset.name,
            split=split,
            metrics=metrics,
            version="3-A",
            generation_size=size,
            groups=groups,
            strata=groups,
            cluster=cluster,
            judge=True,
            judging="batched",
            items_a_row=len(SECTIONS) if form == "section" else 1,
            options={"form": form, "shots": str(count), "family": name},
            arguments=dict(_ARGUMENTS),
            scoring_arguments={**_SCORING, **scoring},
            exemplars=exemplars if count else "",
            paper=paper,
        )
        for count in shots
    )


# As the authors' scripts name them: GPT-4, Mistral and TRUE of the paper.
_JUDGES: Final = (
    "gpt-4-1106-preview",
    "Mistral-7B-Instruct-v0.2",
    "t5_xxl_true_nli_mixture",
)

_NOTE_TEXT: Final = (*TEXT, *MEDCON, *BLEURT, *WORDS)

TASKS: Final = (
    *_family(
        "aci_bench",
        "Clinical note of a visit's dialogue, with citations",
        ACI_BENCH,
        split="test1",
        exemplars="train",
        shots=(0, 1, 2),
        metrics=(*DOCLENS, *BY_SECTION, *OFFICIAL, *_NOTE_TEXT),
        size=2048,
        scoring={**_PUNKT, **_UMLS, **_BLEURT_ARGUMENT},
        form="note",
        groups=("dataset",),
        paper=PaperSetting(items=40, configs=("doclens", "full"), judges=_JUDGES),
    ),
    *_family(
        "aci_bench_section",
        "One section of a clinical note of a visit's dialogue, with citations",
        ACI_BENCH,
        split="test1",
        exemplars="train",
        shots=(0, 1, 2),
        metrics=(*DOCLENS, *OFFICIAL, *_NOTE_TEXT),
        size=1024,
        scoring={**_PUNKT, **_UMLS, **_BLEURT_ARGUMENT},
        form="section",
        groups=("dataset", "section"),
        cluster="encounter",
        paper=PaperSetting(
            differs="the paper joins the sections and scores whole notes",
        ),
    ),
    *_family(
        "mimic_rrs",
        "Impression of a radiology report's findings, with citations",
        MIMIC_RRS,
        split="test",
        exemplars="train",
        shots=(0, 6, 12),
        metrics=(*DOCLENS, *OFFICIAL, *TEXT, *RADGRAPH, *WORDS),
        size=512,
        scoring=_RADGRAPH_ARGUMENT,
        form="impression",
        groups=("modality", "anatomy"),
        cluster="patient",
        paper=PaperSetting(
            items=200,
            configs=("notes", "table"),
            judges=_JUDGES,
            differs="the paper does not list the 200 reports it drew",
        ),
    ),
    *_family(
        "meqsum",
        "Summary of a patient's question, with citations",
        MEQSUM,
        split="test",
        exemplars="validation",
        shots=(0, 1, 2),
        metrics=(*DOCLENS, *OFFICIAL, *TEXT, *MEDCON, *WORDS),
        size=256,
        scoring=_UMLS,
        form="question",
        paper=PaperSetting(items=100, configs=("full",), judges=_JUDGES),
    ),
    *_family(
        "doclens_own",
        "Summary of a source of your own, with citations",
        OWN,
        split="test",
        exemplars="",
        shots=(0,),
        metrics=(*DOCLENS, *OFFICIAL, *TEXT, *MEDCON, *WORDS),
        size=2048,
        scoring=_UMLS,
        form="text",
    ),
)

DocLens.tasks = TASKS
DocLens.views = (
    View(title="By section", metrics=tuple(CLAIMS), by="section"),
    *(
        View(
            title="By worked examples",
            metrics=tuple(CLAIMS),
            tasks={task.name: f"examples: {task.options['shots']}" for task in of},
        )
        for of in (
            [task for task in TASKS if task.options["family"] == family.name]
            for family in TASKS
        )
        if len(of) > 1
    ),
)
