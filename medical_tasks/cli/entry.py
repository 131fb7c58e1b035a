"""The command line: `medical-tasks VERB ...`.

Exit codes: 0 done; 1 an error of another package's code; 2 usage error; 3 data, judge or
package missing (with the steps to get it); 4 refused by the data guard; 5 finished, but
some items could not be answered or scored, or disk or memory was too small; 6 `verify`
found what does not match; 130 stopped from outside; `gate` has its own. A user's
mistake is one message on standard error, never a traceback. Verbs are imported when
they are used, so that `--help` and `list` answer at once.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import io
import os
import signal
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from shutil import get_terminal_size
from types import FrameType
from typing import Final

import medical_tasks.plugins as plugins
from medical_tasks._version import __version__
from medical_tasks.cli.parser import Read, declare, declared, read
from medical_tasks.errors import (
    IncompleteError,
    MedicalTasksError,
    MissingError,
    UsageError,
    did_you_mean,
    doing,
    memory_error,
    of_system,
    system_reason,
)
from medical_tasks.io.cell_forms import reading_tables, table_choice_of
from medical_tasks.io.output import as_json, styled
from medical_tasks.options import Options
from medical_tasks.plugins import Verb, load


def _own(name: str, group: str, summary: str) -> Verb:
    """A verb of this room: `score-text` has the options `ScoreText`, and a module `score_text`."""
    options = (
        "UMLS" if name == "umls" else "".join(map(str.capitalize, name.split("-")))
    )
    return Verb(
        name=name,
        group=group,
        summary=summary,
        options=f"medical_tasks.options:{options}" if name != "lighteval" else None,
        run=f"medical_tasks.cli.{name.replace('-', '_')}:run",
    )


OWN: Final = (
    _own(
        "list",
        "Evaluate",
        "every task: is its dataset built, how to get it, is a judge needed",
    ),
    _own(
        "build",
        "Evaluate",
        "build a dataset from its official files, or its synthetic demo",
    ),
    _own("run", "Evaluate", "evaluate a model on tasks; resumes when repeated"),
    _own(
        "merge",
        "Evaluate",
        "make one run of the parts that `run --shard` made on several machines",
    ),
    _own(
        "launch",
        "Evaluate",
        "print a Slurm script or a Kubernetes job that runs the parts on several machines, and merges them",
    ),
    _own("score", "Evaluate", "score answers you already have"),
    _own(
        "sheet",
        "Evaluate",
        "write a task's questions as a spreadsheet to fill in, which `score` takes back",
    ),
    _own(
        "adjudicate",
        "Evaluate",
        "list answers that the reader could not tell, for a person or a judge to read",
    ),
    _own(
        "score-text",
        "Evaluate",
        "score a table of texts against references: ROUGE, BLEU, SARI, BERTScore and others",
    ),
    _own(
        "judge-check",
        "Evaluate",
        "check a judge against labels of people, such as the physicians' of K-QA",
    ),
    _own(
        "lighteval",
        "Evaluate",
        "the stock lighteval command with only this suite's tasks registered",
    ),
    _own(
        "report",
        "Look",
        "show runs as one page that works offline: intervals, breakdowns, plots, published results, every item",
    ),
    _own("compare", "Look", "compare runs, item by item"),
    _own(
        "plan",
        "Look",
        "how many items a wanted interval or difference needs, from past runs or assumptions",
    ),
    _own(
        "gate",
        "Look",
        "check runs against a policy of thresholds: GO, NO-GO or INCONCLUSIVE",
    ),
    _own(
        "leakcheck",
        "Share",
        "prove that no 12 words in a row of a source's text are in a run's folder",
    ),
    _own(
        "purge",
        "Share",
        "empty the private store, where answers to tasks on credentialed data lie",
    ),
    _own(
        "calc",
        "Tools",
        "calculate a clinical score or value by its published rule, with every step",
    ),
    _own(
        "umls",
        "Tools",
        "build the index of your UMLS that MEDCON needs, and see which concepts a text has",
    ),
    _own(
        "doctor",
        "Tools",
        "what is broken, installed and optional; links the stock lighteval command",
    ),
    _own(
        "manifest",
        "Tools",
        "write or check tasks.json, cards, eval.yaml and Croissant files (for developers)",
    ),
)


def verbs() -> dict[str, Verb]:
    """Every verb by name: this package's own, then those that wings and other packages register."""
    found = {verb.name: verb for verb in OWN}
    for plugin, verb in plugins.objects("medical_tasks.verbs", Verb):
        if verb.name in found:
            plugins.leave_out(plugin, f"there is a verb {verb.name} already")
        else:
            found[verb.name] = verb
    return found


_STOPPED = 130


def _overview() -> str:
    """What the command prints without a verb: all verbs, by group."""
    lines = [
        "usage: medical-tasks VERB ...",
        "",
        "Medical LLM benchmarks: datasets, tasks, metrics.",
    ]
    width = max(40, get_terminal_size().columns - 2)
    known = verbs().values()
    for group in dict.fromkeys(verb.group for verb in known):
        lines += ["", styled(f"{group}:", "bold")]
        for verb in (each for each in known if each.group == group):
            shown = f"  {verb.name:<13} {verb.summary}"
            lines += textwrap.wrap(shown, width, subsequent_indent=" " * 16)

    lines += [
        "",
        "medical-tasks --plugin PLACE VERB ... adds a module, folder or YAML file that is not installed.",
    ]
    lines += [
        "",
        "medical-tasks VERB --help says more of each. The shell completes names after:",
    ]
    return "\n".join([*lines, '  eval "$(register-python-argcomplete medical-tasks)"'])


