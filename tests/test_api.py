"""The Python API: the numbers of the command line, and its messages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import medical_tasks as mt
from medical_tasks.cli.entry import main
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.runs.results import read_results
from tests.support import ROOT, run_python


@pytest.fixture(autouse=True)
def work_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def reference() -> mt.Results:
    mt.build("medcalc_bench", config="demo")
    return mt.run(
        "medical|medcalc", model="baseline/reference", config="demo", out="reference"
    )


def test_results_are_those_in_the_folder(reference: mt.Results) -> None:
    written = read_results(Path("reference"))
    assert reference.content == written
    recorded = written["tasks"]["medcalc"]["metrics"]["accuracy"]
    metric = reference["medical|medcalc|0"].metrics["accuracy"]
    assert (metric.value, metric.ci_low, metric.ci_high, metric.n) == (
        1.0,
        recorded["ci_low"],
        recorded["ci_high"],
        31,
    )
    items = reference["medcalc"].items
    assert list(items["accuracy"]) == [1.0] * 31
    assert "baseline/reference  medcalc  accuracy " in repr(reference)
    assert "<td>accuracy_official</td>" in reference._repr_html_()
    with pytest.raises(KeyError, match="kqa: the run has medcalc"):
        reference["kqa"]


def frame(golds: dict[str, str]) -> object:
    import pandas as pd

    return pd.DataFrame({"id": list(golds), "response": list(golds.values())})


@pytest.mark.parametrize(
    "form",
    [
        dict,
        lambda golds: [{"id": name, "response": text} for name, text in golds.items()],
        frame,
        lambda golds: Path("answers.jsonl"),
    ],
    ids=["dict", "records", "frame", "file"],
)
def test_answers_in_every_form_score_the_same(
    reference: mt.Results, form: Callable[[dict[str, str]], object]
) -> None:
    items = reference["medcalc"].items
    golds = {row.id: f"The answer is {row.parsed}." for row in items.itertuples()}
    golds["1"] = "I do not know."
    lines = [json.dumps({"id": name, "response": text}) for name, text in golds.items()]
    Path("answers.jsonl").write_text("\n".join(lines))
    scored = mt.score("medcalc", form(golds), config="demo")  # type: ignore[arg-type]
    assert scored["medcalc"].metrics["accuracy"].value == pytest.approx(30 / 31)
    compared = mt.compare(reference, scored, metric="accuracy")
    assert compared["medcalc"]["metrics"]["accuracy"]["flips"]["worsened"] == 1
    assert "B - A" in repr(compared)
    # no answers take another's place
    assert mt.score("medcalc", {"1": "25"}, config="demo").folder != scored.folder
    import pandas as pd

    some = mt.score(
        "medcalc",
        pd.DataFrame({"id": [1, 2], "response": ["25", float("nan")]}),
        config="demo",
    )
    assert (
        some["medcalc"].coverage["answered"],
        some["medcalc"].metrics["accuracy"].n,
    ) == (
        1,
        1,
    )  # never a 0
    assert mt.report([reference, scored], out="both.html") == [Path("both.html")]


def test_rows_calculations_and_packages(reference: mt.Results) -> None:
    assert mt.load("medcalc_bench", config="demo", split="test").num_rows == 31
    # built on the way: it needs no download
    assert mt.load("kqa", config="demo")["test"].num_rows == 13
    assert mt.calc("cha2ds2_vasc", age=72, sex="female", hypertension=True).answer == 3
    assert mt.calc(
        "ckd_epi_2021", age=(5, "years"), sex="male", creatinine="0.9 mg/dL"
    ).warnings
    words = [
        "submit",
        "reference",
        "--to",
        "space",
        "--model-name",
        "M",
        "--out",
        "p.zip",
        "--allow-partial",
    ]
    assert main(words) == 0
    assert mt.verify("p.zip").matches


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: mt.run("medcalk", model="baseline/empty"), UsageError, "Did you mean 'medcalc'?"),
        (lambda: mt.run("medcalc", model="baseline/empty", max_sample=3), UsageError, "run has no parameter 'max_sample'. Did"),  # type: ignore[call-arg]
        (lambda: mt.run("medcalc", model="baseline/empty", truncate="never"), UsageError, "truncate must be one of refuse, "),  # type: ignore[arg-type]
        (lambda: mt.run("medcalc", model="baseline/empty", config="demo", model_args={"a": "1,2"}), UsageError, "does not accept"),
        (lambda: mt.score("medcalc", [{"idd": 1}], config="demo"), UsageError, "the answers given, row 1: needs the keys 'id'"),
        (lambda: mt.score("medcalc", {"1": object()}, config="demo"), UsageError, "an answer is a text, or None"),  # type: ignore[arg-type]
        (lambda: mt.load("medcalc_bench", fetch=False), MissingError, "v1.0 is not built in"),
        (lambda: mt.compare("reference"), UsageError, "needs at least two runs"),
        (lambda: mt.nothing, AttributeError, "no attribute 'nothing'"),
    ],
)  # fmt: skip
def test_mistakes_have_the_messages_of_the_command_line(
    reference: mt.Results,
    wrong: Callable[[], object],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message.replace("?", r"\?").replace("|", r"\|")):
        wrong()


def test_the_import_is_light_and_the_report_function_survives_other_imports() -> None:
    code = (
        "import sys, medical_tasks as mt; print([n for n in ('numpy', 'argparse', 'pandas') if n in sys.modules]); "
        "import medical_tasks.report.page; print(callable(mt.report), sorted(set(mt.__all__) - set(dir(mt))))"
    )
    assert run_python("-c", code, cwd=ROOT) == "[]\nTrue []\n"
