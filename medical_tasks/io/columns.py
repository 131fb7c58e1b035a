"""Columns of a built dataset, declared once for `datasets`, the card and Croissant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import datasets

Dtype = Literal["string", "int64", "float64", "bool", "struct"]

_CROISSANT_TYPES = {
    "string": "sc:Text",
    "int64": "sc:Integer",
    "float64": "sc:Float",
    "bool": "sc:Boolean",
}


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column, possibly a list (`repeated`) or a record (`struct`)."""

    name: str
    description: str
    dtype: Dtype = "string"  # of a value, or of each element when `repeated`
    repeated: bool = False
    fields: tuple[Column, ...] = ()  # the members of a `struct`
    # For texts about one patient: a `note` that is asked about, or any `other` text, such as a
    # question or a reference.
    about: Literal["", "note", "other"] = ""

    def __post_init__(self) -> None:
        if (self.dtype == "struct") != bool(self.fields):
            raise ValueError(
                f"column {self.name!r}: a struct, and nothing else, has fields"
            )

    @property
    def type_name(self) -> str:
        """The type in words: `string`, `list of string`, `list of struct(id, text)`."""
        inner = (
            f"struct({', '.join(member.name for member in self.fields)})"
            if self.fields
            else self.dtype
        )
        return f"list of {inner}" if self.repeated else inner


def hub_features(columns: Iterable[Column]) -> datasets.Features:
    """Makes the `datasets.Features` of a table."""
    import datasets

    def feature(column: Column) -> object:
        inner: object = {
            member.name: feature(member) for member in column.fields
        } or datasets.Value(column.dtype)
        return datasets.List(inner) if column.repeated else inner

    return datasets.Features({column.name: feature(column) for column in columns})


def yaml_features(columns: Iterable[Column]) -> list[dict[str, object]]:
    """Makes the `features` list of a card's `dataset_info`, in the form `load_dataset` reads."""

    def feature(column: Column) -> dict[str, object]:
        inner: object = yaml_features(column.fields) if column.fields else column.dtype
        if column.repeated:
            return {"name": column.name, "list": inner}
        return {"name": column.name, "struct" if column.fields else "dtype": inner}

    return [feature(column) for column in columns]


def croissant_fields(
    columns: Iterable[Column], record_set: str, source: Mapping[str, object]
) -> list[dict[str, Any]]:
    """Makes the Croissant 1.1 fields of a table.

    `source` refers to its file, `{"fileObject": {"@id": ...}}` or `{"fileSet": ...}`.
    """

    def field(column: Column, path: tuple[str, ...]) -> dict[str, object]:
        """A column in Croissant's form; members of a struct are its sub-fields."""
        full_path = (*path, column.name)
        extract: dict[str, object] = {**source, "extract": {"column": full_path[0]}}
        if len(full_path) > 1:
            # A member of a struct is extracted from the column's value by a path.
            extract["transform"] = {"jsonPath": ".".join(full_path[1:])}

        node: dict[str, object] = {
            "@type": "cr:Field",
            "@id": f"{record_set}/{'/'.join(full_path)}",
            "name": f"{record_set}/{'/'.join(full_path)}",
            "description": column.description,
        }
        if column.repeated:
            node["isArray"] = True

        if column.fields:
            node["subField"] = [field(member, full_path) for member in column.fields]
        else:
            node["dataType"] = _CROISSANT_TYPES[column.dtype]

        return {**node, "source": extract}

    return [field(column, ()) for column in columns]
