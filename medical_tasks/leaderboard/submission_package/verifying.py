"""Verifies a package on the same data: scores it again, and compares everything in it.

No file that a package names is ever opened; the person who verifies provides such
settings.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Final

from medical_tasks.catalog import dataset_spec, task_spec
from medical_tasks.data.task_data import TaskData, open_protocol, prompt_set, run_data
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.guard import policy
from medical_tasks.guard.private_store import scratch
from medical_tasks.io.untrusted import shown
from medical_tasks.judges.lexical import LexicalJudge
from medical_tasks.judges.session import judge_kinds
from medical_tasks.leaderboard.submission_package import contents, rescoring
from medical_tasks.leaderboard.submission_package.contents import (
    Found,
    Outcome,
    VerifyOptions,
)
from medical_tasks.leaderboard.submission_package.package_file import answers_of_run
from medical_tasks.leaderboard.submission_package.privacy import (
    FILE_SETTINGS,
    PATH,
    published_at,
    scrub_recipe,
    texts_allowed,
)
from medical_tasks.leaderboard.submission_package.results import (
    differences,
    in_words,
    reported_task,
)
from medical_tasks.report.entries import Entry, Recipe
from medical_tasks.runs.adjudicating import read_adjudication
from medical_tasks.runs.answered import Adjudication, AnsweredTask
from medical_tasks.runs.comparability import asked_officially
from medical_tasks.runs.recipes import make_recipe, mapping
from medical_tasks.runs.responses import read_responses
from medical_tasks.runs.results import JsonDict, Row, read_results
from medical_tasks.spec import UNANSWERED, Item, TaskSpec

_SHOWN: Final = 3
_FOLDER: Final = "medical-tasks-verify-"
_ALWAYS: Final = ("task", "task_version", "metrics", "statistics")
"""The fields of a recipe that depend on the task and this version alone."""
_SPELLED: Final = {"reference_claims": "claims"}
"""Names in a scoring's identity that differ from those of the settings."""

Answers = Mapping[str, str]
"""Item id to answer."""


def verify_package(
    package: contents.Package, options: VerifyOptions = contents.DEFAULT_OPTIONS
) -> contents.Verification:
    """Scores a package's answers again and compares everything in it.

    Raises `UsageError` if the given judge is not that of the package.
    """
    stated = f"every file has the stated hash; id {package.manifest.id}"
    checks = [contents.Check("content", "match", stated)]
    for name in package.manifest.tasks:
        recipe = package.results["tasks"][name]["recipe"]
        task = task_spec(name).asked_with(mapping(recipe.get("task_args")))
        parts = _TaskPackage(package, task, options).checked()
        checks += [
            contents.Check(f"{name}: {what}", *outcome)
            for what, outcome in parts.items()
        ]

    return contents.Verification(package=package.manifest.id, checks=tuple(checks))


def verify_guarded(
    package: contents.Package, options: VerifyOptions, attestation: policy.Attestation
) -> contents.Verification:
    """Verifies a package under the data guard, and refuses options that no task has.

    The answers to credentialed data, and requests to a judge about them, stay on this
    machine.
    """
    if options.sample < 1 or options.seed < 0:
        raise UsageError(
            f"--sample must be 1 or more and --seed 0 or more, got {options.sample} and "
            f"{options.seed}."
        )

    tasks = [task_spec(name) for name in package.manifest.tasks]
    settings = {
        name for task in tasks for name in (*task.arguments, *task.scoring_arguments)
    }
    if unknown := [name for name in options.task_args if name not in settings]:
        raise UsageError(
            f"--task-args: {unknown[0]} is a setting of no task of the package. Leave it out."
        )

    if options.judge and not any(task.judge for task in tasks):
        raise UsageError(
            f"--judge: {', '.join(task.name for task in tasks)} needs no judge. Leave it out."
        )

    subjects = [
        policy.Subject.of(dataset_spec(task.dataset), task=task.name) for task in tasks
    ]
    with policy.protect(subjects, attestation):
        return verify_package(package, options)


