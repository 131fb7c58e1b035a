from __future__ import annotations

import pytest

from medical_tasks.io.columns import (
    Column,
    croissant_fields,
    hub_features,
    yaml_features,
)
from tests.tiny_dataset import COLUMNS


def test_features_and_those_of_a_card_keep_order_and_types() -> None:
    import datasets

    features = hub_features(COLUMNS)
    assert datasets.Features._from_yaml_list(yaml_features(COLUMNS)) == features
    assert list(features) == [
        "id",
        "count",
        "weight",
        "checked",
        "statements",
        "sentences",
    ]
    assert [features[name].dtype for name in list(features)[:4]] == [
        "string",
        "int64",
        "float64",
        "bool",
    ]
    assert features["statements"].feature.dtype == "string"
    members = features["sentences"].feature
    assert (members["number"].dtype, members["text"].dtype) == ("int64", "string")


def test_croissant_fields_of_a_list_of_records() -> None:
    fields = croissant_fields(COLUMNS, "full/test", {"fileObject": {"@id": "f"}})
    assert [field["@id"] for field in fields] == [
        f"full/test/{column.name}" for column in COLUMNS
    ]
    kinds = ["sc:Text", "sc:Integer", "sc:Float", "sc:Boolean", "sc:Text", None]
    assert [field.get("dataType") for field in fields] == kinds
    sentences = fields[-1]
    assert sentences["isArray"] is True
    names = [member["@id"] for member in sentences["subField"]]
    assert names == ["full/test/sentences/number", "full/test/sentences/text"]
    assert sentences["subField"][1]["source"] == {
        "fileObject": {"@id": "f"},
        "extract": {"column": "sentences"},
        "transform": {"jsonPath": "text"},
    }


def test_type_name() -> None:
    columns = [
        COLUMNS[0],
        *COLUMNS[4:6],
        Column(name="a", description="", dtype="struct", fields=(COLUMNS[0],)),
    ]
    names = ["string", "list of string", "list of struct(number, text)", "struct(id)"]
    assert [column.type_name for column in columns] == names
    with pytest.raises(
        ValueError, match="column 'a': a struct, and nothing else, has fields"
    ):
        Column(name="a", description="", dtype="struct")
    with pytest.raises(ValueError, match="column 'b'"):
        Column(name="b", description="", fields=(COLUMNS[0],))
