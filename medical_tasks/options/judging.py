"""Options of `adjudicate` and `judge-check`."""

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
    """List a run's answers that could not be parsed, to be read by a person or a judge.

        medical-tasks adjudicate runs/my-run
        medical-tasks adjudicate runs/my-run --out unclear.xlsx
        medical-tasks adjudicate runs/my-run --judge openai-api/my-host/judge-model

    The sheet has one row per unclear answer, without the gold answer; a cell of an .xlsx
    file holds the last 32,000 characters of a reply. In the column `reading`, write the
    final answer of the reply in its own words, or `none` if it gives none; an empty cell
    leaves the answer unclear. With --judge, a judge model fills in
    the column. Then score the same answers again:

        medical-tasks score medcalc --responses runs/my-run --adjudicated runs/my-run/unclear.csv

    For credentialed data the sheet is stored in the private store unless --out names
    another place on this machine, and a remote judge is refused. Exit code 5 if the judge
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
            "the file of responses that `score` read, or the folder of the run whose answers it "
            "scored",
            metavar="FILE",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class JudgeCheck(WithJudges, WithTables, WithAttestation):
    r"""Check judges against labels of physicians (K-QA), clinicians or raters, ANLI and MedNLI.

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

    kqa: the questions of scoring K-QA, about the 399 statements that three physicians
    labelled. --source is a checkout of https://github.com/Itaymanes/K-QA, or its
    dataset/NLI_medical_annotator.csv. --judging batched judges all statements of an
    answer at once, judges them singly too, and reports how often both agree.

    ehrnoteqa: the questions of scoring EHRNoteQA, about models' answers that people scored
    as correct or not. --source is a CSV file with the columns id (of the question in the
    built dataset), response, optionally model, and one column per rater.

    doclens: the questions of scoring DocLens, about claims that clinicians labelled.
    --source is the folder of VeriFact-BHC or the file of FactEHR.

    anli, mednli: the plain question of entailment, in the given --style. nli: both
    together, with the means of the parts.

    All sets but K-QA and ANLI are credentialed: their text stays on this machine. The
    command prints the figures and writes check.json; `run` and `score` show the latest
    check of their judge. For several judges, and with earlier checks (--compare), it
    prints one table and recommends a judge with reasons (choosing.json, judges.html). The
    same command continues where it stopped. Exit code 5 if a judge could not be checked,
    or pairs have no verdict.
    """

    set: Annotated[
        str,
        Option(
            "the labels: kqa, ehrnoteqa, doclens, anli, mednli or nli",
            metavar="SET",
            positional=True,
        ),
    ]
    source: Annotated[
        Path | None,
        Option(
            "the official file or its folder; ehrnoteqa: the file of scores; doclens: "
            "VeriFact-BHC or FactEHR",
            metavar="PATH",
        ),
    ] = None
    max_pairs: Annotated[
        int | None, Option("use at most N pairs, selected by their ids", metavar="N")
    ] = None
    out: Annotated[
        Path | None,
        Option(
            "folder for the check (default: runs/check-SET-JUDGE-HASH)", metavar="DIR"
        ),
    ] = None
    again: Annotated[
        bool, Option("judge everything twice, and report how many labels stay the same")
    ] = False
    sensitivity: Annotated[
        bool,
        Option("also judge everything with verdicts and statements in reverse order"),
    ] = False
    orders: Annotated[
        int | None,
        Option(
            "kqa, ehrnoteqa: judge N times, once in the original order and then with the "
            "statements of a batch, or the sentences of the answers, in N-1 shuffled orders",
            metavar="N",
        ),
    ] = None
    compare: Annotated[
        tuple[Path, ...],
        Option(
            "earlier checks (folder or check.json) to include in the table of judges",
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
        Option("ehrnoteqa: the format of the questions (default: open)"),
    ] = None
    raters: Annotated[
        str | None,
        Option(
            "ehrnoteqa: the raters' columns (default: those that begin with rater_)",
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
            "ehrnoteqa: the dataset's configuration, e.g. demo; doclens: demo for invented claims",
            metavar="NAME",
        ),
    ] = None
    ways: Annotated[
        Literal[2, 3] | None,
        Option(
            "anli, mednli, nli: 2 classes (entailed or not) or 3 classes (default: 3)"
        ),
    ] = None
    round: Annotated[
        Literal["R1", "R2", "R3"] | None,
        Option("anli: a single round (default: all three)"),
    ] = None
    split: Annotated[
        Literal["train", "dev", "test"] | None,
        Option("anli, mednli, nli: the split (default: test)"),
    ] = None
    mednli: Annotated[
        Path | None,
        Option(
            "nli: the file of MedNLI; --source is the folder of ANLI", metavar="PATH"
        ),
    ] = None
    style: Annotated[
        Literal["json_cot", "json", "cot", "plain"] | None,
        Option(
            "anli, mednli, nli: reply as JSON or one line, with or without a reason first "
            "(default: json_cot)"
        ),
    ] = None
