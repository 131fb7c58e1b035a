"""The pages of `docs/reference/`: what docstrings, options and specs say, as Markdown.

They are written and checked with the other generated files (`medical-tasks manifest`),
and never read at run time. Pages hold what the project itself registers, whatever else
is installed.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

import medical_tasks
import medical_tasks.spec as contract
from medical_tasks import api
from medical_tasks.calculators.index import CALCULATORS
from medical_tasks.catalog import own_benchmarks
from medical_tasks.cli.argument_help import meaning_of
from medical_tasks.cli.calc import render_inputs
from medical_tasks.cli.entry import verbs
from medical_tasks.cli.parser import description_of, loaded
from medical_tasks.models.opener import Reader
from medical_tasks.options import Choice, Options, Parameter, parameters
from medical_tasks.plugins import Verb
from medical_tasks.spec import Benchmark

__all__ = ["reference_texts"]

_SECTION: Final = re.compile(
    r"^(Args|Attributes|Returns|Raises|Examples?):(?:\n| (?=.))((?:[ ].*\n|\n)*)",
    re.MULTILINE,
)
"""A section of a Google docstring: its name, and the indented lines after it."""
_SHARED: Final[Mapping[str, str]] = {
    "judge": "Judge options",
    "calibration": "Calibration options",
    "credentialed data": "Options for credentialed data",
    "tables": "Table options",
}
"""Headings of options that several verbs share, with the sections that list them."""


def reference_texts() -> dict[str, str]:
    """Returns the pages by their names in `docs/reference/`."""
    pages = {
        "command_line": _command_line(),
        "python": _python(),
        "tasks": _tasks(),
        "arguments": _arguments(),
        "calculators": _calculators(),
        "contract": _contract(),
    }
    return {f"{name}.md": _tidy("\n".join(lines)) for name, lines in pages.items()}


def _tidy(text: str) -> str:
    """The text with one blank line where there were several."""
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _page(title: str, source: str) -> str:
    return f"# {title}\n\n<!-- Generated from {source} by `make manifest`. -->\n"


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(_table_line(map(str, cells)) for cells in lines)


def _table_line(cells: Iterable[str]) -> str:
    escaped = (cell.replace("|", r"\|") for cell in cells)
    return f"| {' | '.join(escaped)} |\n"


def _fence(text: str, language: str = "text") -> str:
    body = text.strip("\n")
    return f"```{language}\n{body}\n```\n"


# --- The command line


def _command_line() -> Iterator[str]:
    yield _page("Command line", "the options of the verbs")
    yield (
        "`medical-tasks VERB --help` prints a section of this page. Every verb but `lighteval` "
        "also takes `--json`, which prints one JSON value instead of text.\n"
    )
    for group in dict.fromkeys(verb.group for verb in _own_verbs()):
        members = [verb for verb in _own_verbs() if verb.group == group]
        yield f"## {group}\n"
        yield _table(
            ("verb", "use"),
            [(f"[{verb.name}](#{verb.name})", verb.summary) for verb in members],
        )
        for verb in members:
            yield from _verb(verb)

    yield "## Shared options\n"
    for heading, title in _SHARED.items():
        yield f"### {title}\n"
        yield _option_table(_shared_options(heading).values())


@cache
def _own_verbs() -> tuple[Verb, ...]:
    own = "medical_tasks."
    return tuple(verb for verb in verbs().values() if verb.run.startswith(own))


def _verb(verb: Verb) -> Iterator[str]:
    """The section of a verb: summary, examples and rules, then its options."""
    yield f"### {verb.name}\n"
    summary, _, rest = description_of(verb).partition("\n")
    yield f"{summary}\n"
    if rest.strip():
        yield _fence(rest)
    if verb.options is None:
        return

    options = loaded(verb)
    if not isinstance(options, Choice):
        yield from _options(parameters(options).values())
        if options.from_file:
            yield (
                "`--config-file FILE` takes options from a `run.yaml`, as every run writes one; "
                "those of the command win.\n"
            )
        return

    common = parameters(options.common)
    yield from _options(common.values())
    for words, form in options.forms.items():
        yield f"#### {' '.join((verb.name, *words))}\n"
        yield f"{_docstring(form)}\n"
        yield from _options(
            parameter
            for name, parameter in parameters(form).items()
            if name not in common
        )


def _docstring(form: type[Options]) -> str:
    return inspect.cleandoc(form.__doc__ or "")


def _options(options: Iterable[Parameter]) -> Iterator[str]:
    """A verb's own options, and links to those that it shares with other verbs."""
    groups: dict[str, list[Parameter]] = {}
    for option in options:
        if not _is_command(option):
            groups.setdefault(option.heading, []).append(option)

    own = [heading for heading in groups if heading not in _SHARED]
    if rows := [option for heading in own for option in groups[heading]]:
        yield _option_table(rows)

    shared = [heading for heading in groups if heading in _SHARED]
    if shared:
        yield f"Also: {'; '.join(_link(name, groups[name]) for name in shared)}.\n"