@dataclass(frozen=True)
class _TaskPackage:
    """A task of a package, and the options of its verification.

    The checks build on each other: without the same data or the same answers, nothing is
    scored again, and the parts that depend on it are `not checked`, which is no mismatch.

        data      the hash of the rows
        items     ids, order, groups and clusters
        recipe    task, prompts, settings and judge of this version
        answers   the hash of each answer
        scores    each item, scored again with the verdicts of the package
        verdicts  on these very questions and answers, and as the judge's texts say
        judge     a sample of items, asked again (--judge)
        results   metrics, intervals and breakdowns, computed from the new scores
    """

    package: contents.Package
    task: TaskSpec
    options: VerifyOptions

    @cached_property
    def entry(self) -> Entry:
        entry: Entry = self.package.results["tasks"][self.task.name]
        return entry

    @property
    def recipe(self) -> Recipe:
        recipe: Recipe = self.entry["recipe"]
        return recipe

    @property
    def judge(self) -> Recipe | None:
        return self.recipe["judge"]  # type: ignore[no-any-return]  # as its form says

    @cached_property
    def rows(self) -> Sequence[Row]:
        return [row for row in self.package.items if row["task"] == self.task.name]

    @cached_property
    def verdicts(self) -> Sequence[Row]:
        return [row for row in self.package.verdicts if row["task"] == self.task.name]

    def checked(self) -> dict[str, Found]:
        """Compares all parts; a part that cannot be compared says what is missing."""
        parts: dict[str, Found] = {}
        data: TaskData | None = None
        try:
            data = self.data()
            parts["data"] = check_data(self.recipe["data"], data.revision)
            parts["items"] = check_items(self.task, self.rows, data.items)
        except (MissingError, UsageError) as error:
            parts["data"] = "not checked", _first_line(error)
            parts["items"] = "not checked", "the data are not here"

        parts["recipe"] = self.recipe_check(data)
        parts["answers"], answers = self.answers()
        if data is None:
            return parts | self.not_scored("the data are not here")
        if parts["data"][0] != "match":
            return parts | self.not_scored("the data here are another revision")
        if answers is None:
            return parts | self.not_scored("the answers are not here, or are others")

        return parts | self.scores(data, answers)

    def data(self) -> TaskData:
        """Loads the data of the run from this machine."""
        task, options = self.task, self.options
        dataset = dataset_spec(task.dataset)
        with run_data(
            task, dataset, self.recipe, data=options.data, source=options.source
        ) as data:
            return data

    def not_scored(self, why: str) -> dict[str, Found]:
        """Returns the outcomes if nothing could be scored again."""
        parts = ("scores", "verdicts") if self.judge is not None else ("scores",)
        outcomes: dict[str, Found] = dict.fromkeys(parts, ("not checked", why))
        outcomes["results"] = (
            "match",
            "values, intervals and coverage are those of the package's own items; not computed "
            "from answers",
        )
        return outcomes

    def answers(self) -> tuple[Found, Answers | None]:
        """Compares the answers with their hashes, and returns them, None if unavailable."""
        answers: Answers | None = self.package.answers.get(self.task.name)
        source = "of the package"
        if self.options.responses is not None:
            try:
                answers = self.given_answers(self.options.responses)
            except (MissingError, UsageError) as error:
                return ("not checked", _first_line(error)), answers

            source = "given here"

        if answers is None:
            address = published_at(self.recipe)
            why = f"they are at {address}" if address else "the data are credentialed"
            return (
                "not checked",
                f"the package holds no answers, since {why}; give them with --responses FILE or "
                "RUN",
            ), None

        stated = {row["id"]: row["answer_sha256"] for row in self.rows}
        wrong = [
            item
            for item, digest in stated.items()
            if contents.answer_sha256(answers.get(item)) != digest
        ]
        wrong += [item for item in answers if item not in stated]
        if wrong:
            count = (
                f"{len(wrong)} of {len(stated)} {source} do not have the stated hash"
            )
            return ("mismatch", f"{count}: {_listed(wrong)}"), None

        unanswered = sum(not digest for digest in stated.values())
        rest = f", {unanswered} items have none" if unanswered else ""
        return (
            "match",
            f"{len(answers):,} {source} have the stated hash{rest}",
        ), answers

    def given_answers(self, path: Path) -> Answers:
        """Reads the answers from a file, or from the folder of a run."""
        if not path.is_dir():
            return read_responses(
                path, [row["id"] for row in self.rows], task=self.task
            )

        entries = read_results(path)["tasks"]
        if self.task.name not in entries:
            raise UsageError(
                f"{path}: has no answers to {self.task.name}, but to {', '.join(entries)}."
            )

        recipe = entries[self.task.name]["recipe"]
        return answers_of_run(
            self.task, recipe, path, replace(self.options, responses=None)
        )

    def scores(self, data: TaskData, answers: Answers) -> dict[str, Found]:
        """Scores the answers again, and compares the results."""
        task, recipe, options = self.task, self.recipe, self.options
        values, missing = scoring_arguments(task, recipe, options.task_args)
        needed = {metric.needs for metric in task.metrics if metric.needs}
        if lacking := [name for name in missing if name not in needed]:
            return self.not_scored(
                f"--task-args {lacking[0]}=... was used and is not given"
            )

        private = not texts_allowed(task)
        if private and self.judge is not None and self.withholds_verdicts(self.judge):
            return self.not_scored(
                "what the judge said is more than labels, and is not told for credentialed data"
            )

        answered = replace(self.answered(data, answers), scoring_args=values)
        reported = reported_task(task, self.entry)
        made_in = scratch() if private else tempfile.TemporaryDirectory(prefix=_FOLDER)
        with made_in as name:
            folder = Path(name)
            try:
                answered = replace(answered, adjudication=self.adjudication(answers))
                scored = rescoring.scored_again(
                    answered, reported, self.verdicts, options, folder
                )
            except (MissingError, UsageError) as error:
                return self.not_scored(
                    _first_line(error).replace(str(folder), "the package")
                )

            outcomes = {
                "scores": rescoring.check_scores(
                    reported, self.entry, self.rows, scored
                )
            }
            if self.judge is not None:
                outcomes["verdicts"] = rescoring.check_verdicts(
                    self.judge["name"], self.verdicts, scored.verdicts, scored.replay
                )

            if scored.replay is not None:
                outcomes["judge"] = rescoring.ask_again(
                    answered, self.verdicts, options, folder
                )

        outcomes["results"] = rescoring.check_results(reported, self.entry, scored)
        return outcomes

    def withholds_verdicts(self, judge: Recipe) -> bool:
        """Whether verdicts have texts, which were removed from the package."""
        withheld = any('""' in json.dumps(row.get("value")) for row in self.verdicts)
        return withheld and judge["name"] != "lexical"

    def answered(self, data: TaskData, answers: Answers) -> AnsweredTask:
        """Returns the answered items, with the package's reasons for missing answers."""
        reasons = {row["id"]: str(row["unscored"] or "") for row in self.rows}
        missing = [item.id for item in data.items if item.id not in answers]

        return AnsweredTask(
            task=self.task,
            items=data.items,
            responses={
                item.id: answers[item.id] for item in data.items if item.id in answers
            },
            unanswered={
                item: reasons.get(item, "").removeprefix(UNANSWERED) or "not answered"
                for item in missing
            },
            recipe=self.recipe,
        )

    def adjudication(self, answers: Answers) -> Adjudication | None:
        """Reads the adjudication on which the package's scores depend.

        Its sheet is not in the package and must be given.
        """
        stated = self.recipe.get("adjudication")
        sheet = self.options.adjudicated
        if stated is None:
            return None

        if sheet is None:
            raise MissingError(
                "unclear answers were adjudicated; give the sheet with --adjudicated FILE"
            )

        decided = read_adjudication(sheet, self.task, answers)
        if decided.sha256 != mapping(stated).get("sha256"):
            raise UsageError(f"{sheet} is not the sheet that the scores rest on")

        return decided

    def recipe_check(self, data: TaskData | None) -> Found:
        """Compares the recipe with that of this version.

        `data` have the worked examples; they are None if not available here.
        """
        parts = (
            self.of_the_task(),
            self.answering(),
            self.questions(data),
            self.scoring(),
        )
        results_of_parts = list(chain(*parts, self.judging()))
        kinds: tuple[Outcome, ...] = ("mismatch", "not checked", "match")
        wrong, left, same = (
            [text for outcome_of, text in results_of_parts if outcome_of == kind]
            for kind in kinds
        )
        outcome: Outcome = "mismatch" if wrong else "not checked" if left else "match"
        unchecked = f"not checked: {'; '.join(left)}" if left else ""
        sentences = ("; ".join(wrong), unchecked, f"the same: {', '.join(same)}")

        return outcome, ". ".join(filter(None, sentences))

    @cached_property
    def own_recipe(self) -> JsonDict:
        """Returns the recipe that this version would write."""
        official = asked_officially(mapping(self.judge))
        task_args = mapping(self.recipe.get("task_args"))
        may_report = {*self.task.scoring_arguments, *task_args}
        reported = self.task.reporting(may_report, official=official)
        reported = reported if self.judge is not None else reported.unjudged()
        size = self.task.generation_size
        own = make_recipe(
            reported, data={}, model={}, max_new_tokens=size, max_samples=None
        )
        # Packages of older suites computed intervals otherwise and do not state how.
        if "intervals" not in self.recipe["statistics"]:
            own["statistics"].pop("intervals")

        return own

    def of_the_task(self) -> Iterator[Found]:
        """Compares what depends on the task and this version alone."""
        task, recipe = self.task, self.recipe
        for name in _ALWAYS:
            yield _compared(name, recipe[name], self.own_recipe[name])

        settings = {*task.arguments, *task.scoring_arguments}
        if unknown := [
            name for name in recipe.get("task_args", {}) if name not in settings
        ]:
            yield (
                "mismatch",
                f"task_args: {shown(unknown[0])} is a setting of no such task",
            )

        model = str(recipe["model"]["name"])
        parts = {
            "protocol": bool(task.protocol),
            "baseline": model.startswith("baseline/"),
        }
        for setting, has in parts.items():
            if setting in recipe and not has:
                yield (
                    "mismatch",
                    f"{setting}: there is none of {task.name} with {shown(model)}",
                )

    def answering(self) -> Iterator[Found]:
        """Checks how answers were generated, if a model was asked."""
        model, generation = str(self.recipe["model"]["name"]), self.recipe["generation"]
        from_model = not model.startswith(("responses/", "imported/", "baseline/"))
        if {from_model} != {self.recipe["prompts"] is not None, generation is not None}:
            there = "missing" if from_model else "there"
            yield "mismatch", f"prompts and generation are {there} for {model}"

        if generation is None:
            return

        stop = self.own_recipe["generation"]["stop"]
        yield _compared("stop sequences", generation.get("stop"), stop)
        size, own = generation.get("max_new_tokens"), self.task.generation_size
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            yield "mismatch", "generation, max_new_tokens: must be a whole number"
        elif size != own:
            yield "match", f"answers of {size} tokens at most (the task's own: {own})"

    def questions(self, data: TaskData | None) -> Iterator[Found]:
        """Compares the prompts of the model."""
        task, stated, upstream = (
            self.task,
            self.recipe["prompts"],
            self.options.upstream,
        )
        if stated is None:
            return

        values, missing = question_arguments(task, self.recipe, self.options.task_args)
        if missing:
            yield (
                "not checked",
                f"prompts (--task-args {missing[0]}=... was used and is not given)",
            )
            return

        if task.exemplars and data is None:
            yield (
                "not checked",
                "prompts (their worked examples are of the data, which are not here)",
            )
            return

        try:
            own = prompt_set(
                task,
                stated["set"],
                upstream,
                arguments=values,
                config=str(self.recipe["data"].get("config")),
                exemplars=() if data is None else data.exemplars,
            )
            here: JsonDict = {"set": own.name, "sha256": own.sha256}
            here |= {"settings": own.settings} if own.settings else {}
            yield _compared("prompts", stated, scrub_recipe(here))
            if task.protocol:
                protocol = open_protocol(
                    task, values, prompts=stated["set"], upstream=upstream
                )
                identity = scrub_recipe(dict(protocol.identity))
                yield _compared("protocol", self.recipe.get("protocol"), identity)
        except (MissingError, UsageError) as error:
            yield "not checked", f"prompts ({_first_line(error)})"

    def scoring(self) -> Iterator[Found]:
        """Compares the settings of the scoring."""
        task, recipe = self.task, self.recipe
        if not task.scoring_arguments:
            if "scoring" in recipe:
                yield "mismatch", "scoring: the task has no settings of its scoring"

            return

        values, missing = scoring_arguments(task, recipe, self.options.task_args)
        try:
            here = scrub_recipe(task.benchmark.scoring_identity(task, values))
        except (MissingError, UsageError) as error:
            yield "not checked", f"scoring ({_first_line(error)})"
            return

        for name in missing:
            yield (
                "not checked",
                f"scoring's {name} (--task-args {name}=... was used and is not given)",
            )

        unknown = {
            *missing,
            *(own for own, name in _SPELLED.items() if name in missing),
        }
        stated, own = (
            {name: value for name, value in identity.items() if name not in unknown}
            for identity in (recipe.get("scoring", {}), here)
        )
        yield _compared("scoring", stated, own)

    def judging(self) -> Iterator[Found]:
        """Compares the judge and its prompts."""
        judge, benchmark = self.judge, self.task.benchmark
        if judge is None:
            return

        stated = judge["prompts"]
        try:
            own = benchmark.load_judge_prompts(
                self.task, stated.get("set"), self.options.upstream
            )
            here = {"set": own.name, "sha256": own.sha256}
            yield _compared("judge's prompts", stated, here)
        except (MissingError, UsageError) as error:
            yield "not checked", f"judge's prompts ({_first_line(error)})"

        kind = judge["name"].partition("/")[0]
        if judge["name"] == "lexical":
            identity = dict(LexicalJudge().identity)
            yield _compared(
                "lexical judge", {name: judge.get(name) for name in identity}, identity
            )
            yield _compared("votes", judge["votes"], 1)
        elif kind not in judge_kinds() or kind == "lexical":
            yield "mismatch", f"judge: {shown(judge['name'])} is no judge that there is"

        if judge.get("mode") not in ("single", "batched"):
            yield "mismatch", "judge, mode: must be single or batched"


