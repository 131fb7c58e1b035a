"""`medcalc_code`: the model writes a program, the program is run in the sandbox (Khandekar et al. 2024, appendix D.1).

With our prompts a printed answer is final. With the authors' (`generate_code_prompt.py`)
the chat keeps the whole dialogue, the model sees what its program wrote, and answers
between two tags. The program is all fenced blocks marked as Python; else unmarked blocks,
or a reply, that print something. A failed request is no try.

A new try shows the question, the last program and its error. The authors' dialogue ends
when the model answers between the two tags on one line; a program that asks for input,
or the twentieth reply, ends it as wrong. Every model gets the messages for OpenAI's
models and Llama 3, not the script's variants for Meditron and PMC-LLaMA.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import os
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.medcalc_bench.official import tagged_answer
from medical_tasks.benchmarks.medcalc_bench.official_prompts import (
    OfficialCode,
    read_code,
)
from medical_tasks.benchmarks.medcalc_bench.prompts import TEXTS
from medical_tasks.io.progress import Progress
from medical_tasks.io.store import content_key
from medical_tasks.sandbox import (
    SANDBOX_VERSION,
    Limits,
    find_runtime,
    require_sandbox,
    run_code,
)
from medical_tasks.spec import (
    Ask,
    Dialogue,
    Done,
    Message,
    MultiStep,
    Records,
    TaskSpec,
    Turn,
)

__all__ = [
    "MAX_TRIES",
    "CodeProtocol",
    "OfficialCodeProtocol",
    "answer_of",
    "open_protocol",
    "program_of",
]

MAX_TRIES: Final = 20
EXECUTION: Final = "execution"

_MOST_AT_ONCE: Final = 4
_WORTH_TELLING: Final = 10
_SHOWN_ERROR: Final = 2_000
_MOST_PRINTED: Final = 300
# A fence may stand in a list or a quotation, and text after the language (a title) is
# passed over.
_FENCE: Final = re.compile(
    r"(?P<lead>[ \t]*(?:(?:>|[-*+]|\d{1,3}[.)])[ \t]*)*)(?P<fence>`{3,}|~{3,})(?P<info>.*)"
)
_PYTHON: Final = re.compile(
    r"[\s{.]*(?:lang(?:uage)?[-=:])?(?:i?python|py)[\d.]*(?![\w-])[ \t]*", re.IGNORECASE
)
_PRINTS: Final = re.compile(r"\bprint\s*\(")
_ESCAPE: Final = re.compile(r"\\(?!\r?\n).", re.DOTALL)
_THOUGHTS_END: Final = "</think>"
_THEIR_BLOCK: Final = re.compile(r"```python\n(.*?)```", re.DOTALL)
# A program for the sandbox, never for this process: it runs a model's as the authors'
# script does, without `__main__`, and with what it writes and its error in one text.
# The names are those that stand in the traceback there.
_THEIR_RUN: Final = """import sys, traceback
sys.stderr = sys.stdout
def capture_exec_output_and_errors(code):
    globals = {{}}
    try:
        exec(code, globals)
    except Exception:
        traceback.print_exc()