def _link(heading: str, options: Iterable[Parameter]) -> str:
    """A link to shared options, and which of them the verb does not have."""
    title = _SHARED[heading].lower()
    names = {option.name for option in options}
    absent = [
        f"`{option.words}`"
        for name, option in _shared_options(heading).items()
        if name not in names
    ]
    without = f", without {', '.join(absent)}" if absent else ""
    return f"[{title}](#{title.replace(' ', '-')}){without}"


def _is_command(option: Parameter) -> bool:
    """Whether a field holds another verb's options, which follow `--`."""
    return isinstance(option.type, type) and issubclass(option.type, Options)


def _option_table(options: Iterable[Parameter]) -> str:
    return _table(
        ("option", "meaning"),
        [(f"`{_usage(option)}`", _meaning(option)) for option in options],
    )


def _usage(option: Parameter) -> str:
    """An option as a command has it: `--max-samples N`, `--by NAME ...`, `TASK`."""
    many = " ..." if option.many else ""
    if option.option.positional:
        return f"{option.words}{many}"
    if option.type is bool:
        return option.words

    choices = f"{{{','.join(map(str, option.choices))}}}" if option.choices else ""
    value = option.option.metavar or choices or option.name.upper()
    if option.type is Mapping:
        value = "K=V,..."
    return f"{option.words} {value}{many}"


def _meaning(option: Parameter) -> str:
    text = option.option.help.replace("<", "&lt;")
    return f"{text} (required)" if option.required else text


@cache
def _shared_options(heading: str) -> Mapping[str, Parameter]:
    """The options under a heading, of all verbs and their forms, by name."""
    return {
        option.name: option
        for verb in _own_verbs()
        if verb.options is not None
        for form in _forms(loaded(verb))
        for option in parameters(form).values()
        if option.heading == heading
    }


def _forms(options: type[Options] | Choice) -> tuple[type[Options], ...]:
    return (*options.forms.values(),) if isinstance(options, Choice) else (options,)


# --- Python


def _python() -> Iterator[str]:
    """What `medical_tasks` offers, and the classes that its functions return."""
    names = {name: getattr(medical_tasks, name) for name in medical_tasks.__all__}
    names |= {
        name: value
        for name, value in inspect.getmembers(api, inspect.isclass)
        if value.__module__ == "medical_tasks.api.results"
    }
    yield _page("Python", "the docstrings of `medical_tasks.api`")
    yield f"{inspect.cleandoc(api.__doc__ or '')}\n"
    for name, value in names.items():
        if not name.startswith("_"):
            yield f"## {name}\n"
            yield _fence(f"{name}{_signature(value)}", "python")
            yield _prose(value.__doc__)


def _signature(value: Callable[..., object]) -> str:
    """The signature of a function or class, without quotes around types."""
    text = str(inspect.signature(value))
    return re.sub(r"""(: |-> )(["'])(.*?)\2(?=[,)= ]|$)""", r"\1\3", text)


def _prose(docstring: str | None) -> str:
    """A Google docstring as Markdown.

    >>> print(_prose('''Adds.
    ...
    ... Args:
    ...     a: a number.
    ... '''))
    Adds.
    <BLANKLINE>
    **Args**
    <BLANKLINE>
    - `a`: a number.
    <BLANKLINE>
    """
    text = f"{inspect.cleandoc(docstring or '')}\n"
    return _SECTION.sub(lambda match: _section(match[1], match[2]), text)


def _section(name: str, lines: str) -> str:
    body = textwrap.dedent(lines).strip("\n")
    if name.startswith("Example"):
        body = _fence(body, "python").rstrip()
    elif name != "Returns":
        body = re.sub(r"(?m)^(\w+): ", r"- `\1`: ", body)
    return f"**{name}**\n\n{body}\n\n"


# --- Tasks, arguments, calculators


def _tasks() -> Iterator[str]:
    """Every task, the settings that tasks take, and the metrics that they report."""
    yield _page("Tasks and metrics", "the specs of the benchmarks")
    yield "`medical-tasks list` shows which of their datasets are built here.\n"
    for benchmark in own_benchmarks():
        yield f"## {benchmark.title}\n"
        yield _table(
            ("task", "asked", "dataset", "split", "version", "longest answer"),
            [
                (
                    f"`{task.name}`",
                    task.title,
                    task.dataset,
                    task.split,
                    task.version,
                    task.generation_size,
                )
                for task in benchmark.tasks
            ],
        )
        if settings := _settings(benchmark):
            yield _table(("`--task-args`", "meaning", "tasks"), settings)
        yield _table(
            ("metric", "meaning", "range", "needs", "tasks"), _metrics(benchmark)
        )


