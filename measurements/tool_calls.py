"""Whether errors planted in a model's calls are found: how many, where, and with what coverage.

    OMP_NUM_THREADS=1 python measurements/tool_calls.py --data FOLDER [--draws 1000] [--items 500]
    OMP_NUM_THREADS=1 python measurements/tool_calls.py --data FOLDER --served

FOLDER is a built medcalc_bench with the configuration v1.0. Each draw takes items with
replacement and a model that fails at each step with a chance of its own: 10 % of the
answers come without a call, 10 % of the calls are of another tool, 10 % of the right
tool's have one wrong argument (another value, another unit, one left out, one too many), and 10 % of
the answers to a right call are not its result. Printed are the figures that the suite
gives, their true values, and how often its 95 % intervals hold these.

`--served` asks such a model once behind an OpenAI endpoint, compares every message that
the server received with what it must be, and the figures with what was planted.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, cast

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medical_tasks.benchmarks.medcalc_bench.declarations import DATASET
from medical_tasks.benchmarks.medcalc_bench.gold import recompute_or_none
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC_TOOLS
from medical_tasks.benchmarks.medcalc_bench.tool_protocol import result_of
from medical_tasks.benchmarks.medcalc_bench.tool_scoring import score_tool_items
from medical_tasks.cli import main as command
from medical_tasks.data.task_data import load_task_data
from medical_tasks.runs.summary import ScoredTask, summary_of
from medical_tasks.spec import Item, ItemScore
from tests.tool_server import ARGUMENT_ERRORS, Caller, Error, ToolServer, planted
from tests.tool_server import right_arguments as arguments_of

SHARE: Final = 0.1
"""How often the model fails at each step."""
SEED: Final = 37
STEPS: Final = (
    "called",
    "right_tool",
    "arguments_right",
    "all_arguments_right",
    "result_used",
)

Generator = np.random.Generator
Variant = Error | None


def main() -> None:
    """Simulates, or asks a served model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--items", type=int, default=500)
    parser.add_argument("--served", action="store_true")
    arguments = parser.parse_args()
    data = load_task_data(MEDCALC_TOOLS, DATASET, data=arguments.data, config="v1.0")
    if arguments.served:
        serve(arguments.data, data.items)
    else:
        simulate(data.items, draws=arguments.draws, size=arguments.items)


@dataclass(frozen=True)
class Scored:
    """An item's score with each error that the model can make; None for none."""

    item: Item
    by_error: Mapping[Variant, ItemScore]
    wrong: tuple[Error, ...]  # the argument errors that change its call


def scored(items: Sequence[Item]) -> list[Scored]:
    """Scores every item with each error once."""
    results: list[Scored] = []
    for item in items:
        if recompute_or_none(item.fields) is None:
            continue  # its right arguments are not known
        right = arguments_of(item)
        wrong = tuple(
            error for error in ARGUMENT_ERRORS if planted(item, error) != right
        )
        errors: tuple[Variant, ...] = (None, "no_call", "tool", "unused", *wrong)
        answers = [
            Caller([item], {} if error is None else {item.id: error}).conversation(item)
            for error in errors
        ]
        scores = score_tool_items(MEDCALC_TOOLS, [item] * len(errors), answers)
        results.append(
            Scored(
                item=item,
                by_error=dict(zip(errors, scores, strict=True)),
                wrong=wrong,
            )
        )
    return results


def drawn_error(scored_item: Scored, generator: Generator) -> Variant:
    """Draws the error of the model on an item: the first step at which it fails."""
    fails = generator.random(4) < SHARE
    if fails[0]:
        return "no_call"
    if fails[1]:
        return "tool"
    if fails[2]:
        return scored_item.wrong[int(generator.integers(len(scored_item.wrong)))]
    return "unused" if fails[3] else None


def true_values(every: Sequence[Scored]) -> dict[str, float]:
    """Computes the expected figures."""
    called, right = 1 - SHARE, 1 - SHARE
    weights = stated = 0.0
    for scored_item in every:
        chances: list[tuple[Variant, float]] = [(None, 1 - SHARE)]
        chances += [
            (error, SHARE / len(scored_item.wrong)) for error in scored_item.wrong
        ]
        for error, chance in chances:
            score = scored_item.by_error[error]
            count = score.weights["arguments_right"]
            value = score.values["arguments_right"]
            stated += chance * count
            weights += chance * count * (0.0 if math.isnan(value) else value)
    return {
        "called": called,
        "right_tool": called * right,
        "arguments_right": weights / stated,
        "all_arguments_right": 1 - SHARE,
        "result_used": used_share(every),
    }


