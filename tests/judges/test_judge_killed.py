"""Judged runs that are killed, and several on one store: nothing is lost, doubled or changed."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from medical_tasks.io.store import Store
from medical_tasks.judges.session import VERDICT
from tests.fault_server import FaultServer
from tests.judges.judged_runs import WARM, JudgedRuns, judged_run
from tests.judges.scripted_judge import answer, number_of, truth

pytestmark = pytest.mark.slow

KILLS = 50
LONGEST_S = 0.07
LATENCY_S = 0.03
CONCURRENCY = 4
# More than all killed runs together get through, so that each of them is killed in the middle of its work.
COUNT = 300


def asked_of(server: FaultServer) -> Counter[int]:
    """How often each question was asked, but for the one before all runs."""
    asked = Counter(number_of(call) for call in server.calls)
    asked.pop(WARM, None)
    return asked


def expected(first: int, last: int) -> dict[str, str]:
    return {f"q{number}": truth(number) for number in range(first, last)}


def test_fifty_kills_change_no_verdict_and_repeat_only_what_was_under_way(tmp_path: Path) -> None:
    moments = random.Random(4)
    store, out = tmp_path / "verdicts.sqlite", tmp_path / "out.json"
    progress = [0]
    with FaultServer(answer=answer, latency=LATENCY_S) as server, JudgedRuns(server.base_url) as runs:
        for kill in range(KILLS):
            before = len(server.calls)
            pid = runs.start(store, 0, COUNT, concurrency=CONCURRENCY, out=out)
            # One in five at any moment of its start, the others at any moment of their work.
            while kill % 5 and len(server.calls) == before:
                time.sleep(0.001)
            time.sleep(moments.uniform(0, LONGEST_S))
            os.kill(pid, signal.SIGKILL)
            assert runs.wait(pid) == -signal.SIGKILL
            if store.is_file() and store.stat().st_size:
                with Store(store) as opened:
                    progress.append(opened.counts(VERDICT)[0])
            # At any moment all but those under way are kept, however many kills there were before.
            asked = asked_of(server)
            assert asked.total() - len(asked) <= CONCURRENCY * (kill + 1)
        pid = runs.start(store, 0, COUNT, concurrency=32, out=out)
        assert runs.wait(pid) == 0
    assert json.loads(out.read_text()) == expected(0, COUNT)
    asked = asked_of(server)
    assert set(asked) == set(range(COUNT))
    repeated = asked.total() - COUNT
    assert 0 < repeated <= CONCURRENCY * KILLS
    # The kills did fall into the work: many runs got something done, and none got it all.
    assert progress == sorted(progress)
    assert len(set(progress)) > KILLS / 4
    assert progress[-1] < COUNT
    with Store(store) as opened:
        assert opened.counts(VERDICT) == (COUNT, COUNT)


def test_an_undisturbed_run_says_the_same(tmp_path: Path) -> None:
    with FaultServer(answer=answer) as server:
        assert judged_run(server.base_url, tmp_path / "s", 0, 100, concurrency=32) == expected(0, 100)
        assert len(server.calls) == 100
        # Again from the store alone.
        assert judged_run("http://127.0.0.1:9/v1", tmp_path / "s", 0, 100, concurrency=1) == expected(0, 100)


def test_several_processes_share_a_store(tmp_path: Path) -> None:
    store = tmp_path / "verdicts.sqlite"
    parts = [(0, 60), (30, 90), (60, 120), (0, 120)]
    with FaultServer(answer=answer, latency=0.005) as server, JudgedRuns(server.base_url) as runs:
        outs = [tmp_path / f"{number}.json" for number in range(len(parts))]
        pids = [
            runs.start(store, first, last, concurrency=8, out=out)
            for (first, last), out in zip(parts, outs, strict=True)
        ]
        assert [runs.wait(pid) for pid in pids] == [0] * len(parts)
    for (first, last), out in zip(parts, outs, strict=True):
        assert json.loads(out.read_text()) == expected(first, last)
    asked = asked_of(server)
    with Store(store) as opened:
        records, times = opened.counts(VERDICT)
    assert records == len(asked) == 120
    # Whoever asked, kept what it heard: no write of one process was lost to another's.
    assert times == asked.total()
