from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import yaml

from medical_tasks.data.cards import card_metadata, card_text, file_pattern, licence, licences
from medical_tasks.data.dataset_store import BuiltConfig, BuiltSplit
from tests.tiny_dataset import COLUMNS, CREDENTIALED, SOURCE, SPLITS


def built_config(config: str, rows: int) -> BuiltConfig:
    splits = {
        split: BuiltSplit(path=f"{config}/{split}-abc.parquet", rows=rows, sha256="0" * 64, file_bytes=7, num_bytes=11)
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
    assert {key: metadata[key] for key in ("pretty_name", "license", "language", "tags", "size_categories")} == {
        "pretty_name": "Tiny Notes",
        "license": "cc-by-4.0",
        "language": ["en"],
        "tags": ["medical"],
        "size_categories": ["1K<n<10K"],
    }
    assert metadata["configs"] == [
        {
            "config_name": "full",
            "data_files": [{"split": split, "path": f"full/{split}-abc.parquet"} for split in SPLITS],
            "version": "2.0.0",
            "default": True,
        }
    ]
    (info,) = metadata["dataset_info"]
    assert info["splits"] == [{"name": split, "num_bytes": 11, "num_examples": 400} for split in SPLITS]
    assert (info["download_size"], info["dataset_size"]) == (21, 33)
    assert [feature["name"] for feature in info["features"]] == [column.name for column in COLUMNS]


def test_header_of_the_checked_in_card() -> None:
    metadata = card_metadata(SOURCE)
    assert [config["config_name"] for config in metadata["configs"]] == ["full", "demo"]
    assert metadata["configs"][1]["data_files"][0] == {"split": "train", "path": "demo/train-*.parquet"}
    assert all("splits" not in info for info in metadata["dataset_info"])
    assert file_pattern("demo", "train") == "demo/train-*.parquet"


@pytest.mark.parametrize(
    ("names", "default"), [(["full", "demo"], "full"), (["demo"], "demo"), (["full"], "full"), ([], None)]
)
def test_default_config(names: list[str], default: str | None) -> None:
    metadata = card_metadata(SOURCE, {name: built_config(name, 1) for name in names})
    assert [config["config_name"] for config in metadata["configs"] if config.get("default")] == (
        [default] if default else []
    )


def test_another_real_config_stands_in_for_the_default_one() -> None:
    spec = dataclasses.replace(SOURCE.spec, configs=("full", "later", "demo"))
    source = dataclasses.replace(
        SOURCE,
        spec=spec,
        splits=dict.fromkeys(spec.configs, SPLITS),
        files={**SOURCE.files, "later": SOURCE.files["full"]},
    )
    metadata = card_metadata(source, {name: built_config(name, 1) for name in ("demo", "later")})
    assert [config["config_name"] for config in metadata["configs"]] == ["later", "demo"]
    assert [config.get("default") for config in metadata["configs"]] == [True, None]


@pytest.mark.parametrize(
    ("rows", "category"),
    [(0, "n<1K"), (333, "n<1K"), (334, "1K<n<10K"), (3_334, "10K<n<100K"), (33_334, "100K<n<1M"), (333_334, "n>1M")],
)
def test_size_category(rows: int, category: str) -> None:
    assert card_metadata(SOURCE, {"full": built_config("full", rows)})["size_categories"] == [category]


def test_open_datasets_are_not_gated() -> None:
    assert not [key for key in card_metadata(SOURCE) if key.startswith("extra_gated")]
    assert "Do not push" not in card_text(SOURCE)


def test_credentialed_datasets_are_gated() -> None:
    text = card_text(CREDENTIALED)
    metadata = header(text)
    assert metadata["license"] == "other"
    assert metadata["license_name"] == "physionet-credentialed-1.5.0"
    assert metadata["license_link"] == licence("PhysioNet-Credentialed-1.5.0").url
    assert len(metadata["extra_gated_fields"]) == 5
    assert set(metadata["extra_gated_fields"].values()) == {"text", "checkbox"}
    assert CREDENTIALED.spec.homepage in metadata["extra_gated_prompt"]
    assert metadata["extra_gated_heading"] == "Ask for access to Tiny Notes"
    assert "Do not push them to a Hub" in text
    assert "Access: credentialed" in text


def test_text_says_what_a_reader_needs() -> None:
    text = card_text(dataclasses.replace(SOURCE, licence_note="Be kind."), {"full": built_config("full", 1234)})
    assert header(text) == card_metadata(SOURCE, {"full": built_config("full", 1234)})
    for part in (
        "# Tiny Notes",
        "Notes for tests.",
        "| `full` | `dev` | 1,234 | the notes |",
        "| `sentences` | list of struct(number, text) | numbered sentences |",
        "- download notes.jsonl from https://example.org/tiny",
        "[Creative Commons Attribution 4.0](https://creativecommons.org/licenses/by/4.0/) licence (CC-BY-4.0). Be kind.\n",
        "- Nothing is changed.",
        "@misc{tiny, title = {Tiny Notes}}",
        "fully synthetic",
    ):
        assert part in text
    assert "| `demo` |" not in text


def test_rows_of_the_checked_in_card_are_the_published_ones() -> None:
    text = card_text(dataclasses.replace(SOURCE, published_rows={"full": {"test": 4321}}))
    assert "| `full` | `test` | 4,321 | the notes |" in text
    assert "| `full` | `dev` |  | the notes |" in text
    assert "| `demo` | `dev` |  | this package |" in text


def test_every_licence_is_known_to_the_hub_or_named() -> None:
    assert {entry.hub_id for entry in licences().values()} == {"cc-by-4.0", "cc-by-sa-4.0", "mit", "other"}
    with pytest.raises(ValueError, match="licence 'WTFPL' is not in medical_tasks.data.cards; known: CC-BY-4.0"):
        licence("WTFPL")
