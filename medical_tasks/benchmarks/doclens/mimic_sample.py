"""Rows of `mimic_rrs`: reports for `test` in proportion to their kinds, and some of each kind of `TRAIN_KINDS` for `train`.

Which reports are taken depends on their ids and the seed alone, not on the order of the file: each id has a rank, a hash, and the
lowest ranks are taken. What may still be taken is all that is held, so memory does not grow with the file:

- of each kind the reports of lowest rank, as many as the whole sample has, for a kind's share is known at the end alone;
- of each kind of `train` the report of lowest rank of each of so many patients that enough are left when those of `test`, one
  a report at most, are taken away.
"""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush, heapreplace
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.doclens.mimic_report import Kind, LeftOut, Report
from medical_tasks.errors import UsageError, system_reason
from medical_tasks.io.columns import Column
from medical_tasks.scoring.sentences import split_sentences

SAMPLE: Final = 200
"""Reports in `test` (paper, appendix on the experiments)."""

TRAIN_EACH: Final = 50
"""Most reports of a kind in `train`: worked examples are drawn from them, one or two of each kind."""

SEED: Final = 0


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A report that can be used."""

    id: str
    patient_id: str
    kind: Kind
    report: Report


def largest_remainder(counts: Mapping[Kind, int], size: int) -> dict[Kind, int]:
    """Divides a sample in proportion: whole parts first, then one more each for the largest remainders.

    Returns its reports of each kind; of equal remainders the kind that comes first by its name.
    """
    total = sum(counts.values())
    if not 0 <= size <= total:
        raise ValueError(f"size must be from 0 to {total}, got {size}")
    shares = {kind: size * count // total for kind, count in counts.items()} if total else {}
    left = size - sum(shares.values())
    for kind in sorted(counts, key=lambda each: (-(size * counts[each] % total), each))[:left]:
        shares[kind] += 1
    return shares


class Sampler:
    """Takes reports one after another and holds what may be sampled."""

    def __init__(self, *, sample: int, train_each: int, train_kinds: Collection[Kind], seed: int) -> None:
        self.counts: Counter[Kind] = Counter()
        self.sample, self._train_each = sample, train_each
        self._train_kinds = tuple(train_kinds)
        self._seed = seed
        self._test: dict[Kind, _Lowest] = {}
        self._train = {kind: _LowestOfEach(train_each + sample) for kind in self._train_kinds}

    @property
    def total(self) -> int:
        """Reports taken so far."""
        return sum(self.counts.values())

    def add(self, candidate: Candidate) -> None:
        """Takes one more report."""
        kind = candidate.kind
        self.counts[kind] += 1
        if kind not in self._test:
            self._test[kind] = _Lowest(self.sample)
        self._test[kind].add(self._rank("test", candidate), candidate)
        if kind in self._train:
            self._train[kind].add(self._rank("train", candidate), candidate)

    def split(self) -> dict[str, list[Candidate]]:
        """Draws the sample.

        Returns the reports of `test` and `train`, by id; no patient is in both, and none is twice in one kind of `train`.
        """
        shares = largest_remainder(self.counts, self.sample)
        test = [each for kind, share in shares.items() for each in self._test[kind].best(share)]
        patients = {each.patient_id for each in test}
        train = [
            each
            for kind in self._train_kinds
            for each in [one for one in self._train[kind].best() if one.patient_id not in patients][: self._train_each]
        ]
        return {"train": sorted(train, key=_by_id), "test": sorted(test, key=_by_id)}

    def _rank(self, split: str, candidate: Candidate) -> int:
        text = f"{self._seed}/{split}/{candidate.id}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big")


def _by_id(candidate: Candidate) -> tuple[int, str]:
    """Numbers by their size, other ids by their letters."""
    return len(candidate.id) if candidate.id.isdecimal() else 0, candidate.id


class _Lowest:
    def __init__(self, size: int) -> None:
        self._size = size
        self._heap: list[tuple[int, int, Candidate]] = []  # the highest rank first; no two have a place in common
        self._place = 0

    def add(self, rank: int, candidate: Candidate) -> None:
        self._place += 1
        if len(self._heap) < self._size:
            heappush(self._heap, (-rank, self._place, candidate))
        elif self._heap and rank < -self._heap[0][0]:
            heapreplace(self._heap, (-rank, self._place, candidate))

    def best(self, count: int) -> Iterable[Candidate]:
        return [candidate for _, _, candidate in sorted(self._heap, key=lambda entry: -entry[0])[:count]]


class _LowestOfEach:
    """Of the patients whose lowest rank is lowest, that report of each."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._held: dict[str, tuple[int, Candidate]] = {}
        self._heap: list[tuple[int, str]] = []  # the highest rank first; ranks of before count no more

    def add(self, rank: int, candidate: Candidate) -> None:
        patient = candidate.patient_id
        held = self._held.get(patient)
        if held is not None and held[0] <= rank:
            return
        if held is None and len(self._held) >= self._size:
            self._drop_old()
            if not self._heap or rank >= -self._heap[0][0]:
                return
            del self._held[heappop(self._heap)[1]]
        self._held[patient] = (rank, candidate)
        heappush(self._heap, (-rank, patient))

    def _drop_old(self) -> None:
        while self._heap and self._held.get(self._heap[0][1], (None,))[0] != -self._heap[0][0]:
            heappop(self._heap)

    def best(self) -> Iterable[Candidate]:
        return [candidate for _, candidate in sorted(self._held.values(), key=lambda entry: entry[0])]


