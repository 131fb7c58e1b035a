"""The runs of a site: asks its models or scores their files of answers, and reads results.

Runs are in `runs/candidate` and `runs/baseline`, as `medical-tasks run` and `score`
write them; the same call resumes a stopped run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from medical_tasks.catalog import tasks
from medical_tasks.construct.shared import write_lines
from medical_tasks.errors import UsageError
from medical_tasks.io.files import make_folder
from medical_tasks.options import Run as RunModel
from medical_tasks.options import Score, WithAttestation, read_settings
from medical_tasks.runs.evaluating import evaluate
from medical_tasks.runs.rescoring import rescore
from medical_tasks.runs.responses import parse_answers, read_file
from medical_tasks.runs.results import RESULTS_FILE, Json, read_results
from medical_tasks.site.folder import Site
from medical_tasks.site.making import data_folder, maker_of
from medical_tasks.site.sampling import items_file
from medical_tasks.site.settings import ROLES
from medical_tasks.site.uses import CONFIG, use_of

if TYPE_CHECKING:
    from medical_tasks.data.task_data import TaskData
    from medical_tasks.spec import TaskSpec

CHECK: Final = "judge"
"""The name of the judge's check in `checks/`."""


def roles(site: Site) -> list[str]:
    """The evaluated roles: the candidate, and the baseline if there is one."""
    return [role for role in ROLES if getattr(site.settings.models, role)]


def run_folder(site: Site, role: str) -> Path:
    """The folder of a role's run."""
    return site.runs / role


def task_of(site: Site) -> TaskSpec:
    """The task that the models are asked."""
    return tasks()[use_of(site.settings).task_of(site.settings)]


def answered(
    site: Site,
    role: str,
    attested: WithAttestation,
    *,
    forecast: bool = False,
    calibration: Path | None = None,
    answers: Path | None = None,
    out: Path | None = None,
) -> Path | None:
    """Asks a role's model, or scores its file of answers.

    Args:
        site: the site.
        role: candidate or baseline.
        attested: the hosts to which text may go.
        forecast: whether to only estimate the cost.
        calibration: the judge's check, by which scores are corrected.
        answers: a file of answers, instead of the one that `site.toml` names.
        out: the folder of the run, instead of `runs/ROLE`.

    Returns:
        The folder; None after a forecast.
    """
    settings, judge = site.settings, site.settings.judge
    judged = task_of(site).judge
    source = answers or answers_file(site, role)
    own_answers = None if source is None else answers_to_items(site, role, source)
    shared: dict[str, object] = {
        "data": data_folder(site),
        "config": CONFIG,
        "out": out or run_folder(site, role),
        "forecast": forecast,
        "calibration": calibration,
        "allow_remote": attested.allow_remote,
        "attest_zero_retention": attested.attest_zero_retention,
        "judge": judge.name if judged else None,
        "judge_args": read_settings(judge.args, option="judge.args") if judged else {},
        "votes": judge.votes or None if judged else None,
        "task_args": maker_of(site).scoring(site),
    }
    task = task_of(site).name
    if own_answers is not None:
        done = rescore(Score(task=task, responses=own_answers, **shared))  # type: ignore[arg-type]
        return None if done is None else done[0]

    args = read_settings(settings.models.args.get(role, ""), option=f"args.{role}")
    name = getattr(settings.models, role)
    return evaluate(RunModel(tasks=task, model=name, model_args=args, **shared))  # type: ignore[arg-type]


def answer_inputs(site: Site) -> list[str | Path]:
    """The settings and files that decide answers and scores, as inputs of a step."""
    models = [f"site.toml:models.{key}" for key in (*ROLES, "args", "answers")]
    files = [site.seen(name) for name in site.settings.models.answers.values()]
    return [*models, "site.toml:judge", *files]


def answers_file(site: Site, role: str) -> Path | None:
    """The file of a role's answers; None if its model is asked."""
    name = site.settings.models.answers.get(role, "")
    return site.seen(name) if name else None


def answers_to_items(site: Site, role: str, source: Path) -> Path:
    """Copies the answers to the site's items from a file, which may hold others too.

    Answers to notes that were not sampled, or to items that people dropped, are ignored.
    """
    ids = {item.id for item in load_data(site).items}
    content = read_file(source, option=f"models.answers.{role}")
    answers = parse_answers(source, content)
    kept = [answer for answer in answers if answer.id in ids]
    if not kept:
        raise UsageError(
            f"{source}: none of its {len(answers)} ids is an item of this site. The ids are in "
            f"{items_file(site)}, column item."
        )

    path = make_folder(site.private / "answers") / f"{role}.jsonl"
    write_lines(path, ({"id": answer.id, "response": answer.text} for answer in kept))
    return path


def entry_of(site: Site, role: str, folder: Path | None = None) -> Json:
    """The results of a role's run on the site's task."""
    results = read_results(folder or run_folder(site, role))
    entry: Json = results["tasks"][task_of(site).name]
    return entry


def coverage(site: Site, role: str) -> Mapping[str, int]:
    """The numbers of items asked, answered and scored; zeros without a run."""
    if not (run_folder(site, role) / RESULTS_FILE).is_file():
        return dict.fromkeys(("asked", "answered", "scored"), 0)
    counts = entry_of(site, role)["coverage"]
    return {name: counts[name] for name in ("asked", "answered", "scored")}


def answers_of(site: Site, role: str, data: TaskData) -> Mapping[str, str]:
    """A role's answers by item id, as they were scored."""
    from medical_tasks.runs.replaying import run_responses

    source = answers_file(site, role)
    own_answers = None if source is None else answers_to_items(site, role, source)
    recipe = entry_of(site, role)["recipe"]
    return run_responses(
        task_of(site), data, recipe, run_folder(site, role), responses=own_answers
    )


def load_data(site: Site) -> TaskData:
    """The items of the site's task, as they were built."""
    from medical_tasks.catalog import dataset_spec
    from medical_tasks.data.task_data import load_task_data

    task = task_of(site)
    spec = dataset_spec(task.dataset)
    return load_task_data(task, spec, data=data_folder(site), config=CONFIG)
