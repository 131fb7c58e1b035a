"""From a call in Python to the options of a verb, and from its errors to the names of the call."""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

import medical_tasks.options as declared
from medical_tasks.api.results import Report, Results
from medical_tasks.errors import MedicalTasksError, UsageError, did_you_mean
from medical_tasks.io.cell_forms import reading_tables, table_choice_of
from medical_tasks.io.output import as_json
from medical_tasks.io.wording import in_python

_Parameters = ParamSpec("_Parameters")
_Returned = TypeVar("_Returned")
_Chosen = TypeVar("_Chosen", bound=declared.Options)
_WORDS: Final[Mapping[object, str]] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    Path: "a path",
    Mapping: "a dict of settings",
}


def public(
    function: Callable[_Parameters, _Returned],
) -> Callable[_Parameters, _Returned]:
    """Lets a function refuse parameters it has not, and name its own in errors as Python has them."""

    @functools.wraps(function)
    def called(*args: _Parameters.args, **named: _Parameters.kwargs) -> _Returned:
        taken = inspect.signature(function).parameters
        for name in named:
            if name not in taken:
                raise UsageError(
                    f"mt.{function.__name__} takes no {name!r}.{did_you_mean(name, taken)} "
                    f"It takes: {', '.join(taken)}."
                )
        try:
            return function(*args, **named)
        except MedicalTasksError as error:
            known = _all_parameters() | taken.keys()
            error.args = (in_python(str(error), known), *error.args[1:])
            raise

    return called


@functools.cache
def _all_parameters() -> frozenset[str]:
    """The names of parameters that any function of the API has.

    An option of another function is no option to a caller in Python either.
    """
    api = sys.modules["medical_tasks.api"]
    functions = [getattr(api, name) for name in api.__all__]
    return frozenset(
        name
        for function in functions
        if inspect.isfunction(function)
        for name in inspect.signature(function).parameters
    )


@contextlib.contextmanager
def reading(options: declared.Options) -> Iterator[None]:
    """Within the block tables are read as the options say."""
    with reading_tables(table_choice_of(options, python=True)):
        yield


def told(run: Callable[[_Chosen], int], options: _Chosen) -> Report:
    """Runs a verb, and returns what it says in place of printing it."""
    with as_json() as said, reading(options):
        run(options)
    content = said.value()
    return Report(
        content if isinstance(content, Mapping) else {"rows": content},
        "\n".join(said.lines),
    )


def made(kind: type[_Chosen], given: Mapping[str, object]) -> _Chosen:
    """Makes a verb's options of what a function was called with.

    Args:
        kind: the options.
        given: the function's parameters by name, among which None is the default.
    """
    parameters = declared.parameters(kind)
    return kind(
        **{
            name: _value(parameter, given[name])
            for name, parameter in parameters.items()
            if given.get(name) is not None
        }
    )


def _value(parameter: declared.Parameter, value: Any) -> Any:
    if not parameter.many:
        return _one(parameter, value)
    alone = isinstance(value, str | os.PathLike | Mapping)
    return tuple(_one(parameter, each) for each in ([value] if alone else value))


def _setting(value: object) -> str:
    """A setting's value as text; a dict or a list as JSON."""
    return json.dumps(value) if isinstance(value, dict | list) else str(value)


def _one(parameter: declared.Parameter, value: Any) -> Any:
    """A value in the type of its field; refused where it is none."""
    name, kind = parameter.name, parameter.type
    if parameter.choices and value not in parameter.choices:
        choices = ", ".join(map(str, parameter.choices))
        raise UsageError(f"{name} is one of {choices}, got {value!r}.")
    if isinstance(value, Results):
        value = value.folder
    if kind is Path and isinstance(value, str | os.PathLike):
        return Path(value)
    if kind is Mapping and isinstance(value, Mapping):
        return {str(key): _setting(each) for key, each in value.items()}
    if kind is Mapping and isinstance(value, str):
        return declared.read_settings(value, option=name)
    number = not isinstance(value, bool) and hasattr(value, "__float__")
    if kind is float and number:
        return float(value)
    if kind is int and number and value == int(value):
        return int(value)
    if kind not in (Path, Mapping, int, float) and isinstance(value, kind):
        return value
    expected = _WORDS.get(kind, kind.__name__)
    raise UsageError(f"{name} is {expected}, got {type(value).__name__} {value!r}.")