def _settings(benchmark: Benchmark) -> list[tuple[str, ...]]:
    users: dict[tuple[str, ...], list[str]] = {}
    for task in benchmark.tasks:
        for name, meaning in {**task.arguments, **task.scoring_arguments}.items():
            users.setdefault((f"`{name}`", meaning), []).append(task.name)
    return _with_tasks(users, benchmark)


def _metrics(benchmark: Benchmark) -> list[tuple[str, ...]]:
    users: dict[tuple[str, ...], list[str]] = {}
    for task in benchmark.tasks:
        for metric in task.metrics:
            low, high = metric.limits
            span = f"{low:g} to {high:g} {metric.unit}".rstrip()
            row = (f"`{metric.name}`", metric.description, span, metric.needs)
            users.setdefault(row, []).append(task.name)
    return _with_tasks(users, benchmark)


def _with_tasks(
    users: Mapping[tuple[str, ...], Sequence[str]], benchmark: Benchmark
) -> list[tuple[str, ...]]:
    """Rows with a last cell that names the tasks they hold for."""
    every = len(benchmark.tasks)
    return [
        (*row, "all" if len(tasks) == every else ", ".join(tasks))
        for row, tasks in users.items()
    ]


def _arguments() -> Iterator[str]:
    """What `--model-args` and `--judge-args` take, by kind."""
    from medical_tasks.judges.chat import CHAT_JUDGE_OPTIONS
    from medical_tasks.judges.nli import NLI_OPTIONS
    from medical_tasks.models.inspect_options import INSPECT_OPTIONS
    from medical_tasks.models.opener import (
        CHAT_OPTIONS,
        HF_OPTIONS,
        RAY_OPTIONS,
        TESTED_OPTIONS,
        VLLM_OPTIONS,
    )
    from medical_tasks.models.server import SERVED_OPTIONS

    yield _page("Arguments of models and judges", "the readers of `--model-args`")
    yield "`medical-tasks run --tasks T --model M --model-args K=V,... --judge J --judge-args K=V,...`\n"
    tested = {
        name: reader
        for name, reader in TESTED_OPTIONS.items()
        if name not in CHAT_OPTIONS
    }
    servers = {"openai-api": CHAT_OPTIONS, **SERVED_OPTIONS}
    kinds = {
        "hf": HF_OPTIONS,
        "vllm": VLLM_OPTIONS,
        "ray": RAY_OPTIONS,
        **{kind: {**readers, **tested} for kind, readers in servers.items()},
        "inspect": INSPECT_OPTIONS,
        "judge nli": NLI_OPTIONS,
    }
    for kind, readers in kinds.items():
        yield f"## {kind}\n\n{_argument_table(kind, readers)}"

    yield "## Chat judges\n"
    absent = ", ".join(f"`{name}`" for name in tested)
    yield f"The arguments of the kind of model (of a server without {absent}), and:\n"
    yield _argument_table("judge", CHAT_JUDGE_OPTIONS)


def _argument_table(kind: str, readers: Mapping[str, Reader]) -> str:
    rows = [
        (f"`{name}`", rule, meaning_of(kind, name))
        for name, (_, rule) in sorted(readers.items())
    ]
    return _table(("argument", "value", "meaning"), rows)


def _calculators() -> Iterator[str]:
    """Inputs, units, published ranges and sources of the calculators."""
    yield _page("Inputs of the calculators", "the calculators")
    yield "`medical-tasks calc NAME --inputs` prints a section of this page.\n"
    for calculator in CALCULATORS:
        yield f"## {calculator.name}\n\n{_fence(render_inputs(calculator))}"


# --- The contract


def _contract() -> Iterator[str]:
    """The classes of `spec.py`, in its order: fields, methods, docstrings."""
    yield _page("The contract of a benchmark", "the docstrings of `medical_tasks.spec`")
    yield f"{inspect.cleandoc(contract.__doc__ or '')}\n"
    for node in ast.parse(inspect.getsource(contract)).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield f"## {node.name}\n"
            yield _prose(ast.get_docstring(node))
            if fields := _fields(node):
                yield _fence(fields, "python")
            yield from _methods(node)


def _fields(node: ast.ClassDef) -> str:
    """The lines that declare a class's fields, with their comments."""
    lines = inspect.getsource(contract).splitlines()
    fields = [member for member in node.body if isinstance(member, ast.AnnAssign)]
    if not fields:
        return ""

    first = fields[0].lineno - 1
    while lines[first - 1].strip().startswith("#"):
        first -= 1
    last = fields[-1].end_lineno
    return textwrap.dedent("\n".join(lines[first:last]))


def _methods(node: ast.ClassDef) -> Iterator[str]:
    for member in node.body:
        if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
            returns = f" -> {ast.unparse(member.returns)}" if member.returns else ""
            yield f"### {node.name}.{member.name}\n"
            yield _fence(
                f"{member.name}({ast.unparse(member.args)}){returns}", "python"
            )
            yield _prose(ast.get_docstring(member))
