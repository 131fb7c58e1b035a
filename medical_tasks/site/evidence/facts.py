"""The content of a site's folder as evidence needs it: ids and figures, no text."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from medical_tasks.catalog import tasks
from medical_tasks.comparison.compared import Compared, read_compared
from medical_tasks.comparison.gating import BY_WORDS
from medical_tasks.comparison.strata import read_strata, stratified, with_stratum
from medical_tasks.io.files import found_at, read_text
from medical_tasks.judges.checks import check_set_of, is_of, read_check
from medical_tasks.leaderboard.submission_package.privacy import scrub
from medical_tasks.runs.recipes import comparable_judges, mapping
from medical_tasks.runs.results import RESULTS_FILE, Figures, Json, Row, read_results
from medical_tasks.site.deciding import (
    BASELINE,
    CANDIDATE,
    MEASURES,
    Measure,
    groups_file,
    one_task,
    run_hashes,
)
from medical_tasks.site.folder import Done, Site, last
from medical_tasks.site.history import Line, history
from medical_tasks.site.judging import current_checks
from medical_tasks.site.monitoring import looks_of
from medical_tasks.site.sharing import SHARE_FILE
from medical_tasks.spec import TaskSpec

POOLED: Final = "pooled/pool.json"
"""The pooled result of several hospitals, if there is one."""


class Figure(NamedTuple):
    """A figure that answers a question.

    Attributes:
        name: its subject: a metric, a group, a judge.
        value: the number, in its own unit; None if `words` replace it.
        low: the lower end of its 95 % interval, if it has one.
        high: the upper end.
        n: the number of items, runs or evaluations; 0 if that has no meaning.
        source: its file, relative to the site's folder.
        field: the metric, or the field of the file.
        unit: the unit of the number; "" for a share.
        words: a remark on the number, or what replaces it.
        by_words: whether a judge that compares words decided it, so that it answers
            nothing.
    """

    name: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    source: str
    field: str
    unit: str = ""
    words: str = ""
    by_words: bool = False

    @property
    def remark(self) -> str:
        """The words beside the number."""
        return "; ".join(filter(None, (self.words, BY_WORDS * self.by_words)))


def in_words(name: str, words: str, source: str, field: str, n: int = 0) -> Figure:
    """A figure in words instead of a number."""
    return Figure(name, None, None, None, n, source, field, words=words)


class RunFacts(NamedTuple):
    """A finished run of the site's task.

    Attributes:
        name: its folder, relative to the site's.
        entry: its results of the task, without paths and addresses of this machine.
        compared: the run in the form of `compare`.
    """

    name: str
    entry: Json
    compared: Compared

    @property
    def source(self) -> str:
        """Its file of results, relative to the site's folder."""
        return f"{self.name}/{RESULTS_FILE}"

    @property
    def model(self) -> str:
        """The name of its model."""
        return str(mapping(self.entry["recipe"].get("model")).get("name"))

    @property
    def by_words(self) -> bool:
        """Whether its judge compares words."""
        return not comparable_judges(self.entry["recipe"])

    @property
    def swapped(self) -> Json:
        """How an attribute of its patients was changed; empty if it was not."""
        return mapping(mapping(self.entry["recipe"].get("data")).get("swap"))

    @property
    def rows(self) -> object:
        """The hashes of its rows before any change of an attribute."""
        data = mapping(self.entry["recipe"].get("data"))
        return self.swapped.get("of_rows_sha256", [data.get("rows_sha256")])


