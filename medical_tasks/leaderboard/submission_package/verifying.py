"""A package checked by whoever has the same data: its answers are scored again, and everything in it is compared.

No file that a package names is ever opened: such settings come from whoever verifies.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

from medical_tasks.catalog import dataset_spec, task_spec
from medical_tasks.data.task_data import TaskData, open_protocol, prompt_set, run_data
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.guard import policy
from medical_tasks.guard.private_store import scratch
from medical_tasks.judges.lexical import LexicalJudge
from medical_tasks.judges.session import judge_kinds
from medical_tasks.leaderboard.submission_package import contents, rescoring
from medical_tasks.leaderboard.submission_package.package_file import answers_of_run
from medical_tasks.leaderboard.submission_package.privacy import (
    FILE_SETTINGS,
    PATH,
    scrub_recipe,
    texts_allowed,
)
from medical_tasks.leaderboard.submission_package.results import differences, reported_task, told
from medical_tasks.models.opener import full_name, parse_model_args
from medical_tasks.runs.adjudicating import read_adjudication
from medical_tasks.runs.comparability import asked_officially
from medical_tasks.runs.recipes import make_recipe, mapping
from medical_tasks.runs.responses import read_responses
from medical_tasks.runs.results import read_results
from medical_tasks.runs.runner import Adjudication, AnsweredTask
from medical_tasks.spec import UNANSWERED, Item, TaskSpec

_SHOWN: Final = 3


def verify_package(
    package: contents.Package, options: contents.VerifyOptions = contents.DEFAULT_OPTIONS
) -> contents.Verification:
    """Scores a package's answers again and compares everything in it; raises where the judge is not the package's."""
    checks = [
        contents.Check(
            "content", "match", f"every file has the stated hash; id {package.manifest.id}"
        )
    ]
    for name in package.manifest.tasks:
        checks += [
            contents.Check(f"{name}: {part}", *each)
            for part, each in _parts(package, task_spec(name), options).items()
        ]
    return contents.Verification(package=package.manifest.id, checks=tuple(checks))


def verify_as_asked(
    package: contents.Package, arguments: argparse.Namespace
) -> contents.Verification:
    """Verifies with a command's options: those of `VerifyOptions`, None where they are not given, and the guard's."""
    given = {each.name: getattr(arguments, each.name) for each in fields(contents.VerifyOptions)}
    for setting in ("task_args", "judge_args"):
        given[setting] = parse_model_args(
            given[setting] or "", option=f"--{setting.replace('_', '-')}"
        )
    given["judge"] = full_name(given["judge"]) if given["judge"] else None
    options = contents.VerifyOptions(
        **{name: value for name, value in given.items() if value is not None}
    )
    if options.sample < 1 or options.seed < 0:
        raise UsageError(
            f"--sample must be 1 or more and --seed 0 or more, got {options.sample} and {options.seed}."
        )
    tasks = [task_spec(name) for name in package.manifest.tasks]
    settings = {name for task in tasks for name in (*task.arguments, *task.scoring_arguments)}
    if unknown := [name for name in options.task_args if name not in settings]:
        raise UsageError(
            f"--task-args: {unknown[0]} is a setting of no task of the package. Leave it out."
        )
    if options.judge and not any(task.judge for task in tasks):
        raise UsageError(
            f"--judge: {', '.join(task.name for task in tasks)} needs no judge. Leave it out."
        )
    # The answers to credentialed data, and what is asked of a judge about them, stay on this machine.
    subjects = [policy.Subject.of(dataset_spec(task.dataset), task=task.name) for task in tasks]
    with policy.protect(subjects, policy.attestation_from(arguments)):
        return verify_package(package, options)


def _parts(
    package: contents.Package, task: TaskSpec, options: contents.VerifyOptions
) -> dict[str, contents.Found]:
    entry = package.results["tasks"][task.name]
    recipe = entry["recipe"]
    rows = [row for row in package.items if row["task"] == task.name]
    data, missing = _data(task, recipe, options)
    compared: contents.Found = (
        ("not checked", missing) if data is None else check_data(recipe["data"], data.revision)
    )
    answered, answers = check_answers(package, task, rows, options)
    found: dict[str, contents.Found] = {
        "data": compared,
        "items": ("not checked", "the data are not here")
        if data is None
        else check_items(task, rows, data.items),
        "recipe": check_recipe(task, recipe, data, options),
        "answers": answered,
    }
    if data is None:
        return found | _not_scored(entry, "the data are not here")
    if compared[0] != "match":
        return found | _not_scored(entry, "the data here are another revision")
    if answers is None:
        return found | _not_scored(entry, "the answers are not here, or are others")
    return found | _scores(package, task, rows, data, answers, options)


def _scores(
    package: contents.Package,
    task: TaskSpec,
    rows: Sequence[Mapping[str, Any]],
    data: TaskData,
    answers: Mapping[str, str],
    options: contents.VerifyOptions,
) -> dict[str, contents.Found]:
    entry = package.results["tasks"][task.name]
    recipe, private = entry["recipe"], not texts_allowed(task)
    verdicts = [row for row in package.verdicts if row["task"] == task.name]
    values, missing = scoring_arguments(task, recipe, options.task_args)
    needed = {metric.needs for metric in task.metrics if metric.needs}
    if lacking := [name for name in missing if name not in needed]:
        return _not_scored(entry, f"--task-args {lacking[0]}=... was used and is not given")
    # More than labels and numbers: what they said was taken out with the texts.
    withheld = any('""' in json.dumps(row.get("value")) for row in verdicts)
    if (
        private
        and withheld
        and recipe["judge"] is not None
        and recipe["judge"]["name"] != "lexical"
    ):
        return _not_scored(
            entry, "what the judge said is more than labels, and is not told for credentialed data"
        )
    # Items without an answer, for the reasons that the package tells.
    told = {row["id"]: str(row["unscored"] or "").removeprefix(UNANSWERED) for row in rows}
    answered = AnsweredTask(
        task=task,
        items=data.items,
        responses={item.id: answers[item.id] for item in data.items if item.id in answers},
        unanswered={
            item.id: told.get(item.id) or "not answered"
            for item in data.items
            if item.id not in answers
        },
        recipe=recipe,
        scoring_args=values,
    )
    reported = reported_task(task, entry)
    with (
        scratch()
        if private
        else tempfile.TemporaryDirectory(prefix="medical-tasks-verify-") as made_folder
    ):
        folder = Path(made_folder)
        try:
            answered = replace(answered, adjudication=_adjudication(task, recipe, answers, options))
            made = rescoring.scored_again(answered, reported, verdicts, options, folder)
        except (MissingError, UsageError) as error:
            return _not_scored(entry, _first_line(error).replace(str(folder), "the package"))
        found = {"scores": rescoring.check_scores(reported, entry, rows, made)}
        if recipe["judge"] is not None:
            found["verdicts"] = rescoring.check_verdicts(
                recipe["judge"]["name"], verdicts, made.verdicts, made.replay
            )
        if made.replay is not None:
            found["judge"] = rescoring.ask_again(answered, verdicts, options, folder)
    return {**found, "results": rescoring.check_results(reported, entry, made)}


def _adjudication(
    task: TaskSpec,
    recipe: Mapping[str, Any],
    answers: Mapping[str, str],
    options: contents.VerifyOptions,
) -> Adjudication | None:
    """The decisions that the package's scores rest on; no package holds their sheet, so that it has to be given."""
    if recipe.get("adjudication") is None:
        return None
    if options.adjudicated is None:
        raise MissingError(
            "unclear answers were adjudicated; give the sheet with --adjudicated FILE"
        )
    found = read_adjudication(options.adjudicated, task, answers)
    if found.sha256 != mapping(recipe["adjudication"]).get("sha256"):
        raise UsageError(f"{options.adjudicated} is not the sheet that the scores rest on")
    return found


