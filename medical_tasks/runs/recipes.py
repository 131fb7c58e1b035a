"""A run's recipe, and the differences between two recipes.

Different task versions, data, metrics or scoring forbid a comparison; other differences are
reported.

Anybody can submit a recipe, so messages shorten its values to one line.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from medical_tasks._version import __version__
from medical_tasks.catalog import package_of
from medical_tasks.plugins import OWN_PACKAGE, version_of
from medical_tasks.runs.results import Json, JsonDict
from medical_tasks.spec import MetricSpec, PromptSet, TaskSpec

# Packages whose version can change an answer or a score.
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
"""What may differ between data with the same rows: the name of their file, and their version."""
INTERVALS: Final = "score"
"""How intervals are computed (`scoring.means`): it changes with their formulas, which change no value."""
NO_SAMPLE: Final = "the items of smallest hashed id: a quick look, no random sample, no estimate for the whole set"
NO_SAMPLE_OF_GROUPS: Final = (
    "whole groups of items that are scored together, those of smallest hashed name: "
    "a quick look, no random sample, no estimate for the whole set"
)


_IMPORT_SETTINGS: Final = ("kind", "task", "settings")
_LONGEST: Final = 48
_HASH: Final = re.compile(r"[0-9a-f]{16,}")
_HASH_SHOWN: Final = 8
_MOST: Final = 3
_DEEPEST: Final = 6


def make_recipe(
    task: TaskSpec,
    *,
    data: Json,
    model: Json,
    prompts: PromptSet | None = None,
    max_new_tokens: int | None = None,
    max_samples: int | None = None,
) -> JsonDict:
    """Collects a task's recipe as JSON values.

    Prompts and lengths are None when the answers came from elsewhere. If another package
    registers the task, the recipe names it (`package`).
    """
    from medical_tasks.runs.estimation import BOOTSTRAP_SEED

    prompt_recipe: JsonDict | None = None
    if prompts is not None:
        prompt_recipe = {"set": prompts.name, "sha256": prompts.sha256}
        prompt_recipe |= (
            {"settings": dict(prompts.settings)} if prompts.settings else {}
        )

    return {
        "suite": f"medical-tasks {__version__}",
        "task": task.name,
        "task_version": task.version,
        "data": dict(data),
        "prompts": prompt_recipe,
        "generation": None
        if max_new_tokens is None
        else {"max_new_tokens": max_new_tokens, "stop": list(task.stop)},
        "max_samples": max_samples,
        "max_samples_note": _max_samples_note(task)
        if max_samples is not None
        else None,
        "metrics": metric_kinds(task),
        "statistics": {
            "confidence": 0.95,
            "intervals": INTERVALS,
            "bootstrap_seed": BOOTSTRAP_SEED,
            "cluster": task.cluster,
        },
        "model": dict(model),
        "judge": None,
        "python": sys.version.partition(" ")[0],
        "packages": {
            package: version
            for package in _PACKAGES
            if (version := version_of(package))
        },
        **_registered_by(task),
    }


def _registered_by(task: TaskSpec) -> JsonDict:
    """Names a task's package for its recipe; empty for this project's own tasks."""
    package = package_of(task.benchmark)
    if package.name == OWN_PACKAGE:
        return {}
    return {"package": {"name": package.name, "version": package.version}}


def stated_package(recipe: Json) -> str:
    """Names the package that a recipe's task comes from, such as `toy-bench 1.0`.

    "" where the recipe names none: this project's own task, or an older run.
    """
    package = mapping(recipe.get("package"))
    stated = (package.get("name"), package.get("version"))
    return " ".join(
        one_line(value) for value in stated if isinstance(value, str) and value
    )


def metric_kinds(task: TaskSpec) -> JsonDict:
    """Describes a task's metrics for its recipe."""
    return {metric.name: {"kind": metric.kind} for metric in task.metrics}


def _max_samples_note(task: TaskSpec) -> str:
    return NO_SAMPLE_OF_GROUPS if task.drawn_whole else NO_SAMPLE


# Settings that say how a judge was asked about the answers; reported like a judge's difference.
_JUDGING_SETTINGS: Final = ("output_claims", "style")


