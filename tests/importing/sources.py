"""Small files in the forms of other harnesses, as those write them (each was compared with files of a real run)."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DATE = "2026-01-02T03-04-05.678901"


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A question in the words of another harness, and the answer to it."""

    id: str
    note: str
    question: str
    answer: str
    more: Mapping[str, Any] = field(default_factory=dict)


def helm(
    folder: Path,
    samples: Sequence[Sample],
    *,
    score: float = 0.21,
    packed: bool = False,
) -> Path:
    """The folder of a run: `Patient note: ... Question: ...` under the row's number."""
    predictions: list[Any] = [
        {
            "instance_id": sample.id,
            "train_trial_index": 0,
            "predicted_text": sample.answer,
            "base64_images": [],
            "stats": {"medcalc_bench_accuracy": 0.0, "num_prompt_tokens": 1067.0},
            **sample.more,
        }
        for sample in samples
    ]
    instances = [
        {
            "input": {
                "text": f"Patient note: {sample.note}\n\nQuestion: {sample.question}\n"
            },
            "references": [{"output": {"text": "1"}, "tags": ["correct"]}],
            "split": "test",
            "id": sample.id,
            "extra_data": {"category": "lab", "upper_limit": "1", "lower_limit": "1"},
        }
        for sample in samples
    ]
    worst = {"name": "robustness", "computed_on": "worst"}
    stats = [
        {
            "name": {"name": "medcalc_bench_accuracy", "split": "test"},
            "count": 1,
            "mean": score,
        },
        {
            "name": {
                "name": "medcalc_bench_accuracy",
                "split": "test",
                "perturbation": worst,
            },
            "mean": 0,
        },
        {
            "name": {"name": "num_prompt_tokens", "split": "test"},
            "count": 1,
            "mean": 1443.6,
        },
        {"name": {"name": "training_co2_cost", "split": "test"}, "count": 0},
    ]
    spec = {
        "name": "medcalc_bench:model=openai_gpt-4o",
        "scenario_spec": {"class_name": "helm.MedCalcBenchScenario", "args": {}},
        "adapter_spec": {
            "method": "generation",
            "instructions": "Compute the value.\n",
            "model": "openai/gpt-4o",
            "temperature": 0.0,
            "max_tokens": 10,
            "stop_sequences": [],
        },
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (
        ("display_predictions", predictions),
        ("instances", instances),
        ("stats", stats),
        ("run_spec", spec),
    ):
        text = json.dumps(content, indent=2).encode()
        path = folder / (f"{name}.json.gz" if packed else f"{name}.json")
        path.write_bytes(gzip.compress(text) if packed else text)
    return folder


def helm_state(folder: Path, samples: Sequence[Sample]) -> Path:
    """A run that is not summarised yet: `scenario_state.json` in place of the files for pages."""
    helm(folder, samples)
    states = [
        {
            "instance": {
                "id": sample.id,
                "input": {
                    "text": f"Patient note: {sample.note}\nQuestion: {sample.question}"
                },
            },
            "train_trial_index": 0,
            "request": {"prompt": f"Compute.\n{sample.note}\n{sample.question}"},
            "result": {"success": True, "completions": [{"text": sample.answer}]},
            **sample.more,
        }
        for sample in samples
    ]
    (folder / "scenario_state.json").write_text(json.dumps({"request_states": states}))
    (folder / "display_predictions.json").unlink()
    (folder / "instances.json").unlink()
    return folder


def lm_eval(folder: Path, samples: Sequence[Sample], *, task: str = "theirs") -> Path:
    """A file of samples with two filters, and the results beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for name in ("none", "number"):
        for number, sample in enumerate(samples):
            prompt = f"Q: {sample.note} {sample.question}\nA:"
            line = {
                "doc_id": number,
                "doc": {"note": sample.note, "q": sample.question, "gold": "1"},
                "target": "1",
                "arguments": {
                    "gen_args_0": {"arg_0": prompt, "arg_1": {"until": ["\n\n"]}}
                },
                "resps": [[sample.answer]],
                "filtered_resps": [sample.answer[:3]],
                "filter": name,
                "metrics": ["exact_match"],
                "exact_match": 0.0,
                **sample.more,
            }
            lines.append(json.dumps(line))
    path = folder / f"samples_{task}_{DATE}.jsonl"
    path.write_text("\n".join(lines) + "\n")
    results = {
        "results": {
            task: {
                "name": task,
                "alias": task,
                "sample_len": len(samples),
                "exact_match,none": 0.25,
                "exact_match_stderr,none": 0.1,
                "exact_match,number": 0.5,
                "exact_match_stderr,number": 0.1,
            }
        },
        "configs": {
            task: {"generation_kwargs": {"max_gen_toks": 256, "temperature": 0.0}}
        },
        "n-shot": {task: 3},
        "lm_eval_version": "0.4.13",
        "model_name": "acme/llm-7b",
    }
    (folder / f"results_{DATE}.json").write_text(json.dumps(results))
    return path


def every_eval_ever(path: Path, samples: Sequence[Sample]) -> Path:
    """Records of two metrics, so that each answer is in the file twice."""
    records = [
        {
            "schema_version": "0.3.0",
            "evaluation_id": "medcalc/acme/1",
            "model_id": "acme/llm-7b",
            "evaluation_name": "MedCalc",
            "evaluation_result_id": metric,
            "sample_id": f"theirs-{sample.id}",
            "interaction_type": "single_turn",
            "input": {"raw": f"{sample.note}\n{sample.question}", "reference": ["1"]},
            "output": {"raw": [sample.answer], "reasoning_trace": ["long thought"]},
            "answer_attribution": [],
            "evaluation": {"score": 0.0, "is_correct": False},
            **sample.more,
        }
        for metric in ("accuracy", "f1")
        for sample in samples
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    aggregate = {
        "schema_version": "0.3.0",
        "evaluation_id": "medcalc/acme/1",
        "eval_library": {"name": "somebody's", "version": "1.0"},
        "evaluation_results": [
            {
                "evaluation_name": "MedCalc",
                "metric_config": {"metric_name": "accuracy"},
                "score_details": {"score": 0.3},
                "generation_config": {"generation_args": {"temperature": 0.7}},
            }
        ],
    }
    path.with_suffix(".json").write_text(json.dumps(aggregate))
    return path


def inspect_sample(
    sample: Sample, *, epoch: int = 1, number: int = 1
) -> dict[str, Any]:
    """A sample of a log, numbered, whose answer has reasoning beside its text."""
    parts = [
        {"type": "reasoning", "reasoning": "it could be 999"},
        {"type": "text", "text": sample.answer},
    ]
    message = {"role": "assistant", "content": parts}
    return {
        "id": number,
        "epoch": epoch,
        "input": [
            {"role": "system", "content": "You compute."},
            {"role": "user", "content": f"{sample.note}\n\n{sample.question}"},
        ],
        "target": "1",
        "messages": [],
        "output": {
            "model": "acme/llm-7b",
            "choices": [{"message": message, "stop_reason": "stop"}],
            "completion": sample.answer,
        },
        "scores": {"match": {"value": "I"}},
        "metadata": {},
        **sample.more,
    }


def inspect_header() -> dict[str, Any]:
    """A log without its samples."""
    metrics = {
        "accuracy": {"name": "accuracy", "value": 0.125},
        "stderr": {"name": "stderr", "value": 0.1},
    }
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "task": "theirs",
            "model": "acme/llm-7b",
            "model_generate_config": {"temperature": 0.0, "reasoning_effort": "high"},
            "packages": {"inspect_ai": "0.3.285"},
        },
        "plan": {"config": {"max_tokens": 512}, "steps": [{"solver": "generate"}]},
        "results": {
            "scores": [{"name": "match", "scorer": "match", "metrics": metrics}]
        },
    }


def inspect_eval(
    path: Path, samples: Sequence[dict[str, Any]], *, header: bool = True
) -> Path:
    """A log as a zip file; without a header it is of a run that was killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = inspect_header()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "_journal/start.json", json.dumps({"version": 2, "eval": whole["eval"]})
        )
        for sample in samples:
            name = f"samples/{sample['id']}_epoch_{sample['epoch']}.json"
            archive.writestr(name, json.dumps(sample))
        if header:
            archive.writestr("header.json", json.dumps(whole))
    return path


