"""Options of `calc`, `umls`, `doctor` and `manifest`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from medical_tasks.options.base import Choice, Option, Options


@dataclass(frozen=True, kw_only=True)
class Calc(Options):
    r"""Calculate a clinical score or value by its published rule, and show every step.

        medical-tasks calc --list
        medical-tasks calc cha2ds2_vasc
        medical-tasks calc cha2ds2_vasc age=72 sex=female hypertension=yes
        medical-tasks calc creatinine_clearance age=64 sex=male weight=176lbs \
            height="5 ft 10 in" creatinine="1.2 mg/dL"
        medical-tasks calc --batch IN.jsonl --out OUT.jsonl
        medical-tasks calc --mcp

    A calculator is named by its id, slug or name; without key=value, its inputs are
    listed. Missing findings count as absent and are listed with the answer. A value
    outside the published range of the rule, or with an implausible unit, adds a warning.

    A line of --batch is {"calculator_id": 2, "inputs": {...}} with the names of the
    dataset's Relevant Entities, or those of a single calculation. Its line in --out is
    the same object with "answer", "explanation" and "warnings" (a list), or with "error",
    for example for a misspelt input. Answers are numbers, dates as MM/DD/YYYY, or
    gestational ages in the form of the dataset, ('15 weeks', '1 days'). Exit code 5 if
    any line has an error; if a line is not a JSON object, the exit code is 2 and nothing
    is written.

    --mcp serves all calculators as tools of the Model Context Protocol over standard
    input and output; --tools prints them in the format of OpenAI's `tools`
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
        bool, Option("list all calculators: id, slug, category, output, name")
    ] = False
    show_inputs: Annotated[
        bool, Option("list the inputs of NAME and their units", name="--inputs")
    ] = False
    batch: Annotated[
        Path | None, Option("file of calculations, JSON Lines", metavar="IN")
    ] = None
    out: Annotated[
        Path | None,
        Option("file for the lines of --batch with their answers", metavar="OUT"),
    ] = None
    convention: Annotated[
        tuple[str, ...],
        Option(
            "a named deviation from the published rule to follow, as listed by --inputs; may be "
            "repeated",
            metavar="NAME",
        ),
    ] = ()
    tools: Annotated[
        bool, Option("print all calculators as OpenAI's `tools`, one JSON list")
    ] = False
    mcp: Annotated[
        bool, Option("serve all calculators to an agent (MCP, standard input/output)")
    ] = False


@dataclass(frozen=True, kw_only=True)
class Umls(Options):
    """Build the UMLS index of MEDCON, and look up the concepts of a text.

        medical-tasks umls build --source 2022AA/META --out umls-index
        medical-tasks umls find --index umls-index "Heart failure, congestive, and CKD."

    --source is the folder with MRCONSO.RRF and MRSTY.RRF of your own UMLS release,
    compressed with gzip or not; the licence is free, and the message about a missing file
    explains how to get it. An interrupted build leaves no index; an existing index of the
    same files is kept. `find` shows the concepts that a variant of MEDCON finds; with "-"
    it reads the text from standard input. See docs/medcon.md.
    """

    step: Annotated[
        Literal["build", "find"],
        Option("build or find", metavar="STEP", positional=True),
    ]


@dataclass(frozen=True, kw_only=True)
class UmlsBuild(Umls, heading="build"):
    """Build an index."""

    source: Annotated[
        Path, Option("folder with MRCONSO.RRF and MRSTY.RRF", metavar="DIR")
    ]
    out: Annotated[Path, Option("folder for the index", metavar="INDEX")]
    lowercase: Annotated[bool, Option("ignore case, like QuickUMLS with -L")] = False
    ascii_only: Annotated[
        bool, Option("ignore accents and similar marks, like QuickUMLS with -U")
    ] = False
    again: Annotated[
        bool, Option("build again even if an index of the same files exists")
    ] = False


@dataclass(frozen=True, kw_only=True)
class UmlsFind(Umls, heading="find"):
    """Look up the concepts of a text."""

    index: Annotated[Path, Option("folder written by build", metavar="INDEX")]
    text: Annotated[
        str,
        Option(
            'find: the text, or "-" for standard input', metavar="TEXT", positional=True
        ),
    ]
    variant: Annotated[
        str,
        Option(
            "the variant of MEDCON: aci-bench (default), or archehr with its syntactic rules",
            metavar="NAME",
        ),
    ] = "aci-bench"


UMLS: Final = Choice(
    fields=("step",), common=Umls, forms={("build",): UmlsBuild, ("find",): UmlsFind}
)
"""The options of `umls`, by its step."""


@dataclass(frozen=True, kw_only=True)
class Doctor(Options):
    """List problems and their solutions, what is installed, and which optional parts are missing.

    Exit code 0 if there is no problem, 3 if there is one.
    """

    link_lighteval: Annotated[
        bool,
        Option(
            "add a file to lighteval's own tasks, so that its command finds the tasks of this "
            "suite without --custom-tasks"
        ),
    ] = False
    unlink_lighteval: Annotated[bool, Option("remove that file")] = False


@dataclass(frozen=True, kw_only=True)
class Manifest(Options):
    """Write or check the generated files: tasks.json, cards, Croissant files and eval.yaml.

        medical-tasks manifest --check
        medical-tasks manifest --write
        medical-tasks manifest --package FOLDER

    --package writes the tasks.json of another package, and the cards of its datasets to
    cards/; FOLDER is as for --plugin.
    """

    write: Annotated[bool, Option("write the files")] = False
    check: Annotated[bool, Option("fail if a file differs from the specs")] = False
    package: Annotated[
        Path | None,
        Option("write the files of this other package", metavar="FOLDER"),
    ] = None
    root: Annotated[
        Path, Option("the repository (default: the current folder)", metavar="DIR")
    ] = Path()
