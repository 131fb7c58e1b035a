"""The `Args` of the Python API's functions, written from the help of their options.

    python scripts/api_arguments.py --write     part of `make manifest`
    python scripts/api_arguments.py --check     part of `make check`; exit status 1 if a docstring differs

An option's meaning is thus written once, in its dataclass in `medical_tasks/options/` or
in a wing. The signatures stay in the source, where an editor reads them;
`tests/test_options.py` compares them with the options.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Final

from medical_tasks import api, options
from medical_tasks.data.manifest import text_problems, write_texts
from medical_tasks.options import Options, Parameter, parameters

SOURCE: Final = Path(inspect.getfile(api))
_ARGUMENTS: Final = re.compile(
    r"(?<=^    Args:\n).*?(?=\n\n    \S|\n    \"\"\")", re.DOTALL | re.MULTILINE
)
"""The lines of a function's `Args` section."""
_ARGUMENT: Final = re.compile(
    r"^        (\w+): (.*(?:\n            .*)*)", re.MULTILINE
)
_OPTION: Final = re.compile(r"--([a-z][a-z-]*)")
_WIDTH: Final = 88
_OWN_WORDS: Final = frozenset({"show_prompt"})
"""Functions to which their options mean something else than to the verb."""


def written(source: str) -> str:
    """Writes the `Args` of every function that reads its arguments as a verb's options.

    Args:
        source: the text of `medical_tasks/api/__init__.py`.

    Returns:
        The same text with these sections; descriptions of parameters that are no options stay.
    """
    result, lines = source, source.split("\n")
    for function in ast.parse(source).body:
        chosen = _options_of(function)
        if (
            isinstance(function, ast.FunctionDef)
            and chosen is not None
            and function.name not in _OWN_WORDS
        ):
            before = "\n".join(lines[function.lineno - 1 : function.end_lineno])
            after = _with_arguments(before, function, parameters(chosen))
            result = result.replace(before, after)

    return result


def _options_of(function: ast.stmt) -> type[Options] | None:
    """The class that a function passes to `options_from`; None if it does not."""
    imported = {
        name.name: node.module
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and node.module
        for name in node.names
    }
    for node in ast.walk(function):
        match node:
            case ast.Call(
                func=ast.Name("options_from"), args=[ast.Attribute(attr=name), *_]
            ):
                return _class(options.__name__, name)
            case ast.Call(func=ast.Name("options_from"), args=[ast.Name(name), *_]):
                return _class(imported[name], name)

    return None


def _class(module: str, name: str) -> type[Options]:
    chosen: type[Options] = getattr(import_module(module), name)
    return chosen


def _with_arguments(
    source: str, function: ast.FunctionDef, fields: Mapping[str, Parameter]
) -> str:
    """Replaces the `Args` section of one function's source."""
    section = _ARGUMENTS.search(source)
    if section is None:
        raise ValueError(f"{function.name}: its docstring has no Args")
    described = {
        name: " ".join(text.split()) for name, text in _ARGUMENT.findall(section[0])
    }
    lines = "\n".join(
        _wrapped(name, _meaning(fields[name]) if name in fields else described[name])
        for name in _names(function)
    )
    return source[: section.start()] + lines + source[section.end() :]


def _names(function: ast.FunctionDef) -> Iterator[str]:
    """The parameters of a function in the order of its signature."""
    arguments = function.args
    yield from (argument.arg for argument in arguments.args)
    if arguments.vararg:
        yield arguments.vararg.arg
    yield from (argument.arg for argument in arguments.kwonlyargs)


def _meaning(option: Parameter) -> str:
    """An option's help for a reader of Python: "see --judge-args" becomes "see `judge_args`"."""
    text = _OPTION.sub(
        lambda name: f"`{name[1].replace('-', '_')}`", option.option.help
    )
    return text if text.endswith(".") else f"{text}."


def _wrapped(name: str, meaning: str) -> str:
    return textwrap.fill(
        f"{name}: {meaning}",
        _WIDTH,
        initial_indent=" " * 8,
        subsequent_indent=" " * 12,
        break_on_hyphens=False,
        break_long_words=False,
    )


def main() -> int:
    """Writes or checks the docstrings."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true")
    action.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    texts = {SOURCE: written(SOURCE.read_text(encoding="utf-8"))}
    if arguments.write:
        print(*(f"wrote {path}" for path in write_texts(texts)), sep="\n")
        return 0

    problems = text_problems(texts)
    print(*problems, sep="\n", file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
