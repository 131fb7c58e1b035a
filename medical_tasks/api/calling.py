"""Converts a Python call to the options of a command, and its errors to Python names."""

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


# A number may be one of numpy; `options_from` reads it.
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
"""The types that match the words of an annotation."""
_TYPE_WORDS: Final[Mapping[str, str]] = {
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
    """Makes a function refuse unknown parameters, and use Python's names of parameters in errors."""

    @functools.wraps(function)
    def called(*args: _Parameters.args, **named: _Parameters.kwargs) -> _Returned:
        signature = inspect.signature(function)
        call = _checked_call(function.__name__, signature, args, named)
        try:
            return function(*call.args, **call.kwargs)
        except MedicalTasksError as error:
            parameter_names = _all_parameters() | signature.parameters.keys()
            error.args = (in_python(str(error), parameter_names), *error.args[1:])
            raise
        except (OSError, ValueError, RuntimeError) as error:
            notice = of_system(error)
            if notice is None:
                raise

            raise notice from error

    return called


def _checked_call(
    function_name: str,
    signature: inspect.Signature,
    args: tuple[object, ...],
    named: Mapping[str, object],
) -> inspect.BoundArguments:
    """Binds a call to a signature, or refuses it.

    A path for a text parameter, such as the folder of a model, is converted to text.
    """
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        for name in named:
            if name not in signature.parameters:
                raise UsageError(
                    f"mt.{function_name} has no parameter {name!r}."
                    f"{did_you_mean(name, signature.parameters)} Its parameters: "
                    f"{', '.join(signature.parameters)}."
                )

    try:
        bound = signature.bind(*args, **named)
    except TypeError as error:
        raise UsageError(
            f"mt.{function_name}: {error}. Its parameters: {', '.join(signature.parameters)}."
        ) from error

    for name, value in bound.arguments.items():
        parameter = signature.parameters[name]
        _check_type(parameter, value)
        if "str" in _type_names(parameter) and isinstance(value, os.PathLike):
            bound.arguments[name] = os.fspath(value)

    return bound


def _type_names(parameter: inspect.Parameter) -> list[str]:
    """The names of the types in a parameter's annotation."""
    return str(parameter.annotation).split(" | ")


def _check_type(parameter: inspect.Parameter, value: object) -> None:
    """Refuses a value that has none of the plain types in a parameter's annotation.

    Annotations with other types, and those of variadic parameters, are checked where the
    values are used (mostly in `options_from`).
    """
    types = _type_names(parameter)
    is_variadic = parameter.kind in (
        inspect.Parameter.VAR_POSITIONAL,
        inspect.Parameter.VAR_KEYWORD,
    )
    if is_variadic or not _PLAIN.keys() >= set(types):
        return
    if value is None and parameter.default is None:
        return

    if isinstance(value, bool) and "bool" not in types:
        pass  # True is an int in Python, but not a number to a user
    elif isinstance(
        value, tuple(kind for type_name in types for kind in _PLAIN[type_name])
    ):
        return

    expected = " or ".join(
        _TYPE_WORDS[type_name] for type_name in types if type_name != "None"
    )
    raise UsageError(
        f"{parameter.name} must be {expected}, got {type(value).__name__} {value!r}."
    )


@functools.cache
def _all_parameters() -> frozenset[str]:
    """Returns the names of the parameters of all API functions.

    Messages may name options of another function, which need Python names as well.
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
    """Reads tables within the block as the options specify."""
    with reading_tables(table_choice_of(options, python=True)):
        yield


def captured_report(run: Callable[[_Chosen], int], options: _Chosen) -> Report:
    """Runs a command, and returns its output instead of printing it."""
    with as_json() as captured, reading(options):
        run(options)
    content = captured.value()
    return Report(
        content if isinstance(content, Mapping) else {"rows": content},
        "\n".join(captured.lines),
    )


def options_from(kind: type[_Chosen], arguments: Mapping[str, object]) -> _Chosen:
    """Builds a command's options from the arguments of a function.

    Args:
        kind: The class of the options.
        arguments: The function's arguments by name; None means the default.
    """
    parameters = declared.parameters(kind)
    for name, parameter in parameters.items():
        if parameter.required and arguments.get(name) is None:
            raise UsageError(
                f"{name} must be {_type_description(parameter)}, got None."
            )

    return kind(
        **{
            name: _value(parameter, arguments[name])
            for name, parameter in parameters.items()
            if arguments.get(name) is not None
        }
    )


def _value(parameter: declared.Parameter, value: Any) -> Any:
    if not parameter.many:
        return _typed_value(parameter, value)
    is_single = isinstance(value, str | os.PathLike | Mapping | Results)
    if not is_single and not isinstance(value, Iterable):
        _typed_value(parameter, value)  # raises unless it is a single value
        is_single = True
    return tuple(
        _typed_value(parameter, element)
        for element in ([value] if is_single else value)
    )


def _typed_value(parameter: declared.Parameter, value: Any) -> Any:
    """Converts a value to the type of its field, or refuses it."""
    name, kind = parameter.name, parameter.type
    if parameter.choices and value not in parameter.choices:
        choices = ", ".join(map(str, parameter.choices))
        raise UsageError(f"{name} must be one of {choices}, got {value!r}.")

    if isinstance(value, Results):
        value = value.folder
    if kind is Path and isinstance(value, str | os.PathLike):
        return Path(value)
    if kind is Mapping and isinstance(value, Mapping):
        return {
            str(key): declared.setting_text(setting) for key, setting in value.items()
        }
    if kind is Mapping and isinstance(value, str):
        return declared.read_settings(value, option=name)

    is_number = not isinstance(value, bool) and hasattr(value, "__float__")
    if kind is float and is_number:
        return float(value)
    if kind is int and is_number and value == int(value):
        return int(value)
    if kind not in (Path, Mapping, int, float) and isinstance(value, kind):
        return value

    expected = _type_description(parameter)
    raise UsageError(
        f"{name} must be {expected}, got {type(value).__name__} {value!r}."
    )


def _type_description(parameter: declared.Parameter) -> str:
    return _WORDS.get(parameter.type, parameter.type.__name__)
