"""A package checked by whoever has the same data: its answers are scored again, and everything in it is compared.

Checks, each `match`, `mismatch` or `not checked`: `content` of the package; and of every task `data`, `items`, `recipe`, `answers`,
`scores`, `results`, and with a judge `verdicts` and `judge`. No file that a package names is ever opened: such settings come from
whoever verifies.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from medical_tasks.benchmarks.catalog import dataset_spec, task_spec
from medical_tasks.data.task_data import TaskData, open_protocol, prompt_set, run_data
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.judges.lexical import LexicalJudge
from medical_tasks.judges.session import JUDGE_KINDS
from medical_tasks.leaderboard.submission_package.contents import Package, shown
from medical_tasks.leaderboard.submission_package.privacy import FILE_SETTINGS, PATH, scrub_recipe, texts_allowed
from medical_tasks.leaderboard.submission_package.rescoring import (
    ask_again,
    check_results,
    check_scores,
    check_verdicts,
    scored_again,
    scratch_folder,
    withheld,
)
from medical_tasks.leaderboard.submission_package.results import differences, reported_task, told
from medical_tasks.leaderboard.submission_package.verification import (
    Check,
    Outcome,
    Verification,
    VerifyOptions,
    check_answers,
    check_data,
    check_items,
)
from medical_tasks.runs.recipes import make_recipe
from medical_tasks.runs.runner import AnsweredTask
from medical_tasks.spec import TaskSpec

_UNANSWERED: Final = "no answer: "
_DEFAULTS: Final = VerifyOptions()


def verify_package(package: Package, options: VerifyOptions = _DEFAULTS) -> Verification:
    """Scores a package's answers again and compares everything in it with what comes out.

    Raises:
        MissingError: The judge that was named is not there.
        UsageError: The judge that was named is not that of the package, or an option does not go with it.
    """
    checks = [Check(name="content", outcome="match", detail=f"every file has the hash told; id {package.manifest.id}")]
    for name in package.manifest.tasks:
        checks += _verify_task(package, task_spec(name), options)
    return Verification(package=package.manifest.id, checks=tuple(checks))


def _verify_task(package: Package, task: TaskSpec, options: VerifyOptions) -> list[Check]:
    entry = package.results["tasks"][task.name]
    recipe = entry["recipe"]
    rows = [row for row in package.items if row["task"] == task.name]
    data, missing = _data(task, recipe, options)
    same_data = check_data(task.name, recipe, data, missing)
    checks = [same_data]
    if data is None:
        checks.append(Check(name=f"{task.name}: items", outcome="not checked", detail="the data are not here"))
    else:
        checks.append(check_items(task, rows, data.items))
    checks.append(check_recipe(task, recipe, data, options))
    answers_check, answers = check_answers(package, task, rows, options)
    checks.append(answers_check)
    why = ""
    if data is None or same_data.outcome != "match":
        why = "the data are not here" if data is None else "the data here are another revision"
    elif answers is None:
        why = "the answers are not here, or are others"
    if why or data is None or answers is None:
        return [*checks, *_not_scored(task, entry, why)]
    return [*checks, *_scores(package, task, rows, data, answers, options)]


def _scores(
    package: Package,
    task: TaskSpec,
    rows: Sequence[Mapping[str, Any]],
    data: TaskData,
    answers: Mapping[str, str],
    options: VerifyOptions,
) -> list[Check]:
    entry = package.results["tasks"][task.name]
    recipe, private = entry["recipe"], not texts_allowed(task)
    verdicts = [row for row in package.verdicts if row["task"] == task.name]
    arguments = scoring_arguments(task, recipe, options.task_args)
    needed = {metric.needs for metric in task.metrics if metric.needs}
    if lacking := [name for name in arguments.missing if name not in needed]:
        return _not_scored(task, entry, f"--task-args {lacking[0]}=... was used and is not given")
    if private and recipe["judge"] is not None and recipe["judge"]["name"] != "lexical" and withheld(verdicts):
        return _not_scored(
            task, entry, "what the judge said is more than labels, and is not told for credentialed data"
        )
    answered = AnsweredTask(
        task=task,
        items=data.items,
        responses={item.id: answers[item.id] for item in data.items if item.id in answers},
        unanswered=_unanswered(rows, data, answers),
        recipe=recipe,
        scoring_args=arguments.values,
    )
    reported = reported_task(task, entry)
    with scratch_folder(private=private) as scratch:
        try:
            made = scored_again(answered, reported, recipe, verdicts, options, scratch, private=private)
        except (MissingError, UsageError) as error:
            return _not_scored(task, entry, str(error).replace(str(scratch), "the package").split("\n", 1)[0])
        found = [check_scores(reported, rows, made)]
        if recipe["judge"] is not None:
            found.append(check_verdicts(task.name, recipe["judge"]["name"], verdicts, made.verdicts, made.replay))
        if made.replay is not None:
            found.append(ask_again(answered, recipe["judge"], verdicts, options, scratch))
    return [*found, check_results(reported, entry, made)]


def _not_scored(task: TaskSpec, entry: Mapping[str, Any], why: str) -> list[Check]:
    parts = ["scores", "verdicts"] if entry["recipe"]["judge"] is not None else ["scores"]
    checks = [Check(name=f"{task.name}: {part}", outcome="not checked", detail=why) for part in parts]
    return [*checks, check_results(reported_task(task, entry), entry, None)]


def _unanswered(rows: Sequence[Mapping[str, Any]], data: TaskData, answers: Mapping[str, str]) -> dict[str, str]:
    """Items without an answer, for the reasons that the package tells."""
    told = {row["id"]: str(row["unscored"] or "").removeprefix(_UNANSWERED) for row in rows}
    return {item.id: told.get(item.id) or "not answered" for item in data.items if item.id not in answers}


def _data(task: TaskSpec, recipe: Mapping[str, Any], options: VerifyOptions) -> tuple[TaskData | None, str]:
    try:
        with run_data(task, dataset_spec(task.dataset), recipe, data=options.data, source=options.source) as data:
            return data, ""
    except (MissingError, UsageError) as error:
        return None, str(error).split("\n", 1)[0]


_ALWAYS = ("task", "task_version", "metrics", "statistics")
Found = tuple[Outcome, str]


def check_recipe(task: TaskSpec, recipe: Mapping[str, Any], data: TaskData | None, options: VerifyOptions) -> Check:
    """Compares a package's recipe with what this version does; `data` are for worked examples, None where they are not here."""
    found = [*_task(task, recipe), *_questions(task, recipe, data, options), *_scoring(task, recipe, options)]
    found += _judge(task, recipe, options)
    wrong = [text for outcome, text in found if outcome == "mismatch"]
    left = [text for outcome, text in found if outcome == "not checked"]
    same = [text for outcome, text in found if outcome == "match"]
    outcome: Outcome = "mismatch" if wrong else "not checked" if left else "match"
    parts = [("; ".join(wrong)), (f"not checked: {'; '.join(left)}" if left else ""), f"the same: {', '.join(same)}"]
    return Check(name=f"{task.name}: recipe", outcome=outcome, detail=". ".join(part for part in parts if part))


