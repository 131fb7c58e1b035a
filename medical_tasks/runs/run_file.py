"""`run.yaml`: a run's options, next to its results; `run --config-file` repeats the run.

    tasks: medcalc
    model: hf/path/to/model
    max_samples: 200
    model_args: {dtype: bfloat16}

Only options that differ from the defaults are written. Options that let text leave the
machine are never written, nor are values that look like a secret: each command must give
them. A file with a setting without a value is refused until the value is given, so that the
repeated run is the same one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from medical_tasks._version import __version__
from medical_tasks.errors import UsageError, did_you_mean
from medical_tasks.io.files import WholeFile, read_text, readable
from medical_tasks.options import (
    Parameter,
    Run,
    WithAttestation,
    parameters,
    set_values,
    setting_text,
    settings_text,
)

RUN_FILE: Final = "run.yaml"
_FORM: Final = (
    "It has the options of `run`, a line each, such as max_samples: 200; every run writes one "
    f"({RUN_FILE})."
)
_NOT_WRITTEN: Final = frozenset(
    {*parameters(WithAttestation), "show_prompt", "forecast"}
)
"""Options that do not belong to a run, or that each command must give again."""
_SECRET: Final = re.compile(
    r"(?<![a-z])(api[_-]?key|secret|password|passwd|authorization|bearer|access[_-]?token|token)"
    r"(?![a-z_])",
    re.IGNORECASE,
)


def write_run_file(folder: Path, options: Run) -> None:
    """Writes the options of a run into its folder."""
    import yaml

    left_out: list[str] = []
    content = {
        name: _plain(name, value, left_out)
        for name, value in set_values(options).items()
        if name not in _NOT_WRITTEN
    }
    head = f"# medical-tasks {__version__}: medical-tasks run --config-file {RUN_FILE} repeats this run.\n"
    if left_out:
        head += f"# Left out, since it may be a secret: {', '.join(left_out)}.\n"

    with WholeFile(folder / RUN_FILE) as file:
        file.write(head)
        file.write(yaml.safe_dump(content, allow_unicode=True, sort_keys=False))


def _plain(name: str, value: object, left_out: list[str]) -> object:
    """Converts a value for YAML; `null` replaces what looks like a secret, and `left_out` names it."""
    if isinstance(value, Mapping):
        secret = [key for key, text in value.items() if _is_secret(key, str(text))]
        left_out += [f"{name}.{key}" for key in secret]
        return {**value, **dict.fromkeys(secret)}

    if isinstance(value, tuple):
        shown = [
            None if _SECRET.search(str(element)) else str(element) for element in value
        ]
        left_out += [name] * shown.count(None)
        return shown

    return str(value) if isinstance(value, Path) else value


def _is_secret(key: str, text: str) -> bool:
    """Whether a setting may be a secret: by its name, or by a name within its JSON."""
    return bool(_SECRET.search(key) or (text[:1] in "{[" and _SECRET.search(text)))


def read_run_file(
    path: Path, fields: Mapping[str, Parameter], *, without: Collection[str] = ()
) -> dict[str, list[str]]:
    """Reads a file into words of the command line, by field.

    Args:
        path: the file.
        fields: the fields of the verb's options.
        without: fields that the command line sets, which override the file's.

    Raises:
        UsageError: The file is malformed, has a key that is not an option, or lacks the
            value of a possible secret.
        MissingError: The file is missing.
    """
    import yaml

    with readable(path, missing=_FORM, again=_FORM):
        text = read_text(path)

    try:
        content = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        position = f", line {mark.line + 1}" if mark else ""
        raise UsageError(f"{path}: is not YAML{position}. {_FORM}") from error

    if not isinstance(content, dict):
        raise UsageError(f"{path}: must be keys and values. {_FORM}")

    words: dict[str, list[str]] = {}
    for key, value in content.items():
        name = str(key).replace("-", "_")
        _check_key(path, str(key), name, fields)
        if value is not None and name not in without:
            words[name] = _words(path, fields[name], value)

    return words


def _check_key(
    path: Path, key: str, name: str, fields: Mapping[str, Parameter]
) -> None:
    """Refuses a key that is not an option, or that a file may not set."""
    available = [option for option in fields if option not in _NOT_WRITTEN]
    if name not in fields:
        raise UsageError(
            f"{path}: {key!r} is not an option of run.{did_you_mean(name, available)} Its options: "
            f"{', '.join(available)}."
        )

    if name in _NOT_WRITTEN:
        raise UsageError(
            f"{path}: {key!r} cannot be set in a file. Give {fields[name].words} on the command "
            "line."
        )


def _words(path: Path, field: Parameter, value: object) -> list[str]:
    """Converts a value to words of the command line."""
    if field.type is bool:
        if not isinstance(value, bool):
            raise UsageError(f"{path}: {field.name} is true or false, got {value!r}.")
        return [field.words] if value else []
    values = value if isinstance(value, list) and field.many else [value]
    # With "=", so that a text that begins with - is not read as an option.
    return [f"{field.words}={_text(path, field, element)}" for element in values]


def _text(path: Path, field: Parameter, value: object) -> str:
    if isinstance(value, dict) and field.type is Mapping:
        for key, setting in value.items():
            _check_has_value(path, field, f"{field.name}.{key}", setting)
        return settings_text(
            {str(key): setting_text(setting) for key, setting in value.items()}
        )

    if isinstance(value, dict | list):
        raise UsageError(
            f"{path}: {field.name} is one value, got a {type(value).__name__}."
        )

    _check_has_value(path, field, field.name, value)
    return str(value)


def _check_has_value(path: Path, field: Parameter, name: str, value: object) -> None:
    """Refuses a setting without a value, which a run writes for a possible secret."""
    if value is None:
        raise UsageError(
            f"{path}: {name} has no value (a possible secret is not written). Write it into the "
            f"file, or give {field.words} with all its values on the command line."
        )
