"""The options of `construct`, `decompose`, `swap` and `new-benchmark`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from medical_tasks.options import (
    Choice,
    Option,
    Options,
    Upstream,
    WithAttestation,
    WithJudge,
    WithModel,
    WithTables,
)


@dataclass(frozen=True, kw_only=True)
class WithKqa(Options, heading="kqa"):
    """Options of `decompose kqa` alone."""

    importance: Annotated[
        Literal["must", "judge"] | None,
        Option(
            "must: all under Must_have, for a clinician to sort (default); judge: as the judge "
            "sorts them"
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class WithDocLens(Options, heading="doclens"):
    """Options of `decompose doclens` alone."""

    side: Annotated[Literal["reference", "output"] | None, Option("whose texts")] = None
    task: Annotated[
        str | None,
        Option("what they will be scored as (default: doclens_own)", metavar="T"),
    ] = None
    data: Annotated[
        Path | None,
        Option("without --source: folder of the task's built dataset", metavar="DIR"),
    ] = None
    config: Annotated[
        str | None,
        Option("without --source: the dataset's configuration", metavar="NAME"),
    ] = None
    split: Annotated[
        str | None,
        Option(
            "without --source: its split, instead of the task's own", metavar="NAME"
        ),
    ] = None
    prompts: Annotated[
        str | None,
        Option("the judge's prompts: own (default) or official", metavar="SET"),
    ] = None
    upstream: Upstream = None


@dataclass(frozen=True, kw_only=True)
class Decompose(WithKqa, WithDocLens, WithJudge, WithTables, WithAttestation):
    r"""Take texts apart into single statements or claims, by a judge model.

        medical-tasks decompose --source answers.jsonl --judge openai-api/my-host/my-model \
            --out statements.jsonl
        medical-tasks decompose doclens --source notes.json --side reference --judge J \
            --out claims.json
        medical-tasks decompose doclens --source outputs.json --side output --judge J \
            --out output_claims.json
        medical-tasks decompose doclens --task aci_bench --data DIR --side reference \
            --judge J --out claims.json

    kqa (the default): a line of --source is {"Question": "...", "Free_form_answer":
    "..."}; those of K-QA's own file do too. --out gets the format of that file:
    Question, Free_form_answer, Must_have, Nice_to_have, Sources, ICD_10_diag. In the
    paper a model made a draft that physicians amended, and physicians said what is a
    must-have. So with --importance must (the default) every statement is put under
    Must_have for a clinician to sort; --importance judge takes the model's sorting.

    doclens: --side reference reads a JSON list of {"example_id", "input", "reference"},
    or without --source the built dataset of --task; --side output reads a responses
    file as `medical-tasks score` takes it. --out gets the authors' file of claims, for
    --task-args claims=FILE or output_claims=FILE. Clinical notes (--task aci_bench) are
    taken apart section by section.

    Replies are kept beside --out (OUT.work, or --work DIR) and never asked for twice;
    exit code 5 when a text could not be taken apart, with the others written.
    """

    benchmark: Annotated[
        Literal["kqa", "doclens"],
        Option("whose form (kqa if not given)", positional=True),
    ] = "kqa"
    source: Annotated[Path | None, Option("the texts", metavar="FILE")] = None
    out: Annotated[Path, Option("file for the statements", metavar="FILE")]
    work: Annotated[
        Path | None, Option("where replies are kept (default: OUT.work)", metavar="DIR")
    ] = None
    credentialed: Annotated[
        bool,
        Option(
            "the texts are credentialed: they stay on this machine, and replies are kept in the "
            "private store (references in a file for doclens, and tasks on credentialed data, "
            "always are)"
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class NewBenchmark(Options):
    """Write the skeleton of a benchmark of your own, with three invented questions.

        medical-tasks new-benchmark first_aid
        medical-tasks --plugin first_aid.yaml run --tasks first_aid --model baseline/reference

    --yaml (the default) writes NAME.yaml, which says what is in NAME.csv, and needs no
    Python. --package writes a folder NAME with a Python package that changes how
    answers are scored. No file is overwritten.
    docs/benchmark_of_your_own.md continues from here.
    """

    name: Annotated[
        str,
        Option(
            "small letters, digits and _, such as first_aid",
            metavar="NAME",
            positional=True,
        ),
    ]
    yaml: Annotated[bool, Option("a YAML file and a table (the default)")] = False
    package: Annotated[
        bool, Option("a Python package with an entry point and a test")
    ] = False
    out: Annotated[
        Path | None,
        Option("folder it is written into (default: this one)", metavar="DIR"),
    ] = None


_Folder = Annotated[Path, Option("folder of all files", metavar="FOLDER")]
_Source = Annotated[
    Path,
    Option(
        "sample, align: discharge.csv.gz or a file of its columns; filter: messages; "
        "extract: notes; check: rows",
        metavar="FILE",
    ),
]
_PATHS = Option(
    "import: sheets; answer-sheet: runs; scores: its DIR; archehr sheet: edited sheets "
    "of candidates (default: the one in FOLDER)",
    metavar="PATH",
    positional=True,
)
_Paths = Annotated[tuple[Path, ...], _PATHS]
_Seed = Annotated[
    int | None, Option("seed of shares and orders (default 0)", metavar="N")
]
_Reviewers = Annotated[
    str, Option("sheet, answer-sheet: who gets a share", metavar="NAME,...")
]
_Overlap = Annotated[
    int | None,
    Option("sheet, answer-sheet: N questions or cases for everybody", metavar="N"),
]
_BlankKeeps = Annotated[bool, Option("import: a row without a mark is kept")]
_Partial = Annotated[
    bool, Option("import, scores: continue without some people's sheets")
]
_Out = Annotated[
    Path, Option("answer-sheet: folder; scores: the table, CSV", metavar="PATH")
]
_MaxSamples = Annotated[
    int | None, Option("answer-sheet, check: at most N questions or rows", metavar="N")
]
_MODEL = Option(
    "hf/PATH, vllm/PATH, vllm-server/NAME or openai-api/HOST/NAME", metavar="M"
)
_Model = Annotated[str, _MODEL]


@dataclass(frozen=True, kw_only=True)
class Construct(WithTables):
    """Make a benchmark like EHRNoteQA, ArchEHR-QA or MedCalc-Bench on your own notes.

        medical-tasks construct ehrnoteqa sample|generate|sheet|import
        medical-tasks construct ehrnoteqa answer-sheet|scores
        medical-tasks construct archehr filter|expand|align|sheet|import|agreement
        medical-tasks construct medcalc extract|sheet|import|release|check

    answer-sheet and scores are clinicians' own scores of models. archehr starts from
    messages of patients and discharge notes. medcalc check measures the extraction on
    known rows.

    `sheet` and `import` are one round of annotation, and are repeated for the next.
    Each step writes whole files, and the same command continues where it stopped. FOLDER
    and DIR hold text of notes, messages, questions and answers: they are as
    credentialed as the notes, stay on this machine, and only you can read them.
    Commands: docs/ehrnoteqa_construction.md, docs/archehr_construction.md,
    docs/medcalc_construction.md.
    """

    benchmark: Annotated[
        Literal["medcalc", "ehrnoteqa", "archehr"],
        Option(
            "the benchmark to follow",
            metavar="medcalc|ehrnoteqa|archehr",
            positional=True,
        ),
    ]
    step: Annotated[
        Literal[
            "extract",
            "sheet",
            "import",
            "release",
            "check",
            "sample",
            "generate",
            "answer-sheet",
            "scores",
            "filter",
            "expand",
            "align",
            "agreement",
        ],
        Option(
            "extract, sheet, import, release, check, sample, generate, answer-sheet, scores, "
            "filter, expand, align, agreement",
            metavar="STEP",
            positional=True,
        ),
    ]


@dataclass(frozen=True, kw_only=True)
class _Sheet(Construct):
    """Write the sheets of a round."""

    folder: _Folder
    reviewers: _Reviewers
    overlap: _Overlap = None
    seed: _Seed = None


@dataclass(frozen=True, kw_only=True)
class _Import(Construct):
    """Read the sheets of a round."""

    folder: _Folder
    paths: _Paths
    blank_keeps: _BlankKeeps = False
    partial: _Partial = False


@dataclass(frozen=True, kw_only=True)
class WithExtraction(WithModel, WithAttestation, heading="medcalc"):
    """How entities are extracted from notes."""

    model: _Model
    open: Annotated[bool, Option("extract, check: the notes may go to any model")] = (
        False
    )
    calculators: Annotated[
        str | None,
        Option("extract, check: ids or names (default: all 55)", metavar="2,CrCl,..."),
    ] = None
    forecast: Annotated[
        bool, Option("extract, check: only count requests and tokens; asks nobody")
    ] = False


@dataclass(frozen=True, kw_only=True)
class MedcalcExtract(Construct, WithExtraction, heading="medcalc"):
    """Extract calculators' entities from notes."""

    folder: _Folder
    source: _Source
    seed: _Seed = None
    most: Annotated[
        int | None,
        Option("extract: notes a calculator at most (default 20)", metavar="N"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class MedcalcSheet(_Sheet):
    """Write the annotators' sheets of a round."""


@dataclass(frozen=True, kw_only=True)
class MedcalcImport(_Import):
    """Read the annotators' sheets of a round."""


@dataclass(frozen=True, kw_only=True)
class MedcalcRelease(Construct, heading="medcalc"):
    """Write the reviewed rows as a dataset of the released form."""

    folder: _Folder
    train: Annotated[
        float | None,
        Option("release: of notes, for training (default 0.2)", metavar="SHARE"),
    ] = None
    seed: _Seed = None


@dataclass(frozen=True, kw_only=True)
class MedcalcCheck(Construct, WithExtraction):
    """Measure the extraction on rows whose entities are known."""

    source: _Source
    folder: Annotated[Path | None, Option("folder of all files", metavar="FOLDER")] = (
        None
    )
    max_samples: _MaxSamples = None
    seed: _Seed = None


@dataclass(frozen=True, kw_only=True)
class EhrnoteqaSample(Construct, heading="sample"):
    """Sample patients by the number and length of their notes."""

    folder: _Folder
    source: _Source
    seed: _Seed = None
    tokenizer: Annotated[
        str | None,
        Option(
            "whose tokens are counted: a folder, or estimate (default) without one",
            metavar="FOLDER",
        ),
    ] = None
    cells: Annotated[
        str | None,
        Option(
            "how many patients (default 1:1=275,1:2=275,2:1=150,2:2=150,2:3=150)",
            metavar="LEVEL:NOTES=N,...",
        ),
    ] = None
    bounds: Annotated[
        str | None,
        Option("most tokens of level 1 and 2 (default 3000,7000)", metavar="N,N"),
    ] = None
    allow_fewer: Annotated[bool, Option("accept fewer patients than requested")] = False


@dataclass(frozen=True, kw_only=True)
class EhrnoteqaGenerate(Construct, WithModel, WithAttestation):
    """Let a model draft a question for each patient."""

    folder: _Folder
    model: _Model
    seed: _Seed = None


@dataclass(frozen=True, kw_only=True)
class EhrnoteqaSheet(_Sheet):
    """Write the clinicians' sheets of a round."""


@dataclass(frozen=True, kw_only=True)
class EhrnoteqaImport(_Import):
    """Read the clinicians' sheets of a round."""


@dataclass(frozen=True, kw_only=True)
class EhrnoteqaAnswerSheet(Construct):
    """Write sheets of models' answers for clinicians to score."""

    paths: _Paths
    out: _Out
    reviewers: _Reviewers
    overlap: _Overlap = None
    seed: _Seed = None
    data: Annotated[
        Path | None,
        Option("answer-sheet: the built dataset the runs were on", metavar="DIR"),
    ] = None
    upstream: Annotated[
        Path | None,
        Option("answer-sheet: for runs with --prompts official", metavar="DIR"),
    ] = None
    max_samples: _MaxSamples = None


@dataclass(frozen=True, kw_only=True)
class EhrnoteqaScores(Construct):
    """Read the clinicians' scores of models' answers."""

    paths: _Paths
    out: _Out
    partial: _Partial = False


@dataclass(frozen=True, kw_only=True)
class ArchehrFilter(Construct, heading="archehr"):
    """Keep the messages that mention a hospital stay."""

    folder: _Folder
    source: _Source
    keywords: Annotated[
        str | None,
        Option(
            "filter: words of a hospital stay: paper (default), ours, or a file with a line each",
            metavar="LIST",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class ArchehrExpand(Construct, WithModel, WithAttestation, heading="archehr"):
    """Add descriptions of diagnosis codes to notes and messages, for the alignment."""

    folder: _Folder
    model: Annotated[str | None, _MODEL] = None
    codes: Annotated[
        Path | None,
        Option("expand: codes of admissions, as DIAGNOSES_ICD", metavar="FILE"),
    ] = None
    dictionary: Annotated[
        Path | None,
        Option("expand: what codes mean, as D_ICD_DIAGNOSES", metavar="FILE"),
    ] = None
    post_codes: Annotated[
        Path | None,
        Option("expand: codes of messages, instead of a --model", metavar="FILE"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class ArchehrAlign(Construct, heading="archehr"):
    """Find the notes that may answer a message."""

    folder: _Folder
    source: _Source
    top: Annotated[
        int | None, Option("align: notes a message (default 10)", metavar="N")
    ] = None


@dataclass(frozen=True, kw_only=True)
class ArchehrSheet(Construct):
    """Write the annotators' sheets of a round."""

    folder: _Folder
    reviewers: _Reviewers
    paths: Annotated[tuple[Path, ...], _PATHS] = ()
    overlap: _Overlap = None
    seed: _Seed = None


@dataclass(frozen=True, kw_only=True)
class ArchehrImport(Construct, heading="archehr"):
    """Read the annotators' sheets of a round."""

    folder: _Folder
    paths: _Paths
    partial: _Partial = False
    blank_not_relevant: Annotated[
        bool, Option("import: a sentence without a mark is not-relevant")
    ] = False
    note_source: Annotated[
        str | None,
        Option("import: mimic-iii or mimic-iv, for the mapping", metavar="NAME"),
    ] = None
    dev: Annotated[
        int | None,
        Option("import: at most N cases go to the split dev (default 0)", metavar="N"),
    ] = None
    seed: _Seed = None


@dataclass(frozen=True, kw_only=True)
class ArchehrAgreement(Construct):
    """Measure the agreement of annotators and of rounds."""

    folder: _Folder


CONSTRUCT: Final = Choice(
    fields=("benchmark", "step"),
    common=Construct,
    forms={
        ("medcalc", "extract"): MedcalcExtract,
        ("medcalc", "sheet"): MedcalcSheet,
        ("medcalc", "import"): MedcalcImport,
        ("medcalc", "release"): MedcalcRelease,
        ("medcalc", "check"): MedcalcCheck,
        ("ehrnoteqa", "sample"): EhrnoteqaSample,
        ("ehrnoteqa", "generate"): EhrnoteqaGenerate,
        ("ehrnoteqa", "sheet"): EhrnoteqaSheet,
        ("ehrnoteqa", "import"): EhrnoteqaImport,
        ("ehrnoteqa", "answer-sheet"): EhrnoteqaAnswerSheet,
        ("ehrnoteqa", "scores"): EhrnoteqaScores,
        ("archehr", "filter"): ArchehrFilter,
        ("archehr", "expand"): ArchehrExpand,
        ("archehr", "align"): ArchehrAlign,
        ("archehr", "sheet"): ArchehrSheet,
        ("archehr", "import"): ArchehrImport,
        ("archehr", "agreement"): ArchehrAgreement,
    },
)
"""The options of `construct`, by benchmark and step."""


@dataclass(frozen=True, kw_only=True)
class Swap(
    Options, usage="medical-tasks swap DATASET ATTRIBUTE=VALUE --out DIR [options]"
):
    """Write a built dataset again, with one attribute of every patient changed and nothing else.

        medical-tasks swap ehrnoteqa sex=female --out female
        medical-tasks swap ehrnoteqa sex=male --out male
        medical-tasks run --tasks ehrnoteqa_mc_level1 --model M --data female --out runs/female
        medical-tasks run --tasks ehrnoteqa_mc_level1 --model M --data male --out runs/male
        medical-tasks compare runs/female runs/male

    Attributes: sex, name, ethnicity, insurance, language, housing. All values of one
    have the same rows; rows that cannot be changed without a guess are left out, with
    the reason (docs/swap.md).
    """

    dataset: Annotated[
        str,
        Option(
            "a built dataset, such as ehrnoteqa", metavar="DATASET", positional=True
        ),
    ]
    swap: Annotated[
        str,
        Option(
            "what changes and to what: sex=female, insurance=none, name=black",
            metavar="ATTRIBUTE=VALUE",
            positional=True,
        ),
    ]
    out: Annotated[Path, Option("folder of the new dataset", metavar="DIR")]
    data: Annotated[
        Path | None,
        Option("folder of the built dataset (default: the data home)", metavar="DIR"),
    ] = None
    config: Annotated[str | None, Option("its configuration", metavar="NAME")] = None
