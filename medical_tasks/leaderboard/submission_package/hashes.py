"""Hashes of a package: of an answer, of an item's verdicts, of a file, of all of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["answer_sha256", "canonical", "content_sha256", "file_facts", "verdicts_sha256"]


def canonical(value: Any) -> str:
    """JSON in one form: names sorted, no spaces, ASCII.

    Args:
        value: JSON values; no `nan`.

    Raises:
        ValueError: A number that JSON does not have.
    """
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def answer_sha256(text: str | None) -> str:
    """SHA-256 of a model's text as UTF-8, halves of surrogate pairs as they are; "" for an item without an answer."""
    return "" if text is None else hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def verdicts_sha256(rows: Iterable[Mapping[str, Any]]) -> str:
    """SHA-256 over an item's verdicts in their order, each as `canonical` and a line feed; "" without any."""
    digest, some = hashlib.sha256(), False
    for row in rows:
        some = True
        digest.update(f"{canonical(row)}\n".encode())
    return digest.hexdigest() if some else ""


def file_facts(content: bytes) -> dict[str, Any]:
    """What `package.json` says of a file: `bytes` and `sha256`."""
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def content_sha256(manifest: Mapping[str, Any]) -> str:
    """SHA-256 over `package.json` as `canonical`, without `content_sha256` itself; the other files' hashes are in it."""
    stated = {name: value for name, value in manifest.items() if name != "content_sha256"}
    return hashlib.sha256(canonical(stated).encode()).hexdigest()
