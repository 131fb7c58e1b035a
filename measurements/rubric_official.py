"""HealthBench: the figures of the authors' unchanged code, beside ours, on the same verdicts.

    python -m measurements.rubric_official CHECKOUT [--python PYTHON] [--sets 20]

CHECKOUT is a checkout of openai/simple-evals, a folder whose name Python can import
(simple_evals). PYTHON has what its `healthbench_eval.py` imports; of `blobfile`, which
downloads, a name is enough. Its `grade_sample` and `_aggregate_get_clipped_mean` get
invented conversations, in the published form, and a judge that decides by the hash of
its prompt. Ours reads the same file, and its server decides alike: a prompt that
differs by a letter would change the verdict.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import medical_tasks.plugins as plugins
from medical_tasks.cli import main as medical_tasks
from medical_tasks.runs.results import read_results
from tests.fault_server import Call, FaultServer

EXAMPLE: Final = Path(__file__).parents[1] / "examples" / "medical_rubric"
AXES: Final = "accuracy completeness communication_quality context_awareness instruction_following"
DRIVER: Final = """
import hashlib, json, sys, types
from pathlib import Path
sys.modules["blobfile"] = types.ModuleType("blobfile")
checkout, folder = Path(sys.argv[1]), Path(sys.argv[2])
sys.path.insert(0, str(checkout.parent))
theirs = __import__(checkout.name + ".healthbench_eval").healthbench_eval
reply = __import__(checkout.name + ".types").types
class Grader:
    def __call__(self, messages):
        met = hashlib.sha256(messages[-1]["content"].encode()).digest()[0] % 5 < 2
        return reply.SamplerResponse(json.dumps({"explanation": "so", "criteria_met": met}), messages, {})
evaluation = object.__new__(theirs.HealthBenchEval)
evaluation.grader_model = Grader()
answers = {each["id"]: each["response"] for each in map(json.loads, (folder / "answers.jsonl").open())}
results = []
for row in map(json.loads, (folder / "rows.jsonl").open()):
    items = [theirs.RubricItem.from_dict(each) for each in row["rubrics"]]
    metrics, _, _ = evaluation.grade_sample(row["prompt"], answers[row["prompt_id"]], row["example_tags"], items)
    results.append(reply.SingleEvalResult(score=metrics["overall_score"], metrics=metrics))
found = theirs._aggregate_get_clipped_mean(results)
figures = {name: float(value) for name, value in found.metrics.items() if not name.endswith(("n_samples", "bootstrap_std"))}
(folder / "figures.json").write_text(json.dumps(figures | {"score": float(found.score)}), encoding="utf-8")
"""


def conversation(chance: random.Random, name: str) -> dict[str, object]:
    """Draws a line as published: a chat of one to five messages, and two to nine criteria."""
    turns = [f"{name}, message {n}. Ä <<rubric>> {chance.random()}" for n in range(chance.choice((1, 3, 5)))]  # fmt: skip
    rubrics = [
        {
            "criterion": f"Says {chance.random()}\nand such as this.",
            "points": chance.choice((-9, -5, -2, 1, 3, 7, 10))
            if n
            else chance.randint(1, 10),
            "tags": [
                chance.choice(("level:cluster", "level:example")),
                f"axis:{chance.choice(AXES.split())}",
            ],
        }
        for n in range(chance.randint(2, 9))
    ]
    themes = ["theme:hedging", "theme:global_health", "theme:communication"]
    return {
        "example_tags": [
            chance.choice(themes),
            f"physician_agreed_category:{chance.choice('abc')}",
        ],
        "ideal_completions_data": None,
        "prompt": [
            {"role": ("user", "assistant")[n % 2], "content": text}
            for n, text in enumerate(turns)
        ],
        "prompt_id": name,
        "rubrics": rubrics,
        "canary": "healthbench:invented",
    }


def write_lines(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Writes JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def judged(call: Call) -> str:
    """Returns the same verdict as the driver's grader."""
    met = hashlib.sha256(call.prompt.encode()).digest()[0] % 5 < 2
    return json.dumps({"explanation": "so", "criteria_met": met})


def quietly(*words: str) -> None:
    """Runs a command that must succeed."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        code = medical_tasks(list(words))
    assert code == 0, output.getvalue()


def our_figures(folder: Path, checkout: Path, seed: int) -> dict[str, float | None]:
    """Scores the answers by `medical-tasks score`; returns the figures under the authors' names."""
    source, answers, out = (
        str(folder / name) for name in ("rows.jsonl", "answers.jsonl", "run")
    )
    quietly("build", "medical_rubric", "--config", "full", "--source", source)
    with FaultServer(answer=judged) as server:
        os.environ["JUDGING_BASE_URL"] = server.base_url
        options = [
            "--judge",
            f"openai-api/judging/judge-{seed}",
            "--prompts",
            "official",
        ]
        options += ["--upstream", str(checkout), "--config", "full"]
        quietly(
            "score", "medical_rubric", "--responses", answers, *options, "--out", out
        )
    entry: Any = read_results(Path(out))["tasks"]["medical_rubric"]
    figures = {"score": entry["metrics"]["points"]["value"]}
    for by, groups in entry["breakdown"].items():
        for group, metrics in groups.items():
            whole = by == "theme" and ":" in group
            figures[group if whole else f"{by}:{group}"] = metrics["points"]["value"]
    return {name: value for name, value in figures.items() if value is not None}


def main() -> None:
    """Compares sets of conversations in folders of their own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--sets", type=int, default=20)
    options = parser.parse_args()
    checkout, compared, apart = options.checkout.resolve(), 0, []
    for seed in range(options.sets):
        chance = random.Random(seed)
        with tempfile.TemporaryDirectory() as name, plugins.using([str(EXAMPLE)]):
            folder = Path(name)
            os.environ |= {
                "MEDICAL_TASKS_HOME": str(folder / "home"),
                "MEDICAL_TASKS_DATA": str(folder / "data"),
                "JUDGING_API_KEY": "none",
            }
            rows = [
                conversation(chance, f"{seed}-{n}")
                for n in range(chance.randint(2, 40))
            ]
            write_lines(folder / "rows.jsonl", rows)
            answers = [
                {"id": row["prompt_id"], "response": f"Reply {chance.random()}"}
                for row in rows
            ]
            write_lines(folder / "answers.jsonl", answers)
            command = [options.python, "-c", DRIVER, str(checkout), str(folder)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            theirs = json.loads((folder / "figures.json").read_text(encoding="utf-8"))
            assert theirs.pop("overall_score") == theirs["score"]
            ours = our_figures(folder, checkout, seed)
        assert ours.keys() == theirs.keys(), ours.keys() ^ theirs.keys()
        compared += len(ours)
        apart += [(seed, key) for key in ours if abs(ours[key] - theirs[key]) > 1e-12]
    print(f"figures: {compared} compared, {len(apart)} differ {apart[:5]}")


if __name__ == "__main__":
    main()
