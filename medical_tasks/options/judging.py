"""What `adjudicate` and `judge-check` take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from medical_tasks.options.base import Option
from medical_tasks.options.shared import (
    RunFolder,
    Upstream,
    WithAttestation,
    WithJudge,
    WithJudges,
    WithRunData,
    WithTables,
)


@dataclass(frozen=True, kw_only=True)
class Adjudicate(WithRunData, WithJudge, WithTables, WithAttestation):
    """List a run's answers that the reader could not tell, for a person or a judge to read.

        medical-tasks adjudicate runs/my-run
        medical-tasks adjudicate runs/my-run --out unclear.xlsx
        medical-tasks adjudicate runs/my-run --judge openai-api/my-host/judge-model

    The sheet has a row for each unclear answer, without the gold. In the column
    `reading` write the final answer that the reply gives, in its own words, or `none`
    where it gives none; an empty cell leaves the answer unclear. With --judge a judge
    model fills the column in. Then score the same answers again:

        medical-tasks score medcalc --responses runs/my-run --adjudicated runs/my-run/unclear.csv

    For credentialed data the sheet is kept in the private store unless --out names another
    place on this machine, and a judge elsewhere is refused. Exit code 5 when the judge
    left answers unread; the same command asks about them again.
    """

    run: RunFolder
    out: Annotated[
        Path | None,
        Option(
            "the sheet, .csv or .xlsx (default: unclear.csv in the run's folder, or in the "
            "private store)",
            metavar="FILE",
        ),
    ] = None
    responses: Annotated[
        Path | None,
        Option(
            "the file that `score` scored, or the folder of the run whose answers it scored",
            metavar="FILE",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class JudgeCheck(WithJudges, WithTables, WithAttestation):
    r"""Check judges against people's labels: K-QA's physicians', clinicians', ANLI, MedNLI.

        medical-tasks judge-check kqa --judge openai-api/my-host/my-model --source K-QA
        medical-tasks judge-check kqa --judge nli/path/to/model --source NLI_medical_annotator.csv
        medical-tasks judge-check ehrnoteqa --judge openai-api/my-host/my-model \
            --source scores.csv --raters ann,ben,cy
        medical-tasks judge-check kqa --judge openai-api/my-host/a \
            --judge openai-api/my-host/b --source K-QA --again --sensitivity
        medical-tasks judge-check doclens --judge vllm-server/my-model --source verifact-bhc
        medical-tasks judge-check anli --judge nli/path/to/model --source anli_v1.0 \
            --round R1 --ways 2
        medical-tasks judge-check nli --judge nli/path/to/model --source anli_v1.0 \
            --mednli mli_test_v1.jsonl --ways 2

    kqa asks what scoring K-QA asks, about the 399 statements that three physicians
    labelled, and compares the judge with them. --source is a checkout of
    https://github.com/Itaymanes/K-QA, or its dataset/NLI_medical_annotator.csv.
    --judging batched asks for all statements of an answer at once, asks singly too, and
    says how often both agree. ehrnoteqa asks what scoring EHRNoteQA asks, about models'
    answers that people scored as correct or not: --source is a CSV file with the
    columns id (the question's in the built dataset), response, perhaps model, and one a
    rater. doclens asks what scoring DocLens asks, about claims that clinicians
    labelled: --source is the folder of VeriFact-BHC or FactEHR's file. anli and mednli
    ask the plain question of entailment, in the --style given; nli is both together,
    with the means of the parts. All but K-QA and ANLI are credentialed, their text
    stays on this machine. Prints the figures and writes check.json; `run` and `score`
    show the last check of the judge they use. Of several judges, and of earlier checks
    (--compare), it prints one table and says which to take and why (choosing.json,
    judges.html). The same command goes on where it stopped; exit code 5 when a judge
    could not be checked, or pairs are without a verdict.
    """

    set: Annotated[
        str,
        Option(
            "kqa, ehrnoteqa, doclens, anli, mednli or nli: whose labels",
            metavar="SET",
            positional=True,
        ),
    ]
    source: Annotated[
        Path | None,
        Option(
            "the official file or the folder that holds it; ehrnoteqa: the scores; doclens: "
            "VeriFact-BHC or FactEHR",
            metavar="PATH",
        ),
    ] = None
    max_pairs: Annotated[
        int | None, Option("at most N pairs, chosen by their ids", metavar="N")
    ] = None
    out: Annotated[
        Path | None,
        Option(
            "folder of the check (default: runs/check-SET-JUDGE-HASH)", metavar="DIR"
        ),
    ] = None
    again: Annotated[
        bool, Option("ask everything a second time: how many labels stay the same")
    ] = False
    sensitivity: Annotated[
        bool, Option("ask everything with verdicts and statements in reverse order too")
    ] = False
    orders: Annotated[
        int | None,
        Option(
            "kqa, ehrnoteqa: judge N times, as given and with the statements of a batch, "
            "or the answers' sentences, in N-1 shuffled orders",
            metavar="N",
        ),
    ] = None
    compare: Annotated[
        tuple[Path, ...],
        Option(
            "earlier checks (folder or check.json) for the table of judges",
            metavar="CHECK",
            several=True,
        ),
    ] = ()
    prompts: Annotated[
        str, Option("kqa, ehrnoteqa: own (default) or official", metavar="SET")
    ] = "own"
    upstream: Upstream = None
    format: Annotated[
        Literal["open", "mc"] | None,
        Option("ehrnoteqa: how the models were asked (default open)"),
    ] = None
    raters: Annotated[
        str | None,
        Option(
            "ehrnoteqa: the raters' columns (default: all that begin with rater_)",
            metavar="A,B,...",
        ),
    ] = None
    data: Annotated[
        Path | None,
        Option(
            "ehrnoteqa: folder of the built dataset (default: the user's data home)",
            metavar="DIR",
        ),
    ] = None
    config: Annotated[
        str | None,
        Option(
            "ehrnoteqa: the dataset's configuration, e.g. demo; doclens: demo, invented claims",
            metavar="NAME",
        ),
    ] = None
    ways: Annotated[
        Literal[2, 3] | None,
        Option("anli, mednli, nli: entailed or not, or three classes (default 3)"),
    ] = None
    round: Annotated[
        Literal["R1", "R2", "R3"] | None, Option("anli: one round (default: all three)")
    ] = None
    split: Annotated[
        Literal["train", "dev", "test"] | None,
        Option("anli, mednli, nli: which part (default test)"),
    ] = None
    mednli: Annotated[
        Path | None,
        Option("nli: MedNLI's file; --source is ANLI's folder", metavar="PATH"),
    ] = None
    style: Annotated[
        Literal["json_cot", "json", "cot", "plain"] | None,
        Option(
            "anli, mednli, nli: JSON or a line, after a reason or without (default json_cot)"
        ),
    ] = None