capture_exec_output_and_errors({program!r})
"""


def open_protocol(
    task: TaskSpec, *, prompts: str = "own", upstream: Path | None = None
) -> MultiStep:
    """Opens the protocol of a task.

    No program is run where programs cannot be closed off (`MissingError`).
    """
    official = read_code(upstream) if prompts == "official" else None
    require_sandbox()
    return CodeProtocol() if official is None else OfficialCodeProtocol(official)


class _Programs:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        python, allowed = find_runtime().version, dataclasses.asdict(limits)
        self.identity: dict[str, Any] = {
            "sandbox": SANDBOX_VERSION,
            "python": python,
            "limits": allowed,
        }

    def outcomes(
        self, programs: Iterable[str], records: Records
    ) -> dict[str, Mapping[str, Any]]:
        """Program to its outcome, from the records or the sandbox; an empty program has none."""
        keys = {
            content_key({**self.identity, "program": program}): program
            for program in sorted({*programs} - {""})
        }
        by_program = {
            keys[key]: record
            for key, record in records.get_many(EXECUTION, keys).items()
        }
        pending = {
            program: key for key, program in keys.items() if program not in by_program
        }
        if not pending:
            return dict(by_program)

        workers = min(_MOST_AT_ONCE, os.cpu_count() or 1)
        with (
            Progress(
                "programs",
                len(keys),
                done=len(by_program),
                quiet=len(pending) < _WORTH_TELLING,
            ) as progress,
            ThreadPoolExecutor(
                max_workers=workers, thread_name_prefix="sandbox"
            ) as pool,
        ):
            runs = {
                pool.submit(run_code, program, limits=self.limits): program
                for program in pending
            }
            try:
                for run in as_completed(runs):
                    program = runs[run]
                    record = dataclasses.asdict(run.result())
                    records.put(EXECUTION, pending[program], record)
                    by_program[program] = record
                    progress.step()
            finally:
                # Those not yet begun are not run when one could not be, or when the
                # user stops.
                pool.shutdown(cancel_futures=True)

        return dict(by_program)


class CodeProtocol:
    """Programs, run and asked for again until one prints an answer."""

    def __init__(
        self, *, limits: Limits | None = None, max_tries: int = MAX_TRIES
    ) -> None:
        self.max_tries = max_tries
        self._programs = _Programs(limits or Limits())
        self.identity: Mapping[str, Any] = {
            "name": "code",
            "max_tries": max_tries,
            **self._programs.identity,
        }

    def next_turns(self, dialogues: Sequence[Dialogue], records: Records) -> list[Turn]:
        """Runs each dialogue's last program.

        The answer it printed is final, anything else is asked for again.
        """
        programs = [program_of(dialogue.answers[-1]) for dialogue in dialogues]
        outcomes = self._programs.outcomes(programs, records)
        return list(map(self._turn, dialogues, map(outcomes.get, programs)))

    def _turn(self, dialogue: Dialogue, outcome: Mapping[str, Any] | None) -> Turn:
        """Decides after a run of the model's program; `outcome` is None without one.

        What a program prints is the answer. A program that fails or prints nothing is
        sent back with its error, until the tries are used up: the answer is then empty,
        and wrong.
        """
        if outcome is None:
            problem = TEXTS["no_program"]
        elif outcome["exit"] != "ok":
            problem = TEXTS["failed"].format(
                error=outcome["stderr_tail"].strip()[-_SHOWN_ERROR:]
            )
        else:
            answer = answer_of(outcome["stdout"])
            if answer:
                return Done(answer)

            problem = TEXTS["no_output"]

        if len(dialogue.answers) >= self.max_tries:
            return Done("")

        last = dialogue.answers[-1]
        last_message: Message = {
            "role": "assistant",
            "content": last if last.strip() else TEXTS["nothing_said"],
        }
        return Ask(
            (
                *dialogue.opening,
                last_message,
                {"role": "user", "content": f"{problem}\n\n{TEXTS['again']}"},
            )
        )


class OfficialCodeProtocol:
    """The authors' dialogue: code, what it wrote, and an answer in tags."""

    def __init__(self, texts: OfficialCode, *, limits: Limits | None = None) -> None:
        self._texts = texts
        self._programs = _Programs(limits or Limits())
        self.identity: Mapping[str, Any] = {
            "name": "code_official",
            "max_tries": texts.tries,
            **self._programs.identity,
        }

    def next_turns(self, dialogues: Sequence[Dialogue], records: Records) -> list[Turn]:
        """Continues each dialogue as the authors' script does."""
        replies = {reply for dialogue in dialogues for reply in dialogue.answers}
        runs = {
            reply: _THEIR_RUN.format(program=_their_program(reply))
            for reply in replies
            if _is_run(reply)
        }
        outcomes = self._programs.outcomes(runs.values(), records)
        written = {
            reply: outcomes[run]["stdout"]
            + ("" if outcomes[run]["exit"] == "ok" else outcomes[run]["stderr_tail"])
            for reply, run in runs.items()
        }

        return [self._turn(dialogue, written) for dialogue in dialogues]

    def _turn(self, dialogue: Dialogue, written: Mapping[str, str]) -> Turn:
        """Decides as the authors' loop does, which reads a tagged answer of the reply.

        A program that their loop would not run, but that prints, is answered `N/A`: it
        waits for input that nobody gives.
        """
        last = dialogue.answers[-1]
        if _is_answered(last):
            answer = tagged_answer(last)
            if answer is not None:
                return Done(_as_json(answer) if answer else "")
        elif (
            "```python" in last
            and not _is_run(last)
            and "print" in _their_program(last)
        ):
            return Done(_as_json("N/A"))  # it asks for input

        if len(dialogue.answers) >= self._texts.tries:
            return Done("")

        chat = list(dialogue.opening)
        for reply in dialogue.answers:
            chat.append({"role": "assistant", "content": reply})
            if not _is_answered(reply):
                chat.append(self._next_message(reply, written))

        return Ask(tuple(chat))

    def _next_message(self, reply: str, written: Mapping[str, str]) -> Message:
        if "```python" not in reply:
            return self._texts.say(self._texts.no_code, output=reply)
        if reply not in written:
            return self._texts.say(self._texts.no_print, output=reply)
        return self._texts.say(self._texts.console, console=written[reply])


