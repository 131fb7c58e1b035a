"""What the modules share: the dataset."""

from __future__ import annotations

from medical_tasks.spec import DatasetSpec

DATASET = DatasetSpec(
    name="medical_mcq",
    title="Medical MCQ",
    access="open",
    licence="Apache-2.0",
    homepage="https://example.org/medical-mcq",
    paper="https://example.org/medical-mcq/paper",
    citation="@misc{mcq, title = {Medical MCQ}}",
    configs=("demo",),
    default_config="demo",
    how_to_get=("medical-tasks build medical_mcq --config demo",),
    version="1.0.0",
)
