"""Cards and `eval.yaml`: the Hub's specification, the fields that inspect reads, and agreement with the specs."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from medical_tasks.catalog import (
    dataset_source,
    dataset_spec,
    datasets,
    task_spec,
    tasks,
)
from medical_tasks.data import cards
from medical_tasks.data.cards import (
    FRAMEWORK,
    accepted_configs,
    card_metadata,
    card_text,
    eval_text,
    leaderboard_config,
    licence,
)
from medical_tasks.data.dataset_store import (
    BuiltConfig,
    BuiltSplit,
    read_rows,
    split_names,
)
from medical_tasks.data.fetching import build_dataset
from medical_tasks.data.task_data import load_task_data
from medical_tasks.io.files import packaged
from tests.support import ROOT, own_datasets, own_tasks
from tests.tiny_dataset import COLUMNS, CREDENTIALED, SOURCE, SPLITS


def built_config(config: str, rows: int) -> BuiltConfig:
    splits = {
        split: BuiltSplit(
            path=f"{config}/{split}-abc.parquet",
            rows=rows,
            sha256="0" * 64,
            file_bytes=7,
            num_bytes=11,
        )
        for split in SPLITS
    }
    return BuiltConfig(version="2.0.0", suite="0.1.0", source={}, splits=splits)


def header(text: str) -> dict[str, Any]:
    start, body, _ = text.split("---\n", 2)
    assert start == ""
    content = yaml.safe_load(body)
    assert isinstance(content, dict)
    return content


def test_header_of_a_built_folder() -> None:
    metadata = card_metadata(SOURCE, {"full": built_config("full", 400)})
    assert {
        key: metadata[key]
        for key in ("pretty_name", "license", "language", "tags", "size_categories")
    } == {
        "pretty_name": "Tiny Notes",
        "license": "cc-by-4.0",
        "language": ["en"],
        "tags": ["medical"],
        "size_categories": ["1K<n<10K"],
    }
    assert metadata["configs"] == [
        {
            "config_name": "full",
            "data_files": [
                {"split": split, "path": f"full/{split}-abc.parquet"}
                for split in SPLITS
            ],
            "version": "2.0.0",
            "default": True,
        }
    ]
    (info,) = metadata["dataset_info"]
    assert info["splits"] == [
        {"name": split, "num_bytes": 11, "num_examples": 400} for split in SPLITS
    ]
    assert (info["download_size"], info["dataset_size"]) == (21, 33)
    assert [feature["name"] for feature in info["features"]] == [
        column.name for column in COLUMNS
    ]
    for rows, category in ((333, "n<1K"), (334, "1K<n<10K"), (333_334, "n>1M")):
        assert card_metadata(SOURCE, {"full": built_config("full", rows)})[
            "size_categories"
        ] == [category]


@pytest.mark.parametrize(
    ("names", "default"),
    [
        ("full later demo", ["full"]),
        ("demo", ["demo"]),
        ("demo later", ["later"]),
        ("", []),
    ],
)
def test_default_config(names: str, default: list[str]) -> None:
    spec = dataclasses.replace(SOURCE.spec, configs=("full", "later", "demo"))
    source = dataclasses.replace(
        SOURCE,
        spec=spec,
        splits=dict.fromkeys(spec.configs, SPLITS),
        files={**SOURCE.files, "later": SOURCE.files["full"]},
    )
    metadata = card_metadata(
        source, {name: built_config(name, 1) for name in names.split()}
    )
    assert [config["config_name"] for config in metadata["configs"]] == [
        name for name in spec.configs if name in names.split()
    ]
    assert [
        config["config_name"] for config in metadata["configs"] if config.get("default")
    ] == default


def test_the_text_of_a_built_folder() -> None:
    # Cards of datasets that can be built are in `dataset_builders` and compared there.
    text = card_text(
        dataclasses.replace(SOURCE, licence_note="Be kind."),
        {"full": built_config("full", 1234)},
    )
    assert header(text) == card_metadata(SOURCE, {"full": built_config("full", 1234)})
    assert "| `full` | `dev` | 1,234 | the notes |" in text
    assert "licence (CC-BY-4.0). Be kind.\n" in text
    assert "| `demo` |" not in text
    assert "Do not push them to a Hub" in card_text(CREDENTIALED, {})


def test_every_licence_is_known_to_the_hub_or_named() -> None:
    expected = {"apache-2.0", "cc0-1.0", "cc-by-4.0", "cc-by-sa-4.0", "mit", "other"}
    names = packaged(cards.__file__, "cards.json")["licences"]
    assert {licence(name).hub_id for name in names} == expected
    with pytest.raises(
        ValueError,
        match="licence 'WTFPL' is not in medical_tasks.data.cards; known: Apache-2.0",
    ):
        licence("WTFPL")


# https://github.com/huggingface/huggingface.js/blob/main/packages/tasks/src/eval.ts, of
# those that ask language models questions.
FRAMEWORKS = {
    "inspect-ai",
    "nemo-evaluator",
    "exgentic",
    "harbor",
    "mteb",
    "math-arena",
}
HUB_DATASETS = [name for name in own_datasets() if not name.endswith("_own")]


def content(name: str) -> Any:
    return yaml.safe_load(
        (ROOT / "dataset_builders" / name / "eval.yaml").read_text(encoding="utf-8")
    )


def test_every_dataset_but_ones_own_is_a_benchmark() -> None:
    assert HUB_DATASETS
    assert sorted(
        path.parent.name for path in (ROOT / "dataset_builders").glob("*/eval.yaml")
    ) == sorted(HUB_DATASETS)
    assert FRAMEWORK in FRAMEWORKS


def test_every_task_that_asks_a_model_has_one_leaderboard() -> None:
    ids = [task["id"] for name in HUB_DATASETS for task in content(name)["tasks"]]
    assert ids.count("medcalc") == 1
    assert len(ids) == len(set(ids))
    assert set(own_tasks()) - set(ids) == {
        "archehr_heuristic",
        "doclens_own",
        "kqa_own",
        "medcalc_fair",
        "medcalc_own",
        "medcalc_twins",
    }
    # A leaderboard has one number, and no field for "lower is better" or for a unit.
    assert all(
        tasks()[name].metrics[0].higher_is_better
        and tasks()[name].metrics[0].unit == ""
        for name in ids
    )


@pytest.mark.parametrize("name", HUB_DATASETS)
def test_eval_yaml_has_the_fields_that_the_hub_and_inspect_need(name: str) -> None:
    from inspect_ai._eval.task.hf import HFTask

    file = content(name)
    assert list(file) == ["name", "description", "evaluation_framework", "tasks"]
    assert (file["name"], file["evaluation_framework"]) == (
        datasets()[name].title,
        FRAMEWORK,
    )
    source, entries = dataset_source(name), file["tasks"]
    columns = {column.name for column in source.columns}
    for entry in entries:
        task, read = task_spec(entry["id"]), HFTask.model_validate(entry)
        assert task.dataset == name
        assert (read.split, read.config) == (
            task.split,
            leaderboard_config(task, source.spec),
        )
        assert set(split_names(task.split)) <= set(source.splits[entry["config"]])
        named = entry["field_spec"]
        used = [
            named["input"],
            named["target"],
            *named.get("metadata", ()),
            named.get("choices"),
        ]
        assert {column for column in used if column} <= columns
        # The Hub takes several tasks only with ids, and inspect several scorers' names
        # only from its list.
        assert read.solvers
        assert read.scorers


@pytest.mark.parametrize("name", HUB_DATASETS)
def test_inspect_makes_samples_from_the_rows(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    from inspect_ai._eval.task.hf import HFTask, _record_to_sample_hf

    folder = tmp_path_factory.mktemp(name)
    build_dataset(name, source=None, config="demo", out=folder)
    assert not (folder / "eval.yaml").exists()  # no leaderboard is about demo rows
    for entry in content(name)["tasks"]:
        rows, task = read_rows(folder, "demo", entry["split"]), task_spec(entry["id"])
        sample = _record_to_sample_hf(
            dict(rows[0]), HFTask.model_validate(entry).field_spec
        )
        assert sample.input
        assert sample.target
        assert len(sample.choices or ()) == (
            5 if "choices" in entry["field_spec"] else 0
        )
        # `inspect score --scorer medical_tasks/TASK` finds an item by its row's key.
        if task.items_a_row == 1:
            items = load_task_data(
                task, datasets()[name], data=folder, config="demo"
            ).items
            key = dataset_source(name).key
            assert str((sample.metadata or {})[key]) == str(rows[0][key])
            assert {item.id for item in items} <= {str(row[key]) for row in rows}


def test_eval_yaml_covers_the_built_configurations() -> None:
    every = tuple(tasks().values())
    spec = dataset_spec("ehrnoteqa")
    assert eval_text(spec, every, built={}) == ""
    assert eval_text(spec, every, built={"demo": ["test"]}) == ""
    ids = [
        task["id"]
        for task in yaml.safe_load(eval_text(spec, every, built={"level2": ["test"]}))[
            "tasks"
        ]
    ]
    assert ids == [
        name
        for name in tasks()
        if name.startswith("ehrnoteqa") and name.endswith("level2")
    ]
    assert eval_text(dataset_spec("doclens_own"), every) == ""
    # Configurations with the same questions.
    assert accepted_configs(task_spec("ehrnoteqa_mc_level2"), spec) == ("level2", "all")
    assert accepted_configs(task_spec("medcalc"), dataset_spec("medcalc_bench")) == (
        "v1.0",
    )


def test_a_build_writes_eval_yaml_beside_the_rows(tmp_path: Path) -> None:
    record = {
        "Free_form_answer": "No.",
        "Must_have": ["It is not."],
        "Nice_to_have": [],
        "Sources": "",
        "ICD_10_diag": "",
    }
    lines = [
        json.dumps({"Question": f"Are {cups} cups of tea bad for sleep?", **record})
        for cups in range(201)
    ]
    (tmp_path / "questions_w_answers.jsonl").write_text(
        "\n".join(lines) + "\n", encoding="utf-8"
    )
    built = build_dataset(
        "kqa", source=tmp_path, config="answered", out=tmp_path / "kqa"
    )
    text = (built.folder / "eval.yaml").read_text(encoding="utf-8")
    assert text == (ROOT / "dataset_builders" / "kqa" / "eval.yaml").read_text(
        encoding="utf-8"
    )
