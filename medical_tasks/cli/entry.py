"""The command line: `medical-tasks VERB ...`.

Exit codes: 0 success; 1 an error in another package's code; 2 usage error; 3 data, judge
or package missing (with the steps to get it); 4 refused by the data guard; 5 finished,
but some items could not be answered or scored, or disk or memory was too small; 6
`verify` found a mismatch; 130 interrupted; `gate` has its own. A user's mistake is one
message on standard error, never a traceback. Commands are imported when they are used,
so that `--help` and `list` are fast.
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
    """Declares a command of this package: `score-text` has the options `ScoreText` and a module `score_text`."""
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
        "list every task: whether its dataset is built, how to get it, and whether it needs a judge",
    ),
    _own(
        "build",
        "Evaluate",
        "build a dataset from its official files, or a synthetic demo",
    ),
    _own("run", "Evaluate", "evaluate a model on tasks; repeat the command to resume"),
    _own(
        "merge",
        "Evaluate",
        "merge the parts that `run --shard` produced on several machines into one run",
    ),
    _own(
        "launch",
        "Evaluate",
        "print a Slurm script or a Kubernetes job that runs the parts of a run and merges them",
    ),
    _own("score", "Evaluate", "score existing answers"),
    _own(
        "sheet",
        "Evaluate",
        "write a task's questions as a spreadsheet for people's answers, which `score` reads",
    ),
    _own(
        "adjudicate",
        "Evaluate",
        "list answers that could not be parsed, to be read by a person or a judge",
    ),
    _own(
        "score-text",
        "Evaluate",
        "score a table of texts against references: ROUGE, BLEU, SARI, BERTScore and others",
    ),
    _own(
        "judge-check",
        "Evaluate",
        "check a judge against people's labels, such as those of K-QA's physicians",
    ),
    _own(
        "lighteval",
        "Evaluate",
        "run the original lighteval command with only the tasks of this suite",
    ),
    _own(
        "report",
        "Look",
        "show runs on one page that works offline: intervals, breakdowns, plots, published results, every item",
    ),
    _own("compare", "Look", "compare runs, item by item"),
    _own(
        "plan",
        "Look",
        "compute the number of items for an interval or difference, from past runs or assumptions",
    ),
    _own(
        "gate",
        "Look",
        "check runs against a policy of thresholds: GO, NO-GO or INCONCLUSIVE",
    ),
    _own(
        "leakcheck",
        "Share",
        "check that no 12 consecutive words of a source's text are in a run's folder",
    ),
    _own(
        "purge",
        "Share",
        "empty the private store, which has the answers to tasks on credentialed data",
    ),
    _own(
        "calc",
        "Tools",
        "calculate a clinical score or value by its published rule, and show every step",
    ),
    _own(
        "umls",
        "Tools",
        "build the UMLS index of MEDCON, and look up the concepts of a text",
    ),
    _own(
        "doctor",
        "Tools",
        "list problems, installed and optional parts; link the original lighteval command",
    ),
    _own(
        "manifest",
        "Tools",
        "write or check tasks.json, cards, eval.yaml and Croissant files (for developers)",
    ),
)


def verbs() -> dict[str, Verb]:
    """Returns every command by name: this package's own, then those of wings and other packages."""
    commands = {verb.name: verb for verb in OWN}
    for plugin, verb in plugins.objects("medical_tasks.verbs", Verb):
        if verb.name in commands:
            plugins.leave_out(plugin, f"there is a verb {verb.name} already")
        else:
            commands[verb.name] = verb
    return commands


_STOPPED = 130


def _overview() -> str:
    """Returns the overview of all commands by group."""
    lines = [
        "usage: medical-tasks VERB ...",
        "",
        "Medical LLM benchmarks: datasets, tasks, metrics.",
    ]
    width = max(40, get_terminal_size().columns - 2)
    commands = verbs().values()
    for group in dict.fromkeys(command.group for command in commands):
        lines += ["", styled(f"{group}:", "bold")]
        for command in (command for command in commands if command.group == group):
            text = f"  {command.name:<13} {command.summary}"
            lines += textwrap.wrap(text, width, subsequent_indent=" " * 16)

    lines += [
        "",
        "medical-tasks --plugin PLACE VERB ... adds a module, folder or YAML file that is not installed.",
        "",
        "medical-tasks VERB --help explains each verb. To complete names in the shell:",
    ]
    return "\n".join([*lines, '  eval "$(register-python-argcomplete medical-tasks)"'])