def check_data(ran: Recipe, here: Recipe) -> Found:
    """Compares the data in a recipe with those on this machine."""
    there, own = ran["rows_sha256"], here["rows_sha256"]
    where = f"{here['name']}/{here['config']}, split {here['split']}"
    if there != own:
        hashes = f"rows_sha256 {shown(there)} in the package, {shown(own)} here"
        return "mismatch", f"{where}: another revision: {hashes}"
    return "match", f"{where}, rows_sha256 {own[:16]}"


def check_items(task: TaskSpec, rows: Sequence[Row], items: Sequence[Item]) -> Found:
    """Compares a package's items with those of the split."""
    stated = {row["id"]: row for row in rows}
    problems = [
        f"{len(ids)} {what}: {_listed(ids)}"
        for what, ids in _item_differences(task, stated, items).items()
        if ids
    ]
    if problems:
        return "mismatch", "; ".join(problems)
    if list(stated) != [item.id for item in items]:
        return "mismatch", "they stand in another order"

    return "match", f"all {len(items):,} items asked, their groups and clusters"


def _item_differences(
    task: TaskSpec, stated: Mapping[str, Row], items: Sequence[Item]
) -> dict[str, list[str]]:
    """Returns, by kind of difference, the ids of a package's items that differ."""
    ids = {item.id for item in items}
    common = [(item, stated[item.id]) for item in items if item.id in stated]
    return {
        "added": [name for name in stated if name not in ids],
        "missing": [item.id for item in items if item.id not in stated],
        "in another cluster": [
            item.id for item, row in common if row["cluster"] != item.cluster
        ],
        "in another group": [
            item.id
            for item, row in common
            if not _groups(task, item).items() <= row.items()
        ],
    }