DIFFERENCES: Final[Mapping[str, str]] = {
    "version": (
        "the runs cannot be compared, their task version differs: {} and {}. Scores of another "
        "version are of another test: run {name} again with one version of the suite."
    ),
    "interface": (
        "the task version differs in its letter alone: {} and {}. That is the interface; the "
        "scores mean the same, nothing needs to be done."
    ),
    "data": (
        "the runs cannot be compared, their data differs: {}. Other rows are other questions: "
        "build the dataset of {name} once and run both on it."
    ),
    "swap": (
        "the notes differ on purpose: {} and {}. The difference is what changing that attribute "
        "of the same patients did."
    ),
    "metrics": (
        "the runs cannot be compared, the definitions of their metrics differ: {}. The same name "
        "may stand for another number: score both with one version, medical-tasks score {name} "
        "--responses RUN."
    ),
    "items": (
        "the runs cannot be compared, their questions were made otherwise: {}. Run both with the "
        "same --task-args."
    ),
    "again": (
        "score both alike, medical-tasks score {name} --responses RUN --task-args {key}=VALUE"
    ),
    "scored_alone": (
        "only the {alone} run was scored with {key}, so metrics that need it are left out. For "
        "these, {again}."
    ),
    "left_out": (
        "its setting differs ({values}), so that it is another measure in each run. For these, "
        "{again}."
    ),
    "claims": (
        "the claims of the answers were made in different ways ({values}), which moves recall and"
        " precision. Have both made by one: give --task-args output_claims=FILE for both, or for "
        "none."
    ),
    "asked_differently": (
        "how the judge was asked differs: {values}. What differs may be that and not the models: "
        "{again}."
    ),
    "scoring": (
        "the runs cannot be compared, their scoring differs: {values}. That changes what the "
        "metrics mean: {again}."
    ),
    "not_asked": (
        "the prompts differ: only the {} run's model was asked by this suite (prompts {}), the {}"
        " is answers from a file. How those were asked for is not known here: see their origin."
    ),
    "imported": (
        "how the answers were asked for elsewhere differs: {}. What differs may be that and not "
        "the models."
    ),
    "prompts": (
        "the prompts differ: {}. What differs may be the way of asking and not the models: run "
        "both with one --prompts and the same --task-args."
    ),
    "generation": (
        "the limits of the answers or the models' settings differ: {}. Longer answers are cut "
        "less often: run both with one --max-new-tokens, unless the setting is what you compare."
    ),
    "truncation": (
        "the questions differ: {} and {} of them were shortened to fit the models' contexts. Who "
        "reads less can know less: run both with one --truncate and contexts of one length."
    ),
    "recorded": (
        "the verdicts of both runs were read from files (--judge recorded/FILE), and nothing here"
        " says whether one judge gave them: what differs may be the judges and not the models: "
        "have both runs judged by one"
    ),
    "judge": (
        "the judge differs: {} and {}. What differs may be the judges and not the models: have "
        "both runs judged by one (medical-tasks score TASK --responses RUN)"
    ),
    "votes": (
        "the judge {} was asked differently: {} and {} votes a verdict. Fewer votes are noisier: "
        "what differs may be the judges and not the models: have both runs judged by one and one "
        "--votes"
    ),
    "judge_asked": (
        "the judge {} was asked differently: {}. What differs may be the judges and not the "
        "models: have both runs judged by one in one way"
    ),
    "protocol": (
        "protocol differs: {}. More tries or other steps can change every answer: run both with "
        "the same --task-args."
    ),
    "roles": (
        "the models that play a role differ: {}. Whom a model talks with can change every answer: "
        "run both with the same --role."
    ),
    "baseline": (
        "baseline differs: {}. It is another baseline: run both with the same --task-args."
    ),
    "max_samples": (
        "max samples differs: {}. Only items of both are compared, which are fewer: run both with"
        " the same --max-samples, or with none."
    ),
    "subset": (
        "the samples differ: {}. Only items of both are compared, which are fewer: give both the "
        "same --subset and --seed."
    ),
    "repeats": (
        "repeats differs: {}. An item's value is the mean over its repeats: with fewer a run is "
        "noisier. Run both with the same --repeats."
    ),
    "evaluations": (
        "evaluations differs: {}. An item's value is the mean over the judge's evaluations: with "
        "fewer a run is noisier. Score both with the same --evaluations."
    ),
    "shard": (
        "shard differs: {}. A part's items are not the others': make one run of the parts "
        "(medical-tasks merge), or compare the same part of both."
    ),
    "confidence": (
        "confidence differs: {}. Who is also asked how sure it is, is asked another question: run "
        "both with --confidence asked, or none."
    ),
    "adjudication": (
        "adjudication differs: {}. Unclear answers that were decided in one run alone count as "
        "not right in the other: give both their sheet, medical-tasks score {name} --responses "
        "RUN --adjudicated FILE."
    ),
    "suite": (
        "suite differs: {}. A repaired scorer can move a score: score the older again, "
        "medical-tasks score {name} --responses RUN."
    ),
}
"""The sentences that report a difference, by what differs."""
_COMPARED: Final = (
    "protocol", "roles", "baseline", "max_samples", "subset", "repeats", "evaluations", "shard",
    "confidence", "adjudication", "suite",
)  # fmt: skip
"""Parts of a recipe whose differences are reported without forbidding a comparison."""


