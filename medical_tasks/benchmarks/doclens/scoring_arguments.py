"""What a user may set for the scoring of DocLens, read and checked, and what of it goes into a recipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.doclens.claims import Side, read_claim_file
from medical_tasks.benchmarks.doclens.judge_texts import STYLES
from medical_tasks.benchmarks.doclens.text_metrics import text_identity
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import UsageError
from medical_tasks.spec import TaskSpec

__all__ = ["Settings", "read_settings", "scoring_identity"]

_MADE: Final = "made by the judge; a judge of entailment takes sentences"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What decides how a task is scored.

    Attributes:
        citations: whether outputs were to cite their source.
        style: how the judge is asked.
        claims: file of the references' claims; None when the judge makes them.
        output_claims: file of the outputs' claims; likewise.
        official: whether the authors' figures are wanted.
        form: what kind of text the task is about.
    """

    citations: bool
    style: str
    claims: Path | None
    output_claims: Path | None
    official: bool
    form: str


def read_settings(task: TaskSpec, arguments: Mapping[str, str]) -> Settings:
    """Reads the arguments of a task's scoring, but for those of its metrics of texts.

    Args:
        task: a task of the benchmark.
        arguments: name to value.

    Raises:
        UsageError: An argument the task does not take, or a value that is not allowed.
    """
    unknown = [name for name in arguments if name not in task.scoring_arguments]
    if unknown:
        known = ", ".join(task.scoring_arguments) or "none"
        raise UsageError(f"{task.name}: its scoring takes no argument {unknown[0]!r}. Arguments: {known}.")
    citations = _one_of(task, arguments, "citations", ("yes", "no"))
    style = _one_of(task, arguments, "style", STYLES)
    # Whatever it were set to, the metrics that need it would be reported.
    official = "official" in arguments and _one_of(task, arguments, "official", ("yes",)) == "yes"
    files = {name: _file(task, arguments, name) for name in ("claims", "output_claims")}
    return Settings(citations=citations == "yes", style=style, official=official, form=task.options["form"], **files)


def scoring_identity(task: TaskSpec, arguments: Mapping[str, str]) -> dict[str, Any]:
    """Says what decides a task's scores beside the judge, for the recipe; reads files and loads no weights.

    Args:
        task: a task of the benchmark.
        arguments: of its `scoring_arguments`.

    Returns:
        JSON values: style, whose claims come from which file (by hash), checkpoints' and index's identities.

    Raises:
        UsageError: As `read_settings`, or a file is not of the form.
        MissingError: A checkpoint is not there.
    """
    settings = read_settings(task, arguments)
    return {
        "citations": settings.citations,
        "style": settings.style,
        "reference_claims": _claims_identity(settings, settings.claims, side="reference"),
        "output_claims": _claims_identity(settings, settings.output_claims, side="output"),
        "official": settings.official,
        **text_identity(arguments),
    }


def _one_of(task: TaskSpec, arguments: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str:
    value = arguments.get(name, allowed[0])
    if value not in allowed:
        raise UsageError(f"{task.name}: {name} must be {' or '.join(allowed)}; got {value!r}.")
    return value


def _file(task: TaskSpec, arguments: Mapping[str, str], name: str) -> Path | None:
    if name not in arguments:
        return None
    if task.options["form"] == "question":
        raise UsageError(f"{task.name}: each question is one claim, and {name} is not used. Leave it out.")
    return Path(arguments[name]).expanduser()


def _claims_identity(settings: Settings, path: Path | None, *, side: Side) -> Any:
    if path is None:
        return "the question" if settings.form == "question" else _MADE
    read_claim_file(path, side=side)
    return {"file": path.name, "sha256": file_sha256(path)}