def _not_scored(entry: Mapping[str, Any], why: str) -> dict[str, contents.Found]:
    parts = ("scores", "verdicts") if entry["recipe"]["judge"] is not None else ("scores",)
    found: dict[str, contents.Found] = dict.fromkeys(parts, ("not checked", why))
    said = "values, intervals and coverage are those of the package's own items; not computed from answers"
    return {**found, "results": ("match", said)}


def _data(
    task: TaskSpec, recipe: Mapping[str, Any], options: contents.VerifyOptions
) -> tuple[TaskData | None, str]:
    try:
        with run_data(
            task, dataset_spec(task.dataset), recipe, data=options.data, source=options.source
        ) as data:
            return data, ""
    except (MissingError, UsageError) as error:
        return None, _first_line(error)


def check_answers(
    package: contents.Package,
    task: TaskSpec,
    rows: Sequence[Mapping[str, Any]],
    options: contents.VerifyOptions,
) -> tuple[contents.Found, Mapping[str, str] | None]:
    """Compares the answers with their hashes; also returns item id to answer, None where there are none to score."""
    answers: Mapping[str, str] | None = package.answers.get(task.name)
    source = "of the package"
    if options.responses is not None:
        try:
            answers = _given_answers(task, rows, options.responses, options)
        except (MissingError, UsageError) as error:
            return ("not checked", _first_line(error)), answers
        source = "given here"
    if answers is None:
        detail = "the data are credentialed and the package holds no answers; give them with --responses FILE or RUN"
        return ("not checked", detail), None
    told = {row["id"]: row["answer_sha256"] for row in rows}
    wrong = [each for each in told if contents.answer_sha256(answers.get(each)) != told[each]]
    wrong += [each for each in answers if each not in told]
    if wrong:
        which = ", ".join(map(contents.shown, wrong[:_SHOWN]))
        return (
            "mismatch",
            f"{len(wrong)} of {len(told)} {source} do not have the stated hash: {which}",
        ), None
    unanswered = sum(not digest for digest in told.values())
    rest = f", {unanswered} items have none" if unanswered else ""
    return ("match", f"{len(answers):,} {source} have the stated hash{rest}"), answers