class Difference(NamedTuple):
    """A difference between two recipes that a reader must know about.

    Attributes:
        kind: what differs, such as `prompts`: a key of `DIFFERENCES`.
        text: the sentence that reports it.
    """

    kind: str
    text: str


@dataclass(frozen=True, kw_only=True)
class RecipeDifferences:
    """The differences between two recipes of one task.

    Attributes:
        refused: why their numbers cannot be compared at all, as sentences; empty if they
            can.
        warned: what a reader must know about the comparison.
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
    """Compares the recipes of two results of a task.

    A setting that only some of its `metrics` need forbids only these.
    """
    warned = [
        _interface(first, second),
        _swapped(first, second),
        _prompts_differ(first, second),
        _imported(first, second),
        _generation(first, second),
        _truncation(first, second),
        *[_part_differs(name, key, first, second) for key in _COMPARED],
    ]
    settings = _settings(name, first, second, metrics)
    return RecipeDifferences(
        refused=_forbidding(name, first, second, metrics) + settings.refused,
        warned=[
            *filter(None, warned),
            *settings.warned,
            *judge_differences(first, second),
        ],
        left_out=settings.left_out,
    )


def _forbidding(
    name: str, first: Json, second: Json, metrics: Sequence[MetricSpec]
) -> list[str]:
    """Reports differences of version, data, metrics and items: each forbids a comparison.

    Args:
        name: the task.
        first: the recipe of one run.
        second: the recipe of the other.
        metrics: the metrics to compare. If one `needs` a task argument that either run has,
            all task arguments must be the same.
    """
    refused: list[str] = []
    versions = _versions(first, second)
    if not _is_same_test(*versions):
        quoted = (short(version, quote=True) for version in versions)
        refused.append(_sentence("version", *quoted, name=name))

    data = [_deciding_data(recipe) for recipe in (first, second)]
    if data[0] != data[1]:
        refused.append(_sentence("data", differing(*data), name=name))

    # A metric that only one recipe has is not compared.
    kinds, other_kinds = (mapping(recipe.get("metrics")) for recipe in (first, second))
    shared = kinds.keys() & other_kinds.keys()
    if any(kinds[metric] != other_kinds[metric] for metric in shared):
        refused.append(_sentence("metrics", differing(kinds, other_kinds), name=name))

    arguments = [mapping(recipe.get("task_args")) for recipe in (first, second)]
    needed = {metric.needs for metric in metrics}
    if arguments[0] != arguments[1] and needed & {*arguments[0], *arguments[1]}:
        refused.append(_sentence("items", differing(*arguments)))

    return refused


def _versions(first: Json, second: Json) -> tuple[str, str]:
    return short(first.get("task_version")), short(second.get("task_version"))


def _is_same_test(first: str, second: str) -> bool:
    """Whether the scores of two task versions, such as `2-A` and `2-B`, mean the same.

    Example:
        >>> _is_same_test("2-A", "2-B"), _is_same_test("2-A", "3-A")
        (True, False)
    """
    return first.partition("-")[0] == second.partition("-")[0]


def _interface(first: Json, second: Json) -> Difference | None:
    """Compares the letters of two versions of one test."""
    versions = _versions(first, second)
    if versions[0] == versions[1] or not _is_same_test(*versions):
        return None
    return _differs("interface", *versions)


def _truncation(first: Json, second: Json) -> Difference | None:
    """Compares which questions were shortened, and by how much."""
    shortened = [
        mapping(mapping(recipe.get("truncation")).get("words_left_out"))
        for recipe in (first, second)
    ]
    if shortened[0] == shortened[1]:
        return None
    return _differs("truncation", *map(len, shortened))


def _deciding_data(recipe: Json) -> JsonDict:
    """Reduces a recipe's data to what decides the rows."""
    data = mapping(recipe.get("data"))
    deciding = {
        key: data[key] for key in data if key not in SAME_ROWS and data[key] is not None
    }
    swap = mapping(data.get("swap"))
    if swap:
        # Rows with two values of one attribute are the same except for that attribute.
        attribute = str(swap.get("changed")).partition("=")[0]
        deciding["swap"] = {**swap, "changed": attribute}
        deciding.pop("rows_sha256", None)

    return deciding