def _complete() -> None:
    """Completes the shell's line: commands, the options of the typed command, names of tasks."""
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
    """Handles a termination signal like Ctrl-C, so that servers are stopped and stores closed."""
    raise KeyboardInterrupt


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code.

    Args:
        argv: The arguments after the program's name; by default those of this process.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] and words[0].partition("=")[0] == _PLUGIN:
        return _with_plugins(words)

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Characters that a terminal or pipe cannot show (µ, an odd byte in a file
            # name) are escaped instead of raising an error.
            stream.reconfigure(errors="backslashreplace")

    if "_ARGCOMPLETE" in os.environ and argv is None:
        _complete()

    exit_code = _without_verb(words)
    if exit_code is not None:
        return exit_code

    verb, tail = words[0], words[1:]
    signal.signal(signal.SIGTERM, _stop)
    # New files are writable by their owner only, whatever the umask; private ones are
    # closed to others anyway.
    os.umask(os.umask(0o022) | 0o022)
    try:
        with doing(f"run medical-tasks {verb}"), plugins.attributing_errors():
            code = _run_verb(verbs()[verb], tail)

        sys.stdout.flush()
        return code
    except MedicalTasksError as error:
        print(f"{styled('error:', 'red', stream=sys.stderr)} {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(
            "stopped. Finished work is kept; repeat the command to continue.",
            file=sys.stderr,
        )
        return _STOPPED
    except BrokenPipeError:
        # The reader of the pipe closed it (`| head`), which is no error.
        sys.stderr.close()
        return 0
    except Exception as error:
        reason = _out_of_space(error)
        if not reason:
            raise

        print(f"error: {reason}", file=sys.stderr)
        if memory_error(error) and argv is None:
            # Partially loaded libraries may crash in an orderly exit of the interpreter.
            sys.stderr.flush()
            os._exit(IncompleteError.exit_code)

        return IncompleteError.exit_code


def _without_verb(words: Sequence[str]) -> int | None:
    """Handles arguments without a command, and returns the exit code; None if there is one."""
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
    """Returns the message for an error due to lack of memory or disk space; "" for any other."""
    if memory_error(error):
        return (
            f"not enough memory to {error.__notes__[0]}. Finished work is kept. Free some memory, or "
            "use fewer items or a machine with more, and repeat the command."
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
    """Runs a command with packages that are not installed: `--plugin PLACE`, once or more, before it."""
    locations = []
    while words and words[0].partition("=")[0] == _PLUGIN:
        _, equals, location = words.pop(0).partition("=")
        locations.append(location if equals or not words else words.pop(0))

    try:
        with _readable_system_errors(), plugins.using(locations):
            return main(words)
    except (UsageError, MissingError) as error:
        print(f"{styled('error:', 'red', stream=sys.stderr)} {error}", file=sys.stderr)
        return error.exit_code


def _run_verb(verb: Verb, words: Sequence[str]) -> int:
    """Parses a command's options and runs it; returns the exit code.

    With `--json` the output is one object on standard output, also for an error; the
    error is still raised, for its message and exit code.
    """
    if verb.options is None:
        with _readable_system_errors():
            return int(load(verb.run)(words))

    typed = read(verb, words)
    run = load(verb.run)  # after parsing: `--help` does not need it
    if not typed.json:
        return _run_with(run, typed)

    from medical_tasks.runs.folder import is_main_process

    error_raised: MedicalTasksError | None = None
    with as_json() as output:
        try:
            code = _run_with(run, typed)
        except MedicalTasksError as error:
            error_raised = error
            output.facts |= {"error": str(error), "exit_code": error.exit_code}

    if is_main_process():  # of a run in several processes; the others print nothing
        print(output.text())
    if error_raised is not None:
        raise error_raised

    return code


def _run_with(run: Callable[[Options], int], typed: Read) -> int:
    options = typed.options()
    with _readable_system_errors(), reading_tables(table_choice_of(options)):
        return int(run(options))


@contextlib.contextmanager
def _readable_system_errors() -> Iterator[None]:
    """Turns system errors about a file that the user named into messages."""
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        readable_error = of_system(error)
        if readable_error is None:
            raise
        raise readable_error from error
