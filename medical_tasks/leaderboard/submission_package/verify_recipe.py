"""Verifying: is the recipe one that this version of the suite would write?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from medical_tasks.data.task_data import TaskData, open_protocol, prompt_set
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.judges.lexical import LexicalJudge
from medical_tasks.judges.opener import JUDGE_KINDS
from medical_tasks.leaderboard.submission_package.comparing import differences, told
from medical_tasks.leaderboard.submission_package.problems import shown
from medical_tasks.leaderboard.submission_package.scrubbing import scrub_recipe
from medical_tasks.leaderboard.submission_package.verification import Check, Outcome
from medical_tasks.leaderboard.submission_package.verify_arguments import question_arguments, scoring_arguments
from medical_tasks.leaderboard.submission_package.verify_options import VerifyOptions
from medical_tasks.runs.recipe import make_recipe
from medical_tasks.spec import TaskSpec

__all__ = ["check_recipe"]

_ALWAYS = ("task", "task_version", "metrics", "statistics")
Found = tuple[Outcome, str]


def check_recipe(task: TaskSpec, recipe: Mapping[str, Any], data: TaskData | None, options: VerifyOptions) -> Check:
    """Compares a package's recipe with what this version does.

    Args:
        task: the task.
        recipe: of the package.
        data: the data here, for worked examples; None where they are not.
        options: what there is to check it with.
    """
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
        yield "not checked", f"prompts ({_line(error)})"


def _scoring(task: TaskSpec, recipe: Mapping[str, Any], options: VerifyOptions) -> Iterator[Found]:
    if not task.scoring_arguments:
        if "scoring" in recipe:
            yield "mismatch", "scoring: the task has no settings of its scoring"
        return
    arguments = scoring_arguments(task, recipe, options.task_args)
    try:
        identity = task.benchmark.scoring_identity(task, dict(arguments.values))
    except (MissingError, UsageError) as error:
        yield "not checked", f"scoring ({_line(error)})"
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
        yield "not checked", f"judge's prompts ({_line(error)})"
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


def _line(error: Exception) -> str:
    return str(error).split("\n", 1)[0]
