"""From a call in Python to the options of a verb, and from its errors to the names of the call."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, ParamSpec, SupportsFloat, SupportsInt, TypeVar

import medical_tasks.options as declared
from medical_tasks.api.results import Report, Results
from medical_tasks.errors import (
    MedicalTasksError,
    UsageError,
    did_you_mean,
    of_system,
)
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


# A number may be one of numpy; `made` reads it.
_PLAIN: Final[Mapping[str, tuple[type, ...]]] = {
    "str": (str, os.PathLike),
    "int": (SupportsInt,),
    "float": (SupportsFloat,),
    "bool": (bool,),
    "os.PathLike[str]": (str, os.PathLike),
    "StrPath": (str, os.PathLike),
    "RunPath": (str, os.PathLike, Results),
    "None": (type(None),),
}
"""The types that an annotation's words take."""
_SAID: Final[Mapping[str, str]] = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "True or False",
    "os.PathLike[str]": "a path",
    "StrPath": "a path",
    "RunPath": "a run",
}


def public(
    function: Callable[_Parameters, _Returned],
) -> Callable[_Parameters, _Returned]:
    """Lets a function refuse parameters it has not, and name its own in errors as Python has them."""

    @functools.wraps(function)
    def called(*args: _Parameters.args, **named: _Parameters.kwargs) -> _Returned:
        taken = inspect.signature(function)
        call = _checked_call(function.__name__, taken, args, named)
        try:
            return function(*call.args, **call.kwargs)
        except MedicalTasksError as error:
            known = _all_parameters() | taken.parameters.keys()
            error.args = (in_python(str(error), known), *error.args[1:])
            raise
        except (OSError, ValueError, RuntimeError) as error:
            said = of_system(error)
            if said is None:
                raise

            raise said from error

    return called


def _checked_call(
    name: str,
    taken: inspect.Signature,
    args: tuple[object, ...],
    named: Mapping[str, object],
) -> inspect.BoundArguments:
    """Refuses a call that no function of this signature can be meant by.

    A path that stands for a text, such as the folder of a model, becomes one.
    """
    kinds = {parameter.kind for parameter in taken.parameters.values()}
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        for given in named:
            if given not in taken.parameters:
                raise UsageError(
                    f"mt.{name} takes no {given!r}.{did_you_mean(given, taken.parameters)} "
                    f"It takes: {', '.join(taken.parameters)}."
                )

    try:
        bound = taken.bind(*args, **named)
    except TypeError as error:
        raise UsageError(
            f"mt.{name}: {error}. It takes: {', '.join(taken.parameters)}."
        ) from error

    for given, value in bound.arguments.items():
        parameter = taken.parameters[given]
        _check_type(parameter, value)
        if "str" in _parts(parameter) and isinstance(value, os.PathLike):
            bound.arguments[given] = os.fspath(value)

    return bound


def _parts(parameter: inspect.Parameter) -> list[str]:
    """The words of a parameter's annotation."""
    return str(parameter.annotation).split(" | ")


def _check_type(parameter: inspect.Parameter, value: object) -> None:
    """Refuses a value that is of none of the plain types in a parameter's annotation.

    Annotations with other types, and those of parameters that take several values, are
    checked where the values are used (`made`, for most).
    """
    parts = _parts(parameter)
    several = parameter.kind in (
        inspect.Parameter.VAR_POSITIONAL,
        inspect.Parameter.VAR_KEYWORD,
    )
    if several or not _PLAIN.keys() >= set(parts):
        return
    if value is None and parameter.default is None:
        return

    if isinstance(value, bool) and "bool" not in parts:
        pass  # True is an int to Python, and no number to its user
    elif isinstance(value, tuple(kind for part in parts for kind in _PLAIN[part])):
        return

    expected = " or ".join(_SAID[part] for part in parts if part != "None")
    raise UsageError(
        f"{parameter.name} is {expected}, got {type(value).__name__} {value!r}."
    )


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
    for name, parameter in parameters.items():
        if parameter.required and given.get(name) is None:
            raise UsageError(f"{name} is {_kind_said(parameter)}, got None.")

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
    alone = isinstance(value, str | os.PathLike | Mapping | Results)
    if not alone and not isinstance(value, Iterable):
        _one(parameter, value)  # says what one of them must be, if it is none
        alone = True
    return tuple(_one(parameter, each) for each in ([value] if alone else value))


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
        return {str(key): declared.setting_text(each) for key, each in value.items()}
    if kind is Mapping and isinstance(value, str):
        return declared.read_settings(value, option=name)

    number = not isinstance(value, bool) and hasattr(value, "__float__")
    if kind is float and number:
        return float(value)
    if kind is int and number and value == int(value):
        return int(value)
    if kind not in (Path, Mapping, int, float) and isinstance(value, kind):
        return value

    expected = _kind_said(parameter)
    raise UsageError(f"{name} is {expected}, got {type(value).__name__} {value!r}.")


def _kind_said(parameter: declared.Parameter) -> str:
    return _WORDS.get(parameter.type, parameter.type.__name__)
