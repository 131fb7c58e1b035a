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
import re
import signal
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import get_terminal_size
from types import FrameType, ModuleType
from typing import Any, NoReturn

import medical_tasks.plugins as plugins
from medical_tasks._version import __version__
from medical_tasks.errors import (
    IncompleteError,
    MedicalTasksError,
    UsageError,
    did_you_mean,
    doing,
    memory_error,
    system_reason,
)
from medical_tasks.io.cell_forms import TableChoice, reading_tables
from medical_tasks.io.files import packaged
from medical_tasks.io.output import as_json, styled
from medical_tasks.plugins import Verb

GROUPS: dict[str, dict[str, str]] = {
    "Evaluate": {
        "list": "every task: is its dataset built, how to get it, is a judge needed",
        "build": "build a dataset from its official files, or its synthetic demo",
        "run": "evaluate a model on tasks; resumes when repeated",
        "merge": "make one run of the parts that `run --shard` made on several machines",
        "launch": "print a Slurm script or a Kubernetes job that runs the parts on several machines, and merges them",
        "score": "score answers you already have",
        "adjudicate": "list answers that the reader could not tell, for a person or a judge to read",
        "score-text": "score a table of texts against references: ROUGE, BLEU, SARI, BERTScore and others",
        "judge-check": "check a judge against labels of people, such as the physicians' of K-QA",
        "lighteval": "the stock lighteval command with only this suite's tasks registered",
    },
    "Look": {
        "report": "show runs as one page that works offline: intervals, breakdowns, plots, published results, every item",
        "compare": "compare runs, item by item",
        "plan": "how many items a wanted interval or difference needs, from past runs or assumptions",
        "gate": "hold runs against a policy of thresholds: GO, NO-GO or INCONCLUSIVE",
    },
    "Share": {
        "leakcheck": "prove that no 12 words in a row of a source's text stand in a run's folder",
        "purge": "empty the private store, where answers to tasks on credentialed data lie",
    },
    "Tools": {
        "calc": "calculate a clinical score or value by its published rule, with every step",
        "umls": "build the index of your UMLS that MEDCON needs, and see which concepts a text has",
        "doctor": "what is broken, what is installed, what is optional; links the stock lighteval command",
        "manifest": "write or check tasks.json, cards, eval.yaml and Croissant files (for developers)",
    },
}


def verbs() -> dict[str, Verb]:
    """Every verb by name: this package's own, then those that wings and other packages register."""
    found = {
        name: Verb(
            name=name,
            group=group,
            summary=summary,
            module=f"medical_tasks.cli.{name.replace('-', '_')}",
        )
        for group, summaries in GROUPS.items()
        for name, summary in summaries.items()
    }
    for plugin, verb in plugins.objects("medical_tasks.verbs", Verb):
        if verb.name in found:
            plugins.leave_out(plugin, f"there is a verb {verb.name} already")
        else:
            found[verb.name] = verb
    return found


_STOPPED = 130


class _Parser(argparse.ArgumentParser):
    """Errors in the form of every other error: what was wrong, then the next step."""

    words: Sequence[str] = ()  # what was typed
    first: Sequence[str] = ()  # what `--help` shows, where `--help-all` shows more

    def format_help(self) -> str:
        """Shows the options that most people need, and how to see the others."""
        more = {
            action: action.help
            for action in self._actions
            if self.first and action.dest not in self.first
        }
        if not more or "--help-all" in self.words:
            return super().format_help()
        for action in more:
            action.help = argparse.SUPPRESS
        text = super().format_help()
        for action, told in more.items():
            action.help = told
        return f"{text}\n{len(more)} more options: {self.prog} --help-all\n"

    def error(self, message: str) -> NoReturn:
        options = [name for name in self._option_string_actions if name.startswith("--")]
        given = (
            word.partition("=")[0] for word in self.words if word.startswith("--") and len(word) > 2
        )
        strange = next(
            (word for word in given if not any(name.startswith(word) for name in options)), ""
        )
        hint = did_you_mean(strange, options)
        if hint:
            message = f"there is no option {strange}"
        if choice := _CHOICE.search(message):
            hint = did_you_mean(choice[1], choice[2].replace("'", "").split(", "))
        self.exit(2, f"error: {message}.{hint} See: {self.prog} --help\n")


