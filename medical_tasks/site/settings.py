"""`site.toml`: what a site evaluates, parsed into frozen dataclasses.

An unknown key and a value of the wrong type raise errors that name the key.
"""

from __future__ import annotations

import tomllib
import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, get_args, get_origin, get_type_hints

from medical_tasks.errors import UsageError, did_you_mean
from medical_tasks.io.files import read_text, readable
from medical_tasks.site.options import UseName

SETTINGS_NAME: Final = "site.toml"
Preset = Literal["exploratory", "standard", "strict"]
Loaded = TypeVar("Loaded")


@dataclass(frozen=True, kw_only=True)
class Models:
    """The models.

    Attributes:
        candidate: the model to decide about.
        baseline: the model it is compared with; "" for none.
        maker: the model that drafts questions, claims or rows; "" for none.
        args: model settings, such as `max_new_tokens`, by role.
        answers: files of answers by role, instead of asking the model.
    """

    candidate: str
    baseline: str = ""
    maker: str = ""
    args: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class JudgeSettings:
    """The judge of answers.

    Attributes:
        name: the value of `--judge`.
        args: the value of `--judge-args`.
        labels: how many answers people label too.
        votes: how many verdicts are taken, of which the mode counts; 0 for the task's
            default.
    """

    name: str = "lexical"
    args: str = ""
    labels: int = 100
    votes: int = 0


@dataclass(frozen=True, kw_only=True)
class Reviewers:
    """Who labels, by initials or roles, since labels are stored with them."""

    names: tuple[str, ...] = ("ann", "ben")
    adjudicator: str = "eve"


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The rules of the decision.

    Attributes:
        preset: the rules that the policy begins with.
        margin: how much worse than the baseline the candidate may be.
        confidence: the level that the plan assumes; the gate's intervals are at 95 %.
        power: the chance of GO that the plan assumes for a candidate that is as good as
            the baseline.
    """

    preset: Preset = "standard"
    margin: float = 0.05
    confidence: float = 0.95
    power: float = 0.8


@dataclass(frozen=True, kw_only=True)
class MonitorSettings:
    """The plan of later looks at the model.

    Attributes:
        looks: the number of looks that share the 5 % of false alarms.
    """

    looks: int = 12


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All of `site.toml`.

    Attributes:
        use: the intended use of the model.
        name: the site's name; printed in the evidence, and shared only on request.
        notes: the path of the table of notes, relative to the folder.
        items: the path of a table of items that people wrote, instead of a maker; ""
            for none.
        calculators: ids or names for the use `calculator`; none for all.
        open: whether the notes are invented or public.
        seed: the seed of every random draw.
        strata: columns of the notes by which sample and figures are broken down.
        rule: rules of a policy, which override those of the preset.
    """

    use: UseName
    name: str
    notes: str
    items: str = ""
    calculators: tuple[str, ...] = ()
    open: bool = False
    seed: int = 1
    strata: tuple[str, ...] = ()
    models: Models
    judge: JudgeSettings = field(default_factory=JudgeSettings)
    reviewers: Reviewers = field(default_factory=Reviewers)
    decision: Decision = field(default_factory=Decision)
    monitor: MonitorSettings = field(default_factory=MonitorSettings)
    rule: tuple[Mapping[str, object], ...] = ()


def read_settings(path: Path) -> Settings:
    """Reads a `site.toml`.

    Raises:
        UsageError: it is no TOML, or a key or value is wrong; the key is named.
    """
    with readable(path):
        try:
            content = tomllib.loads(read_text(path))
        except tomllib.TOMLDecodeError as error:
            raise UsageError(
                f"{path}: not TOML ({error}). Write texts in quotes, one setting a line."
            ) from None

    settings = _loaded(Settings, content, f"{path}:")
    _check(settings, path)
    return settings


def _loaded(kind: type[Loaded], table: Mapping[str, Any], where: str) -> Loaded:
    """Builds a dataclass from a TOML table."""
    allowed = {setting.name: setting for setting in fields(kind)}  # type: ignore[arg-type]
    hints = get_type_hints(kind)
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in allowed:
            hint = did_you_mean(key, allowed)
            raise UsageError(
                f"{where} has no {key}.{hint} Its keys: {', '.join(allowed)}."
            )

        values[key] = _value(hints[key], value, f"{where} {key}")

    for key, setting in allowed.items():
        needed = setting.default is MISSING and setting.default_factory is MISSING
        if needed and key not in values:
            raise UsageError(f"{where} lacks {key}, which has no default. Add it.")

    return kind(**values)


