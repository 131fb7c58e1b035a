"""A benchmark on credentialed data, for tests of the data guard: three synthetic notes, one of which holds a canary sentence.

Its scorer is careless on purpose: it quotes answers, verdicts and the note wherever a benchmark can.
"""

from __future__ import annotations

from typing import Any

from medical_tasks.spec import BenchmarkSpec, DatasetSpec, MetricSpec, TaskSpec

CANARY = "her neighbour found the seventy one year old canary breeder asleep beside four unopened letters from the tax office"


def _note(case_id: str, level: str, note: str, gold: str) -> dict[str, Any]:
    return {"case_id": case_id, "level": level, "note": note, "gold": gold}


NOTES = [
    _note("1", "1", f"Admitted on a Monday because {CANARY}. Discharged well.", f"Because {CANARY}."),
    _note("2", "1", "Came with a cut on the left thumb; it was sewn, and that was all there was to do.", "A cut."),
    _note("3", "2", f"Seen again, since {CANARY}. Nothing new was found.", "Nothing new."),
]

DATASET = DatasetSpec(
    name="private_notes",
    title="Private Notes",
    access="credentialed",
    licence="PhysioNet-Credentialed-1.5.0",
    homepage="https://example.org/private-notes",
    paper="https://example.org/private-notes/paper",
    citation="@misc{private, title = {Private Notes}}",
    configs=("full", "demo"),
    default_config="full",
    how_to_get=("sign the agreement at https://example.org/private-notes",),
    version="1.0.0",
)

TASK = TaskSpec(
    name="private_notes_qa",
    title="Questions about private notes",
    benchmark="tests.credentialed_benchmark",
    dataset=DATASET.name,
    split="test",
    metrics=(MetricSpec(name="correct", kind="proportion", description="the judge says so"),),
    version="1-A",
    generation_size=64,
    groups=("level",),
    judge=True,
)

BENCHMARK = BenchmarkSpec(
    name="private_notes",
    title="Private Notes",
    paper="https://example.org/private-notes/paper",
    datasets=(DATASET,),
    tasks=(TASK,),
)
