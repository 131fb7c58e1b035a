"""The command line: `medical-tasks VERB ...`.

Exit codes: 0 done; 2 wrong use; 3 data, judge or package missing (with the steps to get it); 4 refused by the data guard;
5 finished, but some items could not be answered or scored, or disk or memory was too small; 6 `verify` found what does not match;
130 stopped from outside. A user's mistake is one message on standard error, never a traceback. Verbs are imported when they are
used, so that `--help` and `list` answer at once.
"""

from __future__ import annotations

import argparse
import atexit
import errno
import gc
import importlib
import io
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType, ModuleType

from medical_tasks._version import __version__
from medical_tasks.errors import IncompleteError, MedicalTasksError, doing, memory_error, system_reason

__all__ = ["VERBS", "main", "verb_module"]

VERBS: dict[str, str] = {
    "list": "every task: is its dataset built, how to get it, is a judge needed",
    "build": "build a dataset from its official files, or its synthetic demo",
    "run": "evaluate a model on tasks; resumes when repeated",
    "score": "score answers you already have",
    "report": "show runs as one page that works offline: intervals, breakdowns, plots, published results, every item",
    "compare": "compare runs, item by item",
    "submit": "write a finished run's submission to a leaderboard, the Hub or a shared task; nothing is sent",
    "verify": "check a submission package: score its answers again and say what matches",
    "leaderboard": "keep a leaderboard: list, accept or reject submissions, show what happened, serve the Space",
    "correlate": "how far scores rank models alike, as benchmarks and clinicians: Spearman, Kendall, intervals",
    "meta": "evaluate metrics: agreement with people's preferences and scores, and with each other, over single outputs",
    "judge-check": "check a judge against labels of people, such as the physicians' of K-QA",
    "decompose": "take texts apart into statements or claims, by a judge model",
    "construct": "make a benchmark like EHRNoteQA or ArchEHR-QA on your own notes: sample or align, draft, review",
    "errors": "what kinds of errors a finished MedCalc-Bench run made, and accuracy by number of attributes",
    "umls": "build the index of your UMLS that MEDCON needs, and see which concepts a text has",
    "calc": "calculate a clinical score or value by its published rule, with every step",
    "audit": "check a dataset's labels against the published rules",
    "leakcheck": "prove that no 12 words in a row of a source's text stand in a run's folder",
    "purge": "empty the private store, where answers to tasks on credentialed data lie",
    "doctor": "what is installed, what is missing and how to get it",
    "lighteval": "the stock lighteval command with only this suite's tasks registered",
    "manifest": "write or check tasks.json, cards, eval.yaml and Croissant files (for developers)",
}
_STOPPED = 130


class _Parser(argparse.ArgumentParser):
    """Argument errors in the form of every other error: what was wrong, then the next step."""

    def error(self, message: str) -> None:  # type: ignore[override]
        self.exit(2, f"error: {message}. See: {self.prog} --help\n")


def _parser() -> _Parser:
    parser = _Parser(
        prog="medical-tasks",
        description="Medical LLM benchmarks: datasets, tasks, metrics.",
        epilog="medical-tasks VERB --help says more of each.",
    )
    parser.add_argument("--version", action="version", version=f"medical-tasks {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=_Parser)
    for verb, summary in VERBS.items():
        verbs.add_parser(verb, help=summary, description=summary, add_help=False)
    return parser


def _stop(number: int, frame: FrameType | None) -> None:
    """A termination request unwinds like Ctrl-C, so that servers are stopped and stores closed."""
    raise KeyboardInterrupt


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        argv: the arguments after the program's name; those of this process by default.

    Returns:
        The exit code.
    """
    if argv is None:
        _spare_collections()
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal or pipe that cannot show a sign (µ, a file name's odd byte) gets it escaped, not a crash.
            stream.reconfigure(errors="backslashreplace")
    parser = _parser()
    # Only the verb's own module knows its options, and only that one is imported.
    head, tail = (words[:1], words[1:]) if words and words[0] in VERBS else (words, [])
    verb = parser.parse_args(head).verb
    signal.signal(signal.SIGTERM, _stop)
    # What is made here is for its owner to change, whatever the mask says; what is private is closed to others anyway.
    os.umask(os.umask(0o022) | 0o022)
    try:
        with doing(f"run medical-tasks {verb}"):
            code = _run_verb(verb, tail)
        sys.stdout.flush()
        return code
    except MedicalTasksError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("stopped. Finished work is kept; the same command goes on with it.", file=sys.stderr)
        return _STOPPED
    except BrokenPipeError:
        # The reader of a pipe went away (`| head`): not an error of ours.
        sys.stderr.close()
        return 0
    except Exception as error:
        if memory_error(error):
            told = f"error: not enough memory to {error.__notes__[0]}. Finished work is kept. Free some memory, or take fewer items"
            print(f"{told} or a machine with more, and give the same command again.", file=sys.stderr)
            if argv is None:
                # Libraries that were only half loaded may crash when the interpreter ends in order.
                sys.stderr.flush()
                os._exit(IncompleteError.exit_code)
            return IncompleteError.exit_code
        if isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None:
            print(f"error: the output cannot be written ({system_reason(error)}).", file=sys.stderr)
            return IncompleteError.exit_code
        raise


def _spare_collections() -> None:
    """Lets the garbage collector run less often, and not at all at the end.

    Importing large libraries makes many objects that all stay: looking at them again and again takes a sixth of that time, and
    looking at them once more before the process ends as long as a fifth of a second.
    """
    gc.set_threshold(100_000, 20, 20)
    atexit.register(gc.freeze)


def _module_name(verb: str) -> str:
    """Names the module of a verb under `cli`; a verb can have a dash, a module cannot."""
    return verb.replace("-", "_")


def verb_module(verb: str) -> ModuleType:
    """Imports what implements a verb: a benchmark's module where the verb is a benchmark's own."""
    from medical_tasks.benchmarks.catalog import BENCHMARKS

    owned = {name: place for benchmark in BENCHMARKS for name, place in benchmark.verbs.items()}
    return importlib.import_module(owned.get(verb, f"medical_tasks.cli.{_module_name(verb)}"))


def _run_verb(verb: str, tail: list[str]) -> int:
    module = verb_module(verb)
    own = _Parser(
        prog=f"medical-tasks {verb}", description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    module.add_arguments(own)
    if hasattr(module, "add_chosen_arguments"):
        module.add_chosen_arguments(own, tail)  # a verb of several forms
    if getattr(module, "PASSES_ARGUMENTS_ON", False):
        return int(module.run_with(tail))
    # Names, values and options in any order: `calc NAME --convention C key=value`.
    return int(module.run(own.parse_intermixed_args(tail)))