def _task(task: TaskSpec, recipe: Mapping[str, Any]) -> Iterator[Found]:
    own = make_recipe(task, data={}, prompts=None, model={}, max_new_tokens=task.generation_size, max_samples=None)
    for name in _ALWAYS:
        yield _compared(name, recipe[name], own[name])
    unknown = [name for name in recipe.get("task_args", {}) if name not in {*task.arguments, *task.scoring_arguments}]
    if unknown:
        yield "mismatch", f"task_args: {shown(unknown[0])} is a setting of no such task"
    name = str(recipe["model"]["name"])
    for part, has in (("protocol", bool(task.protocol)), ("baseline", name.startswith("baseline/"))):
        if part in recipe and not has:
            yield "mismatch", f"{part}: there is none of {task.name} with {shown(name)}"
    asked = not name.startswith(("responses/", "baseline/"))
    generation, prompts = recipe["generation"], recipe["prompts"]
    if asked != (prompts is not None) or asked != (generation is not None):
        yield "mismatch", f"prompts and generation are {'missing' if asked else 'there'} for {name}"
    if generation is not None:
        yield _compared("stop sequences", generation.get("stop"), own["generation"]["stop"])
        size = generation.get("max_new_tokens")
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            yield "mismatch", "generation, max_new_tokens: must be a whole number"
        elif size != task.generation_size:
            yield "match", f"answers of {size} tokens at most (the task's own: {task.generation_size})"


