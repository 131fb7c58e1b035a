"""The content of a report: from real runs on open demo data, and by hand."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.kqa.scoring import statement_plots
from medical_tasks.catalog import task_spec
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.judges.checks import check_key, record_check
from medical_tasks.report import texts
from medical_tasks.report.collect import judge_plots, report_data, verdicts_by_item
from medical_tasks.report.page_data import ReportData
from medical_tasks.report.report_task import ReportTask
from medical_tasks.report.texts import TextPlaces, chat_text
from medical_tasks.runs.results import RESULTS_FILE, item_of, read_items, read_results
from medical_tasks.spec import Item, Message, PromptSet
from tests.case_tables import json_of
from tests.fault_server import Call, FaultServer
from tests.report.tiny_runs import ran, scored

LEXICAL = ("--judge", "lexical")


@pytest.fixture(scope="module")
def reference(demos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "reference"
    return ran(demos, out, "medcalc,kqa", "baseline/reference", LEXICAL)


@pytest.fixture(scope="module")
def random(demos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "random"
    return ran(demos, out, "kqa,medcalc", "baseline/random", LEXICAL)


def task(data: ReportData, name: str, run: str = "") -> ReportTask:
    (matching,) = [
        task for task in data.tasks if task.name == name and run in ("", task.run)
    ]
    return matching


def changed(
    run: Path,
    parent: Path,
    change: Callable[[dict[str, Any]], None],
    name: str = "changed",
) -> Path:
    """A copy of a run with other entries of its tasks."""
    folder = Path(shutil.copytree(run, parent / name))
    results = json_of(folder / RESULTS_FILE)
    change(results["tasks"])
    (folder / RESULTS_FILE).write_text(json.dumps(results))
    return folder


def test_a_report_holds_everything_of_a_run(demos: Path, reference: Path) -> None:
    messages: list[str] = []
    data = report_data([reference], TextPlaces(data=demos), tell=messages.append)
    assert data.title == "baseline/reference on MedCalc-Bench and K-QA"
    assert messages == []
    medcalc = task(data, "medcalc")
    assert (medcalc.access, medcalc.benchmark, medcalc.run) == (
        "open",
        "MedCalc-Bench",
        "baseline/reference",
    )
    assert medcalc.entry == read_results(reference)["tasks"]["medcalc"]
    assert [metric.name for metric in medcalc.metrics] == list(medcalc.entry["metrics"])
    assert medcalc.published
    assert "questions are shown as this suite's own prompts put them" in medcalc.texts
    rows = {row["id"]: row for row in read_items(reference) if row["task"] == "medcalc"}
    assert [item.id for item in medcalc.items] == list(rows)
    assert len(rows) == 31
    for item in medcalc.items:
        assert item.values == {
            metric.name: rows[item.id][metric.name] for metric in medcalc.metrics
        }
        assert item.groups == {
            name: rows[item.id][f"group_{name}"] for name in ("category", "calculator")
        }
        assert item.answer == item.gold != ""
        assert item.parsed
        assert item.why
        assert item.question.startswith(
            "You support a clinician with a medical calculation."
        )
        assert item.answer_sha256 == hashlib.sha256(item.answer.encode()).hexdigest()
        assert item.verdicts == ()


def test_an_open_task_that_ran_beside_a_credentialed_one_stays_open_without_texts(
    demos: Path, tmp_path: Path
) -> None:
    names = "medcalc,ehrnoteqa_mc_level1"
    run = ran(demos, tmp_path / "both", names, "baseline/reference", LEXICAL)
    data = report_data([run], TextPlaces(data=demos), tell=lambda message: None)
    medcalc = task(data, "medcalc")
    assert medcalc.access == "open"
    assert task(data, "ehrnoteqa_mc_level1").access == "credentialed"
    assert "as it has credentialed tasks too" in medcalc.texts
    assert {item.answer for item in medcalc.items} == {""}


def test_items_by_attributes_and_statements_by_kind_are_counted_once(
    demos: Path, reference: Path, random: Path
) -> None:
    data = report_data([reference, random], TextPlaces(data=demos))
    for run, right in (("reference", 31), ("random", 0)):
        plots = task(data, "medcalc", f"baseline/{run}").plots
        assert [plot.title.rpartition(", ")[2] for plot in plots] == [
            "equations",
            "scores",
        ]
        points: list[Any] = [point for plot in plots for point in plot.points]
        assert sum(point.n for point in points) == 31
        assert sum(round(point.value * point.n) for point in points) == right
        assert all(0 <= point.low <= point.value <= point.high <= 1 for point in points)
    kqa = task(data, "kqa", "baseline/reference")
    # Verdicts belong to their items.
    assert sum(len(item.verdicts) for item in kqa.items) == 80
    assert {verdict.value for item in kqa.items for verdict in item.verdicts} == {
        "entailment"
    }
    assert kqa.items[0].verdicts[0].id == "must/0"
    (plot,) = kqa.plots
    shown: dict[str, Any] = {
        point.label: (point.value, point.n) for point in plot.points
    }
    must, nice = shown["must-have, said"][1], shown["nice-to-have, said"][1]
    # The demo's 13 questions: its own statements, by the verdicts of the run.
    lines = [
        json.loads(line)
        for line in (reference / "verdicts.jsonl").read_text().splitlines()
    ]
    assert must + nice == len(lines) == 80
    assert must == sum("/must/" in line["id"] for line in lines)
    assert shown == {
        "must-have, said": (1.0, must),
        "nice-to-have, said": (1.0, nice),
        "of both, contradicted": (0.0, must + nice),
    }
    (plot,) = task(data, "kqa", "baseline/random").plots
    value: Any = plot.points[0].value
    assert value < 0.2


def test_tasks_are_grouped_and_runs_have_distinct_names(
    demos: Path, reference: Path, tmp_path: Path
) -> None:
    other = tmp_path / "again" / "reference"
    shutil.copytree(reference, other)
    data = report_data(
        [reference, other, reference], TextPlaces(data=demos), title="Mine"
    )
    assert data.title == "Mine"
    runs = [
        f"baseline/reference ({reference.parent.name}/reference)",
        "baseline/reference (again/reference)",
    ]
    assert [(entry.name, entry.run) for entry in data.tasks] == [
        (n, r) for n in ("medcalc", "kqa") for r in runs
    ]
    assert [note for note in data.notes if "shown once" in note] == [
        f"{reference} was given more than once and is shown once."
    ]


def test_notes_name_runs_that_cannot_be_compared(
    demos: Path, reference: Path, tmp_path: Path
) -> None:
    few = ran(
        demos, tmp_path / "few", "medcalc", "baseline/random", ("--max-samples", "5")
    )
    fewer = changed(
        few,
        tmp_path,
        lambda tasks: tasks["medcalc"]["recipe"]["data"].update(rows_sha256="0" * 64),
        "fewer",
    )
    messages: list[str] = []
    data = report_data([reference, fewer], TextPlaces(data=demos), tell=messages.append)
    assert any(
        "medcalc, baseline/reference and baseline/random: the runs cannot be compared, their data differs"
        in n
        for n in data.notes
    )
    # It ran on other rows: the texts of the present rows are not shown with its numbers.
    shown = task(data, "medcalc", "baseline/random")
    assert "ran on other rows" in shown.texts
    assert {
        (item.question, item.answer, item.gold, item.answer_sha256)
        for item in shown.items
    } == {("", "", "", "")}
    assert shown.plots == ()
    assert len(messages) == 1
    assert messages[0].startswith(
        "medcalc (baseline/random): The run's data are not here"
    )


def test_missing_data_are_reported_without_the_users_home(
    reference: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    data = report_data([reference], TextPlaces(data=tmp_path / "nothing"))
    for entry in data.tasks:
        assert "demo is not built" in entry.texts
        assert "medical-tasks build" in entry.texts
        # The report does not show the home folder of its author.
        assert str(tmp_path) not in entry.texts
        assert "~/nothing" in entry.texts
        assert all(item.values and not item.question for item in entry.items)


def test_left_out_items_and_cut_texts_are_noted(demos: Path, reference: Path) -> None:
    data = report_data([reference], TextPlaces(data=demos, items=False))
    assert [(len(entry.items), entry.texts) for entry in data.tasks] == [
        (0, "Items are left out, as --no-items asks for.")
    ] * 2
    assert len(task(data, "medcalc").plots) == 2
    messages: list[str] = []
    data = report_data(
        [reference], TextPlaces(data=demos), max_text_bytes=20_000, tell=messages.append
    )
    texts_note = task(data, "medcalc").texts
    assert "items are cut in their middle to 800 characters" in texts_note
    assert "of 31 items, the last ones, are shown without texts" in texts_note
    assert any(
        message.startswith("medcalc (baseline/reference): Texts of")
        for message in messages
    )
    shown = task(data, "medcalc").items
    assert [bool(item.question) for item in shown] == sorted(
        (bool(item.question) for item in shown), reverse=True
    )
    assert len(shown) == 31


def test_an_unknown_task_and_a_damaged_recipe(
    demos: Path, reference: Path, tmp_path: Path
) -> None:
    def newer(tasks: dict[str, Any]) -> None:
        tasks["medcalc_of_2031"] = tasks.pop("medcalc")
        del tasks["kqa"]

    folder = changed(reference, tmp_path, newer)
    (shown,) = report_data([folder], TextPlaces(data=demos)).tasks
    assert shown.title == "medcalc_of_2031 (not known to this version)"
    assert shown.access == "credentialed"  # what cannot be shown to be open is not
    assert "does not know the task" in shown.texts
    assert [metric.name for metric in shown.metrics] == list(shown.entry["metrics"])
    assert shown.items == ()
    folder = changed(
        reference,
        tmp_path,
        lambda tasks: tasks["medcalc"]["recipe"].update(data={}),
        "damaged",
    )
    shown = task(report_data([folder], TextPlaces(data=demos)), "medcalc")
    assert "does not say how it was run (the recipe is damaged)" in shown.texts
    assert len(shown.items) == 31


def test_answers_of_a_model_and_of_a_run_scored_again(
    demos: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def answer(call: Call) -> str:
        return f"Answer to a question of {len(str(call.body['messages']))} signs: \ud83d\ude00 </script>"

    with FaultServer(answer=answer) as server:
        monkeypatch.setenv("TEST_HOST_BASE_URL", server.base_url)
        monkeypatch.setenv("TEST_HOST_API_KEY", "k")
        few = ("--max-samples", "4", *LEXICAL)
        first = ran(demos, tmp_path / "first", "kqa", "openai-api/test-host/m", few)
        call_count = len(server.calls)
        second = scored(demos, tmp_path / "scored", "kqa", first, LEXICAL)
        (shown,) = report_data([first], TextPlaces(data=demos)).tasks
        (lacking,) = report_data([second], TextPlaces(data=demos)).tasks
        (with_responses,) = report_data(
            [second], TextPlaces(data=demos, responses=[first])
        ).tasks
        assert len(server.calls) == call_count
    capsys.readouterr()
    assert shown.texts == ""
    assert len(shown.items) == 4
    for item in shown.items:
        assert item.answer.startswith("Answer to a question of ")
        assert item.question
        assert not item.question.startswith("[user]")
    assert "4 of 4 answers are not in the run's store" in lacking.texts
    assert all(
        item.question and item.gold and not item.answer for item in lacking.items
    )
    assert with_responses.texts == ""
    assert [item.answer for item in with_responses.items] == [
        item.answer for item in shown.items
    ]


def test_answers_of_a_scored_file_and_options_that_do_not_fit(
    demos: Path, reference: Path, tmp_path: Path
) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text(
        '{"id": "1", "response": "The answer is 7."}\n{"id": "2", "response": ""}\n'
    )
    demo = ("--config", "demo")
    out = scored(demos, tmp_path / "scored", "medcalc", file, demo)
    (shown,) = report_data([out], TextPlaces(data=demos)).tasks
    assert "Answers are not shown: answers.jsonl: this run scored it" in shown.texts
    data = report_data([reference, out], TextPlaces(data=demos, responses=[file]))
    items = {item.id: item for item in task(data, "medcalc", "answers.jsonl").items}
    assert items["1"].answer == "The answer is 7."
    # an empty answer is one
    assert items["2"].answer_sha256 == hashlib.sha256(b"").hexdigest()
    assert items["3"].answer == items["3"].answer_sha256 == ""
    assert items["3"].unscored == "no answer: none given"
    other = tmp_path / "other.jsonl"
    other.write_text("{}")
    missing = tmp_path / "nothing"
    unknown_hash = r"other\.jsonl: its sha256 matches no file that these runs scored"
    refused: list[tuple[Path, dict[str, Any], type[Exception], str]] = [
        (out, {"responses": [other]}, UsageError, unknown_hash),
        (
            reference,
            {"responses": [other]},
            UsageError,
            "none of the runs scored a file",
        ),
        (out, {"responses": [missing]}, MissingError, "there is no such file"),
        (
            reference,
            {"source": missing},
            UsageError,
            "--source is for runs on data of your own",
        ),
    ]
    for run, places, error, message in refused:
        with pytest.raises(error, match=message):
            report_data([run], TextPlaces(data=demos, **places))
    with pytest.raises(UsageError, match="--max-text-bytes must be 0 or more, got -1"):
        report_data([reference], TextPlaces(data=demos), max_text_bytes=-1)
    with pytest.raises(UsageError, match="a report needs at least one run"):
        report_data([])


def test_questions_are_those_of_the_runs_prompts(
    demos: Path, reference: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def with_other_prompts(tasks: dict[str, Any]) -> None:
        del tasks["kqa"]
        prompts = {"set": "own", "sha256": "f" * 64}
        tasks["medcalc"]["recipe"] |= {
            "prompts": prompts,
            "truncation": {"words_left_out": {"2": 3}},
            "protocol": {},
        }

    folder = changed(reference, tmp_path, with_other_prompts)
    (shown,) = report_data([folder], TextPlaces(data=demos)).tasks
    assert (
        "Questions are not shown: they were put with other prompts, by medical-tasks"
        in shown.texts
    )
    assert {item.question for item in shown.items} == {""}
    assert all(item.gold for item in shown.items)

    def shorten(item: Item, words: int) -> Item:
        return replace(item, fields={**item.fields, "question": f"{words} words less"})

    def render(item: Item) -> tuple[Message, ...]:
        return ({"role": "user", "content": item.fields["question"]},)

    prompts = PromptSet(name="own", sha256="f" * 64, render=render, shorten=shorten)
    monkeypatch.setattr(texts, "load_task_prompts", lambda *arguments: prompts)
    (shown,) = report_data([folder], TextPlaces(data=demos)).tasks
    assert [item.question for item in shown.items if "less" in item.question] == [
        "3 words less"
    ]
    assert shown.items[1].question == "3 words less"
    assert (
        shown.texts
        == "Of the several questions about an item the first is shown, and the final answer."
    )
    # A chat of more than one message names the speakers.
    assert chat_text([{"role": "user", "content": "How?"}]) == "How?"
    two: list[Message] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "How?"},
    ]
    assert chat_text(two) == "[system]\nBe brief.\n\n[user]\nHow?"


IDS = frozenset({"1", "DEMO/1", "DEMO/1/plan", "a b"})


@pytest.mark.parametrize(
    ("verdict", "owner"),
    [
        ("1", "1"),
        # Both DEMO/1 and DEMO/1/plan are ids; the longer one counts.
        ("DEMO/1/plan/recall/0", "DEMO/1/plan"),
        ("DEMO/1/plans/recall", "DEMO/1"),
        ("a b/open", "a b"),
        # An id ends at a slash: neither 1 nor DEMO/1 owns these.
        ("10/must/0", None),
        ("DEMO", None),
        ("", None),
        ("/", None),
    ],
)
def test_a_verdict_belongs_to_the_longest_id_before_its_slash(
    verdict: str, owner: str | None
) -> None:
    assert item_of(verdict, IDS) == owner


def verdict_line(name: str, value: Any, **more: Any) -> dict[str, Any]:
    return {
        "task": "t",
        "id": name,
        "value": value,
        "votes": [value],
        "text": "It says so.",
        **more,
    }


def test_verdicts_of_open_data_keep_their_words() -> None:
    lines = [
        verdict_line("1/must/0", "entailment", votes=["entailment", "neutral"]),
        verdict_line("1/must/1", None, unscored="judge: http 500"),
        verdict_line("1/open", True),
        verdict_line("2/must/0", "neutral"),
    ]
    by_item = verdicts_by_item(lines, ["1"], private=False)
    assert list(by_item) == ["1"]
    verdicts = by_item["1"]
    assert [(verdict.id, verdict.value, verdict.unscored) for verdict in verdicts] == [
        ("must/0", "entailment", ""),
        ("must/1", "", "judge: http 500"),
        ("open", "true", ""),
    ]
    assert verdicts[0].votes == ("entailment", "neutral")
    assert verdicts[2].votes == ()  # one vote adds nothing
    assert {verdict.text for verdict in verdicts} == {"It says so."}


def test_verdicts_of_credentialed_data_lose_every_word_even_from_a_file_that_has_them() -> (
    None
):
    lines = [
        verdict_line("1/a", "The patient, 63, came with chest pain."),
        verdict_line(
            "1/b",
            "entailment",
            votes=["He said", "x"],
            unscored="judge: he wrote a letter",
        ),
    ]
    verdicts = verdicts_by_item(lines, ["1"], private=True)["1"]
    assert [(verdict.value, verdict.text) for verdict in verdicts] == [
        ("", ""),
        ("entailment", ""),
    ]
    assert verdicts[1].votes == ("", "x")
    assert verdicts[1].unscored == "judge: other"


def test_statements_are_counted_where_all_of_an_answer_are_decided() -> None:
    parsed = {
        "a": "must 3/4, nice 1/2, contradicted 1",
        "b": "must 0/2, nice 0/0, contradicted 2",
        "c": "must 1 to 2/3, nice 0/1, contradicted 0",
        "d": "must 1/3, contradicted 0",
        "e": "",
    }
    rows = [
        {"id": name, "cluster": name, "parsed": text} for name, text in parsed.items()
    ]
    (plot,) = statement_plots(rows)
    assert [(point.label, point.value, point.n) for point in plot.points] == [
        ("must-have, said", 3 / 6, 6),
        ("nice-to-have, said", 1 / 2, 2),
        ("of both, contradicted", 3 / 8, 8),
    ]
    assert plot.note.startswith("Over all statements")
    assert "3 answers are left out" in plot.note
    assert statement_plots([]) == []
    assert statement_plots(rows[2:]) == []


@pytest.fixture(autouse=True)
def data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(tmp_path))


JUDGE = {"backend": "openai-api", "model": "m", "base_url": "http://127.0.0.1:1/v1"}
RECIPE: dict[str, Any] = {
    **JUDGE,
    "name": "openai-api/host/m",
    "comparable": True,
    "votes": 5,
    "reasks": 2,
    "reply_tokens": None,
}
RECIPE |= {"mode": "single", "prompts": {"set": "own", "sha256": "0" * 64}}


def recorded(kappa: tuple[float, float, float], **identity: Any) -> None:
    names = ("value", "ci_low", "ci_high")
    check: dict[str, Any] = {
        "set": "kqa",
        "date": "2025-01-02",
        "judge": "openai-api/host/m",
        "pairs": 1589,
        "ways": 3,
    }
    check |= {
        "scored": 1500,
        "accuracy": dict(zip(names, (0.8, 0.78, 0.82), strict=True)),
        "pairwise": 0.77,
    }
    check["kappa"] = dict(zip(names, kappa, strict=True))
    assert record_check(check_key(JUDGE, votes=5, **identity), check)


def test_the_judges_agreement_is_drawn_from_a_check_of_the_same_judge() -> None:
    task, entry = task_spec("kqa"), {"recipe": {"judge": RECIPE}}
    assert judge_plots(task, entry) == []
    recorded((0.6, 0.5, 0.7))
    (plot,) = judge_plots(task, entry)
    assert [(p.label, p.value, p.low, p.high, p.n) for p in plot.points] == [
        ("accuracy", 0.8, 0.78, 0.82, 1500),
        ("kappa", 0.6, 0.5, 0.7, 1500),
    ]
    assert "1500 of 1589 pairs" in plot.note
    assert "physicians agree pairwise 0.770" in plot.note
    assert judge_plots(task, {"recipe": {"judge": {**RECIPE, "votes": 1}}}) == []
    assert judge_plots(task, {"recipe": {"judge": {**RECIPE, "model": "other"}}}) == []
    assert judge_plots(task, {"recipe": {}}) == []
    recorded((-0.1, -0.2, 0.1))
    (plot,) = judge_plots(task, entry)
    assert [point.low for point in plot.points] == [0.78, -0.2]
    assert "kappa -0.10" in plot.note