SPLITS = ("train", "test")
Rows = dict[str, tuple[dict[str, Any], ...]]
"""Split to its rows."""

MIMIC_COLUMNS = (
    Column(name="id", description="Of the report: MIMIC-III's ROW_ID, in `table` as the table has it"),
    Column(name="patient_id", description="Whose report it is: MIMIC-III's SUBJECT_ID. Reports share it"),
    Column(name="modality", description="`CT` or `MR`; `unknown` in a table that does not say it"),
    Column(
        name="anatomy",
        description="`head`, `abdomen`, `chest`, `spine`, `neck`, `sinus` or `pelvis`; or `unknown`, likewise",
    ),
    Column(name="findings", description="What was seen: the findings section, its wrapped lines joined"),
    Column(
        name="sentences",
        repeated=True,
        description="Its sentences, each on one line; a sentence's number is its place, from 0",
    ),
    Column(name="impression", description="What it means: the impression section, likewise; the reference"),
)


def report_row(candidate: Candidate) -> dict[str, Any]:
    """Puts a row together, with the columns in their order."""
    return {
        "id": candidate.id,
        "patient_id": candidate.patient_id,
        "modality": candidate.kind.modality,
        "anatomy": candidate.kind.anatomy,
        "findings": candidate.report.findings,
        "sentences": report_sentences(candidate.report.findings),
        "impression": candidate.report.impression,
    }


def report_sentences(findings: str) -> list[str]:
    """Splits findings into sentences; the number of a sentence is its place, from 0.

    Returns sentences that are not blank, each on one line. Joined by spaces they are the findings up to white space.
    """
    return [" ".join(sentence.split()) for sentence in split_sentences(findings)]


def file_stamp(path: Path) -> tuple[int, ...]:
    """Tells a file's state from any other it had or will have, as far as its folder knows."""
    try:
        state = path.stat()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({system_reason(error)}).") from error
    return state.st_size, state.st_dev, state.st_ino, state.st_mtime_ns


def sampled_rows(path: Path, reports: Iterable[Candidate | LeftOut], sampler: Sampler, *, advice: str) -> Rows:
    """Draws the splits from a stream of reports, and says on standard error what was left out and why."""
    left_out: Counter[LeftOut] = Counter()
    for report in reports:
        if isinstance(report, LeftOut):
            left_out[report] += 1
        else:
            sampler.add(report)
    told = _told(sampler, left_out)
    if sampler.total < sampler.sample:
        raise UsageError(f"{path}: {told} The sample has {sampler.sample:,}. {advice}")
    drawn = sampler.split()
    if not drawn["train"]:
        raise UsageError(
            f"{path}: {told} Behind the sample of {sampler.sample:,} no report of another patient remains for train. {advice}"
        )
    print(f"note: {path.name}: {told}", file=sys.stderr)
    return {split: tuple(map(report_row, drawn[split])) for split in SPLITS}


def _told(sampler: Sampler, left_out: Counter[LeftOut]) -> str:
    kinds = ", ".join(f"{' '.join(dict.fromkeys(kind))} {count:,}" for kind, count in sampler.counts.most_common())
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in left_out.most_common())
    return (
        f"{sampler.total:,} reports can be used{f' ({kinds})' if kinds else ''}, {left_out.total():,} are left out"
        f"{f' ({reasons})' if reasons else ''}."
    )