def _swapped(first: Json, second: Json) -> Difference | None:
    """Compares the attribute of the patients that was changed on purpose."""
    values = [
        mapping(mapping(recipe.get("data")).get("swap")).get("changed")
        for recipe in (first, second)
    ]
    if values[0] == values[1]:
        return None
    return _differs("swap", *map(short, values))


def _settings(
    name: str, first: Json, second: Json, metrics: Sequence[MetricSpec]
) -> RecipeDifferences:
    """Compares the settings of scoring.

    A setting that only one run has adds metrics to it and changes no others.
    """
    left_out: dict[str, str] = {}
    differences = RecipeDifferences(refused=[], warned=[], left_out=left_out)
    first_settings, second_settings = (
        mapping(recipe.get("scoring")) for recipe in (first, second)
    )
    needed = {metric.needs for metric in metrics if metric.needs}
    for key in dict.fromkeys([*first_settings, *second_settings]):
        if (
            key in first_settings
            and key in second_settings
            and _same_file(first_settings[key], second_settings[key])
        ):
            continue

        texts = {
            "values": differing(
                {key: first_settings.get(key)}, {key: second_settings.get(key)}
            ),
            "key": short(key),
            "again": _sentence("again", name=name, key=short(key)),
        }
        # For a setting that metrics need, `False` is the same as unset.
        unset = (None, False) if key in needed else ()
        has = [
            key in settings and settings[key] not in unset
            for settings in (first_settings, second_settings)
        ]
        if sum(has) == 1:
            alone = "first" if has[0] else "second"
            differences.warned.append(_differs("scored_alone", alone=alone, **texts))
        elif all(has):
            _add_setting(
                differences,
                left_out,
                key,
                (first_settings[key], second_settings[key]),
                texts,
                key in needed,
            )

    return differences


def _add_setting(
    differences: RecipeDifferences,
    left_out: dict[str, str],
    key: str,
    values: tuple[object, object],
    texts: Mapping[str, str],
    needed: bool,
) -> None:
    """Adds a scoring setting on which both recipes differ."""
    if needed:
        left_out[key] = _sentence("left_out", **texts)
    elif key == "output_claims":
        # Each model's answers have their own claims; only the way of making them must agree.
        if isinstance(values[0], Mapping) != isinstance(values[1], Mapping):
            differences.warned.append(_differs("claims", **texts))
    elif key in _JUDGING_SETTINGS:
        differences.warned.append(_differs("asked_differently", **texts))
    else:
        differences.refused.append(_sentence("scoring", **texts))


def _same_file(first: object, second: object) -> bool:
    """Whether two settings are equal, apart from the name of a file with a hash."""
    if not (
        isinstance(first, Mapping) and isinstance(second, Mapping) and "sha256" in first
    ):
        return bool(first == second)
    return {**first, "file": None} == {**second, "file": None}


def _prompts_differ(first: Json, second: Json) -> Difference | None:
    """Compares the prompts.

    If only one run asked anything, that is the difference, unless the other is a baseline.
    """
    parts = [recipe.get("prompts") for recipe in (first, second)]
    if parts[0] == parts[1]:
        return None

    if None in parts:
        alone, other = ("first", "second") if parts[1] is None else ("second", "first")
        unasked = mapping((second if parts[1] is None else first).get("model")).get(
            "name"
        )
        if str(unasked).startswith("baseline/"):
            return None  # a baseline is asked nothing, as its name shows

        prompts = mapping(parts[0] if parts[1] is None else parts[1])
        return _differs("not_asked", alone, short(prompts.get("set")), other)

    return _differs("prompts", differing(*map(mapping, parts)))


def _imported(first: Json, second: Json) -> Difference | None:
    """Compares how two harnesses asked for their imported answers."""
    origins = [mapping(recipe.get("imported")) for recipe in (first, second)]
    if not all(origins):
        return None  # reported as a difference of prompts
    settings = [
        {name: origin.get(name) for name in _IMPORT_SETTINGS} for origin in origins
    ]
    return (
        None
        if settings[0] == settings[1]
        else _differs("imported", differing(*settings))
    )


def _generation(first: Json, second: Json) -> Difference | None:
    if None in (first.get("generation"), second.get("generation")):
        return None  # nothing was asked, reported as a difference of prompts
    parts = deciding_generation(first), deciding_generation(second)
    return None if parts[0] == parts[1] else _differs("generation", differing(*parts))


