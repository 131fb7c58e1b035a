"""`medcalc_code`: the model writes a program, the program is run, and what it prints is the answer.

Khandekar et al. 2024, appendix D.1: the model writes code for the arithmetic, is shown the console's error, and has up to
20 tries. As in the reference implementation, the Python blocks of a reply are one program. Unlike there, an answer printed
is final, and a new try sees the question, the last program and its error rather than all of them: so that 20 tries fit
into any model's context, and a model that gives the same program twice is not asked the same 20 times.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, Final

from medical_tasks.medcalc_bench.code_prompts import FAILED, NO_OUTPUT, NO_PROGRAM, NOTHING_SAID, follow_up
from medical_tasks.progress import Progress
from medical_tasks.protocol import Ask, Dialogue, Done, MultiStep, Records, Turn
from medical_tasks.sandbox import SANDBOX_VERSION, Limits, find_runtime, require_sandbox, run_code
from medical_tasks.spec import TaskSpec
from medical_tasks.store import content_key

__all__ = ["MAX_TRIES", "CodeProtocol", "answer_of", "open_protocol", "program_of"]

MAX_TRIES: Final = 20
EXECUTION: Final = "execution"

_MOST_AT_ONCE: Final = 4
_WORTH_TELLING: Final = 10
_SHOWN_ERROR: Final = 2_000
_MOST_PRINTED: Final = 300
_BLOCK = re.compile(
    r"^[ \t]*```[ \t]*(?:python3?|py)[ \t]*\r?\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE | re.IGNORECASE
)
_PLAIN_BLOCK = re.compile(r"^[ \t]*```[ \t]*\r?\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)
_THOUGHTS_END: Final = "</think>"


def open_protocol(task: TaskSpec) -> MultiStep:
    """Opens the protocol of a task.

    Raises:
        MissingError: Programs cannot be closed off on this machine; no program is run then.
    """
    require_sandbox()
    return CodeProtocol()


class CodeProtocol:
    """Programs, run and asked for again until one prints an answer.

    Args:
        limits: what a program may use.
        max_tries: how many programs a model may write for an item.
    """

    def __init__(self, *, limits: Limits | None = None, max_tries: int = MAX_TRIES) -> None:
        self.limits = limits or Limits()
        self.max_tries = max_tries
        self._runs = {
            "sandbox": SANDBOX_VERSION,
            "python": find_runtime().version,
            "limits": dataclasses.asdict(self.limits),
        }
        self.identity: Mapping[str, Any] = {"name": "code", "max_tries": max_tries, **self._runs}

    def next_turns(self, dialogues: Sequence[Dialogue], records: Records) -> list[Turn]:
        """Runs each dialogue's last program; the answer it printed is final, anything else is asked for again."""
        programs = [program_of(dialogue.answers[-1]) for dialogue in dialogues]
        outcomes = self._outcomes({program for program in programs if program}, records)
        return [
            self._turn(dialogue, outcomes.get(program)) for dialogue, program in zip(dialogues, programs, strict=True)
        ]

    def _outcomes(self, programs: set[str], records: Records) -> dict[str, Mapping[str, Any]]:
        keys = {content_key({**self._runs, "program": program}): program for program in sorted(programs)}
        found = {keys[key]: record for key, record in records.get_many(EXECUTION, keys).items()}
        pending = {program: key for key, program in keys.items() if program not in found}
        if not pending:
            return dict(found)
        workers = min(_MOST_AT_ONCE, os.cpu_count() or 1)
        with (
            Progress("programs", len(keys), done=len(found), quiet=len(pending) < _WORTH_TELLING) as progress,
            ThreadPoolExecutor(max_workers=workers, thread_name_prefix="sandbox") as pool,
        ):
            runs = {pool.submit(run_code, program, limits=self.limits): program for program in pending}
            try:
                for run in as_completed(runs):
                    program = runs[run]
                    record = dataclasses.asdict(run.result())
                    records.put(EXECUTION, pending[program], record)
                    found[program] = record
                    progress.step()
            finally:
                # Those not yet begun are not run when one could not be, or when the user stops.
                pool.shutdown(cancel_futures=True)
        return dict(found)

    def _turn(self, dialogue: Dialogue, outcome: Mapping[str, Any] | None) -> Turn:
        if outcome is None:
            problem = NO_PROGRAM
        elif outcome["exit"] != "ok":
            problem = FAILED.format(error=outcome["stderr_tail"].strip()[-_SHOWN_ERROR:])
        else:
            answer = answer_of(outcome["stdout"])
            if answer:
                return Done(answer)
            problem = NO_OUTPUT
        if len(dialogue.answers) >= self.max_tries:
            return Done("")
        last = dialogue.answers[-1]
        return Ask(
            (
                *dialogue.opening,
                {"role": "assistant", "content": last if last.strip() else NOTHING_SAID},
                {"role": "user", "content": follow_up(problem)},
            )
        )


def program_of(reply: str) -> str:
    """Takes the program out of a reply.

    Args:
        reply: the model's raw text.

    Returns:
        Its blocks marked as Python, one after the other; without any, its unmarked blocks; without these the whole reply,
        so that the model sees what Python says to it. Thoughts before the reply do not count. "" when nothing is there.
    """
    text = reply.rpartition(_THOUGHTS_END)[2]
    blocks = _BLOCK.findall(text) or _PLAIN_BLOCK.findall(text)
    return "\n".join(block.rstrip() for block in blocks).strip("\n") if blocks else text.strip()


def answer_of(stdout: str) -> str:
    """Writes the last line a program printed in the form that both scorers read.

    Args:
        stdout: what the program printed.

    Returns:
        A JSON object with the key `answer`; "" when only white space was printed.
    """
    lines = [line.strip() for line in stdout.splitlines() if line.strip()]
    if not lines:
        return ""
    last = lines[-1][-_MOST_PRINTED:]
    return json.dumps({"answer": last}, ensure_ascii=False)
