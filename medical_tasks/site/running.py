"""The runs of a site: models asked, or their files of answers scored, and read back.

Runs lie in `runs/candidate` and `runs/baseline`, as `medical-tasks run` and `score`
write them; the same call goes on with what was stopped.
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
    """Who is evaluated: the candidate, and the baseline where there is one."""
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
        attested: whether text may go to hosts.
        forecast: only say what it would take.
        calibration: the judge's check, by which scores are corrected.
        answers: a file of answers, in place of what `site.toml` says.
        out: the folder of the run, in place of `runs/ROLE`.

    Returns:
        The folder; None after a forecast.
    """
    settings, judge = site.settings, site.settings.judge
    judged = task_of(site).judge
    given = answers or given_answers(site, role)
    file = None if given is None else taken_answers(site, role, given)
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
    if file is not None:
        done = rescore(Score(task=task, responses=file, **shared))  # type: ignore[arg-type]
        return None if done is None else done[0]

    args = read_settings(settings.models.args.get(role, ""), option=f"args.{role}")
    name = getattr(settings.models, role)
    return evaluate(RunModel(tasks=task, model=name, model_args=args, **shared))  # type: ignore[arg-type]


def answer_inputs(site: Site) -> list[str | Path]:
    """What decides the answers and their scores, as the journal notes it."""
    models = [f"site.toml:models.{key}" for key in (*ROLES, "args", "answers")]
    files = [site.seen(name) for name in site.settings.models.answers.values()]
    return [*models, "site.toml:judge", *files]


def given_answers(site: Site, role: str) -> Path | None:
    """The file of a role's answers; None where its model is asked."""
    name = site.settings.models.answers.get(role, "")
    return site.seen(name) if name else None


def taken_answers(site: Site, role: str, given: Path) -> Path:
    """Takes the answers to the site's items out of a file, which may have others too.

    Answers to notes that were not drawn, or to items that people dropped, are no fault.
    """
    ids = {item.id for item in load_data(site).items}
    content = read_file(given, option=f"models.answers.{role}")
    found = parse_answers(given, content)
    kept = [each for each in found if each.id in ids]
    if not kept:
        raise UsageError(
            f"{given}: none of its {len(found)} ids is an item of this site. The items are in "
            f"{items_file(site)}, column item."
        )

    path = make_folder(site.private / "answers") / f"{role}.jsonl"
    write_lines(path, ({"id": each.id, "response": each.text} for each in kept))
    return path


def entry_of(site: Site, role: str, folder: Path | None = None) -> Json:
    """The results of a role's run on the site's task."""
    results = read_results(folder or run_folder(site, role))
    entry: Json = results["tasks"][task_of(site).name]
    return entry


def coverage(site: Site, role: str) -> Mapping[str, int]:
    """How many items were asked, answered and scored; zeros without a run."""
    if not (run_folder(site, role) / RESULTS_FILE).is_file():
        return dict.fromkeys(("asked", "answered", "scored"), 0)
    found = entry_of(site, role)["coverage"]
    return {name: found[name] for name in ("asked", "answered", "scored")}


def answers_of(site: Site, role: str, data: TaskData) -> Mapping[str, str]:
    """A role's answers by item id, as they were scored."""
    from medical_tasks.runs.replaying import run_responses

    given = given_answers(site, role)
    file = None if given is None else taken_answers(site, role, given)
    recipe = entry_of(site, role)["recipe"]
    return run_responses(
        task_of(site), data, recipe, run_folder(site, role), responses=file
    )


def load_data(site: Site) -> TaskData:
    """The items of the site's task, as they were built."""
    from medical_tasks.catalog import dataset_spec
    from medical_tasks.data.task_data import load_task_data

    task = task_of(site)
    spec = dataset_spec(task.dataset)
    return load_task_data(task, spec, data=data_folder(site), config=CONFIG)
