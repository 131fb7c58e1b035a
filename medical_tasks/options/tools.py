"""What `calc`, `umls`, `doctor` and `manifest` take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from medical_tasks.options.base import Choice, Option, Options


@dataclass(frozen=True, kw_only=True)
class Calc(Options):
    r"""Calculate a clinical score or value by its published rule, with every step.

        medical-tasks calc --list
        medical-tasks calc cha2ds2_vasc
        medical-tasks calc cha2ds2_vasc age=72 sex=female hypertension=yes
        medical-tasks calc creatinine_clearance age=64 sex=male weight=176lbs \
            height="5 ft 10 in" creatinine="1.2 mg/dL"
        medical-tasks calc --batch IN.jsonl --out OUT.jsonl
        medical-tasks calc --mcp

    A calculator is named by its id, slug or name; without key=value it says what it
    takes. Findings that are not given count as absent, and the answer says which. A
    value outside the range that the rule was published for, or with an implausible unit,
    is answered with a warning.

    A line of --batch is {"calculator_id": 2, "inputs": {...}} with the names of the
    dataset's Relevant Entities, or those of the single form. Its line in --out is the
    same object with "answer", "explanation" and "warnings" (a list), or with "error": a
    misspelt input is an error here too, of its line alone. Answers are numbers, dates
    as MM/DD/YYYY, gestational ages as the dataset writes them, ('15 weeks', '1 days').
    Exit code 5 when any line has an error; a line that is no JSON object ends the
    command with exit code 2, and nothing is written.

    --mcp serves all calculators as tools of the Model Context Protocol over standard
    input and output, and --tools prints them in the form of OpenAI's `tools`
    (docs/medcalc_tools.md).
    """

    calculator: Annotated[
        str | None,
        Option("id, slug or name of a calculator", metavar="NAME", positional=True),
    ] = None
    inputs: Annotated[
        tuple[str, ...],
        Option(
            'such as age=72 or creatinine="1.2 mg/dL"',
            metavar="key=value",
            positional=True,
        ),
    ] = ()
    list: Annotated[
        bool, Option("all calculators: id, slug, category, output, name")
    ] = False
    show_inputs: Annotated[
        bool, Option("what NAME takes, and in which units", name="--inputs")
    ] = False
    batch: Annotated[
        Path | None, Option("JSON Lines of calculations", metavar="IN")
    ] = None
    out: Annotated[
        Path | None,
        Option("where the lines of --batch go with their answers", metavar="OUT"),
    ] = None
    convention: Annotated[
        tuple[str, ...],
        Option(
            "a named departure from the published rule to follow, as --inputs shows them; may "
            "be repeated",
            metavar="NAME",
        ),
    ] = ()
    tools: Annotated[
        bool, Option("all calculators as OpenAI's `tools`, one JSON list")
    ] = False
    mcp: Annotated[
        bool, Option("serve all calculators to an agent (MCP, standard input/output)")
    ] = False


@dataclass(frozen=True, kw_only=True)
class Umls(Options):
    """Build the index of the UMLS that MEDCON looks concepts up in, and see a text's concepts.

        medical-tasks umls build --source 2022AA/META --out umls-index
        medical-tasks umls find --index umls-index "Heart failure, congestive, and CKD."

    --source holds MRCONSO.RRF and MRSTY.RRF of your own UMLS release, gzip or not; the
    licence is free, and the message about a missing file says how to get it. A build
    that is stopped leaves no index behind; one made of the same files is
    kept. `find` shows what a variant of MEDCON finds; with "-" it reads the text from
    standard input. See docs/medcon.md.
    """

    step: Annotated[
        Literal["build", "find"], Option("build, find", metavar="STEP", positional=True)
    ]


@dataclass(frozen=True, kw_only=True)
class UmlsBuild(Umls, heading="build"):
    """Build an index."""

    source: Annotated[
        Path, Option("folder of MRCONSO.RRF and MRSTY.RRF", metavar="DIR")
    ]
    out: Annotated[Path, Option("folder to make", metavar="INDEX")]
    lowercase: Annotated[bool, Option("fold case, as QuickUMLS does with -L")] = False
    ascii_only: Annotated[
        bool, Option("fold accents and the like, as QuickUMLS does with -U")
    ] = False
    again: Annotated[
        bool, Option("build although there is an index of the same files")
    ] = False


@dataclass(frozen=True, kw_only=True)
class UmlsFind(Umls, heading="find"):
    """Look up which concepts a text has."""

    index: Annotated[Path, Option("folder that build made", metavar="INDEX")]
    text: Annotated[
        str,
        Option(
            'find: the text, or "-" for standard input', metavar="TEXT", positional=True
        ),
    ]
    variant: Annotated[
        str,
        Option(
            "whose rules: aci-bench (default), or archehr with its rules of syntax",
            metavar="NAME",
        ),
    ] = "aci-bench"


UMLS: Final = Choice(
    fields=("step",), common=Umls, forms={("build",): UmlsBuild, ("find",): UmlsFind}
)
"""What `umls` takes, by its step."""


@dataclass(frozen=True, kw_only=True)
class Doctor(Options):
    """List what is broken and how to repair it, what is installed, and which optional parts are missing.

    Ends with 0 when nothing will break, with 3 when something will.
    """

    link_lighteval: Annotated[
        bool,
        Option(
            "add a file to lighteval's own tasks, so that its stock command finds this suite's "
            "without --custom-tasks"
        ),
    ] = False
    unlink_lighteval: Annotated[bool, Option("remove that file")] = False


@dataclass(frozen=True, kw_only=True)
class Manifest(Options):
    """Write or check generated files: tasks.json, cards, Croissant files, eval.yaml, docs/reference.

        medical-tasks manifest --check
        medical-tasks manifest --write
        medical-tasks manifest --package FOLDER

    The last writes another package's tasks.json, and in cards/ its datasets' cards;
    FOLDER is named as for --plugin.
    """

    write: Annotated[bool, Option("write the files")] = False
    check: Annotated[bool, Option("fail when one differs from the specs")] = False
    package: Annotated[
        Path | None, Option("write the files of another package", metavar="FOLDER")
    ] = None
    root: Annotated[
        Path, Option("the repository (default: this folder)", metavar="DIR")
    ] = Path()
