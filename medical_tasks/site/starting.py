"""`site new`: the folder of a site, with its settings and what the group must know."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from medical_tasks.errors import (
    IncompleteError,
    UsageError,
    check_least,
    system_reason,
)
from medical_tasks.io.files import WholeFile, read_text
from medical_tasks.io.output import tell
from medical_tasks.site.demo import FOLDER, PATIENTS, demo_written, write_demo
from medical_tasks.site.folder import JOURNAL_NAME, begin, open_site
from medical_tasks.site.options import New
from medical_tasks.site.settings import SETTINGS_NAME
from medical_tasks.site.steps import STEPS
from medical_tasks.site.uses import USES

README_NAME: Final = "README.md"
_OURS: Final = frozenset({SETTINGS_NAME, README_NAME, JOURNAL_NAME, FOLDER, "work"})
"""What `new` writes."""

_SETTINGS: Final = """\
# What is evaluated here. This is the only file to edit; docs/hospital.md says more.
use = "{use}"
name = "{name}"   # printed in the evidence; shared only with `site share --with-name`
notes = "{notes}"   # a table, {columns}
items = "{items}"   # a table of items that people wrote, instead of a maker; "" for none
open = {open}   # true only for invented or public notes; all others stay on this machine
seed = {seed}   # of every random draw
strata = {strata}   # columns of the notes for a stratified sample and subgroup figures
{calculators}
[models]
candidate = "{candidate}"   # to decide about: hf/PATH, vllm-server/NAME, openai-api/HOST/NAME
baseline = "{baseline}"   # the model to compare with; "" for none
maker = "{maker}"   # drafts the items, which people check; "" for none
{answers}
[judge]
name = "lexical"   # or a model, as above; lexical compares words: for a trial only
labels = {labels}   # answers that people label too, to check the judge

[reviewers]
names = ["ann", "ben"]   # they label blind to each other
adjudicator = "eve"   # decides where they differ

[decision]
preset = "standard"   # exploratory, standard or strict; [[rule]] tables below override it
margin = {margin}   # non-inferiority margin: at most so much worse than the baseline
confidence = 0.95   # of the plan; the gate's intervals are at 95 %
power = 0.8   # of the plan: chance of GO for a candidate that is as good as the baseline
"""

_README: Final = """\
# {title}

Give `medical-tasks site STEP` in this folder. `medical-tasks site status` says at any time what
is done, what is next, who must do it and what it costs. Every step resumes where it stopped, and
nothing that people wrote is lost.

{walk}
- **One person** edits `site.toml` and gives the commands.
- **Two reviewers** check items and label answers at the desk (`site review`), blind to each
  other; a third person decides if they differ.
- **Text of notes** is kept in the private store of this machine and never in this folder, unless
  `site.toml` says `open = true`.
"""

_ANSWERS: Final = """\
answers = {candidate = "demo/answers_candidate.csv", baseline = "demo/answers_baseline.csv"}
"""


_CALCULATORS: Final = """\
calculators = ["bmi", "map", "ckd_epi_2021"]   # ids or names; none for all 55
"""


def run(options: New) -> int:
    """Creates the folder, and prints what to edit."""
    folder = options.folder.expanduser()
    check_least({"--patients": options.patients, "--seed": options.seed})
    if options.patients and not options.demo:
        raise UsageError("--patients needs --demo. Add that, or leave it out.")

    _check_free(folder, options)
    texts = {
        SETTINGS_NAME: settings_text(options),
        README_NAME: readme_text(options.use),
    }
    _write(folder, texts)
    site = open_site(folder)  # checks the written settings before anybody edits them
    if options.demo:
        write_demo(site, options.patients or PATIENTS)
        tell(f"{folder}: invented notes and answers in demo", folder=folder)
    else:
        tell(f"{folder}: edit {SETTINGS_NAME} there", folder=folder)

    tell(f"Next: medical-tasks site status {folder}")
    return 0


def settings_text(options: New) -> str:
    """The `site.toml` of a new folder."""
    use = USES[options.use]
    shared = {
        "use": options.use,
        "columns": ", ".join(use.columns),
        "seed": 1 if options.seed is None else options.seed,
    }
    if options.demo:
        return _SETTINGS.format(
            **shared,
            name="Demo hospital",
            notes="demo/notes.csv",
            items="demo/items.csv" if options.use == "chart-qa" else "",
            calculators=_CALCULATORS if options.use == "calculator" else "",
            open="true",
            strata='["sex", "age_group"]',
            candidate="new model",
            baseline="old model",
            maker="",
            answers=_ANSWERS,
            labels=150,
            margin=0.1,
        )

    return _SETTINGS.format(
        **shared,
        name="Our hospital",
        notes="/FOLDER/OF/THE/NOTES/notes.csv",
        items="",
        calculators="calculators = []   # ids or names, such as bmi; none for all 55\n"
        if options.use == "calculator"
        else "",
        open="false",
        strata="[]",
        candidate="openai-api/local/NAME",
        baseline="",
        maker="openai-api/local/NAME",
        answers="",
        labels=100,
        margin=0.05,
    )


def readme_text(use: str) -> str:
    """The README of a folder: the steps in their order."""
    lines = [
        f"    medical-tasks site {step.name:<9} # {step.summary}" for step in STEPS
    ]
    walk = "\n".join(lines) + "\n"
    return _README.format(title=USES[use].title, walk=walk)


def _check_free(folder: Path, options: New) -> None:
    """Refuses a folder that is not empty, unless the same command was stopped in it."""
    if not folder.exists():
        return

    names = {path.name for path in folder.iterdir()} if folder.is_dir() else {"a file"}
    names = {name for name in names if not name.startswith(".")}
    finished = JOURNAL_NAME in names and (not options.demo or demo_written(folder))
    if not names or (not finished and names <= _OURS and _is_unedited(folder, options)):
        return

    raise UsageError(
        f"{folder}: already exists and is not empty. Name another folder, or continue in this one: "
        f"medical-tasks site status {folder}"
    )


def _is_unedited(folder: Path, options: New) -> bool:
    """Whether nobody has edited the settings since the same command wrote them."""
    file = folder / SETTINGS_NAME
    return not file.is_file() or read_text(file) == settings_text(options)


def _write(folder: Path, texts: dict[str, str]) -> None:
    """Writes the files; the journal comes last, since it marks the folder as a site's."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IncompleteError(
            f"{folder}: cannot be created ({system_reason(error)}). Give another name."
        ) from error

    for name, text in texts.items():
        with WholeFile(folder / name) as stream:
            stream.write(text)

    if not (folder / JOURNAL_NAME).exists():
        begin(folder)
