"""`site judge`: checks the judge against the site's labels, and corrects scores for its errors.

The labelled answers are drawn at random from those of all models (`hand_over_labels`),
independently of the verdicts and without the models' names. The check is that of
`medical-tasks judge-check`, in `checks/judge/check.json`; the runs are then scored again
with it, and no model or judge is asked twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from medical_tasks.construct.shared import ranked
from medical_tasks.errors import IncompleteError, UsageError
from medical_tasks.io.output import tell, write_figures
from medical_tasks.judges.check_figures import render_check
from medical_tasks.options import JudgeCheck, read_settings
from medical_tasks.plugins import load
from medical_tasks.report.judge_checking import CHECK_FILE, judge_check
from medical_tasks.runs.recipes import mapping
from medical_tasks.runs.results import RESULTS_FILE, Json
from medical_tasks.site.desk.sheets import Sheet
from medical_tasks.site.desk.work import Decided
from medical_tasks.site.folder import Site, changed, last, note_step, open_site
from medical_tasks.site.making import data_folder
from medical_tasks.site.options import Judge
from medical_tasks.site.reviewing import (
    LABELS,
    check_labelled,
    final,
    hand_over,
    labelled,
    sheet_file,
    store_file,
)
from medical_tasks.site.running import (
    CHECK,
    answer_inputs,
    answered,
    answers_of,
    coverage,
    entry_of,
    load_data,
    roles,
    run_folder,
)
from medical_tasks.site.sampling import Patient, pseudonym, pseudonym_key, sampled
from medical_tasks.site.steps import State, journal_state
from medical_tasks.site.uses import CONFIG, use_of
from medical_tasks.spec import Item

SOURCE: Final = "checks/labelled.csv"
"""The labelled answers with their texts, relative to the private folder."""


class Drawn(NamedTuple):
    """An answer that people label.

    Attributes:
        id: a pseudonym, which does not reveal the model.
    """

    id: str
    role: str
    item: Item
    text: str


class Labelling(Protocol):
    """How the answers of a use are labelled: the `LABELLING` of its module."""

    def sheet(
        self, site: Site, drawn: Sequence[Drawn], patients: Mapping[str, Patient]
    ) -> Sheet:
        """The sheet on which people label the answers."""

    def check(
        self,
        site: Site,
        drawn: Sequence[Drawn],
        decided: Mapping[str, Decided],
        path: Path,
    ) -> Mapping[str, object]:
        """Writes the labelled answers for `judge-check`; returns its options."""


def labelling_of(site: Site) -> Labelling:
    """The labelling of a site's use."""
    labelling: Labelling = load(f"{use_of(site.settings).module}:LABELLING")
    return labelling


def draw_answers(site: Site) -> list[Drawn]:
    """Draws answers of all models by the seed; a larger draw contains the smaller one.

    Answers that people have labelled stay, even if more items were answered since.
    """
    data, key = load_data(site), pseudonym_key(site)
    drawn = []
    for role in roles(site):
        texts = answers_of(site, role, data)
        drawn += [
            Drawn(pseudonym(key, f"{item.id}\0{role}"), role, item, texts[item.id])
            for item in data.items
            if texts.get(item.id, "").strip()
        ]

    order = ranked(
        drawn, site.settings.seed, lambda answer: f"{answer.item.id}:{answer.role}"
    )
    count, labelled_ids = site.settings.judge.labels, labelled(site, LABELS)
    return [
        answer
        for rank, answer in enumerate(order)
        if rank < count or answer.id in labelled_ids
    ]


def hand_over_labels(site: Site) -> None:
    """Writes the sheet of answers to label, once every model has been run."""
    if not all(coverage(site, role)["answered"] for role in roles(site)):
        return

    sheet = _sheet(site, draw_answers(site))
    hand_over(site, sheet)
    count = len(sheet.items)
    tell(f"{count:,} answers for people to label. Next: medical-tasks site review")


def _sheet(site: Site, drawn: Sequence[Drawn]) -> Sheet:
    """The sheet for some answers."""
    patients = {patient.id: patient for patient in sampled(site)}
    return labelling_of(site).sheet(site, drawn, patients)


