"""Speed of the endpoint model against a local server that takes 100 ms an answer.

    python measurements/endpoint.py [--requests 500] [--concurrency 32] [--latency 0.1] [--sequential 50]

The sequential figure is measured on fewer requests and extrapolated; `--sequential 500`
measures it whole. A second round lets one attempt in ten fail, to show what retries
cost. Peak memory is that of this process, the server included.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medical_tasks.models.base import Answer, Failure, Request
from medical_tasks.models.chat_client import ChatSettings
from medical_tasks.models.endpoint import EndpointModel
from medical_tasks.spec import Message
from tests.fault_server import Fault, FaultServer, Plan, randomly


def measure(
    count: int, concurrency: int, latency: float, plan: Plan | None = None
) -> tuple[float, int, int]:
    """Sends requests; returns the seconds, and how many were answered and sent."""
    requests = [
        Request(
            key=str(i),
            messages=(Message(role="user", content=f"question {i}"),),
            max_new_tokens=8,
        )
        for i in range(count)
    ]
    counts: Counter[type] = Counter()

    def keep(result: Answer | Failure) -> None:
        counts[type(result)] += 1

    with FaultServer(plan or (), latency=latency) as server:
        chat = ChatSettings(
            base_url=server.base_url, model="m", concurrency=concurrency
        )
        warm = EndpointModel(
            "openai-api/host/m", replace(chat, concurrency=1), sampling={}
        )
        # the client library's import is not what is measured
        warm.generate(requests[:1], lambda result: None)
        model = EndpointModel("openai-api/host/m", chat, sampling={})
        began = time.perf_counter()
        model.generate(requests, keep)
        took = time.perf_counter() - began
        if server.most_at_once > concurrency:
            raise RuntimeError(
                f"{server.most_at_once} requests were in flight, {concurrency} were allowed"
            )
        return took, counts[Answer], len(server.calls) - 1


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--latency", type=float, default=0.1)
    parser.add_argument("--sequential", type=int, default=50)
    options = parser.parse_args()

    took, answers, _ = measure(options.sequential, 1, options.latency)
    alone = took / options.sequential * options.requests
    how = (
        "measured"
        if options.sequential == options.requests
        else f"from {options.sequential} measured in {took:.2f} s"
    )
    print(
        f"sequential: {alone:.2f} s for {options.requests} ({how}), {answers} answers"
    )

    took, answers, _ = measure(options.requests, options.concurrency, options.latency)
    bound = options.requests * options.latency / options.concurrency
    print(
        f"concurrency {options.concurrency}: {took:.2f} s for {options.requests}, {answers} answers, bound {bound:.2f} s"
    )
    print(f"ratio: {alone / took:.1f}")

    faults = [
        Fault.status_code(503),
        Fault.rate_limit("0"),
        Fault.cut(),
        Fault.not_json(),
    ]
    plan = randomly(0.1, faults, seed=1, at_most=6)
    took, answers, sent = measure(
        options.requests, options.concurrency, options.latency, plan
    )
    print(
        f"one attempt in ten failing: {took:.2f} s, {answers} answers, {sent} requests sent"
    )
    print(
        f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB"
    )


if __name__ == "__main__":
    main()