def _given_answers(
    task: TaskSpec, rows: Sequence[Mapping[str, Any]], place: Path, options: contents.VerifyOptions
) -> Mapping[str, str]:
    if not place.is_dir():
        return read_responses(place, [row["id"] for row in rows], task=task)
    entries = read_results(place)["tasks"]
    if task.name not in entries:
        raise UsageError(f"{place}: has no answers to {task.name}, but to {', '.join(entries)}.")
    return answers_of_run(
        task, entries[task.name]["recipe"], place, replace(options, responses=None)
    )


def check_data(ran: Mapping[str, Any], here: Mapping[str, Any]) -> contents.Found:
    """Compares the data of a recipe with those here."""
    where, there, own = (
        f"{here['name']}/{here['config']}, split {here['split']}",
        ran["rows_sha256"],
        here["rows_sha256"],
    )
    if there != own:
        told = f"rows_sha256 {contents.shown(there)} in the package, {contents.shown(own)} here"
        return "mismatch", f"{where}: another revision: {told}"
    return "match", f"{where}, rows_sha256 {own[:16]}"


def check_items(
    task: TaskSpec, rows: Sequence[Mapping[str, Any]], items: Sequence[Item]
) -> contents.Found:
    """Compares a package's items with those of the split."""

    def groups(item: Item) -> dict[str, str]:
        made = {by: item.groups[by] for by in task.groups}
        return {
            f"group_{by}": each if isinstance(each, str) else " ".join(each)
            for by, each in made.items()
        }

    said, here = {row["id"]: row for row in rows}, {item.id: item for item in items}
    both = [each for each in here if each in said]
    found = {
        "added": [each for each in said if each not in here],
        "missing": [each for each in here if each not in said],
        "in another cluster": [
            each for each in both if said[each]["cluster"] != here[each].cluster
        ],
        "in another group": [
            each for each in both if not groups(here[each]).items() <= said[each].items()
        ],
    }
    wrong = [
        f"{len(ids)} {what}: {', '.join(map(contents.shown, ids[:_SHOWN]))}"
        for what, ids in found.items()
        if ids
    ]
    if not wrong and list(said) != list(here):
        wrong = ["they stand in another order"]
    if wrong:
        return "mismatch", "; ".join(wrong)
    return "match", f"all {len(here):,} items asked, their groups and clusters"


