"""One process of a distributed run, started by torchrun from `test_data_parallel.py`; writes its results as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from medical_tasks.models.base import Answer, Failure, Model
from medical_tasks.models.lighteval_models import open_hf
from tests.models.choice_runs import CHOICES, choose
from tests.models.toy_texts import TEXTS, ask


def choice_runs(model: Model) -> list[dict[str, str]]:
    """Probabilities of choices for 13 questions and for one, each time with one that is too long."""
    runs = []
    for count in (13, 1):
        requests = [*CHOICES[:count], choose("long", "cough " * 400)]
        results: list[Answer | Failure] = []
        model.loglikelihood(requests, results.append)
        assert model.lengths(requests)[-1] is not None
        runs.append(
            {
                result.key: result.text if isinstance(result, Answer) else result.reason
                for result in results
            }
        )
    return runs


def main(folder: str, out: str, counts: str) -> None:
    from accelerate import PartialState

    model = open_hf(f"hf/{folder}", options={"batch_size": "4", "max_length": "300"})
    state = PartialState()
    runs: list[dict[str, object]] = []
    for count in map(int, counts.split(",")):
        requests = [
            ask(f"q{index}", TEXTS[index * 2], size=16 + index % 2)
            for index in range(count)
        ]
        requests.append(ask("long", "cough " * 400))
        # Only the main process has the list of pending requests; the others must
        # receive it.
        keys = model.share(
            [request.key for request in requests] if model.is_main else ["mine"]
        )
        by_key = {request.key: request for request in requests}
        results: list[Answer | Failure] = []
        model.generate([by_key[key] for key in keys], results.append)
        runs.append(
            {
                "answers": {
                    result.key: [result.text, result.output_tokens, result.finish]
                    for result in results
                    if isinstance(result, Answer)
                },
                "failures": {
                    result.key: result.reason
                    for result in results
                    if isinstance(result, Failure)
                },
            }
        )
    choices = {"1": choice_runs(model), "8": []}
    model.close()
    wide = open_hf(f"hf/{folder}", options={"batch_size": "8", "max_length": "300"})
    choices["8"] = choice_runs(wide)
    wide.close()
    report: dict[str, object] = {"choices": choices}
    report |= {
        "world": state.num_processes,
        "is_main": model.is_main,
        "identity": dict(model.identity),
        "runs": runs,
    }
    Path(out, f"rank{state.process_index}.json").write_text(
        json.dumps(report), encoding="utf-8"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