def _value(hint: Any, value: object, where: str) -> object:
    """Converts a value to the type of its field."""
    origin = get_origin(hint)
    if is_dataclass(hint) and isinstance(hint, type):
        if not isinstance(value, dict):
            raise UsageError(f"{where} is a table: write it as [{where.split()[-1]}].")

        return _loaded(hint, value, where)

    if origin is Literal:
        if value not in get_args(hint):
            near = did_you_mean(str(value), get_args(hint))
            raise UsageError(
                f"{where} is one of {', '.join(get_args(hint))}, got {value!r}.{near}"
            )

        return value

    if origin is tuple:
        return _values(get_args(hint)[0], value, where)
    if origin is not None and issubclass(origin, Mapping):
        return _texts(get_args(hint)[1], value, where)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        raise UsageError(f"{where} is {_WORDS[hint]}, got {value!r}.")

    return value


_WORDS: Final[Mapping[type, str]] = types.MappingProxyType(
    {
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "a text in quotes",
    }
)


def _values(hint: Any, value: object, where: str) -> tuple[object, ...]:
    """Converts the items of a list to one type."""
    if not isinstance(value, list):
        raise UsageError(f"{where} is a list in square brackets, got {value!r}.")
    if get_origin(hint) is not None:  # tables of a policy, which the gate reads
        return tuple(value)
    return tuple(_value(hint, item, where) for item in value)


def _texts(hint: Any, value: object, where: str) -> Mapping[str, object]:
    """Converts the values of a table to one type."""
    if not isinstance(value, dict):
        raise UsageError(f"{where} is a table such as {{candidate = ...}}.")
    return {key: _value(hint, text, f"{where}.{key}") for key, text in value.items()}


ROLES: Final = ("candidate", "baseline")


def _check(settings: Settings, path: Path) -> None:
    """Refuses values that no step could use."""
    decision, models = settings.decision, settings.models
    for key in ("margin", "confidence", "power"):
        value = getattr(decision, key)
        if not 0.0 < value < 1.0:
            raise UsageError(
                f"{path}: decision.{key} is a share between 0 and 1, got {value:g}. Five points "
                "are 0.05."
            )

    for key in ("candidate", "name", "notes"):
        owner = models if key == "candidate" else settings
        if not getattr(owner, key).strip():
            raise UsageError(f"{path}: {key} is empty. Fill it in.")

    for table in ("args", "answers"):
        allowed = (*ROLES, "maker") if table == "args" else ROLES
        for role in getattr(models, table):
            if role not in allowed:
                raise UsageError(
                    f"{path}: models.{table} has no {role}.{did_you_mean(role, allowed)} Its roles: "
                    f"{', '.join(allowed)}."
                )

    if "baseline" in models.answers and not models.baseline:
        raise UsageError(
            f"{path}: models.answers has a baseline, and models.baseline is empty. Give it a name."
        )

    if models.baseline == models.candidate:
        raise UsageError(
            f"{path}: candidate and baseline are both {models.candidate!r}. Name two models, or "
            'leave the baseline empty ("").'
        )

    if settings.judge.labels < 0 or settings.judge.votes < 0:
        raise UsageError(f"{path}: judge.labels and judge.votes are 0 or more.")
    if settings.monitor.looks < 1:
        raise UsageError(f"{path}: monitor.looks is 1 or more.")

    _check_people(settings.reviewers, path)


def _check_people(reviewers: Reviewers, path: Path) -> None:
    """Refuses names that are alike, or that cannot be part of a file's name."""
    names = [*reviewers.names, reviewers.adjudicator]
    for name in reviewers.names:
        if not name.isidentifier():
            raise UsageError(
                f"{path}: reviewers.names are short names of letters and digits, got {name!r}."
            )

    if not reviewers.names or len(set(names)) < len(names):
        raise UsageError(
            f"{path}: reviewers.names must be one name or more, and the adjudicator another "
            f"one, got {', '.join(names)}."
        )