_ALWAYS = ("task", "task_version", "metrics", "statistics")


def check_recipe(
    task: TaskSpec,
    recipe: Mapping[str, Any],
    data: TaskData | None,
    options: contents.VerifyOptions,
) -> contents.Found:
    """Compares a package's recipe with what this version does; `data` are for worked examples, None where they are not here."""
    found = [
        *_task(task, recipe),
        *_questions(task, recipe, data, options),
        *_scoring(task, recipe, options),
    ]
    found += _judge(task, recipe, options)
    kinds = ("mismatch", "not checked", "match")
    wrong, left, same = ([text for outcome, text in found if outcome == kind] for kind in kinds)
    outcome: contents.Outcome = "mismatch" if wrong else "not checked" if left else "match"
    parts = [
        ("; ".join(wrong)),
        (f"not checked: {'; '.join(left)}" if left else ""),
        f"the same: {', '.join(same)}",
    ]
    return outcome, ". ".join(part for part in parts if part)


def _task(task: TaskSpec, recipe: Mapping[str, Any]) -> Iterator[contents.Found]:
    official = asked_officially(mapping(recipe["judge"]))
    reported = task.reporting(task.scoring_arguments, official=official)
    own = make_recipe(
        reported, data={}, model={}, max_new_tokens=task.generation_size, max_samples=None
    )
    # Packages of an older suite do not say how intervals were computed, which was in another way.
    if "intervals" not in recipe["statistics"]:
        own["statistics"].pop("intervals")
    for name in _ALWAYS:
        yield _compared(name, recipe[name], own[name])
    unknown = [
        name
        for name in recipe.get("task_args", {})
        if name not in {*task.arguments, *task.scoring_arguments}
    ]
    if unknown:
        yield "mismatch", f"task_args: {contents.shown(unknown[0])} is a setting of no such task"
    name = str(recipe["model"]["name"])
    for part, has in (
        ("protocol", bool(task.protocol)),
        ("baseline", name.startswith("baseline/")),
    ):
        if part in recipe and not has:
            yield "mismatch", f"{part}: there is none of {task.name} with {contents.shown(name)}"
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
            yield (
                "match",
                f"answers of {size} tokens at most (the task's own: {task.generation_size})",
            )


def _questions(
    task: TaskSpec,
    recipe: Mapping[str, Any],
    data: TaskData | None,
    options: contents.VerifyOptions,
) -> Iterator[contents.Found]:
    said = recipe["prompts"]
    if said is None:
        return
    values, missing = question_arguments(task, recipe, options.task_args)
    if missing:
        yield "not checked", f"prompts (--task-args {missing[0]}=... was used and is not given)"
        return
    if task.exemplars and data is None:
        yield "not checked", "prompts (their worked examples are of the data, which are not here)"
        return
    exemplars = data.exemplars if data is not None else ()
    try:
        own = prompt_set(
            task,
            said["set"],
            options.upstream,
            arguments=values,
            config=str(recipe["data"].get("config")),
            exemplars=exemplars,
        )
        here: dict[str, Any] = {"set": own.name, "sha256": own.sha256}
        here |= {"settings": own.settings} if own.settings else {}
        yield _compared("prompts", said, scrub_recipe(here))
        if task.protocol:
            protocol = open_protocol(task, values, prompts=said["set"], upstream=options.upstream)
            yield _compared(
                "protocol", recipe.get("protocol"), scrub_recipe(dict(protocol.identity))
            )
    except (MissingError, UsageError) as error:
        yield "not checked", f"prompts ({_first_line(error)})"