def _complete() -> None:
    """Answers the shell, which asks with the line so far: verbs, the options of the verb that stands there, names of tasks."""
    import argcomplete

    from medical_tasks.catalog import datasets, tasks

    words = os.environ["COMP_LINE"].split()[1:]
    parser = argparse.ArgumentParser("medical-tasks")
    subparsers = parser.add_subparsers()
    for name, verb in verbs().items():
        own = subparsers.add_parser(name)
        if words[:1] == [name] and verb.options is not None:
            declare(own, declared(verb, words[1:]))

        for action in own._actions:
            if action.dest in ("task", "tasks", "dataset"):
                names = dict.fromkeys(
                    datasets() if action.dest == "dataset" else tasks(), ""
                )
                action.completer = argcomplete.ChoicesCompleter(names)  # type: ignore[attr-defined]

    argcomplete.autocomplete(parser)


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
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] and words[0].partition("=")[0] == _PLUGIN:
        return _with_plugins(words)

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal or pipe that cannot show a sign (µ, a file name's odd byte)
            # gets it escaped, not a crash.
            stream.reconfigure(errors="backslashreplace")

    if "_ARGCOMPLETE" in os.environ and argv is None:
        _complete()

    answered = _without_verb(words)
    if answered is not None:
        return answered

    verb, tail = words[0], words[1:]
    signal.signal(signal.SIGTERM, _stop)
    # What is made here is for its owner to change, whatever the mask says; what is
    # private is closed to others anyway.
    os.umask(os.umask(0o022) | 0o022)
    try:
        with doing(f"run medical-tasks {verb}"), plugins.telling():
            code = _run_verb(verbs()[verb], tail)

        sys.stdout.flush()
        return code
    except MedicalTasksError as error:
        print(f"{styled('error:', 'red', stream=sys.stderr)} {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(
            "stopped. Finished work is kept; the same command goes on with it.",
            file=sys.stderr,
        )
        return _STOPPED
    except BrokenPipeError:
        # The reader of a pipe went away (`| head`): not an error of ours.
        sys.stderr.close()
        return 0
    except Exception as error:
        reason = _out_of_space(error)
        if not reason:
            raise

        print(f"error: {reason}", file=sys.stderr)
        if memory_error(error) and argv is None:
            # Libraries that were only half loaded may crash when the interpreter ends
            # in order.
            sys.stderr.flush()
            os._exit(IncompleteError.exit_code)

        return IncompleteError.exit_code


def _without_verb(words: Sequence[str]) -> int | None:
    """Answers words that name no verb, and returns the exit code; None where they name one."""
    if words[:1] in (["-h"], ["--help"]):
        print(_overview())
        return 0

    if words[:1] == ["--version"]:
        print(f"medical-tasks {__version__}")
        return 0

    if words and words[0] in verbs():
        return None

    reason = "name a VERB."
    if words:
        reason = f"there is no verb {words[0]!r}.{did_you_mean(words[0], verbs())}"

    print(f"error: {reason} See: medical-tasks --help", file=sys.stderr)
    return UsageError.exit_code


def _out_of_space(error: Exception) -> str:
    """What to tell of an error for want of memory or disk; "" for any other."""
    if memory_error(error):
        return (
            f"not enough memory to {error.__notes__[0]}. Finished work is kept. Free some memory, or "
            "take fewer items or a machine with more, and give the same command again."
        )

    if (
        isinstance(error, OSError)
        and error.errno == errno.ENOSPC
        and error.filename is None
    ):
        return f"the output cannot be written ({system_reason(error)})."

    return ""


_PLUGIN = "--plugin"


def _with_plugins(words: list[str]) -> int:
    """Runs a command with packages that are not installed: `--plugin PLACE`, once or more, before the verb."""
    places = []
    while words and words[0].partition("=")[0] == _PLUGIN:
        _, equals, place = words.pop(0).partition("=")
        places.append(place if equals or not words else words.pop(0))

    try:
        with _system_told(), plugins.using(places):
            return main(words)
    except (UsageError, MissingError) as error:
        print(f"{styled('error:', 'red', stream=sys.stderr)} {error}", file=sys.stderr)
        return error.exit_code


def _run_verb(verb: Verb, words: Sequence[str]) -> int:
    """Reads a verb's options and runs it; returns the exit code.

    With `--json` all that it says is one object on standard output, of an error too;
    the error is raised all the same, for its message and exit code.
    """
    if verb.options is None:
        with _system_told():
            return int(load(verb.run)(words))

    typed = read(verb, words)
    run = load(verb.run)  # after the words: `--help` needs nothing of it
    if not typed.json:
        return _run_with(run, typed)

    from medical_tasks.runs.folder import is_main_process

    failed: MedicalTasksError | None = None
    with as_json() as said:
        try:
            code = _run_with(run, typed)
        except MedicalTasksError as error:
            failed = error
            said.facts |= {"error": str(error), "exit_code": error.exit_code}

    if is_main_process():  # of a run in several, whose others have nothing to say
        print(said.text())
    if failed is not None:
        raise failed

    return code


def _run_with(run: Callable[[Options], int], typed: Read) -> int:
    options = typed.options()
    with _system_told(), reading_tables(table_choice_of(options)):
        return int(run(options))


@contextlib.contextmanager
def _system_told() -> Iterator[None]:
    """Makes a message of what the system says of a file that the user named."""
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        told = of_system(error)
        if told is None:
            raise
        raise told from error
