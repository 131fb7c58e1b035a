"""`site new`: the folder of a site, with its settings and what the group must know."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from medical_tasks.errors import IncompleteError, UsageError, system_reason
from medical_tasks.io.files import WholeFile
from medical_tasks.io.output import tell
from medical_tasks.site.folder import JOURNAL_NAME, begin, open_site
from medical_tasks.site.options import New
from medical_tasks.site.settings import SETTINGS_NAME

README_NAME: Final = "README.md"

_SETTINGS: Final = """\
# What is evaluated here. This is the only file to edit; docs/hospital.md says more.
use = "{use}"
name = "{name}"          # stands in the evidence; leaves only with `site share --with-name`
notes = "{notes}"        # a table: {columns}
open = {open}              # true only for invented or public notes; others stay on this machine
seed = 1                 # of everything that is drawn
strata = {strata}   # columns of the notes; figures are broken down by them

[models]
candidate = "{candidate}"   # what is decided about: hf/PATH, vllm-server/NAME, openai-api/HOST/NAME
baseline = "{baseline}"     # what it is held against; "" for none
maker = "{maker}"        # drafts the items; people check them
{answers}
[judge]
name = "lexical"         # or a model, as above; lexical compares words, for a try only
labels = 100             # answers that people label too: the check of the judge

[reviewers]
names = ["ann", "ben"]   # two, who label blind to each other
adjudicator = "eve"      # decides where they differ

[decision]
preset = "standard"      # exploratory, standard, strict; [[rule]] tables below win
margin = 0.05            # at most so much worse than the baseline
confidence = 0.95
power = 0.8              # chance of GO for a candidate that is as good
"""

_README: Final = """\
# Evaluation of a model for {use}

All of it is `medical-tasks site STEP`, given in this folder. `medical-tasks site status` says
what is done, what is next, who must do it and what it costs. Every step goes on where it
stopped; nothing that people wrote is lost.

- **One person** edits `site.toml` and gives the commands.
- **Two reviewers** check items and label answers at the review desk, blind to each other; a
  third person decides where they differ.
- **Text of notes** lies in the private store of this machine, never in this folder, unless
  `site.toml` says `open = true`. Keep this folder all the same where others cannot change it.
"""


def run(options: New) -> int:
    """Makes the folder, and says what to edit."""
    folder = options.folder.expanduser()
    _check_free(folder)
    texts = {
        SETTINGS_NAME: settings_text(options),
        README_NAME: _README.format(use=options.use),
    }
    _write(folder, texts)
    open_site(folder)  # what was written is read once, before anybody edits it
    tell(
        f"{folder}: edit {SETTINGS_NAME} there, then: medical-tasks site status {folder}",
        folder=folder,
    )
    return 0


def settings_text(options: New) -> str:
    """The `site.toml` of a new folder."""
    return _SETTINGS.format(
        use=options.use,
        name="Our hospital",
        notes="notes.csv",
        columns="patient_id, note_id, note",
        open="false",
        strata="[]",
        candidate="openai-api/local/NAME",
        baseline="",
        maker="openai-api/local/NAME",
        answers="",
    )


def _check_free(folder: Path) -> None:
    """Refuses a folder with anything in it: nothing is ever written over."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(
            f"{folder}: already exists and is not empty. Name another folder, or go on in this "
            f"one: medical-tasks site status {folder}"
        )


def _write(folder: Path, texts: dict[str, str]) -> None:
    """Writes the files; the journal last, since it makes the folder one of a site."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IncompleteError(
            f"{folder}: cannot be made ({system_reason(error)}). Give another name."
        ) from error
    for name, text in texts.items():
        with WholeFile(folder / name) as stream:
            stream.write(text)
    if not (folder / JOURNAL_NAME).exists():
        begin(folder)