def _scoring(
    task: TaskSpec, recipe: Mapping[str, Any], options: contents.VerifyOptions
) -> Iterator[contents.Found]:
    if not task.scoring_arguments:
        if "scoring" in recipe:
            yield "mismatch", "scoring: the task has no settings of its scoring"
        return
    values, missing = scoring_arguments(task, recipe, options.task_args)
    try:
        here = scrub_recipe(task.benchmark.scoring_identity(task, values))
    except (MissingError, UsageError) as error:
        yield "not checked", f"scoring ({_first_line(error)})"
        return
    for name in missing:
        yield "not checked", f"scoring's {name} (--task-args {name}=... was used and is not given)"
    unknown = {*missing, *(("reference_claims",) if "claims" in missing else ())}
    said, own = (
        {name: value for name, value in each.items() if name not in unknown}
        for each in (recipe.get("scoring", {}), here)
    )
    yield _compared("scoring", said, own)


def _judge(
    task: TaskSpec, recipe: Mapping[str, Any], options: contents.VerifyOptions
) -> Iterator[contents.Found]:
    said = recipe["judge"]
    if said is None:
        return
    try:
        prompts = task.benchmark.load_judge_prompts(
            task, said["prompts"].get("set"), options.upstream
        )
        yield _compared(
            "judge's prompts", said["prompts"], {"set": prompts.name, "sha256": prompts.sha256}
        )
    except (MissingError, UsageError) as error:
        yield "not checked", f"judge's prompts ({_first_line(error)})"
    if said["name"] == "lexical":
        own = dict(LexicalJudge().identity)
        yield _compared("lexical judge", {name: said.get(name) for name in own}, own)
        yield _compared("votes", said["votes"], 1)
    elif (kind := said["name"].partition("/")[0]) not in judge_kinds() or kind == "lexical":
        yield "mismatch", f"judge: {contents.shown(said['name'])} is no judge that there is"
    if said.get("mode") not in ("single", "batched"):
        yield "mismatch", "judge, mode: must be single or batched"


def _compared(what: str, said: Any, here: Any) -> contents.Found:
    found = next(differences(said, json.loads(json.dumps(here)), (what,)), None)
    return ("match", what) if found is None else ("mismatch", told(found))


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0]


Arguments = tuple[dict[str, str], list[str]]
"""Settings, and which file or folder settings were used and not given here."""


def question_arguments(
    task: TaskSpec, recipe: Mapping[str, Any], given: Mapping[str, str]
) -> Arguments:
    """Settings of the questions, `given` by whoever verifies: no file that a package names is ever opened."""
    said = {
        name: value for name, value in recipe.get("task_args", {}).items() if name in task.arguments
    }
    files = {name for name, value in said.items() if name in FILE_SETTINGS and value == PATH}
    values = {
        name: given[name] if name in files else said[name]
        for name in said
        if name not in files or name in given
    }
    return values, [name for name in said if name not in values]


def scoring_arguments(
    task: TaskSpec, recipe: Mapping[str, Any], given: Mapping[str, str]
) -> Arguments:
    """Settings of the scoring, from what the recipe says of them; likewise."""
    values = {name: value for name, value in given.items() if name in task.scoring_arguments}
    missing: list[str] = []
    identity = recipe.get("scoring", {})
    said = {
        **recipe.get("task_args", {}),
        **{_SPELLED.get(name, name): value for name, value in identity.items()},
    }
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
    return values, missing


_SPELLED = {"reference_claims": "claims"}
"""Names in a scoring's identity that are not the settings' own."""