Options = Mapping[str, Mapping[str, Any]]
"""What a verb takes, by group ("" for none) and name, as argparse wants it, or a name among what verbs share."""

_OF_TABLES = ("sheet", "decimal", "dates")
_TYPES: Mapping[str, type] = {"Path": Path, "float": float, "int": int}


def _declared(module: ModuleType) -> Mapping[str, Any]:
    """What `options.json` says of a verb; nothing of a benchmark's own."""
    declared: Mapping[str, Mapping[str, Any]] = packaged(__file__, "options.json")["verbs"]
    owner = next((verb.name for verb in verbs().values() if verb.module == module.__name__), "")
    return declared.get(owner.replace("-", "_"), {})


def add_options(parser: argparse.ArgumentParser, options: Options) -> None:
    """Declares options."""
    for title, group in options.items():
        place = parser.add_argument_group(title) if title else parser
        for name, told in group.items():
            about = dict(
                packaged(__file__, "options.json")["shared"][told]
                if isinstance(told, str)
                else told
            )
            if isinstance(about.get("type"), str):
                about["type"] = _TYPES[about["type"]]
            place.add_argument(name, **about)


def declare_options(parser: argparse.ArgumentParser, module: ModuleType) -> None:
    """Declares the options of a verb, in all its forms."""
    verb = _declared(module)
    parser.usage = verb.get("usage")
    add_options(parser, verb.get("options", {}))
    if hasattr(module, "add_arguments"):
        module.add_arguments(parser)
    if groups := {"judge", "judges"}.intersection(verb.get("also", ())):
        from medical_tasks.runs.judge_arguments import add_judge_arguments

        add_judge_arguments(parser, several="judges" in groups)
    if "tables" in verb.get("also", ()):
        add_options(parser, {"tables": {f"--{name}": f"--{name}" for name in _OF_TABLES}})
    if "guard" in verb.get("also", ()):
        from medical_tasks.guard.policy import add_guard_arguments

        add_guard_arguments(parser)


def declare(parser: argparse.ArgumentParser, module: ModuleType, words: Sequence[str]) -> None:
    """Declares what a verb takes; `words`, those behind it, choose the form of a verb that has several."""
    declare_options(parser, module)
    if hasattr(module, "add_chosen_arguments"):
        module.add_chosen_arguments(parser, words)  # a verb of several forms
    parser.add_argument("--json", action="store_true", help="print one JSON value instead of text")
    if "first" in _declared(module):
        parser.add_argument("--help-all", action="help", help="show every option")


_CHOICE = re.compile(r"invalid choice: '(.*)' \(choose from (.*)\)")


def _overview() -> str:
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
        "medical-tasks --plugin MODULE_OR_FOLDER VERB ... adds a package that is not installed.",
    ]
    lines += ["", "medical-tasks VERB --help says more of each. The shell completes names after:"]
    return "\n".join([*lines, '  eval "$(register-python-argcomplete medical-tasks)"'])


