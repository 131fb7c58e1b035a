"""Valid packages: real in every hash and number, with few items."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from medical_tasks.catalog import dataset_spec, task_spec
from medical_tasks.leaderboard.board import Board, event_name, package_name
from medical_tasks.leaderboard.records import Event, Submitted, event_bytes
from medical_tasks.leaderboard.submission_package.contents import (
    Submitter,
    answer_sha256,
)
from medical_tasks.leaderboard.submission_package.package_file import make_manifest
from medical_tasks.leaderboard.submission_package.privacy import texts_allowed
from medical_tasks.leaderboard.submission_package.reading import read_package
from medical_tasks.leaderboard.submission_package.results import partial_facts
from medical_tasks.leaderboard.submission_package.zip_file import zip_bytes
from medical_tasks.runs.estimation import BOOTSTRAP_SEED
from medical_tasks.runs.results import SCHEMA_VERSION, item_rows
from medical_tasks.runs.summary import summarise
from medical_tasks.spec import Item, ItemScore, TaskSpec
from tests.case_tables import tables

__all__ = ["accepted", "cases", "fill", "package", "recipe_of"]


def cases(name: str) -> Any:
    """Reads `cases/NAME.json`."""
    return tables(__file__, name)


def recipe_of(task: TaskSpec, /, **changes: Any) -> dict[str, Any]:
    """Returns a complete recipe of a task without a judge; `data=` replaces that section, and `data+` updates it."""
    data = dataset_spec(task.dataset)
    recipe: dict[str, Any] = {
        "suite": "medical-tasks 0.1.0",
        "task": task.name,
        "task_version": task.version,
        "data": {
            "name": data.name,
            "config": data.default_config,
            "split": task.split,
            "version": data.version,
            "source": {"file 1": "c2" * 32},
            "rows_sha256": "95" * 32,
        },
        "prompts": {"set": "own", "sha256": "ab" * 32},
        "generation": {
            "max_new_tokens": task.generation_size,
            "stop": [],
            "model_args": {},
            "processes": 1,
        },
        "max_samples": None,
        "metrics": {metric.name: {"kind": metric.kind} for metric in task.metrics},
        "statistics": {
            "confidence": 0.95,
            "bootstrap_seed": BOOTSTRAP_SEED,
            "cluster": task.cluster,
        },
        "model": {"name": "hf/org/model"},
        "judge": None,
        "python": "3.11.7",
        "packages": {"numpy": "2.4.6"},
    }
    for name, value in changes.items():
        recipe |= (
            {name[:-1]: {**recipe[name[:-1]], **value}}
            if name.endswith("+")
            else {name: value}
        )
    return recipe


def package(
    model: str = "A model",
    *,
    organisation: str = "An organisation",
    right: int = 3,
    of: int = 5,
    unanswered: int = 0,
    task: str = "medcalc",
    recipe: Mapping[str, Any] | None = None,
    held: bool = True,
) -> bytes:
    """Makes a package of one task without a judge; the first items are right, the last ones unanswered.

    With `held=False` it has no answers, which are then published elsewhere.
    """
    spec = task_spec(task)
    items = [
        Item(
            id=f"item-{n}",
            fields={},
            groups=dict.fromkeys(spec.groups, "physical"),
            cluster=f"note-{n}",
        )
        for n in range(of)
    ]
    answers = {
        item.id: f"The answer is {random.Random(f'{model}{n}').random()}."
        for n, item in enumerate(items[: of - unanswered])
    }
    scores = {
        item.id: ItemScore(
            id=item.id,
            values={
                metric.name: min(float(n < right), metric.limits[1])
                for metric in spec.metrics
            },
            parsed="1",
        )
        for n, item in enumerate(items)
        if item.id in answers
    }
    missing = {item.id: "timeout" for item in items if item.id not in answers}
    entry = summarise(
        spec, items, scores, missing, recipe=recipe_of(spec, **(recipe or {}))
    )
    entry["cut_at_length"] = 0
    results = {"schema_version": SCHEMA_VERSION, "tasks": {task: entry}}
    public = texts_allowed(spec)
    rows = []
    for row in item_rows(spec, items, scores, missing):
        digest = answer_sha256(answers.get(row["id"]))
        hashes = {"answer_sha256": digest, "verdicts_sha256": ""}
        rows.append(
            {**row, **hashes}
            if public
            else {**row, **hashes, "parsed": "", "why": "", "response_sha256": digest}
        )
    lines = [
        {"task": task, "id": item, "response": text}
        for item, text in answers.items()
        if public
    ]
    files = {
        "results.json": json.dumps(results).encode(),
        "items.jsonl": "".join(json.dumps(row) + "\n" for row in rows).encode(),
    }
    if held:
        files["answers.jsonl"] = "".join(
            json.dumps(line) + "\n" for line in lines
        ).encode()
    submitter = Submitter(model=model, organisation=organisation)
    manifest = make_manifest(submitter, [task], partial_facts(results), files)
    return zip_bytes({"package.json": json.dumps(manifest).encode(), **files})


def accepted(board: Board, content: bytes, **decision: Any) -> str:
    """Submits and accepts a package; returns the submission's id."""
    name = board.submit(content).id
    board.decide(name, "accepted", by="keeper", **decision)
    return name


def fill(
    store: Path, count: int, draw: random.Random, *, first: int = 0, of: int = 40
) -> None:
    """Writes accepted models into a store's folder, as a board would but without syncing the disk."""
    for number in range(first, first + count):
        organisation = f"Organisation {number % 97}"
        right = draw.randrange(of + 1)
        content = package(
            f"{organisation} Model {number}",
            organisation=organisation,
            right=right,
            of=of,
        )
        manifest = read_package(content).manifest
        digest = hashlib.sha256(content).hexdigest()
        submitted = Submitted(
            submitter=manifest.submitter,
            tasks=manifest.tasks,
            package_bytes=len(content),
            package_sha256=digest,
        )
        files = {
            package_name(manifest.id): content,
            event_name(manifest.id, 1): event_bytes(
                Event(state="pending", at="2026-03-01T10:00:00Z"), submitted
            ),
            event_name(manifest.id, 2): event_bytes(
                Event(state="accepted", at="2026-03-01T11:00:00Z", by="keeper")
            ),
        }
        for name, data in files.items():
            (store / name).parent.mkdir(parents=True, exist_ok=True)
            (store / name).write_bytes(data)
