"""Say what kinds of errors a finished run of MedCalc-Bench made, and how accuracy falls with the number of attributes.

    medical-tasks errors RUN
    medical-tasks errors RUN --judge openai-api/my-host/my-model

RUN is the folder that `run` or `score` wrote. Wrong answers on rows whose label the published rule bears out are sorted into
the paper's types: A knowledge, B extraction, C computation, D other; without a judge from what the reply shows (what shows
nothing is "undetermined": counted, and in the bounds of each share), with --judge by that model too. For a run of `score` give
the file that was scored with --responses. Written into RUN: errors.json, error_items.csv, attributes_TASK.csv and two plots.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.medcalc_bench.spec import BENCHMARK
from medical_tasks.errors import IncompleteError, UsageError
from medical_tasks.guard import policy
from medical_tasks.guard.policy import add_guard_arguments
from medical_tasks.io.output import tell

__all__ = ["add_arguments", "run"]

SCHEMA_VERSION = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of a finished run")
    parser.add_argument(
        "--judge", metavar="MODEL", help="model that sorts the errors too: hf/PATH, openai-api/HOST/NAME, ..."
    )
    parser.add_argument("--judge-args", default="", metavar="K=V,...", help="settings of the judge's backend")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="folder of the built dataset (default: the user's data home)"
    )
    parser.add_argument("--responses", type=Path, metavar="FILE", help="the file that `score` scored")
    parser.add_argument(
        "--upstream", type=Path, metavar="DIR", help="the authors' checkout, if the run used --prompts official"
    )
    add_guard_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Sorts the errors; exit code 5 when the judge left some without a verdict."""
    from medical_tasks.benchmarks.catalog import dataset_spec, task_spec
    from medical_tasks.runs.results import read_results

    folder: Path = arguments.run
    results = read_results(folder)
    known = map(task_spec, results["tasks"])
    specs = [spec for spec in known if spec.benchmark == BENCHMARK and spec.options["style"] != "twins"]
    if not specs:
        raise UsageError(
            f"{folder}: no task of MedCalc-Bench (but twins) in it ({', '.join(results['tasks'])}); only its errors have types."
        )
    if arguments.responses is not None and len(specs) > 1:
        raise UsageError(
            f"{folder}: --responses goes with one task, the run has {', '.join(spec.name for spec in specs)}."
        )
    subjects = [policy.Subject.of(dataset_spec(spec.dataset), task=spec.name) for spec in specs]
    with policy.protect(subjects, policy.attestation_from(arguments)):
        return _sorted_errors(arguments, specs, results)


def _sorted_errors(arguments: argparse.Namespace, specs: Sequence[Any], results: Mapping[str, Any]) -> int:
    from medical_tasks.benchmarks.medcalc_bench.errors_report import (
        distribution,
        rule_rows,
        write_attributes,
        write_errors,
    )
    from medical_tasks.runs.results import read_items

    folder: Path = arguments.run
    items = read_items(folder)
    report: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "tasks": {}}
    rows, paths, wrong = [], [], {}
    for spec in specs:
        entry = results["tasks"][spec.name]
        own = [row for row in items if row["task"] == spec.name]
        found, by_id, counts = _wrong_answers(spec, entry["recipe"], own, arguments)
        wrong[spec.name] = found
        told = (row for row in own if row["accuracy"] is not None)
        scored = [(by_id[row["id"]].fields, row["accuracy"] == 1.0, row["cluster"]) for row in told]
        written, attributes = write_attributes(folder, spec.name, entry["recipe"]["model"]["name"], scored)
        paths += written
        sorted_rows = rule_rows(found)
        rows += sorted_rows
        report["tasks"][spec.name] = {**counts, "rules": distribution(sorted_rows), "attributes": attributes}
    if arguments.judge is not None:
        rows += _judge(arguments, folder, wrong, report)
    paths = [*write_errors(folder, report, rows), *paths]
    tell("\n".join([*_tables(report), "", *map(str, paths)]), report)
    return _finish(report)