def _is_run(reply: str) -> bool:
    program = _their_program(reply)
    return not _is_answered(reply) and "print" in program and "input(" not in program


def _is_answered(reply: str) -> bool:
    """Whether both tags stand in a reply.

    Where they are on different lines, it is neither read nor answered.
    """
    return "<answer>" in reply and "<\\answer>" in reply


def _their_program(reply: str) -> str:
    return "\n".join(_THEIR_BLOCK.findall(reply))


def program_of(reply: str) -> str:
    """The program of a reply.

    Its blocks marked as Python, else unmarked ones that print, else the reply; thoughts
    left out.
    """
    text = reply.rpartition(_THOUGHTS_END)[2]
    blocks = _blocks(text)
    if not blocks:
        return text.strip() if _is_python(text) else ""

    # After the second: blocks within one of Markdown.
    inner = [
        block for _, content in blocks if "```" in content for block in _blocks(content)
    ]
    marked = [content for language, content in blocks if language]
    marked = marked or [content for language, content in inner if language]
    if not marked:
        marked = [content for language, content in blocks if language is None]
        if not any(_PRINTS.search(content) for content in marked):
            return ""

    program = "\n".join(content.rstrip() for content in marked).strip("\n")
    return textwrap.dedent(program) if program[:1] in (" ", "\t") else program


def _blocks(text: str) -> list[tuple[bool | None, str]]:
    """The fenced blocks of a text.

    Whether each is marked as Python (None where it is not marked), and what stands in
    it.
    """
    blocks: list[tuple[bool | None, str]] = []
    opened: re.Match[str] | None = None
    lines: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        match = _FENCE.match(line)
        if opened is None:
            if match and match["fence"][0] in match["info"]:  # it ends on its line
                info = match["info"].rstrip().rstrip(match["fence"][0])
                word = _PYTHON.match(info)
                blocks.append((True, info[word.end() :]) if word else (None, info))
            elif match:
                opened, lines = match, []

            continue

        before, fence, after = line.rpartition(opened["fence"])
        if fence and not after.strip(opened["fence"][0] + " \t\r"):
            lines.append(_moved(before.rstrip(opened["fence"][0]), opened["lead"]))
            blocks.append((_language(opened["info"]), "\n".join(lines)))
            opened = None
        else:
            lines.append(_moved(line, opened["lead"]))

    if opened is not None:
        blocks.append((_language(opened["info"]), "\n".join(lines)))

    return blocks


def _language(info: str) -> bool | None:
    return bool(_PYTHON.match(info)) if info.strip() else None


def _moved(line: str, lead: str) -> str:
    """A line of a block without what stands before its fence."""
    if ">" in lead:
        line = (
            line.lstrip(" \t>")
            if not line.strip(" \t>")
            else re.sub(r"^(?:[ \t]*>)+ ?", "", line)
        )
        lead = lead.rpartition(">")[2][1:]
    blank = len(line) - len(line.lstrip(" \t"))
    return line[min(blank, len(lead)) :]


def _is_python(text: str) -> bool:
    """Whether a text is a program that prints something.

    Parsed, never run, its escapes out of the way of warnings.
    """
    if not _PRINTS.search(text):
        return False

    try:
        tree = ast.parse(_ESCAPE.sub("__", text.strip()))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False

    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return any(isinstance(name, ast.Name) and name.id == "print" for name in calls)


def answer_of(stdout: str) -> str:
    """Writes the last line a program printed in the form that both scorers read."""
    lines = [line.strip() for line in stdout.splitlines() if line.strip()]
    return _as_json(lines[-1][-_MOST_PRINTED:]) if lines else ""


def _as_json(answer: str) -> str:
    return json.dumps({"answer": answer}, ensure_ascii=False)
