"""Typed options: the parser, the Python functions and the dataclasses agree."""

from __future__ import annotations

import builtins
import dataclasses
import inspect
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import medical_tasks.api as api
import medical_tasks.options as declared
from medical_tasks.cli.entry import main, verbs
from medical_tasks.cli.parser import loaded, read
from medical_tasks.construct.options import Decompose, NewBenchmark, Swap
from medical_tasks.errors import UsageError
from medical_tasks.importing.options import Import
from medical_tasks.lab.options import Audit, Correlate, Errors, Meta
from medical_tasks.leaderboard.options import (
    Export,
    Leaderboard,
    SubmitEvalResults,
    SubmitSharedTask,
    SubmitSpace,
    Verify,
)
from medical_tasks.options import (
    Choice,
    Options,
    Parameter,
    parameters,
    read_settings,
    settings_text,
    words_of,
)
from scripts import api_arguments
from tests.support import ROOT, run_python

# Python has mt.show_prompt.
COMMAND_ALONE = {"show_prompt"}
# A function, its options, the fields that Python lacks, and its additional parameters.
FUNCTIONS: list[tuple[str, type[Options], set[str], set[str]]] = [
    ("adjudicate", declared.Adjudicate, set(), set()),
    ("audit", Audit, set(), set()),
    ("build", declared.Build, set(), set()),
    ("compare", declared.Compare, set(), set()),
    ("correlate", Correlate, set(), set()),
    ("decompose", Decompose, set(), set()),
    ("error_report", Errors, set(), set()),
    ("export", Export, set(), set()),
    ("forecast", declared.Run, {"forecast", *COMMAND_ALONE}, set()),
    ("gate", declared.Gate, set(), set()),
    ("import_run", Import, set(), set()),
    ("judge_check", declared.JudgeCheck, set(), set()),
    ("keep_leaderboard", Leaderboard, set(), set()),
    ("launch", declared.Launch, set(), set()),
    ("leakcheck", declared.Leakcheck, set(), set()),
    ("merge", declared.Merge, set(), set()),
    ("meta", Meta, set(), set()),
    ("new_benchmark", NewBenchmark, set(), set()),
    ("plan", declared.Plan, set(), set()),
    ("purge", declared.Purge, set(), set()),
    ("report", declared.Report, {"open"}, set()),  # opens a browser
    ("run", declared.Run, COMMAND_ALONE, set()),
    ("score", declared.Score, set(), set()),
    ("score_text", declared.ScoreText, set(), {"references"}),
    ("sheet", declared.Sheet, set(), set()),
    ("submit_eval_results", SubmitEvalResults, {"to"}, set()),
    ("submit_shared_task", SubmitSharedTask, set(), set()),
    ("submit_space", SubmitSpace, {"to"}, set()),
    ("swap", Swap, set(), set()),
    ("umls_build", declared.UmlsBuild, {"step"}, set()),
    ("umls_find", declared.UmlsFind, {"step"}, set()),
    ("verify", Verify, set(), set()),
]
# Parameters that in Python also accept answers and tables in memory, or lists of names.
IN_MEMORY = {("score", "responses"), ("score_text", "table"), ("score_text", "metrics")}
# Functions without a verb, or with other parameters than its options.
OTHERS = {"calc", "construct_benchmark", "doctor", "load", "show_prompt", "tasks"}


def test_every_function_is_checked_here() -> None:
    functions = {name for name in api.__all__ if inspect.isfunction(getattr(api, name))}
    assert functions == {name for name, *_ in FUNCTIONS} | OTHERS


@pytest.mark.parametrize(("name", "options", "left_out", "added"), FUNCTIONS)
def test_a_function_has_the_parameters_of_its_options(
    name: str, options: type[Options], left_out: set[str], added: set[str]
) -> None:
    function = getattr(api, name)
    names = (
        vars(api)
        | {"pd": SimpleNamespace(DataFrame=object), "Answers": Any}
        | _return_types(function)
    )
    hints = get_type_hints(function, globalns=names)
    fields = {n: p for n, p in parameters(options).items() if n not in left_out}
    actual = inspect.signature(function).parameters
    assert set(actual) - added == set(fields)
    for field, parameter in fields.items():
        taken = actual[field]
        assert taken.kind is not inspect.Parameter.VAR_KEYWORD
        assert _default(taken) == _expected_default(parameter), field
        if (name, field) not in IN_MEMORY:
            assert hints[field] is not Any
            variadic = taken.kind is inspect.Parameter.VAR_POSITIONAL
            assert _parts(hints[field]) == _expected(
                options, parameter, variadic=variadic
            ), field