def deciding_generation(recipe: Json) -> JsonDict:
    """Returns the settings of generation without how many were asked at once."""
    from medical_tasks.models.opener import NEUTRAL_ARGS

    generation = mapping(recipe.get("generation"))
    arguments = {
        key: value
        for key, value in mapping(generation.get("model_args")).items()
        if key not in NEUTRAL_ARGS
    }

    return {
        **{
            key: value
            for key, value in generation.items()
            if key not in ("processes", "batches")
        },
        "model_args": arguments,
    }


def _part_differs(name: str, key: str, first: Json, second: Json) -> Difference | None:
    """Compares one part of two recipes."""
    parts = [recipe.get(key) for recipe in (first, second)]
    # Only two baselines differ in `baseline`; a model and a baseline differ by their names.
    if parts[0] == parts[1] or (
        key == "baseline" and not (key in first and key in second)
    ):
        return None

    values = " and ".join(map(short, parts))
    if all(isinstance(value, Mapping) for value in parts):
        values = differing(*map(mapping, parts))

    return _differs(key, values, name=name)


def judge_differences(first: Json, second: Json) -> list[Difference]:
    """Compares the judges of two recipes."""
    judges = [mapping(recipe.get("judge")) for recipe in (first, second)]
    return [] if judges[0] == judges[1] else [_judge_difference(*judges)]


def comparable_judges(*recipes: Json) -> bool:
    """Whether all judges of the recipes are comparable, that is, understand what they judge."""
    return all(
        bool(judge.get("comparable"))
        for recipe in recipes
        if (judge := mapping(recipe.get("judge")))
    )


def _judge_difference(first: Json, second: Json) -> Difference:
    """Reports the first difference of two judges: files, name, votes, or anything else."""
    if first.get("backend") == second.get("backend") == "recorded":
        return _differs("recorded")

    names = [short(judge.get("name")) for judge in (first, second)]
    if names[0] != names[1]:
        return _differs("judge", *names)

    if first.get("votes") != second.get("votes"):
        return _differs(
            "votes", names[0], short(first.get("votes")), short(second.get("votes"))
        )

    return _differs("judge_asked", names[0], differing(first, second))


def _differs(key: str, /, *parts: object, **named: str) -> Difference:
    return Difference(key, _sentence(key, *parts, **named))


def _sentence(key: str, /, *parts: object, **named: str) -> str:
    return DIFFERENCES[key].format(*parts, **named)


def mapping(value: Any) -> Json:
    """Returns the value if it is a mapping, else an empty one: anybody can submit a recipe."""
    return value if isinstance(value, Mapping) else {}


def one_line(text: str, longest: int = _LONGEST) -> str:
    """Puts a text on one line of at most `longest` characters.

    Characters that could move a terminal's cursor are escaped.
    """
    text = " ".join(text[: 8 * longest].split())
    text = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def short(value: Any, *, quote: bool = False) -> str:
    """Writes a recipe's value in a few characters: hashes abbreviated, collections hashed."""
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

    digest = hashlib.sha256(
        json.dumps(value, sort_keys=True, default=str).encode()
    ).hexdigest()[:_HASH_SHOWN]
    return f"{len(value)} {'entry' if len(value) == 1 else 'entries'} ({digest})"


def differing(first: Json, second: Json) -> str:
    """Names the first few differences between two mappings.

    Example: `max_new_tokens 48 and 512; model_args.dtype none and float32`.
    """
    flat = _flat(first), _flat(second)
    names = [
        name
        for name in dict.fromkeys([*flat[0], *flat[1]])
        if flat[0].get(name) != flat[1].get(name)
    ]
    # words first, hashes after them
    names.sort(key=lambda name: ("sha256" in name, name))
    parts = [
        f"{one_line(name)} {short(flat[0].get(name))} and {short(flat[1].get(name))}"
        for name in names[:_MOST]
    ]
    if len(names) > _MOST:
        parts.append(f"{len(names) - _MOST} more")

    return "; ".join(parts) or "what one leaves out is nothing in the other"


def _flat(value: Json, prefix: str = "", depth: int = 0) -> JsonDict:
    """Flattens nested objects, with dotted names.

    Example: `{"data": {"split": "test"}}` is `{"data.split": "test"}`.
    """
    flat: JsonDict = {}
    for name, content in value.items():
        if isinstance(content, Mapping) and content and depth < _DEEPEST:
            flat.update(_flat(content, f"{prefix}{name}.", depth + 1))
        else:
            flat[f"{prefix}{name}"] = content

    return flat
