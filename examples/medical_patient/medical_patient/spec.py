"""The benchmark: its object, its dataset and its task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from medical_tasks import spec

if TYPE_CHECKING:
    from medical_patient.visit import Visit
    from medical_tasks.data.dataset_source import DatasetSource

DATASET = spec.DatasetSpec(
    name="medical_patient",
    title="Simulated patients",
    access="open",
    licence="Apache-2.0",
    homepage="https://example.org/medical-patient",
    paper="https://example.org/medical-patient/paper",
    citation="@misc{patient, title = {Simulated patients}}",
    configs=("demo",),
    default_config="demo",
    how_to_get=("medical-tasks build medical_patient --config demo",),
    version="1.0.0",
)
MOST: Final = 4
"""Questions that the model may ask."""


class MedicalPatient(spec.Benchmark):
    """A history is taken from a simulated patient, and a question about it answered."""

    datasets = (DATASET,)
    prompt_sets = ("own",)
    sometimes_counted = ("facts", "questions")

    def sources(self) -> tuple[DatasetSource, ...]:
        """See `data`."""
        from medical_patient.data import SOURCES

        return SOURCES

    def load_prompts(
        self, task: spec.TaskSpec, asking: spec.Asking = spec.OWN_PROMPTS
    ) -> spec.PromptSet:
        """See `visit`."""
        from medical_patient.visit import prompts

        return prompts()

    def open_protocol(self, task: spec.TaskSpec, asking: spec.Asking = spec.OWN_PROMPTS) -> Visit:
        """See `visit`."""
        from medical_patient.visit import Visit

        return Visit()

    def gold_response(self, task: spec.TaskSpec, item: spec.Item) -> str:
        """The right letter."""
        return str(item.fields["answer"])

    def score_items(
        self,
        task: spec.TaskSpec,
        items: Sequence[spec.Item],
        answers: Sequence[spec.Answer],
        scoring: spec.Scoring = spec.PLAIN_SCORING,
    ) -> list[spec.ItemScore]:
        """See `visit`."""
        from medical_patient.visit import score

        return [score(*pair) for pair in zip(items, answers, strict=True)]


BENCHMARK = MedicalPatient()
MedicalPatient.tasks = (
    spec.TaskSpec(
        name="medical_patient",
        title="History from a simulated patient, then a decision by letter",
        benchmark=BENCHMARK,
        dataset=DATASET.name,
        split="test",
        metrics=(
            spec.MetricSpec(
                name="accuracy", kind="proportion", description="share of right decisions"
            ),
            spec.MetricSpec(
                name="facts", kind="mean", description="share of the facts that the patient told"
            ),
            spec.MetricSpec(
                name="questions",
                kind="mean",
                description="questions asked before deciding",
                limits=(0.0, MOST),
                unit="per answer",
                higher_is_better=False,
            ),
        ),
        groups=("topic",),
        version="1-A",
        generation_size=256,
        protocol="visit",
        roles={"patient": "plays the patient, who tells what is asked"},
    ),
)
