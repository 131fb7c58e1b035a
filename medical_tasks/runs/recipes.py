"""A run's recipe; other task versions, data, metrics or scoring forbid a comparison, other differences are reported.

Anybody can submit a recipe, so its values are shown shortened and on one line.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from medical_tasks._version import __version__
from medical_tasks.io.files import packaged
from medical_tasks.runs.results import Json, JsonDict
from medical_tasks.spec import MetricSpec, PromptSet, TaskSpec

# Those whose version can change an answer or a score.
_PACKAGES = (
    "accelerate",
    "datasets",
    "lighteval",
    "numpy",
    "openai",
    "tokenizers",
    "torch",
    "transformers",
    "vllm",
)

SAME_ROWS: Final = ("source", "version")
"""What may differ of data whose rows are the same: their file has another name, or they are in several versions."""
INTERVALS: Final = "score"
"""How intervals are computed (`scoring.means`): changes with the formulas, and with no value."""
NO_SAMPLE: Final = (
    "the items of smallest hashed id: a quick look, no random sample, no estimate for the whole set"
)
NO_SAMPLE_OF_GROUPS: Final = (
    "whole groups of items that are scored together, those of smallest hashed name: "
    "a quick look, no random sample, no estimate for the whole set"
)


def make_recipe(
    task: TaskSpec,
    *,
    data: Json,
    model: Json,
    prompts: PromptSet | None = None,
    max_new_tokens: int | None = None,
    max_samples: int | None = None,
) -> JsonDict:
    """Collects a task's recipe as JSON values; prompts and lengths are None when answers came from elsewhere."""
    from medical_tasks.models.encoder import installed
    from medical_tasks.runs.estimation import BOOTSTRAP_SEED

    asked: JsonDict | None = None
    if prompts is not None:
        asked = {"set": prompts.name, "sha256": prompts.sha256}
        asked |= {"settings": dict(prompts.settings)} if prompts.settings else {}
    return {
        "suite": f"medical-tasks {__version__}",
        "task": task.name,
        "task_version": task.version,
        "data": dict(data),
        "prompts": asked,
        "generation": None
        if max_new_tokens is None
        else {"max_new_tokens": max_new_tokens, "stop": list(task.stop)},
        "max_samples": max_samples,
        "max_samples_note": _max_samples_note(task) if max_samples is not None else None,
        "metrics": metric_kinds(task),
        "statistics": {
            "confidence": 0.95,
            "intervals": INTERVALS,
            "bootstrap_seed": BOOTSTRAP_SEED,
            "cluster": task.cluster,
        },
        "model": dict(model),
        "judge": None,
        "python": platform.python_version(),
        "packages": {package: version for package in _PACKAGES if (version := installed(package))},
    }


def metric_kinds(task: TaskSpec) -> JsonDict:
    """What a recipe says of a task's metrics."""
    return {metric.name: {"kind": metric.kind} for metric in task.metrics}


def _max_samples_note(task: TaskSpec) -> str:
    return NO_SAMPLE_OF_GROUPS if task.drawn_whole else NO_SAMPLE


# What describes the answers that were scored, or how a judge was asked about them: other for every model, or told as a judge is.
_SETTINGS_TOLD: Final = ("output_claims", "style")


_COMPARED: Final = (
    "protocol", "roles", "baseline", "max_samples", "subset", "repeats", "shard", "adjudication", "suite",
)  # fmt: skip
"""Parts of a recipe of which a reader is told that they differ."""


class Difference(NamedTuple):
    """A difference of two recipes that a reader must know of.

    Attributes:
        kind: what differs, such as `prompts`: a key of `differences.json`.
        text: the sentence that says so.
    """

    kind: str
    text: str


@dataclass(frozen=True, kw_only=True)
class RecipeDifferences:
    """What two recipes of one task differ in.

    Attributes:
        refused: why their numbers cannot be compared at all, a sentence each; empty when they can.
        warned: what a reader must know of the comparison.
        left_out: scoring argument to why metrics that need it cannot be compared.
    """

    refused: list[str]
    warned: list[Difference]
    left_out: Mapping[str, str] = field(default_factory=dict)


