"""The quick starts: their commands and Python code run as printed, against a mirror on this machine."""

from __future__ import annotations

import csv
import io
import os
import re
import shlex
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from openpyxl import load_workbook

from medical_tasks.catalog import dataset_source
from medical_tasks.cli.entry import main
from scripts.sample_answers import OUT, answers, rows_of
from tests.case_tables import json_of
from tests.support import (
    PLAIN_INSTALL,
    ROOT,
    SHARED,
    needs_shared,
    run_in_shell,
    run_python,
)

pytestmark = [pytest.mark.slow, pytest.mark.upstream, needs_shared]
FILES = {
    "test_data.csv": "medcalc/test_data_v1.csv",
    "is_entails.txt": "kqa/prompts/is_entails.txt",
}
# A model that answers 60 long questions takes minutes here; tests/models and
# tests/harness run small ones with these commands. Tests install nothing.
SKIPPED = (
    "inspect eval",
    "medical-tasks lighteval",
    "git clone",
    "pip install",
    "make ",
)
MODEL = ("hf/my-model", "baseline/random")
README_VERBS = ["build", "run", "score", "compare", "gate", "report"]
"""Started as processes from the README; the other pages' tests call them, with these pages' options."""


@pytest.fixture
def work_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the files that readers of the pages have, and a mirror of the pinned files."""
    pins = [
        pin
        for name, config in (("kqa", "answered"), ("medcalc_bench", "v1.0"))
        for pin in dataset_source(name).pins(config)
    ]
    files = {
        f"/{pin.repository}/{pin.commit}/{pin.path}": pin.path.rpartition("/")[2]
        for pin in pins
    }

    class Mirror(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = files[self.path]
            (path,) = (SHARED / "data").rglob(Path(FILES.get(name, name)).name)
            content = path.read_bytes()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: object) -> None:
            return

    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "medical-tasks").symlink_to(
        Path(sys.executable).with_name("medical-tasks")
    )
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.chdir(tmp_path)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Mirror)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("MEDICAL_TASKS_MIRROR", f"http://127.0.0.1:{server.server_port}")
    yield tmp_path
    server.shutdown()
    server.server_close()


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a page in a language."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def run_commands(
    page: str,
    then: Callable[[str], None] = lambda line: None,
    called: Sequence[str] = (),
) -> dict[str, str]:
    """Runs the commands of a page in order, calling `then` after each; returns their output by command.

    The verbs of `called` are called in this process, all others started by a shell.
    """
    outputs = {}
    for line in "".join(blocks(page, "console")).splitlines():
        if line.startswith(SKIPPED):
            continue
        command = line.replace(*MODEL)
        program, verb, *options = shlex.split(command)
        assert program == "medical-tasks"
        outputs[line] = (
            call(verb, *options) if verb in called else started_by_shell(command)
        )
        then(line)
    return outputs


def call(*words: str) -> str:
    with redirect_stdout(io.StringIO()) as printed:
        assert main(words) == 0, words
    return printed.getvalue()


def started_by_shell(command: str) -> str:
    done = run_in_shell(command)
    assert done.returncode == 0, (command, done.stdout[-500:], done.stderr[-2000:])
    return done.stdout


def test_the_commands_of_the_readme_run(work_folder: Path) -> None:
    # The reader's folder holds only the clone.
    (work_folder / "medical-tasks").symlink_to(ROOT)
    outputs = run_commands("../README.md")
    assert [line.split()[1] for line in outputs] == README_VERBS
    printed = "".join(outputs.values()).splitlines()
    shown = [
        line for text in blocks("../README.md", "text") for line in text.splitlines()
    ]
    assert len(shown) > 8
    assert [
        line for line in shown if line and line != "..." and line not in printed
    ] == []
    assert (work_folder / "report.html").is_file()
    (code,) = blocks("../README.md", "python")
    code += "\nprint(results['medcalc'].metrics['accuracy'].n, len(rows))"
    assert run_python("-c", code) == "200 1047\n"


def test_the_sample_answers_are_those_of_their_script() -> None:
    rows = rows_of(SHARED / "data" / "medcalc" / "test_data_v1.csv")
    expected = dict(answers([row for row in rows if row["row_number"] <= 200]))
    assert len(expected) > 100
    with OUT.open(encoding="utf-8", newline="") as stream:
        written = {int(row["id"]): row["answer"] for row in csv.DictReader(stream)}
    assert {name: written.get(name) for name in expected} == expected
    assert len([name for name in written if name <= 200]) == len(expected)


def test_quick_start_with_a_model(work_folder: Path) -> None:
    outputs = run_commands("start_model.md", called=README_VERBS)
    assert outputs
    assert "medcalc_direct  accuracy " in "".join(outputs.values())
    assert "a random sample of 200 of 1,047 items" in "".join(outputs.values())
    assert (work_folder / "runs" / "mine" / "report.html").is_file()


def test_quick_start_with_a_spreadsheet(work_folder: Path) -> None:
    published = json_of(SHARED / "data" / "kqa" / "dummy_res.json")
    answers = {item["Question"]: item["result"] for item in published}

    def fill_in(line: str) -> None:
        """Writes the answers into the sheet, as the page instructs."""
        if not line.startswith("medical-tasks sheet"):
            return
        book = load_workbook(work_folder / "kqa.xlsx")
        assert [cell.value for cell in book.active[1]] == ["id", "question", "answer"]
        for _, question, answer in book.active.iter_rows(min_row=2):
            answer.value = answers.get(question.value)
        book.save(work_folder / "kqa.xlsx")

    (work_folder / "questions.csv").write_text(
        'question,must_have\nWhy?,"Because.\nSo."\n', encoding="utf-8"
    )
    (work_folder / "own_answers.csv").write_text(
        "question,answer\nWhy?,Because. So.\n", encoding="utf-8"
    )
    (work_folder / "summaries.csv").write_text(
        "prediction;reference\nThe rash went.;The rash has gone.\n", encoding="utf-8"
    )
    outputs = run_commands("start_answers.md", fill_in, called=README_VERBS)
    assert len(outputs) == 6
    table = "".join(outputs.values())
    shown = "".join(blocks("start_answers.md", "text"))
    rows = re.findall(r"(?m)^responses.*", shown)
    assert rows
    for row in rows:
        assert re.search(re.sub(r"\\? +", " +", re.escape(row)), table), row
    assert "Because" not in table
    assert "rougeL" in table


def test_quick_start_with_data_and_a_metric(work_folder: Path) -> None:
    outputs = run_commands("start_data.md", called=README_VERBS)
    assert list(outputs) == ["medical-tasks build kqa --fetch"]
    code = "\n".join(blocks("start_data.md", "python"))
    code += "\nprint(len(rows), len(rows[0]['must_have']), medcalc.compute(predictions=['25.238'], references=[row])['accuracy'])"
    assert run_python("-c", PLAIN_INSTALL + code) == "201 11 1.0\n"