def _complete() -> None:
    """Answers the shell, which asks with the line so far: verbs, the options of the verb that stands there, names of tasks."""
    import argcomplete

    from medical_tasks.catalog import datasets, tasks

    words = os.environ["COMP_LINE"].split()[1:]
    parser = argparse.ArgumentParser("medical-tasks")
    subparsers = parser.add_subparsers()
    for verb in verbs():
        own = subparsers.add_parser(verb)
        if words[:1] == [verb]:
            declare(own, verb_module(verb), words[1:])
        for action in own._actions:
            if action.dest in ("task", "tasks", "dataset"):
                names = dict.fromkeys(datasets() if action.dest == "dataset" else tasks(), "")
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
    if argv is None:
        _spare_collections()
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] and words[0].partition("=")[0] == _PLUGIN:
        return _with_plugins(words)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal or pipe that cannot show a sign (µ, a file name's odd byte) gets it escaped, not a crash.
            stream.reconfigure(errors="backslashreplace")
    if "_ARGCOMPLETE" in os.environ and argv is None:
        _complete()
    if words[:1] in (["-h"], ["--help"]):
        print(_overview())
        return 0
    if words[:1] == ["--version"]:
        print(f"medical-tasks {__version__}")
        return 0
    if not words or words[0] not in verbs():
        said = (
            f"there is no verb {words[0]!r}.{did_you_mean(words[0], verbs())}"
            if words
            else "name a VERB."
        )
        print(f"error: {said} See: medical-tasks --help", file=sys.stderr)
        return UsageError.exit_code
    verb, tail = words[0], words[1:]
    signal.signal(signal.SIGTERM, _stop)
    # What is made here is for its owner to change, whatever the mask says; what is private is closed to others anyway.
    os.umask(os.umask(0o022) | 0o022)
    try:
        with doing(f"run medical-tasks {verb}"), plugins.telling():
            code = _run_verb(verb, tail)
        sys.stdout.flush()
        return code
    except MedicalTasksError as error:
        print(f"{styled('error:', 'red', stream=sys.stderr)} {error}", file=sys.stderr)
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
            print(
                f"{told} or a machine with more, and give the same command again.", file=sys.stderr
            )
            if argv is None:
                # Libraries that were only half loaded may crash when the interpreter ends in order.
                sys.stderr.flush()
                os._exit(IncompleteError.exit_code)
            return IncompleteError.exit_code
        if isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None:
            print(f"error: the output cannot be written ({system_reason(error)}).", file=sys.stderr)
            return IncompleteError.exit_code
        raise


_PLUGIN = "--plugin"


def _with_plugins(words: list[str]) -> int:
    """Runs a command with packages that are not installed: `--plugin PLACE`, once or more, before the verb."""
    places = []
    while words and words[0].partition("=")[0] == _PLUGIN:
        _, equals, place = words.pop(0).partition("=")
        places.append(place if equals or not words else words.pop(0))
    try:
        with plugins.using(places):
            return main(words)
    except UsageError as error:
        print(f"{styled('error:', 'red', stream=sys.stderr)} {error}", file=sys.stderr)
        return error.exit_code


def _spare_collections() -> None:
    """Lets the garbage collector run less often, and not at all at the end.

    Importing large libraries makes many objects that all stay: looking at them again and again takes a sixth of that time, and
    looking at them once more before the process ends as long as a fifth of a second.
    """
    gc.set_threshold(100_000, 20, 20)
    atexit.register(gc.freeze)


def verb_module(verb: str) -> ModuleType:
    """Imports what implements a verb."""
    return importlib.import_module(verbs()[verb].module)


def read_words(verb: str, words: Sequence[str]) -> argparse.Namespace:
    """Reads what follows a verb; ends the program with a message where it is wrong."""
    module, form = verb_module(verb), argparse.RawDescriptionHelpFormatter
    parser = _Parser(f"medical-tasks {verb}", description=module.__doc__, formatter_class=form)
    parser.words = words
    parser.first = _declared(module).get("first", ())
    declare(parser, module, words)
    if getattr(module, "TAKES_COMMAND", False) and "--" in words:
        words = words[: words.index("--")]  # what follows it is another verb's
    # Names, values and options in any order: `calc NAME --convention C key=value`.
    return parser.parse_intermixed_args(words)


def _run_verb(verb: str, words: Sequence[str]) -> int:
    module = verb_module(verb)
    if getattr(module, "PASSES_ARGUMENTS_ON", False):
        return int(module.run_with(words))
    arguments = read_words(verb, words)
    with reading_tables(choice_of(arguments)):
        return _run_module(module, arguments)


def choice_of(arguments: argparse.Namespace, *, python: bool = False) -> TableChoice:
    """What was said about tables to a verb that may read some."""
    said = {name: value for name, value in vars(arguments).items() if name in _OF_TABLES}
    return TableChoice(**said, python=python)


def _run_module(module: ModuleType, arguments: argparse.Namespace) -> int:
    if not arguments.json:
        return int(module.run(arguments))
    from medical_tasks.runs.folder import is_main_process

    failed: MedicalTasksError | None = None
    with as_json() as said:
        try:
            code = int(module.run(arguments))
        except MedicalTasksError as error:
            failed = error
            said.facts |= {"error": str(error), "exit_code": error.exit_code}
    if is_main_process():  # of a run in several, whose others have nothing to say
        print(said.text())
    if failed is not None:
        raise failed
    return code