def run(options: Judge) -> int:
    """Checks the judge and corrects the scores; exit code 5 if a verdict is missing."""
    site = open_site(options.folder)
    if not use_of(site.settings).judged:
        tell(
            f"{site.settings.use}: a rule scores the answers, so there is no judge to check."
        )
        note_step(site, "judge", inputs=["site.toml:use"])
        return 0

    check = _checked(site, options)
    code = 5 if check["scored"] < check["pairs"] else 0
    for role in roles(site):
        try:
            answered(site, role, options, calibration=site.checks / CHECK)
        except IncompleteError as error:
            tell(f"{role}: {error}")
            code = error.exit_code

    note_step(
        site,
        "judge",
        inputs=[
            store_file(site, LABELS),
            sheet_file(site, LABELS),
            data_folder(site),
            *answer_inputs(site),
        ],
        outputs=[
            site.checks / CHECK / CHECK_FILE,
            *(run_folder(site, role) / RESULTS_FILE for role in roles(site)),
        ],
        figures={"pairs": check["pairs"], "scored": check["scored"]},
    )
    tell(f"{render_check(check)}\n\n{_corrected(site)}", check)
    return code


def _checked(site: Site, options: Judge) -> Json:
    """Checks the judge against the labels, which must be of the present answers."""
    decided = final(site, LABELS)
    drawn = [answer for answer in draw_answers(site) if answer.id in decided]
    check_labelled(site, _sheet(site, drawn))

    path = site.private / SOURCE
    path.parent.mkdir(exist_ok=True)
    options_of_set = labelling_of(site).check(site, drawn, decided, path)
    judge = site.settings.judge
    args = read_settings(judge.args, option="judge.args")
    report = judge_check(
        JudgeCheck(
            source=path,
            judge=(judge.name,),
            judge_args=(args,) if args else (),
            votes=judge.votes or None,
            out=site.private / "checks" / CHECK,
            allow_remote=options.allow_remote,
            attest_zero_retention=options.attest_zero_retention,
            **options_of_set,  # type: ignore[arg-type]
        )
    )
    if report is None or not report.checks:
        raise UsageError(
            f"{site.path}: no labelled answer could be judged. Label answers first: medical-tasks "
            f"site review {site.path}"
        )

    # The figures quote nothing; the file's address would show where the judge's replies are.
    (check,) = report.checks.values()
    write_figures(check, site.checks / CHECK / CHECK_FILE)
    (file,) = report.files
    file.unlink()  # written to `checks` above

    return check


def calibration_of(site: Site) -> Path | None:
    """The judge's check by which scores are corrected; None without a current one."""
    folder = site.checks / CHECK
    has_check = last(site, "judge") is not None and folder.is_dir()
    return folder if has_check and not _is_outdated(site) else None


def current_checks(site: Site) -> list[Path]:
    """The judges' checks, without that of `site judge` if its judge, items or answers changed since."""
    outdated = site.checks / CHECK if _is_outdated(site) else None
    paths = sorted(site.checks.glob(f"*/{CHECK_FILE}"))
    return [path for path in paths if path.parent != outdated]


def _is_outdated(site: Site) -> bool:
    """Whether the judge, the items or the answers that people labelled changed since `site judge`."""
    done = last(site, "judge")
    if done is None:
        return False

    inputs = set(map(site.named, (data_folder(site), *answer_inputs(site))))
    return not inputs.isdisjoint(changed(site, done))


def own_data(site: Site) -> Mapping[str, object]:
    """The options of `judge-check` for the site's own items."""
    return {"data": data_folder(site), "config": CONFIG}


def _corrected(site: Site) -> str:
    """The corrected headline metric of each role, or the reason why there is none."""
    metric = use_of(site.settings).metric
    lines = []
    for role in roles(site):
        figure = entry_of(site, role)["metrics"].get(f"{metric}_corrected")
        if figure is None or figure["value"] is None:
            reason = mapping(figure).get(
                "reason", "the judge's verdicts do not decide it"
            )
            lines.append(f"{role}: no corrected {metric}: {reason}")
            continue

        ends = f"{figure['ci_low']:.3f} to {figure['ci_high']:.3f}"
        lines.append(f"{role}: {metric}, corrected: {figure['value']:.3f} ({ends})")

    return "\n".join(lines)


def state(site: Site) -> State:
    """The state of the step."""
    if not use_of(site.settings).judged:
        return State("done", "a rule scores the answers")

    done, preset = last(site, "judge"), site.settings.decision.preset
    if done is None and not site.settings.judge.labels:
        if preset == "exploratory":
            return State(
                "done", "skipped: judge.labels is 0, and nobody labels answers"
            )

        text = f"judge.labels in site.toml is 0, and the preset {preset} needs labels"
        return State("blocked", text)

    if done is None and not sheet_file(site, LABELS).is_file():
        return State("blocked", "needs run first")

    by_journal = journal_state(
        site, "judge", ready="check the judge against the labels"
    )
    if by_journal.kind == "done" and done is not None:
        scored, pairs = done.figures["scored"], done.figures["pairs"]
        if scored < pairs:
            return State("next", f"unfinished: {scored} of {pairs} answers judged")

    return by_journal
