"""A run's recipe, and what two recipes differ in.

Other task versions, data, metrics or scoring forbid a comparison; other differences are
reported.

Anybody can submit a recipe, so its values are shown shortened and on one line.
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
NO_SAMPLE: Final = "the items of smallest hashed id: a quick look, no random sample, no estimate for the whole set"
NO_SAMPLE_OF_GROUPS: Final = (
    "whole groups of items that are scored together, those of smallest hashed name: "
    "a quick look, no random sample, no estimate for the whole set"
)


_ASKED_THERE: Final = ("kind", "task", "settings")
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

    Prompts and lengths are None when answers came from elsewhere. Of a task that another
    package registers it says which (`package`).
    """
    from medical_tasks.runs.estimation import BOOTSTRAP_SEED

    shown: JsonDict | None = None
    if prompts is not None:
        shown = {"set": prompts.name, "sha256": prompts.sha256}
        shown |= {"settings": dict(prompts.settings)} if prompts.settings else {}

    return {
        "suite": f"medical-tasks {__version__}",
        "task": task.name,
        "task_version": task.version,
        "data": dict(data),
        "prompts": shown,
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
    """The package of a task, for its recipe; nothing for a task of the project's own."""
    package = package_of(task.benchmark)
    if package.name == OWN_PACKAGE:
        return {}
    return {"package": {"name": package.name, "version": package.version}}


def stated_package(recipe: Json) -> str:
    """Names the package that a recipe says its task is of, such as `toy-bench 1.0`.

    "" where it names none: a task of the project's own, or a run of before there was a
    word for it.
    """
    package = mapping(recipe.get("package"))
    stated = (package.get("name"), package.get("version"))
    return " ".join(one_line(part) for part in stated if isinstance(part, str) and part)


def metric_kinds(task: TaskSpec) -> JsonDict:
    """What a recipe says of a task's metrics."""
    return {metric.name: {"kind": metric.kind} for metric in task.metrics}


def _max_samples_note(task: TaskSpec) -> str:
    return NO_SAMPLE_OF_GROUPS if task.drawn_whole else NO_SAMPLE


# What describes the answers that were scored, or how a judge was asked about them:
# other for every model, or told as a judge is.
_SETTINGS_TOLD: Final = ("output_claims", "style")


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
"""What two recipes can differ in, and the sentence that says so."""
_COMPARED: Final = (
    "protocol", "roles", "baseline", "max_samples", "subset", "repeats", "evaluations", "shard",
    "confidence", "adjudication", "suite",
)  # fmt: skip
"""Parts of a recipe of which a reader is told that they differ."""


class Difference(NamedTuple):
    """A difference of two recipes that a reader must know of.

    Attributes:
        kind: what differs, such as `prompts`: a key of `DIFFERENCES`.
        text: the sentence that says so.
    """

    kind: str
    text: str


@dataclass(frozen=True, kw_only=True)
class RecipeDifferences:
    """What two recipes of one task differ in.

    Attributes:
        refused: why their numbers cannot be compared at all, a sentence each; empty
            when they can.
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
    """Compares the recipes of two results of a task.

    A setting that only some of its `metrics` need forbids these alone.
    """
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

    asked = [mapping(recipe.get("task_args")) for recipe in (first, second)]
    needed = {metric.needs for metric in metrics}
    if asked[0] != asked[1] and needed & {*asked[0], *asked[1]}:
        refused.append(_said("items", differing(*asked)))

    warned += [_swapped(first, second)]
    warned += [_prompts_differ(first, second), _imported(first, second)]
    warned.append(_generation(first, second))
    left = [
        mapping(mapping(each.get("truncation")).get("words_left_out"))
        for each in (first, second)
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
    deciding = {
        key: data[key] for key in data if key not in SAME_ROWS and data[key] is not None
    }
    swap = mapping(data.get("swap"))
    if swap:
        # Two values of one attribute have the same rows, but for that attribute.
        attribute = str(swap.get("changed")).partition("=")[0]
        deciding["swap"] = {**swap, "changed": attribute}
        deciding.pop("rows_sha256", None)

    return deciding


def _swapped(first: Json, second: Json) -> Difference | None:
    """Says that two runs differ in an attribute of the patients, on purpose."""
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

    Those of one run alone add metrics to it, and change none of the others.
    """
    left_out: dict[str, str] = {}
    differences = RecipeDifferences(refused=[], warned=[], left_out=left_out)
    one, other = (mapping(recipe.get("scoring")) for recipe in (first, second))
    needed = {metric.needs for metric in metrics if metric.needs}
    for key in dict.fromkeys([*one, *other]):
        if key in one and key in other and _same_file(one[key], other[key]):
            continue

        texts = {
            "values": differing({key: one.get(key)}, {key: other.get(key)}),
            "key": short(key),
            "again": _said("again", name=name, key=short(key)),
        }
        # What some metrics need is given or not; `no` is the same as nothing said.
        unset = (None, False) if key in needed else ()
        has = [key in each and each[key] not in unset for each in (one, other)]
        if sum(has) == 1:
            alone = "first" if has[0] else "second"
            differences.warned.append(_differs("scored_alone", alone=alone, **texts))
        elif all(has):
            _add_setting(
                differences, left_out, key, (one[key], other[key]), texts, key in needed
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
    """Adds a setting of scoring that both recipes have, and have otherwise."""
    if needed:
        left_out[key] = _said("left_out", **texts)
    elif key == "output_claims":
        # Each model's answers have claims of their own, but of one making.
        if isinstance(values[0], Mapping) != isinstance(values[1], Mapping):
            differences.warned.append(_differs("claims", **texts))
    elif key in _SETTINGS_TOLD:
        differences.warned.append(_differs("asked_differently", **texts))
    else:
        differences.refused.append(_said("scoring", **texts))


def _same_file(first: object, second: object) -> bool:
    """Whether two settings are equal, but for the name of a file whose hash is told."""
    if not (
        isinstance(first, Mapping) and isinstance(second, Mapping) and "sha256" in first
    ):
        return bool(first == second)
    return {**first, "file": None} == {**second, "file": None}


def _prompts_differ(first: Json, second: Json) -> Difference | None:
    """How the prompts differ.

    One side may have asked nothing: that is the difference, but of a baseline, whose
    name says so.
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
            return None  # a baseline is asked nothing, and its name says what it is

        prompts = mapping(parts[0] if parts[1] is None else parts[1])
        return _differs("not_asked", alone, short(prompts.get("set")), other)

    return _differs("prompts", differing(*map(mapping, parts)))


def _imported(first: Json, second: Json) -> Difference | None:
    """Compares how two harnesses asked for answers that were imported from them."""
    origins = [mapping(recipe.get("imported")) for recipe in (first, second)]
    if not all(origins):
        return None  # which the prompts say
    asked = [{name: each.get(name) for name in _ASKED_THERE} for each in origins]
    return None if asked[0] == asked[1] else _differs("imported", differing(*asked))


def _generation(first: Json, second: Json) -> Difference | None:
    if None in (first.get("generation"), second.get("generation")):
        return None  # nothing was asked there, which the prompts say
    parts = deciding_generation(first), deciding_generation(second)
    return None if parts[0] == parts[1] else _differs("generation", differing(*parts))


def deciding_generation(recipe: Json) -> JsonDict:
    """How answers were asked for, but for how many at once, which changes no answer."""
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


def _told(name: str, key: str, first: Json, second: Json) -> Difference | None:
    """How two recipes differ in one part, None where they do not."""
    parts = [recipe.get(key) for recipe in (first, second)]
    # A model beside a baseline is another model, as told by its name.
    if parts[0] == parts[1] or (
        key == "baseline" and not (key in first and key in second)
    ):
        return None

    values = " and ".join(map(short, parts))
    if all(isinstance(value, Mapping) for value in parts):
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
    """How two judges differ, by the first of these: files, name, votes, all else."""
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
    return Difference(key, _said(key, *parts, **named))


def _said(key: str, /, *parts: object, **named: str) -> str:
    return DIFFERENCES[key].format(*parts, **named)


def mapping(value: Any) -> Json:
    """The value where it is a mapping, else an empty one: recipes of packages come from anybody."""
    return value if isinstance(value, Mapping) else {}


def one_line(text: str, longest: int = _LONGEST) -> str:
    """Puts a text on one line of at most so many characters.

    What could move a terminal's cursor is written visibly.
    """
    text = " ".join(text[: 8 * longest].split())
    text = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def short(value: Any, *, quote: bool = False) -> str:
    """Writes a value of a recipe in a few characters.

    Hashes by their beginning, collections by a hash of their own.
    """
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
    """Names the first few differences of two mappings.

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
    """Nested objects as one, with dotted names.

    Example: `{"data": {"split": "test"}}` is `{"data.split": "test"}`.
    """
    flat: JsonDict = {}
    for name, content in value.items():
        if isinstance(content, Mapping) and content and depth < _DEEPEST:
            flat.update(_flat(content, f"{prefix}{name}.", depth + 1))
        else:
            flat[f"{prefix}{name}"] = content

    return flat
