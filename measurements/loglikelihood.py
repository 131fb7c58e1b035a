"""Time and memory of scoring five choices behind long prompts: this suite's `hf/`, and lighteval's own loop beside it.

    OMP_NUM_THREADS=1 python measurements/loglikelihood.py --batch-sizes 1,8
    OMP_NUM_THREADS=1 python measurements/loglikelihood.py --batch-sizes 8 --lighteval

The model is the toy with a larger vocabulary (rows of random weights that stand for no
word), since that is what the memory goes into. Each line is a process of its own, so
that its peak of memory is its own; what the process holds before it asks is subtracted.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medical_tasks.models.lighteval_models import open_hf
from medical_tasks.models.stand_ins import make_toy_model
from tests.models.choice_runs import choose
from tests.models.toy_texts import TEXTS


def widen(folder: Path, vocabulary: int) -> None:
    """Gives the toy rows of random weights up to a vocabulary's size."""
    import torch
    from transformers import AutoModelForCausalLM

    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)
    model.resize_token_embeddings(vocabulary, mean_resizing=False)
    model.save_pretrained(folder)


def peak() -> int:
    """Returns the peak memory of this process, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(
    folder: str, batch: str, questions: int, tokens: int, lightevals: bool
) -> None:
    """Scores the questions once and prints a line."""
    model: Any = open_hf(f"hf/{folder}", options={"batch_size": batch})
    layout = model.setup.layout
    words = " ".join(TEXTS * 3).split()
    per_token = len(words) / len(layout.tokens(" ".join(words)))
    text = " ".join(words[: int(tokens * per_token)])
    requests = [choose(f"q{index}", f"{index} {text}") for index in range(questions)]
    length = model.lengths(requests[:1])[0]
    before = peak()
    start = time.perf_counter()
    if lightevals:
        from lighteval.tasks.requests import Doc

        prompts = [layout.render(request.messages) for request in requests]
        model.inner.loglikelihood(
            [
                Doc(query=prompt, choices=list("ABCDE"), gold_index=0, task_name="m")
                for prompt in prompts
            ]
        )
    else:
        done: list[Any] = []
        model.loglikelihood(requests, done.append)
    seconds = time.perf_counter() - start
    name = "lighteval alone" if lightevals else "this suite"
    more = (peak() - before) / 2**20
    print(
        f"{name}, batch {batch:>2}, {length.tokens} tokens: {5 * questions / seconds:6.2f} texts/s, {more:6.0f} MiB more",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--batch-sizes", default="1,8")
    parser.add_argument("--questions", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--vocabulary", type=int, default=32000)
    parser.add_argument("--lighteval", action="store_true")
    parser.add_argument("--model", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.model:
        measure(
            options.model,
            options.batch_sizes,
            options.questions,
            options.tokens,
            options.lighteval,
        )
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = make_toy_model(Path(scratch) / "toy", TEXTS)
        widen(folder, options.vocabulary)
        for batch in options.batch_sizes.split(","):
            words = [
                "--model",
                str(folder),
                "--batch-sizes",
                batch,
                "--questions",
                str(options.questions),
            ]
            words += [
                "--tokens",
                str(options.tokens),
                *(["--lighteval"] if options.lighteval else []),
            ]
            subprocess.run(
                [sys.executable, __file__, *words],
                check=True,
                stderr=subprocess.DEVNULL,
            )


if __name__ == "__main__":
    main()