def _wrong_answers(
    spec: Any, recipe: Mapping[str, Any], own: Sequence[Mapping[str, Any]], arguments: argparse.Namespace
) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
    from medical_tasks.benchmarks.catalog import dataset_spec
    from medical_tasks.benchmarks.medcalc_bench.errors_report import WrongAnswer
    from medical_tasks.data.task_data import load_task_data
    from medical_tasks.runs.responses import run_responses

    part = {key: recipe["data"][key] for key in ("config", "split")}
    dataset = dataset_spec(spec.dataset)
    part |= {"max_samples": recipe["max_samples"], "shard": recipe.get("shard")}
    data = load_task_data(spec, dataset, data=arguments.data, **part)
    responses = run_responses(
        spec, data, recipe, arguments.run, responses=arguments.responses, upstream=arguments.upstream
    )
    by_id = {item.id: item for item in data.items}
    wrong = [row for row in own if row["accuracy"] == 0.0]
    # nan (a wrong label, or none that the rule could bear out) comes back from parquet as nan.
    examined = [row for row in wrong if row["accuracy_agreed"] == 0.0]
    lost = [row["id"] for row in examined if row["id"] not in responses]
    if lost:
        raise UsageError(
            f"{arguments.run}: {len(lost)} scored answers of {spec.name} are not in its store (first: item {lost[0]}). Give the "
            "folder as `medical-tasks run` left it, or repeat that command and try again."
        )
    found = [WrongAnswer(task=spec.name, item=by_id[row["id"]], response=responses[row["id"]]) for row in examined]
    left_out = len(wrong) - len(examined)
    counts = {"items": len(own), "wrong": len(wrong), "label_not_borne_out": left_out, "examined": len(found)}
    return found, by_id, counts


def _judge(
    arguments: argparse.Namespace, folder: Path, wrong: Mapping[str, Sequence[Any]], report: dict[str, Any]
) -> list[Any]:
    from medical_tasks.benchmarks.medcalc_bench.errors_report import (
        PROMPT_SHA256,
        distribution,
        judge_errors,
        verdict_rows,
    )
    from medical_tasks.judges.base import JudgeOptions
    from medical_tasks.judges.session import open_session
    from medical_tasks.models.opener import full_name, parse_model_args
    from medical_tasks.runs.folder import existing_run_folder

    run = existing_run_folder(folder)
    judge_args = parse_model_args(arguments.judge_args, option="--judge-args")
    rows = []
    with open_session(
        full_name(arguments.judge),
        judge_args,
        JudgeOptions(),
        store=run.answers,
        log_dir=run.logs,
        label="errors",
        must_read=True,
    ) as judge:
        for name, found in wrong.items():
            verdicts = judge_errors([(each.item, each.response) for each in found], judge)
            judged = verdict_rows(found, verdicts)
            rows += judged
            report["tasks"][name]["judge"] = {
                "model": {"name": judge.name, **judge.identity},
                "prompt_sha256": PROMPT_SHA256,
                **distribution(judged),
            }
    return rows


def _tables(report: Mapping[str, Any]) -> list[str]:
    from medical_tasks.io.table import align
    from medical_tasks.runs.numbers import bounds, interval, percent

    lines: list[str] = []
    for name, entry in report["tasks"].items():
        lines.append(
            f"{name}: {entry['wrong']} of {entry['items']} wrong; {entry['examined']} examined, "
            f"{entry['label_not_borne_out']} left out (label not borne out by the published rule)"
        )
        rows, notes = [], []
        for source in ("rules", "judge"):
            if source not in entry:
                continue
            part = entry[source]
            for kind, each in part["types"].items():
                shares = (percent(each["value"]), interval(each), bounds(each))
                rows.append((source, kind, each["meaning"], str(each["count"]), *shares))
            if part["coverage"]["undetermined"]:
                notes.append(
                    f"{source}: {part['coverage']['undetermined']} of {part['coverage']['asked']} answers are undetermined. "
                    f"Shares are over the other {part['n']}; the bounds are for all, whatever type the undetermined ones have."
                )
        lines += [*align(("source", "type", "meaning", "n", "share %", "95 % interval", "bounds %"), rows), *notes]
        lines.append("")
        points = [
            (p["kind"], str(p["attributes"]), "", percent(p["accuracy"]), interval(p), str(p["n"]))
            for p in entry["attributes"]["points"]
        ]
        lines += align(("kind", "attributes", "", "accuracy %", "95 % interval", "n"), points)
        lines.append("")
    return lines[:-1]


def _finish(report: Mapping[str, Any]) -> int:
    missing = []
    for name, entry in report["tasks"].items():
        if reasons := entry.get("judge", {"coverage": {"unscored": {}}})["coverage"]["unscored"]:
            missing.append(f"{name}: " + ", ".join(f"{count} x {reason}" for reason, count in reasons.items()))
    if missing:
        raise IncompleteError(
            f"the judge gave no verdict on every error ({'; '.join(missing)}). The shares are over those it gave, with bounds for "
            "the rest. Give the same command again to ask for the missing ones."
        )
    return 0
