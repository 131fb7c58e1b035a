"""Mistakes of a user end in a message, never a traceback: all verbs and functions, with bad names and values.

Verbs come from the catalogue of verbs, functions from `medical_tasks.api.__all__`, so
that new ones are tried too.
"""

from __future__ import annotations

import contextlib
import errno
import inspect
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import medical_tasks as mt
from medical_tasks import api
from medical_tasks.cli.entry import main, verbs
from medical_tasks.cli.parser import declared, forms_apart
from medical_tasks.errors import (
    IncompleteError,
    MedicalTasksError,
    MissingError,
    UsageError,
    of_system,
)
from medical_tasks.io import files
from medical_tasks.options import Parameter

LONG = "n" * 300
CODES = {0, 2, 3, 4, 5}
"""Exit codes of a command, without those of a result."""
# Verbs that start a program, serve, or check this checkout: they take no name that
# could be wrong.
UNTRIED = {"lighteval", "doctor", "manifest", "list"}
FUNCTIONS = sorted(
    name for name in api.__all__ if inspect.isfunction(getattr(api, name))
)
FILLERS = {"task": "medcalc", "tasks": "medcalc", "dataset": "medcalc_bench"}
BAD: list[tuple[str, Any]] = [
    ("none", None),
    ("number", 3),
    ("long", LONG),
    ("object", object()),
    ("zero", "a\0b"),
]


@pytest.fixture
def broken_paths(here: Path) -> Path:
    """A working folder with paths that cannot be opened as files."""
    (here / "folder").mkdir()
    (here / "loop").symlink_to("loop")
    return here


def expect_message_or_result(call: Callable[[], object]) -> None:
    """Makes a call that returns or raises a user's error; any other error fails the test."""
    with contextlib.suppress(MedicalTasksError):
        call()


def argument_for(parameter: inspect.Parameter) -> object:
    if parameter.name == "model":
        return "baseline/empty"
    return FILLERS.get(parameter.name, "nowhere")


def calls(
    function: Callable[..., object], bad: object
) -> Iterator[Callable[[], object]]:
    """The function with a bad value for each required parameter, and for each path."""
    parameters = inspect.signature(function).parameters.values()
    for target in parameters:
        required = target.default is inspect.Parameter.empty
        if target.kind is inspect.Parameter.VAR_KEYWORD or not (
            required or "Path" in str(target.annotation)
        ):
            continue
        if bad is None and not required:
            continue  # its default
        words: list[object] = []
        named: dict[str, object] = {}
        for parameter in parameters:
            value = bad if parameter is target else argument_for(parameter)
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                words.append(value)
            elif parameter is target or (
                parameter.default is inspect.Parameter.empty
                and parameter.kind is not inspect.Parameter.VAR_KEYWORD
            ):
                named[parameter.name] = value
        if words:
            yield lambda words=words, named=named: function(*words, **named)  # type: ignore[misc]
        else:
            yield lambda named=named: function(**named)  # type: ignore[misc]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_report_bad_values_without_a_traceback(
    name: str, broken_paths: Path
) -> None:
    function = getattr(mt, name)
    for _, bad in BAD:
        for call in calls(function, bad):
            expect_message_or_result(call)
    for bad in (Path("folder"), Path("loop")):
        for call in calls(function, bad):
            expect_message_or_result(call)


def words_of(field: Parameter, value: str) -> list[str]:
    if field.option.positional:
        return [value]
    return [field.words] if field.type is bool else [f"{field.words}={value}"]


def text_for(field: Parameter) -> str:
    if field.choices:
        return str(field.choices[0])
    if field.type in (int, float):
        return "1"
    return {"model": "baseline/empty", **FILLERS}.get(field.name, "nowhere")


def commands(name: str, bad: str) -> Iterator[list[str]]:
    """The verb with a bad name for each path, and for each required text."""
    verb = verbs()[name]
    if verb.options is None:
        return
    for form in forms_apart(verb):
        fields = declared(verb, form)
        required = [field for field in fields.values() if field.required]
        for target in fields.values():
            is_path = target.type is Path
            if not (is_path or (target.required and target.type is str)):
                continue
            words = [*form]
            for field in dict.fromkeys(
                [*(needed.name for needed in required), target.name]
            ):
                value = bad if field == target.name else text_for(fields[field])
                words += words_of(fields[field], value)
            yield [name, *words]