def inspect_json(path: Path, samples: Sequence[dict[str, Any]]) -> Path:
    """A log as one JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**inspect_header(), "samples": list(samples)}))
    return path


def lighteval(
    folder: Path, samples: Sequence[Sample], *, task: str = "theirs|0"
) -> Path:
    """A file of details with the results of the run; the task keeps no ids."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [
        {
            "doc": {
                "query": f"Note: {sample.note}\nQuestion: {sample.question}",
                "choices": ["1"],
                "specific": {"gold": "1"},
                "task_name": task,
            },
            "model_response": {
                "text": [f"<think>999</think>{sample.answer}"],
                "text_post_processed": [sample.answer],
                "logprobs": [],
            },
            "metric": {"em": 0.0},
        }
        for sample in samples
    ]
    path = (
        folder / "details" / "acme" / "llm-7b" / DATE / f"details_{task}_{DATE}.parquet"
    )
    path.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), path)
    results = folder / "results" / "acme" / "llm-7b" / f"results_{DATE}.json"
    results.parent.mkdir(parents=True)
    content = {
        "config_general": {
            "lighteval_sha": "?",
            "model_name": "acme/llm-7b",
            "model_config": {
                "generation_parameters": {"temperature": 0.0, "max_new_tokens": 64}
            },
        },
        "results": {task: {"em": 0.5, "em_stderr": 0.1}, "all": {"em": 0.5}},
    }
    results.write_text(json.dumps(content))
    return path