def _questions(
    task: TaskSpec, recipe: Mapping[str, Any], data: TaskData | None, options: VerifyOptions
) -> Iterator[Found]:
    said = recipe["prompts"]
    if said is None:
        return
    arguments = question_arguments(task, recipe, options.task_args)
    if arguments.missing:
        yield "not checked", f"prompts (--task-args {arguments.missing[0]}=... was used and is not given)"
        return
    if task.exemplars and data is None:
        yield "not checked", "prompts (their worked examples are of the data, which are not here)"
        return
    exemplars = data.exemplars if data is not None else ()
    try:
        own = prompt_set(task, said["set"], options.upstream, arguments=arguments.values, exemplars=exemplars)
        here: dict[str, Any] = {"set": own.name, "sha256": own.sha256}
        here |= {"settings": own.settings} if own.settings else {}
        yield _compared("prompts", said, scrub_recipe(here))
        if task.protocol:
            protocol = open_protocol(task, arguments.values, prompts=said["set"], upstream=options.upstream)
            yield _compared("protocol", recipe.get("protocol"), scrub_recipe(dict(protocol.identity)))
    except (MissingError, UsageError) as error:
        yield "not checked", f"prompts ({_first_line(error)})"


def _scoring(task: TaskSpec, recipe: Mapping[str, Any], options: VerifyOptions) -> Iterator[Found]:
    if not task.scoring_arguments:
        if "scoring" in recipe:
            yield "mismatch", "scoring: the task has no settings of its scoring"
        return
    arguments = scoring_arguments(task, recipe, options.task_args)
    try:
        identity = task.benchmark.scoring_identity(task, dict(arguments.values))
    except (MissingError, UsageError) as error:
        yield "not checked", f"scoring ({_first_line(error)})"
        return
    said = dict(recipe.get("scoring", {}))
    here = scrub_recipe(identity)
    for name in arguments.missing:
        yield "not checked", f"scoring's {name} (--task-args {name}=... was used and is not given)"
    unknown = {*arguments.missing, *(("reference_claims",) if "claims" in arguments.missing else ())}
    kept = [{name: value for name, value in each.items() if name not in unknown} for each in (said, here)]
    yield _compared("scoring", kept[0], kept[1])


def _judge(task: TaskSpec, recipe: Mapping[str, Any], options: VerifyOptions) -> Iterator[Found]:
    said = recipe["judge"]
    if said is None:
        return
    try:
        prompts = task.benchmark.load_judge_prompts(task, said["prompts"].get("set"), options.upstream)
        yield _compared("judge's prompts", said["prompts"], {"set": prompts.name, "sha256": prompts.sha256})
    except (MissingError, UsageError) as error:
        yield "not checked", f"judge's prompts ({_first_line(error)})"
    if said["name"] == "lexical":
        own = dict(LexicalJudge().identity)
        yield _compared("lexical judge", {name: said.get(name) for name in own}, own)
        yield _compared("votes", said["votes"], 1)
    elif (kind := said["name"].partition("/")[0]) not in JUDGE_KINDS or kind == "lexical":
        yield "mismatch", f"judge: {shown(said['name'])} is no judge that there is"
    if said.get("mode") not in ("single", "batched"):
        yield "mismatch", "judge, mode: must be single or batched"


def _compared(what: str, said: Any, here: Any) -> Found:
    found = next(differences(said, json.loads(json.dumps(here)), (what,)), None)
    return ("match", what) if found is None else ("mismatch", told(found))


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0]


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Settings, and which file or folder settings were used and not given here."""

    values: Mapping[str, str]
    missing: tuple[str, ...]


def question_arguments(task: TaskSpec, recipe: Mapping[str, Any], given: Mapping[str, str]) -> Arguments:
    """Settings of the questions, `given` by whoever verifies: no file that a package names is ever opened."""
    values: dict[str, str] = {}
    missing: list[str] = []
    for name, value in recipe.get("task_args", {}).items():
        if name not in task.arguments:
            continue
        if name in FILE_SETTINGS and value == PATH:
            if name in given:
                values[name] = given[name]
            else:
                missing.append(name)
        else:
            values[name] = value
    return Arguments(values=values, missing=tuple(missing))


def scoring_arguments(task: TaskSpec, recipe: Mapping[str, Any], given: Mapping[str, str]) -> Arguments:
    """Settings of the scoring, from what the recipe says of them; likewise."""
    values = {name: value for name, value in given.items() if name in task.scoring_arguments}
    missing: list[str] = []
    identity = recipe.get("scoring", {})
    said = {**recipe.get("task_args", {}), **{_SPELLED.get(name, name): value for name, value in identity.items()}}
    for name, value in said.items():
        if name not in task.scoring_arguments or name in values:
            continue
        if name in FILE_SETTINGS:
            # A sentence in place of a file's hash says that there was none.
            if isinstance(value, Mapping):
                missing.append(name)
        elif isinstance(value, bool):
            values |= {name: "yes" if value else "no"} if value or name != "official" else {}
        elif isinstance(value, str):
            values[name] = value
    return Arguments(values=values, missing=tuple(missing))


_SPELLED = {"reference_claims": "claims"}
"""Names in a scoring's identity that are not the settings' own."""
