"""Croissant 1.0 description of a dataset (https://docs.mlcommons.org/croissant/docs/croissant-spec.html).

As with the card there are two uses. In a built folder each split is a file with its true SHA-256, so that a Croissant
tool can check what it loads. The checked-in description cannot hold the hash of files that do not exist yet: there each
split is a file set, a pattern, which the format allows without a hash.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from medical_tasks.data.card import file_pattern
from medical_tasks.data.dataset_source import DatasetSource
from medical_tasks.data.dataset_store import BuiltConfig
from medical_tasks.data.licences import licence
from medical_tasks.io.columns import croissant_fields

__all__ = ["croissant_metadata", "croissant_text"]

_PARQUET = "application/x-parquet"

# The context that the specification prescribes, in its order.
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


def croissant_metadata(source: DatasetSource, built: Mapping[str, BuiltConfig] | None = None) -> dict[str, Any]:
    """Makes the description.

    Args:
        source: the dataset.
        built: what the folder holds; None describes every configuration there can be.

    Returns:
        JSON-LD; the record set of a split is called `<config>/<split>`.
    """
    spec = source.spec
    distribution: list[dict[str, Any]] = []
    record_sets: list[dict[str, Any]] = []
    for config in spec.configs:
        if built is not None and config not in built:
            continue
        for split in source.splits[config] if built is None else built[config].splits:
            name = f"{config}/{split}"
            file_id = f"{config}-{split}-parquet"
            if built is None:
                distribution.append(
                    {
                        "@type": "cr:FileSet",
                        "@id": file_id,
                        "name": file_id,
                        "encodingFormat": _PARQUET,
                        "includes": file_pattern(config, split),
                    }
                )
                reference = {"fileSet": {"@id": file_id}}
            else:
                entry = built[config].splits[split]
                distribution.append(
                    {
                        "@type": "cr:FileObject",
                        "@id": file_id,
                        "name": file_id,
                        "contentUrl": entry.path,
                        "contentSize": f"{entry.file_bytes} B",
                        "encodingFormat": _PARQUET,
                        "sha256": entry.sha256,
                    }
                )
                reference = {"fileObject": {"@id": file_id}}
            record_sets.append(
                {
                    "@type": "cr:RecordSet",
                    "@id": name,
                    "name": name,
                    "description": f"{spec.title}, configuration {config}, split {split}",
                    "key": {"@id": f"{name}/{source.key}"},
                    "field": croissant_fields(source.columns, name, reference),
                }
            )
    metadata: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": spec.name,
        "alternateName": spec.title,
        "description": source.summary,
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "license": licence(spec.licence).url,
        "url": spec.homepage,
        "sameAs": spec.paper,
        "version": spec.version,
        "datePublished": source.published,
        "creator": [{"@type": "sc:Person", "name": name} for name in source.creators],
        "keywords": list(source.tags),
        "inLanguage": list(source.languages),
        "citeAs": spec.citation,
    }
    if spec.access == "credentialed":
        metadata["conditionsOfAccess"] = f"Credentialed; permission is given by the publisher: {spec.homepage}"
    return {**metadata, "distribution": distribution, "recordSet": record_sets}


def croissant_text(source: DatasetSource, built: Mapping[str, BuiltConfig] | None = None) -> str:
    """Writes the description.

    Args:
        source: the dataset.
        built: what the folder holds; None describes every configuration there can be.

    Returns:
        The text of `croissant.json`.
    """
    return json.dumps(croissant_metadata(source, built), ensure_ascii=False, indent=2) + "\n"
