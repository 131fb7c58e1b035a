"""Speed of `hf/` on the toy model: batch sizes, one process or several.

    OMP_NUM_THREADS=1 python measurements/local_models.py --batch-sizes 1,8,32
    ACCELERATE_USE_CPU=true OMP_NUM_THREADS=1 torchrun --nproc_per_node=2 measurements/local_models.py --batch-sizes 8

Loading is not counted. Every row answers the same questions, after a round to warm up.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medical_tasks.models.base import Answer, Failure, Model
from medical_tasks.models.lighteval_models import open_hf
from medical_tasks.models.stand_ins import make_toy_model
from tests.models.toy_texts import TEXTS, ask


def measure(model: Model, count: int, size: int) -> tuple[float, int]:
    """Returns seconds and tokens of `count` answers of at most `size` tokens."""
    requests = [
        ask(f"q{index}", f"{TEXTS[index % len(TEXTS)]} ({index})", size=size)
        for index in range(count)
    ]
    results: list[Answer | Failure] = []
    start = time.perf_counter()
    model.generate(requests, results.append)
    seconds = time.perf_counter() - start
    return seconds, sum(
        result.output_tokens or 0 for result in results if isinstance(result, Answer)
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--batch-sizes", default="1,8,32")
    parser.add_argument("--count", type=int, default=256)
    parser.add_argument("--size", type=int, default=64)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        toy = make_toy_model(Path(scratch) / "toy", TEXTS)
        for batch in options.batch_sizes.split(","):
            model = open_hf(f"hf/{toy}", options={"batch_size": batch})
            measure(model, 16, 8)
            seconds, tokens = measure(model, options.count, options.size)
            if model.is_main:
                print(
                    f"batch {batch:>3}: {options.count / seconds:7.1f} answers/s, {tokens / seconds:7.0f} tokens/s "
                    f"({options.count} answers, {tokens} tokens, {seconds:.2f} s)",
                    flush=True,
                )
            model.close()


if __name__ == "__main__":
    main()
