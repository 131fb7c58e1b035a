"""The uses that a site can evaluate, and the task of each.

| use | task | as |
|---|---|---|
| chart-qa | ehrnoteqa_open_level1 | EHRNoteQA: questions on a patient's notes |
| calculator | medcalc, or medcalc_own of credentialed notes | MedCalc-Bench |
| discharge-summary | doclens_own | DocLens: claims of a clinician's own summary |
| patient-questions | kqa, or kqa_own of credentialed questions | K-QA: statements of a clinician's own answer |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from medical_tasks.site.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Use:
    """A use with its task.

    Attributes:
        title: the heading.
        units: the plural name of what is sampled.
        columns: the required columns of the table of notes.
        dataset: the task's dataset, in its configuration `own`.
        task: the task for the models.
        credentialed_dataset: the dataset for credentialed notes; "" if it is the same.
        credentialed_task: the task for credentialed notes; "" if it is the same.
        metric: the headline metric.
        judged: whether a judge scores answers.
        module: the module that makes the items: `package.module`.
        item_minutes: a reviewer's minutes to check a drafted item.
        label_minutes: a reviewer's minutes to label an answer.
    """

    title: str
    units: str
    columns: tuple[str, ...]
    dataset: str
    task: str
    metric: str
    judged: bool
    module: str
    credentialed_dataset: str = ""
    credentialed_task: str = ""
    item_minutes: float
    label_minutes: float

    def task_of(self, settings: Settings) -> str:
        """The task of a site."""
        return (not settings.open and self.credentialed_task) or self.task

    def dataset_of(self, settings: Settings) -> str:
        """The dataset of a site."""
        return (not settings.open and self.credentialed_dataset) or self.dataset


USES: Final[Mapping[str, Use]] = MappingProxyType(
    {
        "chart-qa": Use(
            title="Questions about a patient's chart",
            units="patients",
            columns=("patient_id", "note"),
            dataset="ehrnoteqa",
            task="ehrnoteqa_open_level1",
            metric="accuracy",
            judged=True,
            module="medical_tasks.site.uses.chart_qa",
            item_minutes=3.0,
            label_minutes=1.0,
        ),
        "calculator": Use(
            title="Clinical calculations from notes",
            units="patients",
            columns=("patient_id", "note"),
            dataset="medcalc_bench",
            task="medcalc",
            credentialed_dataset="medcalc_own",
            credentialed_task="medcalc_own",
            metric="accuracy",
            judged=False,
            module="medical_tasks.site.uses.calculator",
            item_minutes=2.0,
            label_minutes=0.0,
        ),
        "discharge-summary": Use(
            title="Summaries of notes",
            units="patients",
            columns=("patient_id", "note", "summary"),
            dataset="doclens_own",
            task="doclens_own",
            metric="claim_recall",
            judged=True,
            module="medical_tasks.site.uses.discharge_summary",
            item_minutes=4.0,
            label_minutes=0.5,
        ),
        "patient-questions": Use(
            title="Answers to patients' questions",
            units="patients",
            columns=("patient_id", "question", "answer"),
            dataset="kqa",
            task="kqa",
            credentialed_dataset="kqa_own",
            credentialed_task="kqa_own",
            metric="comprehensiveness",
            judged=True,
            module="medical_tasks.site.uses.patient_questions",
            item_minutes=4.0,
            label_minutes=0.5,
        ),
    }
)
"""The uses by name."""

CONFIG: Final = "own"
"""The configuration of each dataset for a site's own items."""


def use_of(settings: Settings) -> Use:
    """The use of a site."""
    return USES[settings.use]


def question_item(question: str) -> str:
    """The id of a patient's question, which K-QA's form derives from its text."""
    from medical_tasks.benchmarks.kqa.data import question_id

    return question_id(question)
