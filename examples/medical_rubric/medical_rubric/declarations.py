"""What the modules share: the dataset."""

from __future__ import annotations

from medical_tasks.spec import DatasetSpec

DATASET = DatasetSpec(
    name="medical_rubric",
    title="Medical Rubric",
    access="open",
    licence="Apache-2.0",
    homepage="https://example.org/medical-rubric",
    paper="https://example.org/medical-rubric/paper",
    citation="@misc{rubric, title = {Medical Rubric}}",
    configs=("demo",),
    default_config="demo",
    how_to_get=("medical-tasks build medical_rubric --config demo",),
    version="1.0.0",
)
