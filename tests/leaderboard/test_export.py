"""`medical-tasks export`: files validate, other tools read the run's values from them, and hostile texts are inert."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from lxml import etree

import medical_tasks as mt
from medical_tasks.cli.entry import main
from medical_tasks.leaderboard.export import export_formats
from medical_tasks.leaderboard.options import Export
from medical_tasks.options import parameters
from medical_tasks.runs.results import read_items
from tests.case_tables import json_of
from tests.report.tiny_runs import ran
from tests.support import write_run

Values = dict[tuple[str, str], float]

SCHEMAS = Path(__file__).with_name("schemas")
HOSTILE = '=HYPERLINK("http://x.test")|</Label><!--[a](http://x.test) ![b](http://x.test)\n{{ 1 + 1 }}\x00\x1b]0;'


def read_every_eval_ever(folder: Path) -> Values:
    of_record, of_item = (
        json_of(SCHEMAS / f"every_eval_ever{suffix}.json") for suffix in ("", "_item")
    )
    values: Values = {}
    for path in folder.glob("data/*/acme/llm-7b/*.json"):
        record = json_of(path)
        jsonschema.validate(record, of_record)
        rows = [
            json.loads(line)
            for line in path.with_name(f"{path.stem}_samples.jsonl")
            .read_text()
            .splitlines()
        ]
        assert len(rows) == record["detailed_evaluation_results"]["total_rows"]
        assert (
            path.parent.joinpath(f"{path.stem}_samples.jsonl")
            == folder / record["detailed_evaluation_results"]["file_path"]
        )
        for row in rows:
            jsonschema.validate(row, of_item)
            assert (row["evaluation_id"], row["model_id"]) == (
                record["evaluation_id"],
                record["model_info"]["id"],
            )
        for result in record["evaluation_results"]:
            task, metric = result["evaluation_result_id"].rsplit("/", 1)
            values[task, metric] = result["score_details"]["score"]
    return values


class _Signatures(etree.Resolver):  # type: ignore[misc]
    def resolve(self, url: str, public: str, context: Any) -> Any:
        of = 'xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="http://www.w3.org/2000/09/xmldsig#"'
        return self.resolve_string(
            f'<xs:schema {of}><xs:element name="Signature"/></xs:schema>', context
        )


def read_card(folder: Path) -> Values:
    parser = etree.XMLParser(no_network=True)
    parser.resolvers.add(_Signatures())
    card = etree.fromstring((folder / "chai_card.xml").read_bytes())
    etree.XMLSchema(
        etree.fromstring((SCHEMAS / "chai_card.xsd").read_bytes(), parser)
    ).assertValid(card)
    values: Values = {}
    for result in card.iter("{*}MetricResult"):
        value = json.loads(result.findtext("{*}ValueJson"))
        if named := re.match(
            r"(.*): (\w+)( \(.*\))?( \[not comparable\])?, n \d+$",
            result.findtext("{*}Label"),
        ):
            values[named[1], named[2]] = value.get("estimate", value.get("value")) / (
                100 if value["unit"] == "%" else 1
            )
    return values


def read_tripod(folder: Path) -> Values:
    items = [
        line.split(" | ")
        for line in (folder / "tripod_llm.md").read_text().splitlines()
        if line[2:3].isdigit()
    ]
    assert [int(cells[0].removeprefix("| ")) for cells in items] == list(range(1, 20))
    assert sum(cells[2].startswith("left open") for cells in items) == 9
    number = re.compile(
        r"(\w+)(?: \([a-z ]+\))?(?: \[not comparable\])? ([\d.]+)( %)? \(95 %"
    )
    return {
        (task, name): float(value) / (100 if percent else 1)
        for task, text in re.findall(
            r"(\S+): (.*?)\. (?=\S+: |\|| )", items[16][2] + " |"
        )
        for name, value, percent in number.findall(text)
    }


def read_inspect(folder: Path) -> Values:
    log = pytest.importorskip("inspect_ai.log")
    read = [log.read_eval_log(info.name) for info in log.list_eval_logs(str(folder))]
    assert all(sample.scores for eval_log in read for sample in eval_log.samples)
    return {
        (eval_log.eval.task.partition("/")[2], score.name): score.metrics["mean"].value
        for eval_log in read
        for score in eval_log.results.scores
    }


def read_lm_eval(folder: Path) -> Values:
    (path,) = folder.glob("*/results_*.json")
    results = json_of(path)
    samples = [
        line
        for file in path.parent.glob("samples_*.jsonl")
        for line in file.read_text().splitlines()
    ]
    assert (
        len(samples)
        == sum(counts["effective"] for counts in results["n-samples"].values())
        == 44
    )
    named = {
        task: [name for name in entry if name.endswith(",none")]
        for task, entry in results["results"].items()
    }
    values = {
        (task, name[:-5]): results["results"][task][name]
        for task, names in named.items()
        for name in names
    }
    return {key: value for key, value in values.items() if value != "N/A"}


def read_csv(folder: Path) -> Values:
    tables = {
        path.name: list(csv.DictReader(io.StringIO(path.read_text())))
        for path in folder.iterdir()
    }
    assert len(tables["items.csv"]) == 44
    return {
        (row["task"], row["metric"]): float(row["value"])
        for row in tables["metrics.csv"]
        if not row["by"] and row["value"]
    }


READERS = dict(
    zip(
        export_formats(),
        (
            read_every_eval_ever,
            read_card,
            read_tripod,
            read_inspect,
            read_lm_eval,
            read_csv,
        ),
        strict=True,
    )
)


@pytest.fixture(scope="module")
def run(demos: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEDICAL_TASKS_HOME", str(folder / "home"))
        yield ran(
            demos,
            folder / "run",
            "medcalc,kqa",
            "baseline/random",
            ("--judge", "lexical"),
        )


@pytest.mark.parametrize("form", export_formats())
def test_each_form_validates_and_has_the_runs_values(
    form: Any, run: Path, demos: Path, tmp_path: Path
) -> None:
    mt.export(run, to=form, out=tmp_path / "out", data=demos, model_name="acme/llm-7b")
    tasks = json_of(run / "results.json")["tasks"]
    # A form with only a metric's name marks in it that a lexical judge is not comparable.
    mark = "_not_comparable" if form in ("inspect-log", "lm-eval-json") else ""
    metrics = [
        (task, name, metric)
        for task in tasks
        for name, metric in tasks[task]["metrics"].items()
    ]
    values = {
        (task, name + mark * (not metric.get("comparable", True))): metric["value"]
        for task, name, metric in metrics
        if metric["value"] is not None
    }
    assert values
    rounded = 0.05 if form == "tripod-llm" else 1e-9
    assert READERS[form](tmp_path / "out") == pytest.approx(values, abs=rounded)


def test_missing_replies_are_not_empty_replies(demos: Path, tmp_path: Path) -> None:
    """An empty reply would be scored again as a wrong answer."""
    inspect_log = pytest.importorskip("inspect_ai.log")
    ids = [
        item["id"]
        for item in read_items(
            ran(demos, tmp_path / "ids", "medcalc", "baseline/reference")
        )
    ]
    replies = {ids[0]: "The answer is 1.", ids[1]: ""}
    answers, scored = tmp_path / "answers.jsonl", tmp_path / "scored"
    answers.write_text(
        "".join(
            json.dumps({"id": name, "response": text}) + "\n"
            for name, text in replies.items()
        )
    )
    words = [
        "score",
        "medcalc",
        "--responses",
        str(answers),
        "--config",
        "demo",
        "--data",
        str(demos),
    ]
    assert main([*words, "--out", str(scored)]) == 0
    for responses, answered_ids in (([answers], ids[:2]), ((), [])):
        exported = mt.export(
            scored,
            to="inspect-log",
            out=tmp_path / f"log{len(answered_ids)}",
            data=demos,
            responses=responses,
        )
        log = inspect_log.read_eval_log(str(exported.files[0]))
        assert [
            sample.id for sample in log.samples if sample.output.choices
        ] == answered_ids
        assert (log.results.total_samples, log.results.completed_samples) == (
            len(ids),
            2,
        )
        assert log.eval.metadata["coverage"]["scored"] == 2
        assert ("medcalc: the answers, which are not here" in exported.left_open) == (
            not answered_ids
        )
    exported = mt.export(
        scored, to="lm-eval-json", out=tmp_path / "lm", data=demos, responses=[answers]
    )
    lines = [json.loads(line) for line in exported.files[1].read_text().splitlines()]
    assert [(line["doc_id"], line["resps"]) for line in lines] == [
        (0, [["The answer is 1."]]),
        (1, [[""]]),
    ]
    assert json_of(exported.files[0])["n-samples"]["medcalc"]["effective"] == 2
    mt.export(scored, to="csv", out=tmp_path / "csv", data=demos)
    with (tmp_path / "csv" / "metrics.csv").open(newline="") as file:
        row = next(csv.DictReader(file))
    assert (row["asked"], row["scored"], row["task_version"]) == (
        str(len(ids)),
        "2",
        "3-A",
    )
    assert row["data"].startswith("medcalc_bench, version ")


@pytest.mark.parametrize("form", export_formats())
def test_hostile_texts_are_inert(
    form: Any, run: Path, demos: Path, tmp_path: Path
) -> None:
    """Hostile are texts of a model, and names in a results.json from somebody else."""
    results = json_of(run / "results.json")
    entry = results["tasks"].pop("medcalc")
    for section in (entry["metrics"], entry["breakdown"]["category"]):
        section[HOSTILE] = section[next(iter(section))]
    entry["recipe"] |= {
        "task_version": HOSTILE,
        "suite": HOSTILE,
        "prompts": {HOSTILE: HOSTILE},
        "data": {"name": HOSTILE},
    }
    entry["recipe"]["model"] = {"name": f"hf//home/me/secret/{HOSTILE}"}
    entry["recipe"]["task_args"] = {
        "documents": "/srv/secret/corpus",
        "api_key": "sk-0123456789abcdef0123",
    }
    results["tasks"] = {"medcalc": entry, "../../../kqa": results["tasks"]["kqa"]}
    rows = [
        row | dict.fromkeys(("parsed", "why", "group_category"), HOSTILE)
        for row in read_items(run)
    ]
    rows = [row | {"task": row["task"].replace("kqa", "../../../kqa")} for row in rows]
    write_run(tmp_path / "hostile", results, rows)
    out = tmp_path / "out" / "deep"
    exported = mt.export(
        tmp_path / "hostile", to=form, out=out, data=demos, model_name="acme/llm-7b"
    )
    assert all(path.resolve().is_relative_to(out) for path in exported.files)
    assert "../../../kqa" in {task for task, _ in READERS[form](out)}
    for text in (path.read_text(encoding="utf-8") for path in exported.files):
        assert not any(
            word in text
            for word in ("/home/me", "/srv/secret", "sk-0123", "\x1b", "\x00")
        )
        if form in ("chai-card", "tripod-llm"):
            assert not any(word in text for word in ("![b](", "<!--", "[a]("))
        if form == "csv":
            cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
            assert any("HYPERLINK" in cell for cell in cells)
            assert not any(
                cell.startswith(("=", "+", "@", "\t", "\r")) for cell in cells
            )


def test_open_fields_and_missing_packages_are_reported(
    run: Path,
    demos: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = [
        "export",
        str(run),
        "--data",
        str(demos),
        "--out",
        str(tmp_path / "out"),
        "--to",
    ]
    assert main([*words, "every-eval-ever", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert "model_info.developer" in report["left_open"]
    assert len(report["files"]) == 4
    Path(report["files"][0]).write_text("mine")
    assert main([*words, "every-eval-ever"]) == 2
    assert "exists with other content. Nothing was written." in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "medical_tasks.harness.inspect_adapter", None)
    assert main([*words, "inspect-log"]) == 3
    assert "which is not installed: pip install 'inspect-ai" in capsys.readouterr().err
    described = parameters(Export)["to"].option.help
    assert all(form in described for form in export_formats())
