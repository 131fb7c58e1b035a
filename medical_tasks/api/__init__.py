"""The Python API: the commands as functions that return their results.

    import medical_tasks as mt

    results = mt.run("medcalc", "baseline/reference", config="demo")
    results["medcalc"].metrics["accuracy"]

Every function has the options of its command as parameters, with `_` for `-`
(`max_new_tokens=512`). A path may be a `Path` or text, and a run its folder or its
`Results`; settings such as `model_args` are a dict. Errors are those of
`medical_tasks.errors`, with the messages of the command line and Python's names of
parameters.

Some functions have a longer name than their command, because a module or a keyword has
that name: `error_report` (`errors`), `import_run` (`import`), `keep_leaderboard`
(`leaderboard`) and `construct_benchmark` (`construct`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import medical_tasks.options as declared
from medical_tasks.api.calling import captured_report, options_from, public, reading
from medical_tasks.api.results import (
    Comparison,
    Estimate,
    GateReport,
    Report,
    Results,
    RunPath,
    StrPath,
    TaskResults,
    TextScores,
)
from medical_tasks.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd
    from datasets import Dataset, DatasetDict

    from medical_tasks.calculators import Result
    from medical_tasks.construct.options import Construct
    from medical_tasks.construct.swap.command import Swapped
    from medical_tasks.data.building import BuiltDataset
    from medical_tasks.data.listing import ListedTask
    from medical_tasks.guard.leakcheck import LeakReport
    from medical_tasks.guard.private_store import Purged
    from medical_tasks.harness.examining import Finding
    from medical_tasks.leaderboard.export import Exported
    from medical_tasks.leaderboard.submission_package.contents import Verification
    from medical_tasks.report.judge_checking import CheckedJudges
    from medical_tasks.runs.adjudicating import UnclearSheet
    from medical_tasks.runs.prompting import ShownPrompt
    from medical_tasks.runs.sheets import MadeSheet
    from medical_tasks.scoring.umls.index import IndexInfo
    from medical_tasks.scoring.umls.using import TextConcepts

    Answers: TypeAlias = (
        Mapping[str, str]
        | Iterable[Mapping[str, object]]
        | pd.DataFrame
        | str
        | os.PathLike[str]
    )

__all__ = [
    "Comparison",
    "Estimate",
    "GateReport",
    "Report",
    "Results",
    "TaskResults",
    "TextScores",
    "adjudicate",
    "audit",
    "build",
    "calc",
    "compare",
    "construct_benchmark",
    "correlate",
    "decompose",
    "doctor",
    "error_report",
    "export",
    "forecast",
    "gate",
    "import_run",
    "judge_check",
    "keep_leaderboard",
    "launch",
    "leakcheck",
    "load",
    "merge",
    "meta",
    "new_benchmark",
    "plan",
    "purge",
    "report",
    "run",
    "score",
    "score_text",
    "sheet",
    "show_prompt",
    "submit_eval_results",
    "submit_shared_task",
    "submit_space",
    "swap",
    "tasks",
    "umls_build",
    "umls_find",
    "verify",
]


@public
def run(
    tasks: str,
    model: str,
    *,
    max_samples: int | None = None,
    repeats: int = 1,
    out: StrPath | None = None,
    subset: int | None = None,
    seed: int | None = None,
    model_args: Mapping[str, object] | None = None,
    max_new_tokens: int | None = None,
    batch: bool = False,
    role: str | Iterable[str] = (),
    truncate: Literal["refuse", "notes-from-the-oldest", "unanswered"] = "refuse",
    confidence: Literal["none", "asked"] = "none",
    max_cost: float | None = None,
    max_tokens_total: int | None = None,
    max_minutes: float | None = None,
    shard: str | None = None,
    config: str | None = None,
    split: str | None = None,
    data: StrPath | None = None,
    prompts: str = "own",
    upstream: StrPath | None = None,
    task_args: Mapping[str, object] | None = None,
    calibration: StrPath | None = None,
    calibration_from: Literal["other", "run"] = "other",
    evaluations: int = 1,
    judge: str | None = None,
    judge_args: Mapping[str, object] | None = None,
    votes: int | None = None,
    judging: Literal["single", "batched"] | None = None,
    judge_reply_tokens: int | None = None,
    max_judge_calls: int | None = None,
    max_judge_tokens: int | None = None,
    judge_batch: bool = False,
    forecast: bool = False,
    allow_remote: str | Iterable[str] = (),
    attest_zero_retention: bool = False,
) -> Results:
    """Evaluates a model on tasks, or continues a run that was stopped.

    Args:
        tasks: medcalc, medical:medcalc, medical|medcalc|0, a,b, or medical for all
            tasks.
        model: hf/PATH, vllm/PATH, ray/PATH, vllm-server/NAME, openai-api/HOST/NAME,
            inspect/PROVIDER/NAME or baseline/NAME.
        max_samples: use at most N items per task, for a quick look: not a random
            sample, and no estimate for the whole set (see `subset`).
        repeats: ask each question K times, and report the mean over the repeats,
            intervals that include the variation between runs, and the variance of items
            and of runs.
        out: the run's folder (default: runs/MODEL-HASH).
        subset: use a stratified random sample of N items per task; values and intervals
            are estimates for the whole set.
        seed: seed of the random sample of `subset` (default: 0).
        model_args: settings of the model's backend, e.g. batch_size=16,dtype=bfloat16.
        max_new_tokens: longest answer in tokens, instead of the task's own limit.
        batch: send the requests as batches, which providers answer later at a lower
            price (openai-api/ or inspect/).
        role: the model of another role in a task's protocol, such as
            patient=openai-api/HOST/NAME; once for each role.
        truncate: for questions whose documents do not fit the model's context: refuse
            the run (default), cut the beginning of the oldest notes, or leave the
            questions unanswered.
        confidence: asked: text tasks also ask for the model's confidence, in a last
            line that is removed before scoring (choice tasks always report it from
            their probabilities).
        max_cost: send no request that may raise the cost of the run's answers, earlier
            ones included, above this sum; needs the prices price_in and price_out.
        max_tokens_total: send no request that may raise the run's answers, earlier ones
            included, above N input and output tokens.
        max_minutes: send no request later than M minutes after the start.
        shard: part I of N of the items, to use several machines; `medical-tasks merge`
            joins the parts.
        config: dataset configuration, e.g. demo.
        split: split to use, or a+b for two, instead of the task's own.
        data: folder of the built dataset (default: the user's data home).
        prompts: own (default) or official.
        upstream: checkout of the authors' repository, for `prompts` official.
        task_args: settings of the task itself, e.g. documents=FOLDER for kqa_rag.
        calibration: a result of judge-check (folder or check.json); adds scores
            corrected for the judge's errors.
        calibration_from: whether its labels belong to other answers (default), or to a
            random sample of this run's own answers.
        evaluations: judge the same answers N times with a judge that samples, and
            report the mean over the evaluations, their spread, ICC, Krippendorff's
            alpha and unanimity.
        judge: openai-api/HOST/NAME, nli/PATH, vllm-server/NAME, hf/PATH,
            inspect/PROVIDER/NAME, recorded/FILE, or lexical (default: compares words
            and needs no model; scores are not comparable).
        judge_args: settings of the judge's backend.
        votes: votes per verdict; the most frequent one counts (default: the task's own
            number, or 1 for a deterministic judge).
        judging: one call per statement, or one for all statements of an answer
            (default: the task's own mode).
        judge_reply_tokens: longest reply of the judge, instead of the task's own limit;
            a judge that reasons needs more, e.g. 4096.
        max_judge_calls: stop judging after N requests.
        max_judge_tokens: stop judging after N tokens.
        judge_batch: send the judge's requests as batches, which providers answer later
            at a lower price (openai-api/ or inspect/).
        forecast: only estimate the cost of the requests; sends none.
        allow_remote: allow this host to receive the text; requires
            `attest_zero_retention` and is logged.
        attest_zero_retention: you attest that no `allow_remote` host retains the text
            it receives.

    Returns:
        The results in the run's folder. Items without an answer or a score are counted
        in its coverage and raise no error.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        results = mt.run("medcalc", "baseline/reference", config="demo")
        results["medcalc"].metrics["accuracy"].value
    """
    options = options_from(declared.Run, locals())
    from medical_tasks.runs.evaluating import evaluate

    folder = evaluate(options)
    if folder is None:
        raise UsageError(
            "mt.run is for a single process and queries a model. Use `medical-tasks run` with "
            "torchrun, and mt.forecast for a forecast."
        )

    return Results(folder)


@public
def forecast(
    tasks: str,
    model: str,
    *,
    max_samples: int | None = None,
    repeats: int = 1,
    out: StrPath | None = None,
    subset: int | None = None,
    seed: int | None = None,
    model_args: Mapping[str, object] | None = None,
    max_new_tokens: int | None = None,
    batch: bool = False,
    role: str | Iterable[str] = (),
    truncate: Literal["refuse", "notes-from-the-oldest", "unanswered"] = "refuse",
    confidence: Literal["none", "asked"] = "none",
    max_cost: float | None = None,
    max_tokens_total: int | None = None,
    max_minutes: float | None = None,
    shard: str | None = None,
    config: str | None = None,
    split: str | None = None,
    data: StrPath | None = None,
    prompts: str = "own",
    upstream: StrPath | None = None,
    task_args: Mapping[str, object] | None = None,
    calibration: StrPath | None = None,
    calibration_from: Literal["other", "run"] = "other",
    evaluations: int = 1,
    judge: str | None = None,
    judge_args: Mapping[str, object] | None = None,
    votes: int | None = None,
    judging: Literal["single", "batched"] | None = None,
    judge_reply_tokens: int | None = None,
    max_judge_calls: int | None = None,
    max_judge_tokens: int | None = None,
    judge_batch: bool = False,
    allow_remote: str | Iterable[str] = (),
    attest_zero_retention: bool = False,
) -> Report:
    """Estimates the requests and the cost of answering and judging; sends no requests.

    Args:
        tasks: medcalc, medical:medcalc, medical|medcalc|0, a,b, or medical for all
            tasks.
        model: hf/PATH, vllm/PATH, ray/PATH, vllm-server/NAME, openai-api/HOST/NAME,
            inspect/PROVIDER/NAME or baseline/NAME.
        max_samples: use at most N items per task, for a quick look: not a random
            sample, and no estimate for the whole set (see `subset`).
        repeats: ask each question K times, and report the mean over the repeats,
            intervals that include the variation between runs, and the variance of items
            and of runs.
        out: the run's folder (default: runs/MODEL-HASH).
        subset: use a stratified random sample of N items per task; values and intervals
            are estimates for the whole set.
        seed: seed of the random sample of `subset` (default: 0).
        model_args: settings of the model's backend, e.g. batch_size=16,dtype=bfloat16.
        max_new_tokens: longest answer in tokens, instead of the task's own limit.
        batch: send the requests as batches, which providers answer later at a lower
            price (openai-api/ or inspect/).
        role: the model of another role in a task's protocol, such as
            patient=openai-api/HOST/NAME; once for each role.
        truncate: for questions whose documents do not fit the model's context: refuse
            the run (default), cut the beginning of the oldest notes, or leave the
            questions unanswered.
        confidence: asked: text tasks also ask for the model's confidence, in a last
            line that is removed before scoring (choice tasks always report it from
            their probabilities).
        max_cost: send no request that may raise the cost of the run's answers, earlier
            ones included, above this sum; needs the prices price_in and price_out.
        max_tokens_total: send no request that may raise the run's answers, earlier ones
            included, above N input and output tokens.
        max_minutes: send no request later than M minutes after the start.
        shard: part I of N of the items, to use several machines; `medical-tasks merge`
            joins the parts.
        config: dataset configuration, e.g. demo.
        split: split to use, or a+b for two, instead of the task's own.
        data: folder of the built dataset (default: the user's data home).
        prompts: own (default) or official.
        upstream: checkout of the authors' repository, for `prompts` official.
        task_args: settings of the task itself, e.g. documents=FOLDER for kqa_rag.
        calibration: a result of judge-check (folder or check.json); adds scores
            corrected for the judge's errors.
        calibration_from: whether its labels belong to other answers (default), or to a
            random sample of this run's own answers.
        evaluations: judge the same answers N times with a judge that samples, and
            report the mean over the evaluations, their spread, ICC, Krippendorff's
            alpha and unanimity.
        judge: openai-api/HOST/NAME, nli/PATH, vllm-server/NAME, hf/PATH,
            inspect/PROVIDER/NAME, recorded/FILE, or lexical (default: compares words
            and needs no model; scores are not comparable).
        judge_args: settings of the judge's backend.
        votes: votes per verdict; the most frequent one counts (default: the task's own
            number, or 1 for a deterministic judge).
        judging: one call per statement, or one for all statements of an answer
            (default: the task's own mode).
        judge_reply_tokens: longest reply of the judge, instead of the task's own limit;
            a judge that reasons needs more, e.g. 4096.
        max_judge_calls: stop judging after N requests.
        max_judge_tokens: stop judging after N tokens.
        judge_batch: send the judge's requests as batches, which providers answer later
            at a lower price (openai-api/ or inspect/).
        allow_remote: allow this host to receive the text; requires
            `attest_zero_retention` and is logged.
        attest_zero_retention: you attest that no `allow_remote` host retains the text
            it receives.

    Returns:
        By task: the number of questions, of those answered by a run in `out` and of
        those still to ask, the tokens, and the cost if `model_args` has price_in and
        price_out.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.forecast("medcalc", "openai-api/my-host/my-model",
        config="demo")["tasks"]["medcalc"]
    """
    options = replace(options_from(declared.Run, locals()), forecast=True)
    from medical_tasks.runs.evaluating import evaluate

    def foretell(options: declared.Run) -> int:
        evaluate(options)
        return 0

    return captured_report(foretell, options)


@public
def show_prompt(
    tasks: str,
    model: str,
    item: str = "",
    *,
    model_args: Mapping[str, object] | None = None,
    max_new_tokens: int | None = None,
    truncate: Literal["refuse", "notes-from-the-oldest", "unanswered"] = "refuse",
    confidence: Literal["none", "asked"] = "none",
    config: str | None = None,
    split: str | None = None,
    data: StrPath | None = None,
    prompts: str = "own",
    upstream: StrPath | None = None,
    task_args: Mapping[str, object] | None = None,
) -> ShownPrompt:
    """Returns one prompt of a run as the model would receive it; sends no requests.

    Args:
        tasks: medcalc, medical:medcalc, medical|medcalc|0, a,b, or medical for all
            tasks.
        model: as for `run`; the chat template of a local model is applied.
        item: the id of the item; the first one by default.
        model_args: settings of the model's backend.
        max_new_tokens: longest answer in tokens, for which the prompt leaves room.
        truncate: how to handle a prompt that does not fit the model's context, as for
            `run`.
        confidence: asked: include the line that asks for the model's confidence.
        config: dataset configuration, e.g. demo.
        split: split to use, or a+b for two, instead of the task's own.
        data: folder of the built dataset (default: the user's data home).
        prompts: own (default) or official.
        upstream: checkout of the authors' repository, for `prompts` official.
        task_args: settings of the task itself, e.g. documents=FOLDER for kqa_rag.

    Returns:
        The messages, for a local model the complete text, and a note if the run leaves
        out words or the whole prompt.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        print(mt.show_prompt("medcalc", "hf/path/to/model"))
    """
    arguments = {name: value for name, value in locals().items() if name != "item"}
    options = options_from(declared.Run, arguments)
    from medical_tasks.runs.prompting import render_prompt

    return render_prompt(options, item)


@public
def score(
    task: str,
    responses: Answers,
    *,
    source: StrPath | None = None,
    split: str | None = None,
    data: StrPath | None = None,
    config: str | None = None,
    prompts: str = "own",
    upstream: StrPath | None = None,
    task_args: Mapping[str, object] | None = None,
    confidence: Literal["none", "asked"] = "none",
    adjudicated: StrPath | None = None,
    out: StrPath | None = None,
    subset: int | None = None,
    seed: int | None = None,
    calibration: StrPath | None = None,
    calibration_from: Literal["other", "run"] = "other",
    evaluations: int = 1,
    judge: str | None = None,
    judge_args: Mapping[str, object] | None = None,
    votes: int | None = None,
    judging: Literal["single", "batched"] | None = None,
    judge_reply_tokens: int | None = None,
    max_judge_calls: int | None = None,
    max_judge_tokens: int | None = None,
    judge_batch: bool = False,
    forecast: bool = False,
    sheet: str | Iterable[str] = (),
    decimal: Literal["comma", "point"] | None = None,
    dates: Literal["day-first", "month-first"] | None = None,
    allow_remote: str | Iterable[str] = (),
    attest_zero_retention: bool = False,
) -> Results:
    """Scores existing answers; no model is run.

    Args:
        task: medcalc, medical:medcalc or medical|medcalc.
        responses: CSV, XLSX, parquet, JSON Lines or a JSON list with id and response
            (for other names see above), or the folder of a run.
        source: the file of your own dataset, or the folder of ArchEHR-QA's release,
            instead of `data`.
        split: the answered split, or a+b for two, instead of the task's own.
        data: folder of the built dataset (default: the user's data home).
        config: dataset configuration.
        prompts: the judge's prompts: own (default) or official.
        upstream: checkout of the authors' repository, for `prompts` official.
        task_args: settings of the task's scoring, e.g. sentence_bert=FOLDER.
        confidence: asked: the answers end with a line `Confidence: N%`, which is
            removed and reported.
        adjudicated: the completed sheet of `adjudicate`, with the readings of unclear
            answers.
        out: folder for the results (default: runs/RESPONSES-HASH).
        subset: use a stratified random sample of N items per task; values and intervals
            are estimates for the whole set.
        seed: seed of the random sample of `subset` (default: 0).
        calibration: a result of judge-check (folder or check.json); adds scores
            corrected for the judge's errors.
        calibration_from: whether its labels belong to other answers (default), or to a
            random sample of this run's own answers.
        evaluations: judge the same answers N times with a judge that samples, and
            report the mean over the evaluations, their spread, ICC, Krippendorff's
            alpha and unanimity.
        judge: openai-api/HOST/NAME, nli/PATH, vllm-server/NAME, hf/PATH,
            inspect/PROVIDER/NAME, recorded/FILE, or lexical (default: compares words
            and needs no model; scores are not comparable).
        judge_args: settings of the judge's backend.
        votes: votes per verdict; the most frequent one counts (default: the task's own
            number, or 1 for a deterministic judge).
        judging: one call per statement, or one for all statements of an answer
            (default: the task's own mode).
        judge_reply_tokens: longest reply of the judge, instead of the task's own limit;
            a judge that reasons needs more, e.g. 4096.
        max_judge_calls: stop judging after N requests.
        max_judge_tokens: stop judging after N tokens.
        judge_batch: send the judge's requests as batches, which providers answer later
            at a lower price (openai-api/ or inspect/).
        forecast: only estimate the cost of the requests; sends none.
        sheet: the sheet of an XLSX file to read, hidden or not (default: the visible
            sheet with the required columns); may be repeated for several files.
        decimal: comma: read 25,238 as 25.238; point: read cells unchanged (default:
            detected from the file; required if it is ambiguous).
        dates: day-first: read 03/04/2020 as 3 April; month-first: read cells unchanged
            (default: as for `decimal`).
        allow_remote: allow this host to receive the text; requires
            `attest_zero_retention` and is logged.
        attest_zero_retention: you attest that no `allow_remote` host retains the text
            it receives.

    Returns:
        The results.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.score("medcalc", {"1": "The answer is 25."}, config="demo")
    """
    from medical_tasks.runs.rescoring import rescore
    from medical_tasks.runs.responses import GivenAnswers

    held = (
        None if isinstance(responses, str | os.PathLike) else GivenAnswers.of(responses)
    )
    options = options_from(
        declared.Score, locals() | ({"responses": held.name} if held else {})
    )
    with reading(options):
        done = rescore(options, held)

    if done is None:
        raise UsageError(
            "mt.score is for one process, and does not forecast. Use `medical-tasks score` for "
            "these."
        )

    return Results(done[0])


@public
def import_run(
    kind: Literal["helm", "inspect", "lm-eval", "lighteval", "every-eval-ever"],
    path: StrPath,
    task: str,
    *,
    model: str | None = None,
    address: str | None = None,
    licence: str | None = None,
    split: str | None = None,
    data: StrPath | None = None,
    config: str | None = None,
    prompts: str = "own",
    upstream: StrPath | None = None,
    task_args: Mapping[str, object] | None = None,
    out: StrPath | None = None,
    judge: str | None = None,
    judge_args: Mapping[str, object] | None = None,
    votes: int | None = None,
    judging: Literal["single", "batched"] | None = None,
    judge_reply_tokens: int | None = None,
    max_judge_calls: int | None = None,
    max_judge_tokens: int | None = None,
    judge_batch: bool = False,
    forecast: bool = False,
    allow_remote: str | Iterable[str] = (),
    attest_zero_retention: bool = False,
) -> Results:
    """Scores answers collected by another harness, and reports its own figures with them.

    Args:
        kind: the harness that wrote the files.
        path: a file, or the folder of a run.
        task: the task that was answered, such as medcalc.
        model: the model whose answers are scored if a file has several; otherwise the
            name of a model that the files do not name.
        address: address of the published files (https://...), for the recipe.
        licence: licence of the files, for the recipe.
        split: the answered split, or a+b for two, instead of the task's own.
        data: folder of the built dataset (default: the user's data home).
        config: dataset configuration.
        prompts: the judge's prompts: own (default) or official.
        upstream: checkout of the authors' repository, for `prompts` official.
        task_args: settings of the task's scoring, e.g. sentence_bert=FOLDER.
        out: folder for the results (default: runs/SOURCE-HASH).
        judge: openai-api/HOST/NAME, nli/PATH, vllm-server/NAME, hf/PATH,
            inspect/PROVIDER/NAME, recorded/FILE, or lexical (default: compares words
            and needs no model; scores are not comparable).
        judge_args: settings of the judge's backend.
        votes: votes per verdict; the most frequent one counts (default: the task's own
            number, or 1 for a deterministic judge).
        judging: one call per statement, or one for all statements of an answer
            (default: the task's own mode).
        judge_reply_tokens: longest reply of the judge, instead of the task's own limit;
            a judge that reasons needs more, e.g. 4096.
        max_judge_calls: stop judging after N requests.
        max_judge_tokens: stop judging after N tokens.
        judge_batch: send the judge's requests as batches, which providers answer later
            at a lower price (openai-api/ or inspect/).
        forecast: only estimate the cost of the requests; sends none.
        allow_remote: allow this host to receive the text; requires
            `attest_zero_retention` and is logged.
        attest_zero_retention: you attest that no `allow_remote` host retains the text
            it receives.

    Returns:
        The results; the figures of the source are in each task's `entry["reported"]`.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.import_run("inspect", "logs/my-log.eval", "medcalc")
    """
    from medical_tasks.importing.command import imported
    from medical_tasks.importing.options import Import

    done = imported(options_from(Import, locals()))
    if done is None:
        raise UsageError(
            "mt.import_run is for one process, and does not forecast. Use `medical-tasks import` "
            "for these."
        )

    return Results(done[0])


@public
def sheet(
    task: str,
    out: StrPath,
    *,
    max_samples: int | None = None,
    source: StrPath | None = None,
    config: str | None = None,
    split: str | None = None,
    data: StrPath | None = None,
    subset: int | None = None,
    seed: int | None = None,
) -> MadeSheet:
    """Writes a task's questions as a spreadsheet for people's answers, which `score` reads.

    Args:
        task: medcalc, medical:medcalc or medical|medcalc.
        out: the sheet to write, .xlsx or .csv.
        max_samples: use at most N questions: not a random sample (see `subset`).
        source: the file of your own dataset, or the folder of ArchEHR-QA's release,
            instead of `data`.
        config: dataset configuration.
        split: split to use, or a+b for two, instead of the task's own.
        data: folder of the built dataset (default: the user's data home).
        subset: use a stratified random sample of N items per task; values and intervals
            are estimates for the whole set.
        seed: seed of the random sample of `subset` (default: 0).

    Returns:
        The sheet, and the command that scores it.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.sheet("kqa", "kqa.xlsx")
        mt.score("kqa", "kqa.xlsx")
    """
    from medical_tasks.runs.sheets import write_blank_sheet

    return write_blank_sheet(options_from(declared.Sheet, locals()))


@public
def adjudicate(
    run: RunPath,
    *,
    out: StrPath | None = None,
    responses: StrPath | None = None,
    data: StrPath | None = None,
    source: StrPath | None = None,
    upstream: StrPath | None = None,
    judge: str | None = None,
    judge_args: Mapping[str, object] | None = None,
    votes: int | None = None,
    judging: Literal["single", "batched"] | None = None,
    judge_reply_tokens: int | None = None,
    max_judge_calls: int | None = None,
    max_judge_tokens: int | None = None,
    judge_batch: bool = False,
    forecast: bool = False,
    sheet: str | Iterable[str] = (),
    decimal: Literal["comma", "point"] | None = None,
    dates: Literal["day-first", "month-first"] | None = None,
    allow_remote: str | Iterable[str] = (),
    attest_zero_retention: bool = False,
) -> UnclearSheet:
    """Writes a sheet of a run's unclear answers, to be read by a person or a judge, for `score`.

    Args:
        run: folder of a finished run.
        out: the sheet, .csv or .xlsx (default: unclear.csv in the run's folder, or in
            the private store).
        responses: the file of responses that `score` read, or the folder of the run
            whose answers it scored.
        data: folder of the built datasets (default: the user's data home).
        source: the file of your own dataset, instead of `data`.
        upstream: checkout of the authors' repository, for runs with `prompts` official.
        judge: openai-api/HOST/NAME, nli/PATH, vllm-server/NAME, hf/PATH,
            inspect/PROVIDER/NAME, recorded/FILE, or lexical (default: compares words
            and needs no model; scores are not comparable).
        judge_args: settings of the judge's backend.
        votes: votes per verdict; the most frequent one counts (default: the task's own
            number, or 1 for a deterministic judge).
        judging: one call per statement, or one for all statements of an answer
            (default: the task's own mode).
        judge_reply_tokens: longest reply of the judge, instead of the task's own limit;
            a judge that reasons needs more, e.g. 4096.
        max_judge_calls: stop judging after N requests.
        max_judge_tokens: stop judging after N tokens.
        judge_batch: send the judge's requests as batches, which providers answer later
            at a lower price (openai-api/ or inspect/).
        forecast: only estimate the cost of the requests; sends none.
        sheet: the sheet of an XLSX file to read, hidden or not (default: the visible
            sheet with the required columns); may be repeated for several files.
        decimal: comma: read 25,238 as 25.238; point: read cells unchanged (default:
            detected from the file; required if it is ambiguous).
        dates: day-first: read 03/04/2020 as 3 April; month-first: read cells unchanged
            (default: as for `decimal`).
        allow_remote: allow this host to receive the text; requires
            `attest_zero_retention` and is logged.
        attest_zero_retention: you attest that no `allow_remote` host retains the text
            it receives.

    Returns:
        The sheet; answers that the judge did not read are in its `failed`.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        sheet = mt.adjudicate("runs/my-run")
        mt.score("medcalc", "runs/my-run", adjudicated=sheet.path)
    """
    from medical_tasks.runs.adjudicating import adjudicate as write_sheet

    options = options_from(declared.Adjudicate, locals())
    with reading(options):
        unclear = write_sheet(options)

    if unclear is None:
        raise UsageError("mt.adjudicate is for one process. Call it without torchrun.")

    return unclear


@public
def merge(
    *runs: RunPath,
    out: StrPath,
    data: StrPath | None = None,
    config: str | None = None,
    upstream: StrPath | None = None,
    task_args: Mapping[str, object] | None = None,
    calibration: StrPath | None = None,
    calibration_from: Literal["other", "run"] = "other",
    evaluations: int = 1,
    judge: str | None = None,
    judge_args: Mapping[str, object] | None = None,
    votes: int | None = None,
    judging: Literal["single", "batched"] | None = None,
    judge_reply_tokens: int | None = None,
    max_judge_calls: int | None = None,
    max_judge_tokens: int | None = None,
    judge_batch: bool = False,
    forecast: bool = False,
    allow_remote: str | Iterable[str] = (),
    attest_zero_retention: bool = False,
) -> Results:
    """Merges the parts of a run (`run(..., shard="1/8")` and so on) into one; loads no model.

    Args:
        runs: folders of the parts.
        out: folder for the merged run.
        data: folder of the built dataset (default: the user's data home).
        config: dataset configuration (default: the configuration of the parts).
        upstream: checkout of the authors' repository, for `prompts` official.
        task_args: settings of the task's scoring, the same as for the parts.
        calibration: a result of judge-check (folder or check.json); adds scores
            corrected for the judge's errors.
        calibration_from: whether its labels belong to other answers (default), or to a
            random sample of this run's own answers.
        evaluations: judge the same answers N times with a judge that samples, and
            report the mean over the evaluations, their spread, ICC, Krippendorff's
            alpha and unanimity.
        judge: openai-api/HOST/NAME, nli/PATH, vllm-server/NAME, hf/PATH,
            inspect/PROVIDER/NAME, recorded/FILE, or lexical (default: compares words
            and needs no model; scores are not comparable).
        judge_args: settings of the judge's backend.
        votes: votes per verdict; the most frequent one counts (default: the task's own
            number, or 1 for a deterministic judge).
        judging: one call per statement, or one for all statements of an answer
            (default: the task's own mode).
        judge_reply_tokens: longest reply of the judge, instead of the task's own limit;
            a judge that reasons needs more, e.g. 4096.
        max_judge_calls: stop judging after N requests.
        max_judge_tokens: stop judging after N tokens.
        judge_batch: send the judge's requests as batches, which providers answer later
            at a lower price (openai-api/ or inspect/).
        forecast: only estimate the cost of the requests; sends none.
        allow_remote: allow this host to receive the text; requires
            `attest_zero_retention` and is logged.
        attest_zero_retention: you attest that no `allow_remote` host retains the text
            it receives.

    Returns:
        The results of the merged run.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.merge("parts/1", "parts/2", out="runs/whole")
    """
    from medical_tasks.runs.merging import merge as merge_parts

    done = merge_parts(options_from(declared.Merge, locals()))
    if done is None:
        raise UsageError("mt.merge is for one process. Call it without torchrun.")

    return Results(done[0])


@public
def score_text(
    table: StrPath | pd.DataFrame | Iterable[object],
    references: Iterable[object] | None = None,
    *,
    metrics: str | Iterable[str] | None = None,
    prediction: str | None = None,
    reference: str | None = None,
    source: str | None = None,
    cluster: str | None = None,
    task_args: Mapping[str, object] | None = None,
    seed: int = 0,
    out: StrPath | None = None,
    sheet: str | Iterable[str] = (),
    decimal: Literal["comma", "point"] | None = None,
    dates: Literal["day-first", "month-first"] | None = None,
) -> TextScores:
    """Scores texts against references by text metrics.

    Args:
        table: CSV, XLSX, JSON Lines or parquet file with one row per text.
        references: one for each prediction, where `table` holds predictions alone: a
            text, or a list of texts of which any will do.
        metrics: rouge1 ... rouge9, rougeL, rougeLsum (each also with _precision or
            _recall), bleu, sacrebleu, bleu_corpus, sacrebleu_corpus, exact_match, sari;
            bertscore, medcon, alignscore, bleurt, f1_radgraph, sentence_bert,
            clinical_bert with `task_args` (default: all that need no `task_args`).
        prediction: column of the texts to score (default: prediction, response,
            output...).
        reference: columns of the references (default: reference, gold...).
        source: column of the source texts, for sari (default: source, if any).
        cluster: column that groups related rows, such as those of a patient.
        task_args: checkpoints and indexes: bertscore=FOLDER, umls=FOLDER,
            alignscore=CKPT:FOLDER, bleurt=FOLDER, radgraph=FOLDER,
            sentence_bert=FOLDER, clinical_bert=FOLDER.
        seed: seed of the intervals' random draws (default: 0).
        out: also write the JSON output to this file.
        sheet: the sheet of an XLSX file to read, hidden or not (default: the visible
            sheet with the required columns); may be repeated for several files.
        decimal: comma: read 25,238 as 25.238; point: read cells unchanged (default:
            detected from the file; required if it is ambiguous).
        dates: day-first: read 03/04/2020 as 3 April; month-first: read cells unchanged
            (default: as for `decimal`).

    Returns:
        The scores, and each row's own in `["rows"]`.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.score_text(["It rains."], ["It is raining."], metrics="rouge1")
    """
    from medical_tasks.runs.text_scoring import read_rows, score_table, table_of

    rows = (
        None if isinstance(table, str | os.PathLike) else _text_rows(table, references)
    )
    names = _joined(metrics)
    arguments = (
        locals() | {"metrics": names} | ({} if rows is None else {"table": "texts"})
    )
    options = options_from(declared.ScoreText, arguments)
    with reading(options):
        content = score_table(
            options, read_rows(options.table, options) if rows is None else rows
        )

    return TextScores(content, table_of(content))


@public
def judge_check(
    set: str,
    *,
    source: StrPath | None = None,
    max_pairs: int | None = None,
    out: StrPath | None = None,
    again: bool = False,
    sensitivity: bool = False,
    orders: int | None = None,
    compare: StrPath | Iterable[StrPath] = (),
    prompts: str = "own",
    upstream: StrPath | None = None,
    format: Literal["open", "mc"] | None = None,
    raters: str | None = None,
    data: StrPath | None = None,
    config: str | None = None,
    ways: Literal[2, 3] | None = None,
    round: Literal["R1", "R2", "R3"] | None = None,
    split: Literal["train", "dev", "test"] | None = None,
    mednli: StrPath | None = None,
    style: Literal["json_cot", "json", "cot", "plain"] | None = None,
    judge: str | Iterable[str] = (),
    judge_args: Mapping[str, object] | Iterable[Mapping[str, object]] = (),
    votes: int | None = None,
    judging: Literal["single", "batched"] | None = None,
    judge_reply_tokens: int | None = None,
    max_judge_calls: int | None = None,
    max_judge_tokens: int | None = None,
    judge_batch: bool = False,
    forecast: bool = False,
    sheet: str | Iterable[str] = (),
    decimal: Literal["comma", "point"] | None = None,
    dates: Literal["day-first", "month-first"] | None = None,
    allow_remote: str | Iterable[str] = (),
    attest_zero_retention: bool = False,
) -> CheckedJudges:
    """Checks judges against people's labels.

    Args:
        set: the labels: kqa, ehrnoteqa, doclens, anli, mednli or nli.
        source: the official file or its folder; ehrnoteqa: the file of scores; doclens:
            VeriFact-BHC or FactEHR.
        max_pairs: use at most N pairs, selected by their ids.
        out: folder for the check (default: runs/check-SET-JUDGE-HASH).
        again: judge everything twice, and report how many labels stay the same.
        sensitivity: also judge everything with verdicts and statements in reverse
            order.
        orders: kqa, ehrnoteqa: judge N times, once in the original order and then with
            the statements of a batch, or the sentences of the answers, in N-1 shuffled
            orders.
        compare: earlier checks (folder or check.json) to include in the table of
            judges.
        prompts: kqa, ehrnoteqa: own (default) or official.
        upstream: checkout of the authors' repository, for `prompts` official.
        format: ehrnoteqa: the format of the questions (default: open).
        raters: ehrnoteqa: the raters' columns (default: those that begin with rater_).
        data: ehrnoteqa: folder of the built dataset (default: the user's data home).
        config: ehrnoteqa: the dataset's configuration, e.g. demo; doclens: demo for
            invented claims.
        ways: anli, mednli, nli: 2 classes (entailed or not) or 3 classes (default: 3).
        round: anli: a single round (default: all three).
        split: anli, mednli, nli: the split (default: test).
        mednli: nli: the file of MedNLI; `source` is the folder of ANLI.
        style: anli, mednli, nli: reply as JSON or one line, with or without a reason
            first (default: json_cot).
        judge: openai-api/HOST/NAME, nli/PATH, vllm-server/NAME, hf/PATH,
            inspect/PROVIDER/NAME, recorded/FILE, or lexical (default: compares words
            and needs no model; scores are not comparable).
        judge_args: settings of the judge's backend.
        votes: votes per verdict; the most frequent one counts (default: the task's own
            number, or 1 for a deterministic judge).
        judging: one call per statement, or one for all statements of an answer
            (default: the task's own mode).
        judge_reply_tokens: longest reply of the judge, instead of the task's own limit;
            a judge that reasons needs more, e.g. 4096.
        max_judge_calls: stop judging after N requests.
        max_judge_tokens: stop judging after N tokens.
        judge_batch: send the judge's requests as batches, which providers answer later
            at a lower price (openai-api/ or inspect/).
        forecast: only estimate the cost of the requests; sends none.
        sheet: the sheet of an XLSX file to read, hidden or not (default: the visible
            sheet with the required columns); may be repeated for several files.
        decimal: comma: read 25,238 as 25.238; point: read cells unchanged (default:
            detected from the file; required if it is ambiguous).
        dates: day-first: read 03/04/2020 as 3 April; month-first: read cells unchanged
            (default: as for `decimal`).
        allow_remote: allow this host to receive the text; requires
            `attest_zero_retention` and is logged.
        attest_zero_retention: you attest that no `allow_remote` host retains the text
            it receives.

    Returns:
        The checks, even if pairs have no verdict, and the recommended judge.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.judge_check("kqa", judge="lexical", source="K-QA").choice
    """
    from medical_tasks.report.judge_checking import judge_check as check_judges

    options = options_from(declared.JudgeCheck, locals())
    with reading(options):
        checked = check_judges(options)

    if checked is None:
        raise UsageError(
            "mt.judge_check is for one process, and asks. Use `medical-tasks judge-check` to "
            "forecast."
        )

    return checked


@public
def compare(
    *runs: RunPath,
    all_pairs: bool = False,
    task: str | Iterable[str] = (),
    metric: str | Iterable[str] = (),
    by: str = "none",
    flips: int | None = None,
    equivalence: float | None = None,
    memory_gap: bool = False,
    out: StrPath | None = None,
) -> Comparison:
    """Compares two or more runs item by item; the first is A.

    Args:
        runs: folders of two or more runs; the first is A.
        all_pairs: compare every pair of runs, not just each run with the first.
        task: compare only this task; may be repeated.
        metric: compare only this metric; may be repeated.
        by: also compare by group: the name of a breakdown, all, or none (default).
        flips: list the changed items, at most N in each direction (default: 20), for
            `metric` or else the first metric of each task.
        equivalence: test by two one-sided tests whether the runs are equivalent:
            whether their difference is smaller than M (0.03 for three points).
        memory_gap: compare a model's run on published rows with one on fresh rows, to
            see how much it remembers.
        out: also write the comparison as Markdown.

    Returns:
        The comparison in the form of `compare --json`; it prints as the tables.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.compare("runs/model-a", "runs/model-b", by="category")
    """
    from medical_tasks.comparison.comparing import compare as compare_runs

    return Comparison(*compare_runs(options_from(declared.Compare, locals())))


@public
def plan(
    task: str,
    *,
    half_width: float | None = None,
    difference: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    margin: float | None = None,
    metric: str | None = None,
    run: RunPath | Iterable[RunPath] = (),
    accuracy: float | None = None,
    agreement: float | None = None,
    data: StrPath | None = None,
    config: str | None = None,
    split: str | None = None,
) -> Report:
    """Computes the number of items for an interval, difference or gate.

    Args:
        task: the task.
        half_width: half-width of the 95 % interval, such as 0.03 for ±3 points.
        difference: difference of two models to detect, such as 0.05 for five points.
        at_least: limit of a gate that the value must reach.
        at_most: limit of a gate that the value must not exceed.
        margin: how much worse than another model a gate allows a model to be.
        metric: the metric (default: the task's first).
        run: past runs of all items to plan from.
        accuracy: without past runs: the share of right answers; for a limit, the true
            value that should get GO.
        agreement: without past runs: the share of items on which both models are right
            or both wrong.
        data: folder of the built dataset (default: the user's data home).
        config: dataset configuration.
        split: split, or a+b for two, instead of the task's own.

    Returns:
        The numbers of items, in the form of `plan --json`.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.plan("medcalc", half_width=0.03, accuracy=0.4)["beyond"]["items"]
    """
    from medical_tasks.comparison.plan_items import plan as plan_items

    return Report(*plan_items(options_from(declared.Plan, locals())))


@public
def gate(
    policy: StrPath,
    runs: RunPath | Iterable[RunPath],
) -> GateReport:
    """Checks runs against a policy of thresholds.

    Args:
        policy: the rules, a TOML file.
        runs: folders of finished runs.

    Returns:
        The verdict (GO, NO-GO or INCONCLUSIVE), and the finding of each rule.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.gate("policy.toml", "runs/new").verdict
    """
    from medical_tasks.comparison.gating import findings_report
    from medical_tasks.comparison.gating import gate as hold
    from medical_tasks.comparison.policies import read_policy

    options = options_from(declared.Gate, locals())
    rules = read_policy(options.policy)
    verdict, findings = hold(rules, options.runs)
    text, content = findings_report(verdict, findings, rules)

    return GateReport(content, text, verdict)


@public
def report(
    runs: RunPath | Iterable[RunPath],
    *,
    out: StrPath | None = None,
    format: Literal["html", "markdown", "both"] | None = None,
    title: str = "",
    responses: StrPath | Iterable[StrPath] = (),
    no_items: bool = False,
    max_text_bytes: int | None = None,
    data: StrPath | None = None,
    source: StrPath | None = None,
    upstream: StrPath | None = None,
    sheet: str | Iterable[str] = (),
    decimal: Literal["comma", "point"] | None = None,
    dates: Literal["day-first", "month-first"] | None = None,
) -> list[Path]:
    """Writes the report of one or more runs.

    Args:
        runs: folder of a finished run.
        out: FILE.html, FILE.md, or a folder for report.html and report.md.
        format: the files to write (default: both, or by the name of `out`).
        title: heading of the report.
        responses: a file of responses that `score` read, or the folder of a run whose
            answers it scored; may be repeated.
        no_items: omit the items.
        max_text_bytes: size limit for the texts of all items (default: 4,000,000);
            longer texts are visibly shortened in the middle.
        data: folder of the built datasets (default: the user's data home).
        source: the file of your own dataset, instead of `data`.
        upstream: checkout of the authors' repository, for runs with `prompts` official.
        sheet: the sheet of an XLSX file to read, hidden or not (default: the visible
            sheet with the required columns); may be repeated for several files.
        decimal: comma: read 25,238 as 25.238; point: read cells unchanged (default:
            detected from the file; required if it is ambiguous).
        dates: day-first: read 03/04/2020 as 3 April; month-first: read cells unchanged
            (default: as for `decimal`).

    Returns:
        The files: HTML, Markdown, or both.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.report(["runs/model-a", "runs/model-b"], out="both.html")
    """
    from medical_tasks.report.collect import report as write_report

    options = options_from(declared.Report, locals())
    with reading(options):
        return list(write_report(options).values())


@public
def export(
    run: RunPath,
    *,
    to: str,
    out: StrPath,
    model_name: str = "",
    responses: StrPath | Iterable[StrPath] = (),
    force: bool = False,
    data: StrPath | None = None,
    source: StrPath | None = None,
    upstream: StrPath | None = None,
    sheet: str | Iterable[str] = (),
    decimal: Literal["comma", "point"] | None = None,
    dates: Literal["day-first", "month-first"] | None = None,
) -> Exported:
    """Exports a run in the format of another tool.

    Args:
        run: folder of a finished run.
        to: the form to write: every-eval-ever, chai-card, tripod-llm, inspect-log,
            lm-eval-json, csv, or one that a package registers.
        out: folder for the files.
        model_name: the model's name, where the run has a path or an address.
        responses: a file that `score` scored, or the folder of a run whose answers it
            scored; can be repeated.
        force: overwrite files with other content.
        data: folder of the built datasets (default: the user's data home).
        source: the file of your own dataset, instead of `data`.
        upstream: checkout of the authors' repository, for runs with `prompts` official.
        sheet: the sheet of an XLSX file to read, hidden or not (default: the visible
            sheet with the required columns); may be repeated for several files.
        decimal: comma: read 25,238 as 25.238; point: read cells unchanged (default:
            detected from the file; required if it is ambiguous).
        dates: day-first: read 03/04/2020 as 3 April; month-first: read cells unchanged
            (default: as for `decimal`).

    Returns:
        The exported `files`, and the fields that are `left_open`.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.export("runs/my-run", to="csv", out="tables").files
    """
    from medical_tasks.leaderboard.commands.export import exported
    from medical_tasks.leaderboard.options import Export

    options = options_from(Export, locals())
    with reading(options):
        return exported(options)


@public
def build(
    dataset: str,
    *,
    source: StrPath | None = None,
    fetch: bool = False,
    config: str | None = None,
    seed: int | None = None,
    n: int | None = None,
    level: int | None = None,
    partial: bool = False,
    out: StrPath | None = None,
    sheet: str | Iterable[str] = (),
    decimal: Literal["comma", "point"] | None = None,
    dates: Literal["day-first", "month-first"] | None = None,
) -> BuiltDataset:
    """Builds a dataset from its official files, or its synthetic demo.

    Args:
        dataset: name of the dataset, as in `medical-tasks list`.
        source: the official file, or its folder.
        fetch: download the official files of an open dataset from GitHub.
        config: configuration to build (default: the dataset's default).
        seed: generated configurations: seed of the rows.
        n: generated configurations: number of rows.
        level: generated configurations: difficulty of the rows.
        partial: build an incomplete release that is still being corrected.
        out: folder to write to (default: the user's data home).
        sheet: the sheet of an XLSX file to read, hidden or not (default: the visible
            sheet with the required columns); may be repeated for several files.
        decimal: comma: read 25,238 as 25.238; point: read cells unchanged (default:
            detected from the file; required if it is ambiguous).
        dates: day-first: read 03/04/2020 as 3 April; month-first: read cells unchanged
            (default: as for `decimal`).

    Returns:
        The folder, the configuration, and the number of rows.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.build("medcalc_bench", config="demo").folder
    """
    from medical_tasks.data.fetching import build as build_dataset

    options = options_from(declared.Build, locals())
    with reading(options):
        return build_dataset(options)


@public
def verify(
    package: StrPath,
    *,
    data: StrPath | None = None,
    source: StrPath | None = None,
    responses: StrPath | None = None,
    adjudicated: StrPath | None = None,
    upstream: StrPath | None = None,
    task_args: Mapping[str, object] | None = None,
    judge: str | None = None,
    judge_args: Mapping[str, object] | None = None,
    sample: int = 20,
    seed: int = 0,
    allow_remote: str | Iterable[str] = (),
    attest_zero_retention: bool = False,
    sheet: str | Iterable[str] = (),
    decimal: Literal["comma", "point"] | None = None,
    dates: Literal["day-first", "month-first"] | None = None,
) -> Verification:
    """Scores the answers of a submission package again and reports what matches.

    Args:
        package: what `submit RUN `to` space` wrote.
        data: folder of the built datasets (default: the user's data home).
        source: file from which your own dataset is built, instead of `data`.
        responses: the answers to credentialed data: a file, or the folder of the run.
        adjudicated: the completed sheet of `adjudicate`, with the readings of unclear
            answers.
        upstream: the authors' checkout, for results with official prompts.
        task_args: folders and files that the run used, e.g. documents=FOLDER.
        judge: ask the package's own judge again, about a sample.
        judge_args: settings of the judge's backend.
        sample: items to ask it about (default: 20).
        seed: which ones (default: 0).
        allow_remote: allow this host to receive the text; requires
            `attest_zero_retention` and is logged.
        attest_zero_retention: you attest that no `allow_remote` host retains the text
            it receives.
        sheet: the sheet of an XLSX file to read, hidden or not (default: the visible
            sheet with the required columns); may be repeated for several files.
        decimal: comma: read 25,238 as 25.238; point: read cells unchanged (default:
            detected from the file; required if it is ambiguous).
        dates: day-first: read 03/04/2020 as 3 April; month-first: read cells unchanged
            (default: as for `decimal`).

    Returns:
        Each check with its outcome; `matches` is the overall outcome.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.verify("my-model.zip").matches
    """
    from medical_tasks.leaderboard.commands.verify import verified
    from medical_tasks.leaderboard.options import Verify

    options = options_from(Verify, locals())
    with reading(options):
        return verified(options)[1]


@public
def submit_space(
    run: RunPath,
    *,
    model_name: str | None = None,
    organisation: str = "",
    url: str = "",
    notes: str = "",
    open_weights: Literal["yes", "no"] | None = None,
    parameters: float | None = None,
    out: StrPath | None = None,
    licence: str = "",
    task: str | Iterable[str] = (),
    responses: StrPath | None = None,
    data: StrPath | None = None,
    source: StrPath | None = None,
    upstream: StrPath | None = None,
    allow_partial: bool = False,
    no_answers: bool = False,
    no_judge: bool = False,
) -> Report:
    """Writes a run's package for the leaderboard Space; sends nothing.

    Args:
        run: folder of a finished run.
        model_name: name of the model, as the leaderboard shows it.
        organisation: who submits it.
        url: https:// page of the model.
        notes: one line about it, at most 280 characters.
        open_weights: whether anybody can have the weights.
        parameters: number of parameters in billions, such as 7.
        out: the package (default: submission.zip).
        licence: of the weights, as apache-2.0.
        task: only this task; may be repeated.
        responses: for a run of `score`: the file that it scored.
        data: folder of the built dataset (default: the user's data home).
        source: file from which your own dataset is built, instead of `data`.
        upstream: the authors' checkout, if the run used `prompts` official.
        allow_partial: also of demo records, another split, or a part of the items.
        no_answers: include only the hashes of imported answers, and where these are
            published.
        no_judge: without the figures that rest on a judge, and without its verdicts.

    Returns:
        The written files, in the form of `submit --json`.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.submit_space("runs/my-run", model_name="My model", out="my-model.zip")
    """
    from medical_tasks.leaderboard.commands.submit import run as submit
    from medical_tasks.leaderboard.options import SubmitSpace

    return captured_report(
        submit, options_from(SubmitSpace, locals() | {"to": "space"})
    )


@public
def submit_eval_results(
    run: RunPath,
    *,
    dataset_repo: str | Iterable[str] = (),
    tasks: str | None = None,
    out: StrPath | None = None,
    dataset_revision: str | Iterable[str] = (),
    date: str | None = None,
    source_url: str | None = None,
    source_name: str | None = None,
    source_user: str | None = None,
    source_org: str | None = None,
    notes: str | None = None,
    variant: str | None = None,
    allow_partial: bool = False,
    force: bool = False,
) -> Report:
    """Writes the YAML files for the Hub's page of a model; sends nothing.

    Args:
        run: folder of a finished run.
        dataset_repo: the dataset repository whose eval.yaml has the tasks; once for
            each dataset.
        tasks: those of the run's tasks to write (default: all).
        out: where the files go (default: .eval_results).
        dataset_revision: commit of that repository with the rows the run was on.
        date: when it was run (default: left to the commit).
        source_url: a page that says more, such as the run's report.
        source_name: how the page is called.
        source_user: user of the Hub whose page it is.
        source_org: organisation of the Hub whose page it is.
        notes: one line of your own, before what is always noted.
        variant: tells it from another result of the same benchmark, in file name and
            notes.
        allow_partial: also where items have no score; the notes say so.
        force: overwrite files with other content.

    Returns:
        The written files, in the form of `submit --json`.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.submit_eval_results("runs/my-run", dataset_repo="OWNER/NAME")
    """
    from medical_tasks.leaderboard.commands.submit import run as submit
    from medical_tasks.leaderboard.options import SubmitEvalResults

    return captured_report(
        submit, options_from(SubmitEvalResults, locals() | {"to": "eval-results"})
    )


@public
def submit_shared_task(
    run: RunPath | None = None,
    *,
    to: str,
    out: StrPath | None = None,
    allow_problems: bool = False,
    task: str | None = None,
    responses: StrPath | None = None,
    upstream: StrPath | None = None,
    check: StrPath | None = None,
    data: StrPath | None = None,
    source: StrPath | None = None,
    config: str | None = None,
    split: str | None = None,
) -> Report:
    """Writes or checks a submission to a benchmark's shared task; sends nothing.

    Args:
        run: folder of a finished run.
        to: the recipient.
        out: the submission (default: submission.json, or submission.zip for 2026).
        allow_problems: write it with the problems it has.
        task: the task, where the run or the file leaves it open.
        responses: for a run of `score`: the file that it scored.
        upstream: the authors' checkout, if the run used `prompts` official.
        check: check this submission instead, write nothing.
        data: folder of the built dataset (default: the user's data home).
        source: folder of the dataset's release, instead of `data`.
        config: with `check`: dataset configuration.
        split: with `check`: split, instead of the task's own.

    Returns:
        The written files, in the form of `submit --json`.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.submit_shared_task("runs/my-run", to="archehr", out="submission.json")
    """
    from medical_tasks.leaderboard.commands.submit import run as submit
    from medical_tasks.leaderboard.options import SubmitSharedTask

    return captured_report(submit, options_from(SubmitSharedTask, locals()))


@public
def keep_leaderboard(
    action: Literal[
        "list",
        "show",
        "submit",
        "accept",
        "reject",
        "history",
        "entries",
        "check",
        "site",
        "serve",
    ],
    what: str | None = None,
    *,
    store: str,
    state: Literal["pending", "accepted", "rejected"] | None = None,
    task: str | None = None,
    by: str | None = None,
    reason: str | None = None,
    replace: str | None = None,
    out: StrPath | None = None,
    uploads: bool = False,
    host: str | None = None,
    port: int | None = None,
    unverified: bool = False,
    data: StrPath | None = None,
    source: StrPath | None = None,
    responses: StrPath | None = None,
    adjudicated: StrPath | None = None,
    upstream: StrPath | None = None,
    task_args: Mapping[str, object] | None = None,
    judge: str | None = None,
    judge_args: Mapping[str, object] | None = None,
    sample: int = 20,
    seed: int = 0,
    allow_remote: str | Iterable[str] = (),
    attest_zero_retention: bool = False,
    sheet: str | Iterable[str] = (),
    decimal: Literal["comma", "point"] | None = None,
    dates: Literal["day-first", "month-first"] | None = None,
) -> Report:
    """Maintains a leaderboard: lists, accepts or rejects submissions, checks the store, writes the pages.

    Args:
        action: list, show, submit, accept, reject, history, entries, check, site,
            serve.
        what: a submission's id; submit: the package.
        store: a folder, or hub:OWNER/NAME.
        state: list: only these.
        task: entries: of one task.
        by: accept, reject: who decides; kept in the history.
        reason: accept, reject: why, one line; kept in the history.
        replace: accept: the submission has the same model as this accepted one, and
            replaces it.
        out: site: folder of the pages.
        uploads: site: the server of the pages accepts packages.
        host: serve: where it listens (default 127.0.0.1).
        port: serve: at which port (default 7860; 0 picks a free one).
        unverified: accept without scoring the answers again.
        data: folder of the built datasets (default: the user's data home).
        source: file from which your own dataset is built, instead of `data`.
        responses: the answers to credentialed data: a file, or the folder of the run.
        adjudicated: the completed sheet of `adjudicate`, with the readings of unclear
            answers.
        upstream: the authors' checkout, for results with official prompts.
        task_args: folders and files that the run used, e.g. documents=FOLDER.
        judge: ask the package's own judge again, about a sample.
        judge_args: settings of the judge's backend.
        sample: items to ask it about (default: 20).
        seed: which ones (default: 0).
        allow_remote: allow this host to receive the text; requires
            `attest_zero_retention` and is logged.
        attest_zero_retention: you attest that no `allow_remote` host retains the text
            it receives.
        sheet: the sheet of an XLSX file to read, hidden or not (default: the visible
            sheet with the required columns); may be repeated for several files.
        decimal: comma: read 25,238 as 25.238; point: read cells unchanged (default:
            detected from the file; required if it is ambiguous).
        dates: day-first: read 03/04/2020 as 3 April; month-first: read cells unchanged
            (default: as for `decimal`).

    Returns:
        The output of `leaderboard ACTION --json`; `site` writes the pages.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.keep_leaderboard("site", store="my-store", out="site")
    """
    from medical_tasks.leaderboard.commands.leaderboard import run as keep
    from medical_tasks.leaderboard.options import Leaderboard

    return captured_report(keep, options_from(Leaderboard, locals()))


@public
def leakcheck(
    run: RunPath,
    *,
    source: str,
    words: int = 12,
) -> LeakReport:
    """Searches every file of a run's folder for text of a source.

    Args:
        run: folder written by `run` or `score`, or any other folder.
        source: a built dataset's name or folder, or csv, jsonl, json, txt or parquet
            files.
        words: number of consecutive words that count (default: 12).

    Returns:
        The text found, the files compared, and those that could not be read; found text
        raises no error here.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        assert not mt.leakcheck("runs/my-run", source="kqa").found
    """
    from medical_tasks.runs.leak_checking import leakcheck as look_through

    return look_through(options_from(declared.Leakcheck, locals()))


@public
def purge(
    *,
    dry_run: bool = False,
) -> Purged:
    """Empties the private store, which has the answers to tasks on credentialed data.

    Args:
        dry_run: only list the runs to delete.

    Returns:
        The deleted runs, those in use, and unknown files in the store.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.purge(dry_run=True).removed
    """
    from medical_tasks.guard.private_store import purge as empty

    return empty(dry_run=options_from(declared.Purge, locals()).dry_run)


@public
def launch(
    run: declared.Run,
    *,
    print: Literal["slurm", "k8s"],
    shards: int,
    gpus: int = 0,
    image: str | None = None,
) -> str:
    """Returns a job that runs the parts of a run on several machines and merges them; submits nothing.

    Args:
        run: the command of `run`, after --.
        print: the kind of job: a Slurm job array, or a Kubernetes Job.
        shards: the number of parts.
        gpus: GPUs per part (default: none is requested); hf/ models get one process per
            GPU.
        image: container image of `print` k8s (default: medical-tasks:latest).

    Returns:
        A Slurm script, or a Kubernetes Job.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        from medical_tasks.options import Run
        run = Run(tasks="medcalc", model="hf/path", out=Path("runs/my-run"))
        mt.launch(run, print="slurm", shards=8)
    """
    from medical_tasks.runs.launching import launch_text

    return launch_text(options_from(declared.Launch, locals()))


@public
def umls_build(
    *,
    source: StrPath,
    out: StrPath,
    lowercase: bool = False,
    ascii_only: bool = False,
    again: bool = False,
) -> IndexInfo:
    """Builds the index of your UMLS release for MEDCON, unless it exists.

    Args:
        source: folder with MRCONSO.RRF and MRSTY.RRF.
        out: folder for the index.
        lowercase: ignore case, like QuickUMLS with -L.
        ascii_only: ignore accents and similar marks, like QuickUMLS with -U.
        again: build again even if an index of the same files exists.

    Returns:
        The contents of the index.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.umls_build(source="2022AA/META", out="umls-index").terms
    """
    from medical_tasks.scoring.umls.using import build as build_index

    return build_index(options_from(declared.UmlsBuild, locals() | {"step": "build"}))[
        0
    ]


@public
def umls_find(
    text: str,
    *,
    index: StrPath,
    variant: str = "aci-bench",
) -> TextConcepts:
    """Looks up the concepts of a text.

    Args:
        text: find: the text, or "-" for standard input.
        index: folder written by build.
        variant: the variant of MEDCON: aci-bench (default), or archehr with its
            syntactic rules.

    Returns:
        The concepts, in the order of the text.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.umls_find("Heart failure and CKD.", index="umls-index").matches
    """
    from medical_tasks.scoring.umls.using import find

    return find(options_from(declared.UmlsFind, locals() | {"step": "find"}))


@public
def decompose(
    benchmark: Literal["kqa", "doclens"] = "kqa",
    *,
    out: StrPath,
    source: StrPath | None = None,
    work: StrPath | None = None,
    credentialed: bool = False,
    importance: Literal["must", "judge"] | None = None,
    side: Literal["reference", "output"] | None = None,
    task: str | None = None,
    data: StrPath | None = None,
    config: str | None = None,
    split: str | None = None,
    prompts: str | None = None,
    upstream: StrPath | None = None,
    judge: str | None = None,
    judge_args: Mapping[str, object] | None = None,
    votes: int | None = None,
    judging: Literal["single", "batched"] | None = None,
    judge_reply_tokens: int | None = None,
    max_judge_calls: int | None = None,
    max_judge_tokens: int | None = None,
    judge_batch: bool = False,
    forecast: bool = False,
    sheet: str | Iterable[str] = (),
    decimal: Literal["comma", "point"] | None = None,
    dates: Literal["day-first", "month-first"] | None = None,
    allow_remote: str | Iterable[str] = (),
    attest_zero_retention: bool = False,
) -> Report:
    """Splits texts into single statements or claims with a judge model.

    Args:
        benchmark: whose form (kqa if not given).
        out: file for the statements.
        source: the texts.
        work: where replies are kept (default: OUT.work).
        credentialed: the texts are credentialed: they stay on this machine, and replies
            are kept in the private store (references in a file for doclens, and tasks
            on credentialed data, always are).
        importance: must: all under Must_have, for a clinician to sort (default); judge:
            as the judge sorts them.
        side: whose texts.
        task: what they will be scored as (default: doclens_own).
        data: without `source`: folder of the task's built dataset.
        config: without `source`: the dataset's configuration.
        split: without `source`: its split, instead of the task's own.
        prompts: the judge's prompts: own (default) or official.
        upstream: checkout of the authors' repository, for `prompts` official.
        judge: openai-api/HOST/NAME, nli/PATH, vllm-server/NAME, hf/PATH,
            inspect/PROVIDER/NAME, recorded/FILE, or lexical (default: compares words
            and needs no model; scores are not comparable).
        judge_args: settings of the judge's backend.
        votes: votes per verdict; the most frequent one counts (default: the task's own
            number, or 1 for a deterministic judge).
        judging: one call per statement, or one for all statements of an answer
            (default: the task's own mode).
        judge_reply_tokens: longest reply of the judge, instead of the task's own limit;
            a judge that reasons needs more, e.g. 4096.
        max_judge_calls: stop judging after N requests.
        max_judge_tokens: stop judging after N tokens.
        judge_batch: send the judge's requests as batches, which providers answer later
            at a lower price (openai-api/ or inspect/).
        forecast: only estimate the cost of the requests; sends none.
        sheet: the sheet of an XLSX file to read, hidden or not (default: the visible
            sheet with the required columns); may be repeated for several files.
        decimal: comma: read 25,238 as 25.238; point: read cells unchanged (default:
            detected from the file; required if it is ambiguous).
        dates: day-first: read 03/04/2020 as 3 April; month-first: read cells unchanged
            (default: as for `decimal`).
        allow_remote: allow this host to receive the text; requires
            `attest_zero_retention` and is logged.
        attest_zero_retention: you attest that no `allow_remote` host retains the text
            it receives.

    Returns:
        The output of `--json`.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.decompose("kqa", source="answers.jsonl", judge="openai-api/my-host/m",
        out="s.jsonl")
    """
    from medical_tasks.construct.decompose.command import run as do
    from medical_tasks.construct.options import Decompose

    return captured_report(do, options_from(Decompose, locals()))


@public
def error_report(
    run: RunPath,
    *,
    judge: str | None = None,
    judge_args: Mapping[str, object] | None = None,
    data: StrPath | None = None,
    responses: StrPath | None = None,
    upstream: StrPath | None = None,
    allow_remote: str | Iterable[str] = (),
    attest_zero_retention: bool = False,
) -> Report:
    """Classifies the errors of a MedCalc-Bench run, and reports accuracy by number of attributes.

    Args:
        run: folder of a finished run.
        judge: a model that also classifies the errors: hf/PATH, openai-api/HOST/NAME,
            ...
        judge_args: settings of the judge's backend.
        data: folder of the built dataset (default: data home).
        responses: the file of responses that `score` read.
        upstream: checkout of the authors' repository, for a run with `prompts`
            official.
        allow_remote: allow this host to receive the text; requires
            `attest_zero_retention` and is logged.
        attest_zero_retention: you attest that no `allow_remote` host retains the text
            it receives.

    Returns:
        The output of `--json`.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.error_report("runs/my-run")
    """
    from medical_tasks.lab.error_report import run as do
    from medical_tasks.lab.options import Errors

    return captured_report(do, options_from(Errors, locals()))


@public
def correlate(
    scores: StrPath | Iterable[StrPath],
    *,
    against: str,
    columns: str | None = None,
    names: str | None = None,
    seed: int = 0,
    out: StrPath | None = None,
    sheet: str | Iterable[str] = (),
    decimal: Literal["comma", "point"] | None = None,
    dates: Literal["day-first", "month-first"] | None = None,
) -> Report:
    """Correlates scores: do they rank models alike, such as benchmarks and clinicians?

    Args:
        scores: tables of scores, one row per model.
        against: columns of scores to compare with.
        columns: columns of scores to compare (default: all columns of numbers).
        names: columns that name the rows (default: the first column of text).
        seed: seed of the intervals' random draws (default: 0).
        out: also write the table to this file, with all digits.
        sheet: the sheet of an XLSX file to read, hidden or not (default: the visible
            sheet with the required columns); may be repeated for several files.
        decimal: comma: read 25,238 as 25.238; point: read cells unchanged (default:
            detected from the file; required if it is ambiguous).
        dates: day-first: read 03/04/2020 as 3 April; month-first: read cells unchanged
            (default: as for `decimal`).

    Returns:
        The output of `--json`.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.correlate("scores.csv", against="clinician")["pairs"]
    """
    from medical_tasks.lab.correlate_command import run as do
    from medical_tasks.lab.options import Correlate

    return captured_report(do, options_from(Correlate, locals()))


@public
def meta(
    sources: str | Iterable[str],
    *,
    preferences: StrPath | None = None,
    metrics: str | None = None,
    human: str | None = None,
    against: str | None = None,
    less_is_better: str | None = None,
    kendall: Literal["pooled", "item"] = "pooled",
    where: str | Iterable[str] = (),
    task: str | None = None,
    epsilon: float | None = None,
    seed: int = 0,
    out: StrPath | None = None,
    sheet: str | Iterable[str] = (),
    decimal: Literal["comma", "point"] | None = None,
    dates: Literal["day-first", "month-first"] | None = None,
) -> Report:
    """Evaluates metrics: do they agree with people, and with each other?

    Args:
        sources: FILE.csv, FOLDER, SYSTEM=FOLDER or SYSTEM@LABEL=FOLDER.
        preferences: people's preferences.
        metrics: columns of metrics (default: all columns of numbers).
        human: columns of human scores (default: those that begin with human_).
        against: compare all other metrics with this one (default: every pair).
        less_is_better: columns in which lower values are better (known for runs).
        kendall: tau-b over all outputs (default), or within each item and averaged.
        where: compare only outputs with this label.
        task: the task to read if a run has several.
        epsilon: treat values this close as a tie (default: 1e-9).
        seed: seed of the intervals' random draws (default: 0).
        out: also write the JSON output to this file.
        sheet: the sheet of an XLSX file to read, hidden or not (default: the visible
            sheet with the required columns); may be repeated for several files.
        decimal: comma: read 25,238 as 25.238; point: read cells unchanged (default:
            detected from the file; required if it is ambiguous).
        dates: day-first: read 03/04/2020 as 3 April; month-first: read cells unchanged
            (default: as for `decimal`).

    Returns:
        The output of `--json`.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.meta("outputs.csv", preferences="preferences.csv", against="claim_recall")
    """
    from medical_tasks.lab.meta_command import run as do
    from medical_tasks.lab.options import Meta

    return captured_report(do, options_from(Meta, locals()))


@public
def audit(
    dataset: str,
    *,
    source: StrPath,
    out: StrPath,
    corrected: StrPath | None = None,
) -> Report:
    """Checks a dataset's labels against the published rules.

    Args:
        dataset: medcalc, the only dataset whose labels can be recomputed.
        source: the official CSV file.
        out: file for the audited rows.
        corrected: corrected labels of v1.0 (default: the built configuration corrected,
            if any).

    Returns:
        The output of `--json`.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.audit("medcalc", source="test_data.csv", out="audit.csv")
    """
    from medical_tasks.lab.label_audit import run as do
    from medical_tasks.lab.options import Audit

    return captured_report(do, options_from(Audit, locals()))


@public
def construct_benchmark(step: Construct) -> Report:
    """Runs a step of constructing a benchmark like EHRNoteQA, ArchEHR-QA or MedCalc-Bench from your notes.

    Args:
        step: the options of the step, one of those in
            `medical_tasks.construct.options`.

    Returns:
        The output of `construct ... --json`.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        from medical_tasks.construct.options import EhrnoteqaSheet
        step = EhrnoteqaSheet(
            benchmark="ehrnoteqa", step="sheet", folder=Path("work"), reviewers="ann,ben"
        )
        mt.construct_benchmark(step)
    """
    from medical_tasks.construct.command import run as take_step
    from medical_tasks.construct.options import Construct

    if not isinstance(step, Construct):
        raise UsageError(
            "step is a step's options, such as medical_tasks.construct.options.MedcalcSheet(...), "
            f"got {type(step).__name__}."
        )

    return captured_report(take_step, step)


@public
def new_benchmark(
    name: str,
    *,
    yaml: bool = False,
    package: bool = False,
    out: StrPath | None = None,
) -> list[Path]:
    """Writes a working skeleton of a new benchmark.

    Args:
        name: small letters, digits and _, such as first_aid.
        yaml: a YAML file and a table (the default).
        package: a Python package with an entry point and a test.
        out: folder it is written into (default: this one).

    Returns:
        The files that were written.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        mt.new_benchmark("first_aid")
    """
    from medical_tasks.construct.new_benchmark import write
    from medical_tasks.construct.options import NewBenchmark

    return write(options_from(NewBenchmark, locals()))


@public
def swap(
    dataset: str,
    swap: str,
    *,
    out: StrPath,
    data: StrPath | None = None,
    config: str | None = None,
) -> Swapped:
    """Writes a copy of a built dataset in which only one attribute of every patient is changed.

    Args:
        dataset: a built dataset, such as ehrnoteqa.
        swap: what changes and to what: sex=female, insurance=none, name=black.
        out: folder of the new dataset.
        data: folder of the built dataset (default: the data home).
        config: its configuration.

    Returns:
        The folder, the number of changed rows, and the reasons for omitted ones.

    Raises:
        MedicalTasksError: with the message of the command line and the next step.

    Example:
        for value in ("female", "male"):
            swapped = mt.swap("ehrnoteqa", f"sex={value}", out=value)
            mt.run("ehrnoteqa_mc_level1", model="hf/path", data=swapped.folder, out=f"runs/{value}")
        mt.compare("runs/female", "runs/male")
    """
    from medical_tasks.construct.options import Swap
    from medical_tasks.construct.swap.command import swap as write

    return write(options_from(Swap, locals()))


@public
def tasks() -> list[ListedTask]:
    """Lists every task: whether its dataset is built, how to get it, and whether it needs a judge.

    Returns:
        The tasks, in the order of `medical-tasks list`.

    Example:
        [task.name for task in mt.tasks() if "demo" in task.built]
    """
    from medical_tasks.data.listing import listed_tasks

    return listed_tasks()


@public
def doctor() -> list[Finding]:
    """Lists problems on this machine with their solutions, and what is installed.

    Returns:
        The findings; the `level` is "warning", "ok" or "optional".

    Example:
        [finding.text for finding in mt.doctor() if finding.level == "warning"]
    """
    from medical_tasks.harness.examining import examine

    return examine()


@public
def load(
    dataset: str,
    *,
    config: str | None = None,
    split: str | None = None,
    data: str | os.PathLike[str] | None = None,
    fetch: bool = True,
) -> Dataset | DatasetDict:
    """Loads a dataset, and builds it first if necessary.

    `demo` is built from this package, an open dataset from its official files, which
    are downloaded unless `fetch` is False. The rows are read into memory, without a copy
    in a cache.

    Args:
        dataset: its name, such as `medcalc_bench`.
        config: the configuration (default: the dataset's own).
        split: one split, or `a+b` for two.
        data: folder of the built dataset.
        fetch: whether official files may be downloaded.

    Returns:
        The rows of `split`, or those of every split by name.

    Raises:
        MissingError: the dataset is not available; the message has the steps to get it.
    """
    from medical_tasks.catalog import benchmarks, dataset_spec
    from medical_tasks.data.dataset_store import built_configs, read_tables
    from medical_tasks.data.task_data import obtain

    spec = dataset_spec(dataset)
    benchmark = next(
        candidate for candidate in benchmarks() if spec in candidate.datasets
    )
    home = None if data is None else Path(data)
    folder, built_config = obtain(
        benchmark,
        spec,
        home,
        config,
        agreed=lambda source, name: (
            name == "demo" or (fetch and bool(source.pins(name)))
        ),
    )
    tables = read_tables(
        folder,
        built_config,
        split or "+".join(built_configs(folder)[built_config].splits),
        spec=spec,
    )
    from datasets import Dataset, DatasetDict, concatenate_datasets

    datasets = {name: Dataset(table) for name, table in tables.items()}

    return (
        DatasetDict(datasets)
        if split is None
        else concatenate_datasets(list(datasets.values()))
    )


@public
def calc(name: int | str, **inputs: object) -> Result:
    """Calculates a clinical score or value by its published rule.

    Args:
        name: id, slug or name of a calculator.
        inputs: values by the names of the calculator's inputs: numbers, `(1.2,
            "mg/dL")`, or texts such as `"5 ft 10 in"`.

    Returns:
        The answer, every step, and warnings.

    Raises:
        CalculatorInputError: an input is missing, unknown or implausible.

    Example:
        mt.calc("cha2ds2_vasc", age=72, sex="female").answer
    """
    from medical_tasks.calculators import calculate, find

    calculator = find(name)
    inputs_by_name = (
        (key, list(value) if isinstance(value, tuple) else value)
        for key, value in inputs.items()
    )

    return calculate(calculator, calculator.named(inputs_by_name))


def _joined(metrics: object) -> str | None:
    """Joins names of metrics into one text."""
    if metrics is None or isinstance(metrics, str):
        return metrics
    if not isinstance(metrics, Iterable) or isinstance(metrics, bytes):
        raise UsageError(
            f"metrics must be names of metrics, got {type(metrics).__name__} {metrics!r}."
        )
    return ",".join(map(str, metrics))


def _text_rows(
    table: Any, references: Iterable[object] | None
) -> list[tuple[str, Mapping[str, Any]]]:
    """Returns the rows of texts from Python objects, each with its position."""
    for argument in (table,) if references is None else (table, references):
        if not isinstance(argument, Iterable):
            raise UsageError(
                f"mt.score_text needs a table or texts, got {type(argument).__name__}."
            )

    if references is not None:
        predictions, texts = list(table), list(references)
        if len(predictions) != len(texts):
            raise UsageError(
                f"mt.score_text: {len(predictions)} predictions, but {len(texts)} references. "
                "Give one of each."
            )

        pairs = zip(predictions, texts, strict=True)
        table = [
            {"prediction": text, "reference": reference} for text, reference in pairs
        ]

    if hasattr(table, "to_dict"):  # a DataFrame, in which an empty cell is nothing
        table = table.astype(object).where(table.notna(), None).to_dict("records")

    rows = list(table)
    if not all(isinstance(row, Mapping) for row in rows):
        raise UsageError(
            "mt.score_text: give a table of predictions and references, or the references as well."
        )

    return [(f"row {number}", row) for number, row in enumerate(rows, start=1)]