@dataclass(frozen=True)
class Facts:
    """The content of a site's folder; each part is read once, when a line needs it.

    Attributes:
        site: the site.
    """

    site: Site

    @functools.cached_property
    def candidate(self) -> RunFacts:
        """The candidate's run.

        Raises:
            MissingError: there is none.
        """
        return self._read(self.site.runs / CANDIDATE, self.task.name)

    @functools.cached_property
    def baseline(self) -> RunFacts | None:
        """The baseline's run, if there is one."""
        return self._run(self.site.runs / BASELINE)

    @functools.cached_property
    def task(self) -> TaskSpec:
        """The task of the candidate."""
        folder = self.site.runs / CANDIDATE
        name, _ = one_task(read_results(folder), folder)
        return tasks()[name]

    @property
    def measures(self) -> Sequence[Measure]:
        """The metrics that decide on the use."""
        return MEASURES[self.site.settings.use]

    @property
    def metric_names(self) -> Sequence[str]:
        """The names of the metrics that decide on the use."""
        return [measure.metric for measure in self.measures]

    @functools.cached_property
    def others(self) -> Sequence[RunFacts]:
        """The other runs of the candidate's model on the site's own items, by folder."""
        matches = []
        for path in sorted(self.site.runs.glob("*")):
            if path.name in (CANDIDATE, BASELINE):
                continue
            run = self._run(path)
            if run is not None and self._of_candidate(run):
                matches.append(run)
        return matches

    @property
    def own(self) -> Iterator[RunFacts]:
        """The candidate's run, then its other runs on unchanged notes."""
        yield self.candidate
        yield from (run for run in self.others if not run.swapped)

    def _of_candidate(self, run: RunFacts) -> bool:
        own, other = self.candidate.model, run.model
        from_files = own.startswith("responses/") and other.startswith("responses/")
        return (own == other or from_files) and run.rows == self.candidate.rows

    def _run(self, path: Path) -> RunFacts | None:
        """A finished run of the site's task; None if there is none in the folder."""
        name = self.task.name
        if found_at(path / RESULTS_FILE) != "file":
            return None
        return self._read(path, name) if name in read_results(path)["tasks"] else None

    def _read(self, path: Path, name: str) -> RunFacts:
        """A finished run, with its results of a task."""
        run = read_compared(path)
        entry = scrub({"tasks": {name: run.results["tasks"][name]}})["tasks"][name]
        return RunFacts(self.site.named(path), entry, run)

    @functools.cached_property
    def rows(self) -> Sequence[Row]:
        """The ids and scores of the candidate's items."""
        return [
            row for row in self.candidate.compared.rows if row["task"] == self.task.name
        ]

    @functools.cached_property
    def groups(self) -> Mapping[str, Mapping[str, Figures]]:
        """The figures of each group of each stratum."""
        figures: dict[str, Mapping[str, Figures]] = {}
        for by in self.site.settings.strata:
            if by in self.task.groups:
                figures[by] = self.candidate.entry["breakdown"].get(by, {})
            elif (table := groups_file(self.site)) is not None:
                task = with_stratum(self.task, by)
                groups = read_strata(table, by)
                run = stratified(self.candidate.compared, task, by, groups)
                figures[by] = run.results["tasks"][task.name]["breakdown"].get(by, {})

        return {by: groups for by, groups in figures.items() if groups}

    @functools.cached_property
    def checks(self) -> Sequence[tuple[str, Json]]:
        """The current checks of the candidate's judge on the task's pairs, with their files."""
        results = self.candidate.compared.results["tasks"][self.task.name]
        judge = mapping(
            results["recipe"].get("judge")
        )  # with its address, unlike `entry`
        matches = []
        for path in current_checks(self.site):
            _, _, check = read_check(path)
            if check["set"] == check_set_of(self.task) and is_of(check, judge):
                matches.append((self.site.named(path), check))

        return matches

    @functools.cached_property
    def lines(self) -> Sequence[Line]:
        """The history.

        Raises:
            UsageError: it was changed.
        """
        return history(self.site.gates)

    @property
    def gate(self) -> Line | None:
        """The last gate, if it decided about the candidate's present run."""
        line = next(
            (line for line in reversed(self.lines) if line.kind == "gate"), None
        )
        hashes = run_hashes(self.site.runs / CANDIDATE)
        gated = mapping(line and line.content["runs"]).get(self.candidate.name)
        return line if mapping(gated).get("items") == hashes["items"] else None

    @property
    def look(self) -> Line | None:
        """The last look of the monitor at the run that was gated last."""
        if self.gate is None:
            return None
        looks = looks_of(self.lines, self.site.runs / CANDIDATE)
        return looks[-1] if looks else None

    @property
    def check(self) -> Done | None:
        """The last check that the folder holds no text of notes."""
        return last(self.site, "check")

    @functools.cached_property
    def pooled(self) -> Json:
        """The pooled result that includes the site's last shared file; else empty."""
        files = self.site.path / POOLED, self.site.share / SHARE_FILE
        if any(found_at(path) != "file" for path in files):
            return {}

        content, shared = (mapping(json.loads(read_text(path))) for path in files)
        hashes = [share["sha256"] for share in content.get("sites", ())]
        return content if shared.get("sha256") in hashes else {}