def test_arguments_are_described_by_the_help_of_their_options() -> None:
    source = api_arguments.SOURCE.read_text(encoding="utf-8")
    assert api_arguments.written(source) == source

    described = "calibration: a result of judge-check"
    assert described in source
    changed = source.replace(described, "calibration: a number")
    assert api_arguments.written(changed) == source

    # A parameter of Python alone keeps its own words.
    references = "references: one for each prediction"
    assert references in source
    changed = source.replace(references, "references: texts")
    assert "references: texts" in api_arguments.written(changed)


def _return_types(function: Any) -> dict[str, Any]:
    """Names that only a type checker imports: what functions return."""
    name = str(function.__annotations__["return"]).partition("[")[0]
    return {} if name in vars(api) or hasattr(builtins, name) else {name: object}


def _default(parameter: inspect.Parameter) -> object:
    required = parameter.default is inspect.Parameter.empty
    return dataclasses.MISSING if required else parameter.default


def _expected_default(parameter: Parameter) -> object:
    """A dict of settings that is not given is None in Python, since a default may not change."""
    settings_alone = parameter.type is Mapping and not parameter.many
    return None if settings_alone else parameter.default


def _parts(hint: Any) -> set[Any]:
    """A union's members; those of what an Iterable holds in a set of their own."""
    if get_origin(hint) in (Union, UnionType):
        return {
            member_type for member in get_args(hint) for member_type in _parts(member)
        }
    if get_origin(hint) is Iterable:
        return {frozenset(_parts(*get_args(hint)))}
    return {hint}


def _expected(
    options: type[Options], parameter: Parameter, *, variadic: bool
) -> set[Any]:
    types: set[Any] = {parameter.type}
    if parameter.choices:
        types = {Literal[parameter.choices]}
    elif parameter.type is Path:
        types = {str, os.PathLike[str]}
        types |= {api.Results} if parameter.option.metavar == "RUN" else set()
    elif parameter.type is Mapping:
        types = {Mapping[str, object]}
    if parameter.many and not variadic:
        types |= {frozenset(types)}
    optional = type(None) in get_args(get_type_hints(options)[parameter.name])
    settings_alone = parameter.type is Mapping and not parameter.many
    return types | ({type(None)} if optional or settings_alone else set())


def test_every_name_of_the_options_is_loaded_when_it_is_used() -> None:
    assert all(hasattr(declared, name) for name in declared.__all__)
    assert not hasattr(declared, "Runs")


# The parser


def _classes() -> list[tuple[str, type[Options]]]:
    """Every verb's options, by the verb; each form of a verb that has several."""
    classes: list[tuple[str, type[Options]]] = []
    for name, verb in verbs().items():
        if verb.options is None:
            continue
        options = loaded(verb)
        forms = [*options.forms.values()] if isinstance(options, Choice) else [options]
        classes += [(name, form) for form in dict.fromkeys(forms)]
    return classes


# Texts that a shell passes on, and that argparse does not take for an option.
_TEXTS = st.text(
    st.characters(min_codepoint=32, max_codepoint=0x24F), min_size=1, max_size=12
)
_NAMES = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True)
_SETTINGS = st.dictionaries(
    _NAMES,
    st.from_regex(
        r"[A-Za-z0-9./:_]([A-Za-z0-9 ./:,_]*[A-Za-z0-9./:_])?", fullmatch=True
    ),
)


def _values(parameter: Parameter) -> st.SearchStrategy[Any]:
    kinds: dict[Any, st.SearchStrategy[Any]] = {
        bool: st.booleans(),
        int: st.integers(1, 10**6),
        float: st.floats(0.001, 1e6),
        str: _TEXTS.filter(lambda text: not text.startswith("-")),
        Path: _NAMES.map(Path),
        Mapping: _SETTINGS.filter(bool),
    }
    value = (
        st.sampled_from(parameter.choices)
        if parameter.choices
        else kinds[parameter.type]
    )
    return (
        st.lists(value, min_size=1, max_size=3).map(tuple) if parameter.many else value
    )