@pytest.mark.parametrize("name", sorted(verbs().keys() - UNTRIED))
def test_verbs_report_bad_names_without_a_traceback(
    name: str, broken_paths: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for bad in (LONG, "folder", "loop"):
        for words in commands(name, bad):
            try:
                code = main(words)
            except SystemExit as stop:  # argparse ends the program itself
                code = int(str(stop.code))
            assert code in CODES, words
            captured = capsys.readouterr()
            assert "Traceback" not in captured.err + captured.out
            assert code == 0 or "error: " in captured.err, words


def test_most_verbs_and_functions_are_tried() -> None:
    assert len([name for name in verbs() if list(commands(name, LONG))]) > 20
    assert all(list(calls(getattr(mt, name), LONG)) for name in ("run", "load", "calc"))


@pytest.mark.parametrize(
    ("code", "kind", "step"),
    [
        (errno.ENAMETOOLONG, UsageError, "Give another name"),
        (errno.EISDIR, UsageError, "Give another name"),
        (errno.EACCES, UsageError, "readable and writable"),
        (errno.ENOENT, MissingError, "Give an existing file or folder"),
        (errno.ENOSPC, IncompleteError, "Free some space"),
        (errno.EROFS, IncompleteError, "another folder"),
    ],
)
def test_system_errors_become_messages(
    code: int, kind: type[MedicalTasksError], step: str
) -> None:
    error = of_system(OSError(code, os.strerror(code), "my/file.csv"))
    assert type(error) is kind
    assert str(error).startswith(f"my/file.csv: {os.strerror(code)}. ")
    assert step in str(error)
    assert len(str(of_system(OSError(code, "", LONG)))) < 250


def test_errors_of_sockets_pipes_and_the_suite_are_not_converted() -> None:
    assert of_system(BrokenPipeError(errno.EPIPE, "Broken pipe")) is None
    assert of_system(ConnectionRefusedError(errno.ECONNREFUSED, "refused")) is None
    assert of_system(ValueError("a fault")) is None
    assert of_system(OSError("no number")) is None
    ours = Path(api.__file__).parent / "nothing.json"
    with pytest.raises(FileNotFoundError) as caught:
        ours.read_text()
    assert of_system(caught.value) is None


def test_a_disk_that_is_full_while_a_run_is_written(
    demos: Path, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def full(self: files.WholeFile, content: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))

    monkeypatch.setattr(files.WholeFile, "write_bytes", full)
    data = ["--config", "demo", "--data", str(demos), "--out", "out"]
    assert main(["run", "--tasks", "medcalc", "--model", "baseline/empty", *data]) == 5
    assert "No space left on device" in capsys.readouterr().err
    with pytest.raises(IncompleteError, match="No space left on device"):
        mt.sheet("kqa", "s.csv", config="demo", data=demos)


def test_a_file_that_disappears_while_it_is_read(
    demos: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("answers.csv").write_text("id,answer\n1,25\n")
    original_stat = Path.stat

    def gone(self: Path, **options: Any) -> os.stat_result:
        result = original_stat(self, **options)
        if self.name == "answers.csv":
            self.unlink()
        return result

    monkeypatch.setattr(Path, "stat", gone)
    with pytest.raises(MedicalTasksError, match=r"answers\.csv"):
        mt.score("medcalc", "answers.csv", config="demo", data=demos)


def test_calls_with_missing_or_extra_arguments_are_refused() -> None:
    with pytest.raises(
        UsageError, match="mt.run: missing a required argument: 'model'"
    ):
        mt.run("medcalc")  # type: ignore[call-arg]
    with pytest.raises(UsageError, match=r"^mt\.sheet: too many positional"):
        mt.sheet("kqa", "a.csv", "b")  # type: ignore[call-arg, arg-type]
    with pytest.raises(UsageError, match="dataset must be a text, got NoneType None"):
        mt.load(None)  # type: ignore[arg-type]
