"""Forged packages: opened, changed, and closed again with correct hashes and totals."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from measurements.package_fuzz import members_of, rehashed
from medical_tasks.catalog import task_spec
from medical_tasks.leaderboard.submission_package import contents
from medical_tasks.leaderboard.submission_package.results import (
    recompute,
    reported_task,
    verdicts_of_items,
)

__all__ = ["Opened", "forged", "put"]

Row = dict[str, Any]


@dataclass
class Opened:
    """The parts of a package, to be changed."""

    manifest: Row
    results: Row
    items: list[Row]
    answers: list[Row] = field(default_factory=list)
    verdicts: list[Row] = field(default_factory=list)

    @property
    def entry(self) -> Row:
        """The entry of its first task."""
        return next(iter(self.results["tasks"].values()))

    def answer(self, item: str) -> Row:
        return next(row for row in self.answers if row["id"] == item)

    def item(self, item: str) -> Row:
        return next(row for row in self.items if row["id"] == item)

    @classmethod
    def of(cls, package: bytes) -> Opened:
        members = members_of(package)
        lines = {
            name: [json.loads(line) for line in members.get(name, b"").splitlines()]
            for name in (contents.ITEMS, contents.ANSWERS, contents.VERDICTS)
        }
        return cls(
            json.loads(members[contents.MANIFEST]),
            json.loads(members[contents.RESULTS]),
            *lines.values(),
        )

    def totals(self) -> None:
        """Recomputes the hashes of answers and verdicts, the numbers of verdicts, and the results."""
        texts = {(row["task"], row["id"]): row["response"] for row in self.answers}
        for name, entry in self.results["tasks"].items():
            rows = [row for row in self.items if row["task"] == name]
            verdicts = [row for row in self.verdicts if row["task"] == name]
            by_item, _ = verdicts_of_items(verdicts, {row["id"] for row in rows})
            for row in rows:
                if (name, row["id"]) in texts:
                    row["answer_sha256"] = contents.answer_sha256(
                        texts[name, row["id"]]
                    )
                row["verdicts_sha256"] = contents.verdicts_sha256(
                    by_item.get(row["id"], ())
                )
            if "judge" in entry:
                decided = sum("value" in row for row in verdicts)
                entry["judge"]["verdicts"] |= {
                    "asked": len(verdicts),
                    "decided": decided,
                }
            read = [
                {
                    key: float("nan") if value == "nan" else value
                    for key, value in row.items()
                }
                for row in rows
            ]
            recomputed = recompute(
                reported_task(task_spec(name), entry),
                entry,
                read,
                contents.DEFAULT_LIMITS,
            )
            entry |= {
                key: recomputed[key]
                for key in ("n_items", "metrics", "coverage", "breakdown")
            }

    def verdict_hashes(self) -> None:
        """Recomputes the hashes and numbers of verdicts of its first task, without totals."""
        by_item, _ = verdicts_of_items(self.verdicts, {row["id"] for row in self.items})
        for row in self.items:
            row["verdicts_sha256"] = contents.verdicts_sha256(
                by_item.get(row["id"], ())
            )
        reasons = Counter(row["unscored"] for row in self.verdicts if "unscored" in row)
        decided = len(self.verdicts) - reasons.total()
        self.entry["judge"]["verdicts"] = {
            "asked": len(self.verdicts),
            "decided": decided,
            "unscored": dict(reasons),
        }

    def closed(self) -> bytes:
        """Returns the package, with correct hashes of its files."""
        members = {
            contents.MANIFEST: _json(self.manifest),
            contents.RESULTS: _json(self.results),
            contents.ITEMS: _lines(self.items),
        }
        members |= {contents.ANSWERS: _lines(self.answers)} if self.answers else {}
        members |= {contents.VERDICTS: _lines(self.verdicts)} if self.verdicts else {}
        return rehashed(members)


def forged(
    package: bytes, change: Callable[[Opened], Any], *, totals: bool = True
) -> bytes:
    """Changes a package and closes it again; with `totals` the results are recomputed."""
    opened = Opened.of(package)
    change(opened)
    if totals:
        opened.totals()
    return opened.closed()


def put(opened: Opened, changes: Mapping[str, Any]) -> None:
    """Changes sections by their paths, where * is the first: an object gets entries, and the value is added to a number."""
    for path, value in changes.items():
        *above, name = path.split(".")
        section: Any = {**vars(opened), "entry": opened.entry}
        for key in above:
            section = section[
                int(key)
                if isinstance(section, list)
                else next(iter(section))
                if key == "*"
                else key
            ]
        last: Any = int(name) if isinstance(section, list) else name
        section[last] = (
            section[last] | value if isinstance(value, dict) else section[last] + value
        )


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _lines(rows: list[Row]) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()
