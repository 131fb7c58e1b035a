"""Constructs benchmarks from one's own notes, writes skeletons, and decomposes texts.

The constructions follow the methods of the benchmarks' papers.
"""

from __future__ import annotations

from medical_tasks.plugins import Verb

VERBS = (
    Verb(
        name="new-benchmark",
        group="Evaluate",
        summary="write the skeleton of a benchmark of your own, which runs at once",
        options="medical_tasks.construct.options:NewBenchmark",
        run="medical_tasks.construct.new_benchmark:run",
    ),
    Verb(
        name="decompose",
        group="Evaluate",
        summary="take texts apart into statements or claims, by a judge model",
        options="medical_tasks.construct.options:Decompose",
        run="medical_tasks.construct.decompose.command:run",
    ),
    Verb(
        name="swap",
        group="Evaluate",
        summary="write a dataset again with one attribute of every patient changed, such as sex",
        options="medical_tasks.construct.options:Swap",
        run="medical_tasks.construct.swap.command:run",
    ),
    Verb(
        name="construct",
        group="Evaluate",
        summary="make a benchmark like EHRNoteQA or ArchEHR-QA on your own notes: sample or align, "
        "draft, review",
        options="medical_tasks.construct.options:CONSTRUCT",
        run="medical_tasks.construct.command:run",
    ),
)
