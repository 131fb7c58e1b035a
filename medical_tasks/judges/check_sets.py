"""Sets of labelled pairs that a judge can be checked on, each with the way it is asked; a benchmark declares its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import UsageError
from medical_tasks.guard.policy import Subject
from medical_tasks.judges.base import Judge, Label, Unscored
from medical_tasks.judges.check_figures import CheckPair, subset
from medical_tasks.judges.checks import NLI, View
from medical_tasks.judges.nli_sets import (
    ROUNDS,
    STYLE,
    LabelledPair,
    find_anli,
    find_mednli,
    nli_question,
    read_anli,
    read_mednli,
    template_sha256,
)
from medical_tasks.spec import TaskSpec

Mode = Literal["single", "batched"]

MEDNLI: Final = "MedNLI"
"""The part of the set of both that MedNLI is; the others are ANLI's rounds."""

_ANLI_AVERAGE: Final = {"ANLI, mean of rounds": ROUNDS}
_AVERAGES: Final = {**_ANLI_AVERAGE, "mean of the four sets": (*ROUNDS, MEDNLI)}
_OFFICIAL: Final = "its official files"
_NLI_OPTIONS: Final = frozenset({"ways", "split", "style"})


def _mednli_subject(name: str) -> Subject:
    return Subject(
        name=f"judge-check {name}",
        dataset="mednli",
        access="credentialed",
        rule=(
            "MedNLI (PhysioNet-Credentialed, https://physionet.org/content/mednli/): its premises are sentences of MIMIC-III "
            "notes; PhysioNet's rule is to use models on your own machines, and that no third party may keep what it is sent"
        ),
    )


@dataclass(frozen=True, kw_only=True)
class CheckSet:
    """Labelled pairs and how a judge is asked about them."""

    name: str
    pairs: Sequence[CheckPair]
    # asks a judge, in one of two modes, for the label of each pair in order
    ask: Callable[[Judge, Mode], Sequence[str | Unscored]]
    ways: int
    views: Sequence[View] = NLI
    source: Mapping[str, str]
    prompts: Mapping[str, Any]
    raters: Sequence[str] = ()  # names of those who labelled, where each is compared with the judge
    # name of a mean of several groups' accuracies to the groups
    averages: Mapping[str, Sequence[str]] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CheckRequest:
    """What a user asked of `judge-check`, beside the judge; None where an option was not given."""

    source: Path | None = None
    max_pairs: int | None = None
    prompts: str = "own"
    upstream: Path | None = None
    format: str | None = None
    raters: Sequence[str] = ()
    data: Path | None = None
    config: str | None = None
    ways: int | None = None
    round: str | None = None
    split: str | None = None
    style: str | None = None
    mednli: Path | None = None

    def needed(self, name: str, wanted: str) -> Path:
        """The source."""
        if self.source is None:
            raise UsageError(f"judge-check {name} needs {wanted}: --source PATH. See: --help")
        return self.source


@dataclass(frozen=True, kw_only=True)
class CheckSetSource:
    """A set of labelled pairs before it is read."""

    read: Callable[[CheckRequest], CheckSet]
    takes: frozenset[str]  # fields of `CheckRequest` that it takes beside those that all do
    subjects: Sequence[Subject] = ()
    # the task whose way of judging is checked, by the `format`; None for sets of no benchmark
    task: Callable[[str | None], TaskSpec] | None = None
    batched: bool = False  # whether the judge can be asked about several pairs at once


def _read_anli(request: CheckRequest) -> CheckSet:
    files = find_anli(request.needed("anli", _OFFICIAL), round_name=request.round, split=request.split or "test")
    averages = _ANLI_AVERAGE if set(files.values()) == set(ROUNDS) else {}
    return _nli_set("anli", request, read_anli(files), files, averages)


def _read_mednli(request: CheckRequest) -> CheckSet:
    path = find_mednli(request.needed("mednli", _OFFICIAL), split=request.split or "test")
    return _nli_set("mednli", request, read_mednli(path), {path: ""}, {})


def _read_both(request: CheckRequest) -> CheckSet:
    """ANLI's three rounds and MedNLI together, with the means that DocLens reports (tables 1 and 4)."""
    anli, split = request.needed("nli", _OFFICIAL), request.split or "test"
    if request.mednli is None:
        raise UsageError("judge-check nli needs both: --source anli_v1.0 --mednli mli_test_v1.jsonl")
    files, path = find_anli(anli, split=split), find_mednli(request.mednli, split=split)
    if set(files.values()) != set(ROUNDS):
        raise UsageError(f"{anli}: judge-check nli takes all three rounds of ANLI. Give the unpacked folder anli_v1.0.")
    pairs = [*read_anli(files), *(replace(pair, group=MEDNLI) for pair in read_mednli(path))]
    if len({pair.id for pair in pairs}) < len(pairs):
        raise UsageError(f"{path}: has ids of {anli}. Give MedNLI's own file to --mednli.")
    return _nli_set("nli", request, pairs, {**files, path: ""}, _AVERAGES)


def _nli_set(
    name: str,
    request: CheckRequest,
    labelled: Sequence[LabelledPair],
    files: Mapping[Path, str],
    averages: Mapping[str, Sequence[str]],
) -> CheckSet:
    ways, style = request.ways or 3, request.style or STYLE
    # Hypotheses about one premise are not independent.
    every = [
        CheckPair(id=pair.id, gold=pair.label, cluster=pair.premise, group=pair.group, ratings=()) for pair in labelled
    ]
    pairs = subset(every, request.max_pairs)
    kept = {pair.id for pair in pairs}
    questions = [nli_question(pair, ways=ways, style=style) for pair in labelled if pair.id in kept]

    def ask(judge: Judge, mode: Mode) -> list[Label | Unscored]:
        return [outcome if isinstance(outcome, Unscored) else outcome.value for outcome in judge.ask(questions)]

    return CheckSet(
        name=name,
        pairs=pairs,
        ask=ask,
        ways=ways,
        source={"/".join(filter(None, (group, path.name))): file_sha256(path) for path, group in files.items()},
        # A check of another style is filed apart: it says little about the way benchmarks ask.
        prompts={"set": "own" if style == STYLE else f"own_{style}", "sha256": template_sha256(style)},
        averages=averages,
        about={"style": style},
    )


GENERAL_SETS: Final[Mapping[str, CheckSetSource]] = {
    "anli": CheckSetSource(read=_read_anli, takes=_NLI_OPTIONS | {"round"}),
    "mednli": CheckSetSource(read=_read_mednli, takes=_NLI_OPTIONS, subjects=(_mednli_subject("mednli"),)),
    "nli": CheckSetSource(read=_read_both, takes=_NLI_OPTIONS | {"mednli"}, subjects=(_mednli_subject("nli"),)),
}
"""Sets of pairs that belong to no benchmark."""