def recipe_differences(
    name: str,
    first: Json,
    second: Json,
    *,
    metrics: Sequence[MetricSpec] = (),
) -> RecipeDifferences:
    """Compares the recipes of two results of a task; a setting that only some of its `metrics` need forbids these alone."""
    refused: list[str] = []
    warned: list[Difference | None] = []
    versions = [short(recipe.get("task_version")) for recipe in (first, second)]
    if versions[0].partition("-")[0] != versions[1].partition("-")[0]:
        quoted = (short(version, quote=True) for version in versions)
        refused.append(_said("version", *quoted, name=name))
    elif versions[0] != versions[1]:
        warned.append(_differs("interface", *versions))
    data = [_deciding_data(recipe) for recipe in (first, second)]
    if data[0] != data[1]:
        refused.append(_said("data", differing(*data), name=name))
    # What one of them does not have is not compared.
    one, other = (mapping(recipe.get("metrics")) for recipe in (first, second))
    if any(one[metric] != other[metric] for metric in one.keys() & other.keys()):
        refused.append(_said("metrics", differing(one, other), name=name))
    warned += [_prompts_differ(first, second), _generation(first, second)]
    left = [
        mapping(mapping(each.get("truncation")).get("words_left_out")) for each in (first, second)
    ]
    if left[0] != left[1]:
        warned.append(_differs("truncation", *map(len, left)))
    warned += [_told(name, key, first, second) for key in _COMPARED]
    settings = _settings(name, first, second, metrics)
    return RecipeDifferences(
        refused=refused + settings.refused,
        warned=[
            *filter(None, warned),
            *settings.warned,
            *judge_differences(first, second),
        ],
        left_out=settings.left_out,
    )


def _deciding_data(recipe: Json) -> JsonDict:
    """What a recipe says of the data, but for what may differ of the same rows."""
    data = mapping(recipe.get("data"))
    return {key: data[key] for key in data if key not in SAME_ROWS and data[key] is not None}


def _settings(
    name: str, first: Json, second: Json, metrics: Sequence[MetricSpec]
) -> RecipeDifferences:
    """Compares the settings of scoring. Those of one run alone add metrics to it, and change none of the others."""
    left_out: dict[str, str] = {}
    differences = RecipeDifferences(refused=[], warned=[], left_out=left_out)
    one, other = (mapping(recipe.get("scoring")) for recipe in (first, second))
    needed = {metric.needs for metric in metrics if metric.needs}
    for key in dict.fromkeys([*one, *other]):
        if key in one and key in other and _same_file(one[key], other[key]):
            continue
        told = {
            "values": differing({key: one.get(key)}, {key: other.get(key)}),
            "key": short(key),
            "again": _said("again", name=name, key=short(key)),
        }
        # What some metrics need is given or not; `no` is the same as nothing said.
        unset = (None, False) if key in needed else ()
        has = [key in each and each[key] not in unset for each in (one, other)]
        if sum(has) == 1:
            alone = "first" if has[0] else "second"
            differences.warned.append(_differs("scored_alone", alone=alone, **told))
        elif all(has):
            _add_setting(differences, left_out, key, (one[key], other[key]), told, key in needed)
    return differences


def _add_setting(
    differences: RecipeDifferences,
    left_out: dict[str, str],
    key: str,
    values: tuple[object, object],
    told: Mapping[str, str],
    needed: bool,
) -> None:
    """Adds a setting of scoring that both recipes have, and have otherwise."""
    if needed:
        left_out[key] = _said("left_out", **told)
    elif key == "output_claims":
        # Each model's answers have claims of their own, but of one making.
        if isinstance(values[0], Mapping) != isinstance(values[1], Mapping):
            differences.warned.append(_differs("claims", **told))
    elif key in _SETTINGS_TOLD:
        differences.warned.append(_differs("asked_differently", **told))
    else:
        differences.refused.append(_said("scoring", **told))


def _same_file(first: Any, second: Any) -> bool:
    """Whether two settings are equal, but for the name of a file whose hash is told."""
    if not (isinstance(first, Mapping) and isinstance(second, Mapping) and "sha256" in first):
        return bool(first == second)
    return {**first, "file": None} == {**second, "file": None}


def _prompts_differ(first: Json, second: Json) -> Difference | None:
    parts = [recipe.get("prompts") for recipe in (first, second)]
    if parts[0] == parts[1]:
        return None
    if None in parts:
        alone, other = ("first", "second") if parts[1] is None else ("second", "first")
        unasked = mapping((second if parts[1] is None else first).get("model")).get("name")
        if str(unasked).startswith("baseline/"):
            return None  # a baseline is asked nothing, and its name says what it is
        asked = mapping(parts[0] if parts[1] is None else parts[1])
        return _differs("not_asked", alone, short(asked.get("set")), other)
    return _differs("prompts", differing(*map(mapping, parts)))


def _generation(first: Json, second: Json) -> Difference | None:
    if None in (first.get("generation"), second.get("generation")):
        return None  # nothing was asked there, which the prompts say
    parts = deciding_generation(first), deciding_generation(second)
    return None if parts[0] == parts[1] else _differs("generation", differing(*parts))