def used_share(every: Sequence[Scored]) -> float:
    """Computes the expected share of used results among answers with a result of the right tool."""
    used = total = 0.0
    for scored_item in every:
        chances: list[tuple[Variant, float]] = [
            (None, (1 - SHARE) ** 2),
            ("unused", (1 - SHARE) * SHARE),
        ]
        chances += [
            (error, SHARE / len(scored_item.wrong)) for error in scored_item.wrong
        ]
        for error, chance in chances:
            value = scored_item.by_error[error].values["result_used"]
            if not math.isnan(value):
                total += chance
                used += chance * value
    return used / total


def simulate(items: Sequence[Item], *, draws: int, size: int) -> None:
    """Simulates many models; prints means and coverage."""
    every = scored(items)
    truth = true_values(every)
    generator = np.random.default_rng(SEED)
    held: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    for _ in range(draws):
        chosen = generator.integers(len(every), size=size)
        pairs = [
            (str(number), every[index], drawn_error(every[index], generator))
            for number, index in enumerate(chosen)
        ]
        drawn = [
            replace(scored_item.item, id=name, cluster=name)
            for name, scored_item, _ in pairs
        ]
        scores = {
            name: replace(scored_item.by_error[error], id=name)
            for name, scored_item, error in pairs
        }
        summary = summary_of(
            ScoredTask(
                task=MEDCALC_TOOLS,
                items=drawn,
                repeats=[scores],
                unanswered=[{}],
            )
        )
        for name in STEPS:
            figure = summary.metrics[name]
            value, low, high = (
                cast("float", figure[key]) for key in ("value", "ci_low", "ci_high")
            )
            sums[name] += value  # type: ignore[assignment]
            held[name] += low <= truth[name] <= high
    print(f"{draws} models, {size} items each, of {len(every)} with known arguments")
    print(f"{'figure':<20}  {'true':>7}  {'mean':>7}  coverage")
    for name in STEPS:
        print(
            f"{name:<20}  {truth[name]:7.2%}  {sums[name] / draws:7.2%}  {held[name] / draws:.1%}"
        )


def serve(folder: Path, items: Sequence[Item]) -> None:
    """Runs a served model, and compares the requests and the errors found with those planted."""
    generator = np.random.default_rng(SEED)
    errors: dict[str, Error] = {}
    for item in items:
        right = arguments_of(item)
        wrong = [error for error in ARGUMENT_ERRORS if planted(item, error) != right]
        is_known = recompute_or_none(item.fields) is not None
        if is_known and wrong and generator.random() < SHARE:
            errors[item.id] = wrong[int(generator.integers(len(wrong)))]
    caller = Caller(items, errors)
    with tempfile.TemporaryDirectory() as scratch, ToolServer(caller) as server:
        os.environ |= {"TOOLS_BASE_URL": server.base_url, "TOOLS_API_KEY": "x"}
        run = ["run", "--tasks", "medcalc_tools", "--model", "openai-api/tools/m"]
        run += ["--data", str(folder), "--config", "v1.0", "--out", f"{scratch}/run"]
        code = command(run)
        entry = json.loads(Path(scratch, "run", "results.json").read_text())
    received = Counter[str]()
    for call in server.calls:
        messages = call.body["messages"]
        item = caller.item_of(messages[0]["content"])
        if len(messages) == 1:
            received["first questions"] += 1
            continue
        received["questions with results"] += 1
        expected = caller.call(item)
        names = [tool["function"]["name"] for tool in call.body["tools"]]
        assert expected is not None
        assistant, result = messages[1:]
        sent = assistant["tool_calls"][0]
        received["calls as they were made"] += (
            sent["id"] == expected["id"]
            and sent["function"]["name"] == expected["name"]
            and json.loads(sent["function"]["arguments"]) == expected["arguments"]
        )
        received["results of these calls"] += result == {
            "role": "tool",
            "content": result_of(expected, names),
            "tool_call_id": expected["id"],
        }
    figures = entry["tasks"]["medcalc_tools"]
    metric = figures["metrics"]["all_arguments_right"]
    print(f"exit code {code}; received: {dict(received)}")
    print(
        f"planted: {len(errors)} of {metric['n']} calls, {dict(Counter(errors.values()))}"
    )
    print(
        f"found: {1 - metric['value']:.2%} ({1 - metric['ci_high']:.2%} to {1 - metric['ci_low']:.2%}); "
        f"{ {name: count for name, count in figures['notes'].items() if name.startswith('argument_')} }"
    )


if __name__ == "__main__":
    main()