@pytest.mark.parametrize(("verb", "options"), _classes())
@given(data=st.data())
@settings(max_examples=6)
def test_options_written_as_words_are_read_back(
    verb: str, options: type[Options], data: st.DataObject
) -> None:
    if options is declared.Launch:
        return  # its words are followed by the command of `run`
    choice = loaded(verbs()[verb])
    chosen = {}
    if isinstance(choice, Choice):
        words = data.draw(
            st.sampled_from(
                [words for words, form in choice.forms.items() if form is options]
            )
        )
        chosen = dict(zip(choice.fields, words, strict=True))
    values = {
        name: data.draw(_values(parameter), label=name)
        for name, parameter in parameters(options).items()
        if name not in chosen and (parameter.required or data.draw(st.booleans()))
    }
    if options is declared.Calc:  # the first word is the calculator
        values.setdefault("calculator", "bmi")
    instance = options(**chosen | values)
    assert read(verbs()[verb], words_of(instance)).options() == instance


def test_the_command_after_two_dashes_has_options_of_its_own() -> None:
    words = [
        "--print",
        "k8s",
        "--shards",
        "2",
        "--",
        "run",
        "--tasks",
        "kqa",
        "--model",
        "m",
    ]
    launch = read(verbs()["launch"], words).options()
    assert launch == declared.Launch(
        print="k8s", shards=2, run=declared.Run(tasks="kqa", model="m")
    )
    with pytest.raises(
        UsageError, match="launch needs the command of run after --, got score"
    ):
        read(verbs()["launch"], [*words[:5], "score", "kqa"]).options()


@pytest.mark.parametrize(
    "verb", [name for name in verbs() if verbs()[name].options is not None]
)
def test_help_names_every_option(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    choice = loaded(verbs()[verb])
    forms = choice.forms if isinstance(choice, Choice) and choice.apart else {(): None}
    for words in forms:
        chosen = (
            [f"--{choice.fields[0]}", *words]
            if isinstance(choice, Choice) and words
            else []
        )
        flag = (
            "--help-all"
            if not isinstance(choice, Choice) and choice.first
            else "--help"
        )
        with pytest.raises(SystemExit) as stop:
            main([verb, *chosen, flag])
        assert stop.value.code == 0
        text = capsys.readouterr().out
        options = (
            choice.forms[words] if isinstance(choice, Choice) and words else choice
        )
        if isinstance(options, Choice):
            options = options.common
        for parameter in parameters(options).values():
            assert parameter.words in text or parameter.type is declared.Run, (
                parameter.name
            )


# Type checking of a program that uses the package

RIGHT = """
from pathlib import Path

import medical_tasks as mt

results = mt.run("kqa", "baseline/reference", max_samples=3, model_args={"a": 1}, out=Path("x"))
value: float | None = results["kqa"].metrics["comprehensiveness"].value
mt.compare(results, "other", metric=["a", "b"])
"""
WRONG = {
    'mt.run("kqa", "m", max_samples="3")': "arg-type",
    'mt.run("kqa", "m", max_sample=3)': "call-arg",
    'mt.run("kqa")': "call-arg",
    'mt.run("kqa", "m", truncate="never")': "arg-type",
    'mt.score("kqa", {"1": 2})': "arg-type",
    'mt.plan("kqa", accuracy="high")': "arg-type",
    'mt.launch("run", print="slurm", shards=2)': "arg-type",
}


def test_a_type_checker_accepts_right_calls_and_refuses_wrong_ones(
    tmp_path: Path,
) -> None:
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(RIGHT)
    wrong.write_text(
        "import medical_tasks as mt\n" + "".join(f"{line}\n" for line in WRONG)
    )
    # By the package's own configuration and cache: only two small files are new.
    output = run_python("-m", "mypy", str(right), str(wrong), cwd=ROOT, code=1)
    lines = [line for line in output.splitlines() if ": error: " in line]
    actual = {line.split(":")[1]: line.rpartition("[")[2].rstrip("]") for line in lines}
    assert not [line for line in lines if "right.py" in line], output
    expected = {
        str(line_number): code
        for line_number, code in enumerate(WRONG.values(), start=2)
    }
    assert actual == expected, output


@given(
    st.dictionaries(
        st.from_regex(r"[a-z_]+", fullmatch=True), st.text(alphabet='ab,"{}[]:=1 ')
    )
)
@example({"a": '["', "b": '"],'})  # together they look like one JSON list
def test_settings_are_read_as_they_were_written(given_settings: dict[str, str]) -> None:
    meant = {name: value.strip() for name, value in given_settings.items()}
    assert read_settings(settings_text(meant)) == meant


def test_a_setting_may_be_json() -> None:
    text = 'a=1,extra_body={"b": [1, 2], "c": "x,y"},d="p,q",e=[1'
    assert read_settings(text) == {
        "a": "1",
        "extra_body": '{"b": [1, 2], "c": "x,y"}',
        "d": "p,q",
        "e": "[1",
    }