def deciding_generation(recipe: Json) -> JsonDict:
    """How a recipe's answers were asked for, but for how many ask at once, which changes no answer."""
    from medical_tasks.models.opener import NEUTRAL_ARGS

    asked = mapping(recipe.get("generation"))
    arguments = {
        key: value
        for key, value in mapping(asked.get("model_args")).items()
        if key not in NEUTRAL_ARGS
    }
    return {
        **{key: value for key, value in asked.items() if key != "processes"},
        "model_args": arguments,
    }


def _told(name: str, key: str, first: Json, second: Json) -> Difference | None:
    parts = [recipe.get(key) for recipe in (first, second)]
    # A model beside a baseline is another model, as told by its name.
    if parts[0] == parts[1] or (key == "baseline" and not (key in first and key in second)):
        return None
    values = " and ".join(map(short, parts))
    if all(isinstance(part, Mapping) for part in parts):
        values = differing(*map(mapping, parts))
    return _differs(key, values, name=name)


def judge_differences(first: Json, second: Json) -> list[Difference]:
    """In which way the judges of two recipes differ."""
    judges = [mapping(recipe.get("judge")) for recipe in (first, second)]
    return [] if judges[0] == judges[1] else [_difference(*judges)]


def comparable_judges(*recipes: Json) -> bool:
    """Whether the judges of all recipes, where they have one, understand what they judge."""
    return all(
        bool(judge.get("comparable"))
        for recipe in recipes
        if (judge := mapping(recipe.get("judge")))
    )


def _difference(first: Json, second: Json) -> Difference:
    if first.get("backend") == second.get("backend") == "recorded":
        return _differs("recorded")
    names = [short(judge.get("name")) for judge in (first, second)]
    if names[0] != names[1]:
        return _differs("judge", *names)
    if first.get("votes") != second.get("votes"):
        return _differs("votes", names[0], short(first.get("votes")), short(second.get("votes")))
    return _differs("judge_asked", names[0], differing(first, second))


def _differs(key: str, /, *parts: object, **named: str) -> Difference:
    return Difference(key, _said(key, *parts, **named))


def _said(key: str, /, *parts: object, **named: str) -> str:
    return str(packaged(__file__, "differences.json")[key]).format(*parts, **named)


_LONGEST: Final = 48
_HASH: Final = re.compile(r"[0-9a-f]{16,}")
_HASH_SHOWN: Final = 8
_MOST: Final = 3
_DEEPEST: Final = 6


def mapping(value: Any) -> Json:
    """The value where it is a mapping, else an empty one: recipes of packages come from anybody."""
    return value if isinstance(value, Mapping) else {}


def one_line(text: str, longest: int = _LONGEST) -> str:
    """Puts a text on one line of at most so many characters, with what could move a terminal's cursor written visibly."""
    text = " ".join(text[: 8 * longest].split())
    text = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def short(value: Any, *, quote: bool = False) -> str:
    """Writes a value of a recipe in a few characters: hashes by their beginning, collections by a hash of their own."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return one_line(f"{value}")
    if isinstance(value, str):
        if _HASH.fullmatch(value):
            return value[:_HASH_SHOWN]
        return repr(one_line(value)) if quote else one_line(value) or "nothing"
    if not value:
        return "nothing"
    digest = hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[
        :_HASH_SHOWN
    ]
    return f"{len(value)} {'entry' if len(value) == 1 else 'entries'} ({digest})"


def differing(first: Json, second: Json) -> str:
    """Names the first few differences of two mappings, such as `max_new_tokens 48 and 512; model_args.dtype none and float32`."""
    flat = _flat(first), _flat(second)
    names = [
        name
        for name in dict.fromkeys([*flat[0], *flat[1]])
        if flat[0].get(name) != flat[1].get(name)
    ]
    names.sort(key=lambda name: ("sha256" in name, name))  # words first, hashes after them
    parts = [
        f"{one_line(name)} {short(flat[0].get(name))} and {short(flat[1].get(name))}"
        for name in names[:_MOST]
    ]
    if len(names) > _MOST:
        parts.append(f"{len(names) - _MOST} more")
    return "; ".join(parts) or "what one leaves out is nothing in the other"


def _flat(value: Json, prefix: str = "", depth: int = 0) -> JsonDict:
    found: JsonDict = {}
    for name, part in value.items():
        if isinstance(part, Mapping) and part and depth < _DEEPEST:
            found.update(_flat(part, f"{prefix}{name}.", depth + 1))
        else:
            found[f"{prefix}{name}"] = part
    return found