def _groups(task: TaskSpec, item: Item) -> dict[str, str]:
    """Returns the groups of an item in the form of its row."""
    groups = {by: item.groups[by] for by in task.groups}
    return {
        f"group_{by}": names if isinstance(names, str) else " ".join(names)
        for by, names in groups.items()
    }


def _listed(ids: Sequence[str]) -> str:
    return ", ".join(map(shown, ids[:_SHOWN]))


def _compared(what: str, stated: object, here: object) -> Found:
    difference = next(differences(stated, json.loads(json.dumps(here)), (what,)), None)
    return ("match", what) if difference is None else ("mismatch", in_words(difference))


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0]


Arguments = tuple[dict[str, str], list[str]]
"""Settings, and the names of file or folder settings that were used but not given here."""


def question_arguments(
    task: TaskSpec, recipe: Recipe, file_args: Mapping[str, str]
) -> Arguments:
    """Returns the settings of the questions; those that are files are from `file_args`."""
    stated = {
        name: value
        for name, value in recipe.get("task_args", {}).items()
        if name in task.arguments
    }
    files = {
        name
        for name, value in stated.items()
        if name in FILE_SETTINGS and value == PATH
    }
    missing = [name for name in stated if name in files and name not in file_args]
    values = {
        name: file_args[name] if name in files else value
        for name, value in stated.items()
        if name not in missing
    }

    return values, missing


def scoring_arguments(
    task: TaskSpec, recipe: Recipe, file_args: Mapping[str, str]
) -> Arguments:
    """Returns the settings of the scoring; those that are files are from `file_args`."""
    values = {
        name: value
        for name, value in file_args.items()
        if name in task.scoring_arguments
    }
    missing: list[str] = []
    identity = {
        _SPELLED.get(name, name): value
        for name, value in recipe.get("scoring", {}).items()
    }
    for name, value in {**recipe.get("task_args", {}), **identity}.items():
        if name not in task.scoring_arguments or name in values:
            continue

        if name in FILE_SETTINGS:
            # Without a file, the recipe has a sentence instead of its hash.
            missing += [name] if isinstance(value, Mapping) else []
        elif isinstance(value, str):
            values[name] = value
        elif value is True:
            values[name] = "yes"
        elif value is False and name != "official":
            values[name] = "no"

    return values, missing
