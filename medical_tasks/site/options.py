"""The options of the steps of `site`: one dataclass for each step, in the order of the work."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from medical_tasks.options import Choice, Option, Options, WithAttestation
from medical_tasks.site.desk.options import WithDesk

UseName = Literal["discharge-summary", "chart-qa", "calculator", "patient-questions"]


@dataclass(frozen=True, kw_only=True)
class Site(Options, usage="medical-tasks site STEP [FOLDER] [options]"):
    """Evaluate a model on a hospital's own notes: from the notes to GO or NO-GO, in one folder.

        medical-tasks site new FOLDER --use chart-qa
        medical-tasks site status FOLDER

    `new` writes FOLDER with site.toml, the one file to edit, and a README that says who
    does what. `status` says at any time what is done, what is next, who must do it and
    what it costs. Every step resumes where it stopped, and what people wrote is never
    lost. Notes are credentialed unless site.toml says `open = true`: their text is in
    the private store and goes to models on this machine alone. FOLDER may be left out
    inside it. See docs/hospital.md.
    """

    step: Annotated[
        Literal[
            "new",
            "status",
            "plan",
            "sample",
            "make",
            "review",
            "run",
            "judge",
            "gate",
            "evidence",
            "monitor",
            "check",
            "share",
            "pool",
        ],
        Option("the step", metavar="STEP", positional=True),
    ]


@dataclass(frozen=True, kw_only=True)
class InFolder(Site):
    """A step in the folder of a site."""

    folder: Annotated[
        Path, Option("of the site", metavar="FOLDER", positional=True)
    ] = Path()


@dataclass(frozen=True, kw_only=True)
class New(InFolder, heading="new"):
    """Make the folder of a site, with its site.toml and README."""

    use: Annotated[UseName, Option("intended use of the model", metavar="USE")]
    demo: Annotated[
        bool, Option("with invented notes, and the answers of two invented models")
    ] = False
    patients: Annotated[
        int | None, Option("invented patients of --demo (default 130)", metavar="N")
    ] = None
    seed: Annotated[
        int | None,
        Option("seed of random draws, and of --demo (default 1)", metavar="N"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Status(InFolder):
    """Say what is done, what is next, who must do it and what it costs."""


@dataclass(frozen=True, kw_only=True)
class Plan(InFolder, heading="plan"):
    """Say how many items and labels the decision needs."""

    pilot: Annotated[
        tuple[Path, ...],
        Option(
            "folder of a run on other items, instead of assumptions; with a baseline give two",
            metavar="RUN",
            several=True,
        ),
    ] = ()
    accuracy: Annotated[
        float | None,
        Option("assumed share that is right (default 0.8)", metavar="A"),
    ] = None
    agreement: Annotated[
        float | None,
        Option(
            "assumed share of items on which both models are right or both wrong (default 0.85)",
            metavar="G",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Sample(InFolder, heading="sample"):
    """Draw a stratified random sample of patients."""

    items: Annotated[
        int | None,
        Option("patients to draw (default: as planned, or all)", metavar="N"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Make(InFolder, WithAttestation):
    """Draft the items of the use from the sampled notes."""

    forecast: Annotated[bool, Option("only count requests and tokens; asks nobody")] = (
        False
    )


@dataclass(frozen=True, kw_only=True)
class Review(InFolder, WithDesk):
    """Open the review desk, where people check items and label answers."""


@dataclass(frozen=True, kw_only=True)
class Run(InFolder, WithAttestation, heading="run"):
    """Ask the models of site.toml, or score their files of answers."""

    only: Annotated[
        tuple[str, ...],
        Option("candidate or baseline alone; may be repeated", metavar="WHO"),
    ] = ()
    forecast: Annotated[bool, Option("only count requests and tokens; asks nobody")] = (
        False
    )


@dataclass(frozen=True, kw_only=True)
class Judge(InFolder, WithAttestation):
    """Check the judge against the labels, and correct the scores for its errors."""


@dataclass(frozen=True, kw_only=True)
class Gate(
    InFolder,
    heading="gate",
    about="exit code 0: GO; 6: NO-GO; 7: INCONCLUSIVE",
):
    """Decide: GO, NO-GO or INCONCLUSIVE, by the policy of site.toml."""

    preset: Annotated[
        Literal["exploratory", "standard", "strict"] | None,
        Option("overrides the one in site.toml"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Evidence(InFolder):
    """Write the evidence: HTML, JSON and CSV, line by line of the frameworks.

    CHAI, the Joint Commission, the EU AI Act, DCB0129 and TRIPOD-LLM; a line without a
    figure says how to get it. No text of notes or answers is in it, and it needs a
    clean `site check`.
    """


@dataclass(frozen=True, kw_only=True)
class Monitor(
    InFolder,
    WithAttestation,
    heading="monitor",
    about="exit code 0: the same or better; 7: worse; 8: another model is served, not worse",
):
    """Ask the same items again: is the model the same, worse, or another one?

    Exit code 0: the same or better; 7: worse; 8: the served model has changed, and is
    not worse. Over all planned looks the chance of a false "worse" is at most 5 %.
    """

    run: Annotated[
        Path | None,
        Option("a finished run of the same items, instead of asking", metavar="RUN"),
    ] = None
    answers: Annotated[
        Path | None,
        Option("a file of the model's new answers, instead of asking", metavar="FILE"),
    ] = None
    looks: Annotated[
        int | None,
        Option(
            "planned looks that share the 5 % of false alarms (default: as in site.toml, 12)",
            metavar="N",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Check(InFolder):
    """Prove that no text of notes is in the folder (leakcheck)."""


@dataclass(frozen=True, kw_only=True)
class Share(InFolder, heading="share"):
    """Write the file that other hospitals may have: counts and strata, no text and no ids."""

    with_name: Annotated[bool, Option("put the site's name into the file")] = False
    show: Annotated[bool, Option("print the content of the file; writes nothing")] = (
        False
    )


@dataclass(frozen=True, kw_only=True)
class Pool(Site, heading="pool"):
    """Pool the shared files of several hospitals."""

    # The first of the files, in the position of other steps' FOLDER.
    folder: Annotated[
        Path, Option("pool: site_share.json", metavar="FILE", positional=True)
    ]
    files: Annotated[
        tuple[Path, ...],
        Option(
            "pool: site_share.json of the other hospitals",
            metavar="FILE",
            positional=True,
        ),
    ] = ()
    out: Annotated[
        Path | None, Option("folder of the report (default: pooled)", metavar="DIR")
    ] = None
    accept: Annotated[
        tuple[str, ...],
        Option(
            "pool although recipes differ in this: prompts, judge, generation; may be repeated",
            metavar="KIND",
        ),
    ] = ()


SITE: Final = Choice(
    fields=("step",),
    common=Site,
    forms={
        ("new",): New,
        ("status",): Status,
        ("plan",): Plan,
        ("sample",): Sample,
        ("make",): Make,
        ("review",): Review,
        ("run",): Run,
        ("judge",): Judge,
        ("gate",): Gate,
        ("evidence",): Evidence,
        ("monitor",): Monitor,
        ("check",): Check,
        ("share",): Share,
        ("pool",): Pool,
    },
)
"""The options of `site` by its step."""
