from __future__ import annotations

import json
from pathlib import Path

import pytest

from medical_tasks.benchmarks.doclens.measures import read_claim_file
from medical_tasks.cli.entry import main
from medical_tasks.io.user_folders import private_home
from tests.benchmarks.doclens.doclens_judges import checkout
from tests.case_tables import json_of
from tests.cli.wrong_use import refuse, wrong_use
from tests.conftest import Serving
from tests.fault_server import Call, FaultServer
from tests.support import needs_shared

pytestmark = pytest.mark.usefixtures("here")

NOTES = [
    {
        "example_id": f"n{n}",
        "input": f"[0] remedy{n} is new.",
        "reference": f"The remedy{n} is new. No child gets it.",
    }
    for n in range(3)
] + [{"example_id": "blank", "input": "[0] Nothing.", "reference": ""}]
JUDGE = "openai-api/test-host/m"
WORDS = ("remedy0", "remedy1", "remedy2")


def answer(call: Call) -> str:
    word = next(word for word in WORDS if word in call.prompt)
    return json.dumps({"claims": [f"{word} is new.", f"{word} is not for children."]})


@pytest.fixture(autouse=True)
def notes(here: Path) -> None:
    Path("notes.json").write_text(json.dumps(NOTES), encoding="utf-8")


def decompose(
    *more: str, side: str = "reference", source: str | None = "notes.json"
) -> int:
    source_words = [] if source is None else ["--source", source]
    return main(
        [
            "decompose",
            "doclens",
            *source_words,
            "--side",
            side,
            "--judge",
            JUDGE,
            "--out",
            "claims.json",
            *more,
        ]
    )


def test_own_references(
    server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert decompose("--forecast") == 0
    assert "nothing was written" in capsys.readouterr().out
    assert server.calls == []
    assert not list(Path().glob("claims.json*"))
    assert decompose() == 0
    output = capsys.readouterr().out
    assert (
        "3 texts taken apart into 6 claims, in claims.json; 1 are blank and have none"
        in output
    )
    assert "--task-args claims=claims.json" in output
    records = read_claim_file(Path("claims.json"))
    assert [(record.id, record.claims["full"]) for record in records] == [
        *(
            (f"n{n}", (f"remedy{n} is new.", f"remedy{n} is not for children."))
            for n in range(3)
        ),
        ("blank", ()),
    ]
    # Own texts are private: so are the file and the folder of replies.
    assert Path("claims.json").stat().st_mode & 0o077 == 0
    assert sorted(path.name for path in Path("claims.json.work").iterdir()) == [
        "run.json",
        "written.txt",
    ]
    assert len(list(private_home().rglob("answers.sqlite"))) == 1
    # `score` reads the file.
    outputs = [
        {"example_id": row["example_id"], "output": row["reference"]} for row in NOTES
    ]
    Path("out.json").write_text(json.dumps(outputs), encoding="utf-8")
    score = [
        "score",
        "doclens_own",
        "--source",
        "notes.json",
        "--responses",
        "out.json",
        "--out",
        "s",
    ]
    assert main([*score, "--task-args", "claims=claims.json"]) == 0
    entry = json_of(Path("s/results.json"))["tasks"]["doclens_own"]
    assert entry["metrics"]["claim_recall"]["n"] == 3


def test_outputs_of_a_responses_file(server: FaultServer) -> None:
    outputs = [
        {"example_id": n, "output": f"The remedy{n} is new [0]. No child gets it [0]."}
        for n in range(2)
    ]
    Path("out.json").write_text(
        json.dumps([*outputs, {"example_id": 2, "output": None}]), encoding="utf-8"
    )
    assert decompose(side="output", source="out.json") == 0
    records = read_claim_file(Path("claims.json"), side="output")
    assert [(record.id, record.texts["full"]) for record in records] == [
        ("0", "The remedy0 is new. No child gets it."),
        ("1", "The remedy1 is new. No child gets it."),
    ]
    assert all("[0]" not in call.prompt for call in server.calls)


def test_sections_of_a_built_dataset(serving: Serving) -> None:
    assert main(["build", "aci_bench", "--config", "demo", "--out", "built"]) == 0
    with serving(
        answer=lambda call: json.dumps({"claims": [f"Claim of {len(call.prompt)}."]})
    ) as server:
        assert decompose("--task", "aci_bench", "--data", "built", source=None) == 0
        records = read_claim_file(Path("claims.json"))
        assert len(records) == 6
        assert {tuple(record.claims) for record in records} == {
            ("subjective", "objective_exam", "objective_results", "assessment_and_plan")
        }
        assert (
            len(server.calls)
            == sum(bool(text) for record in records for text in record.texts.values())
            > 12
        )
        assert (
            decompose(
                "--task",
                "aci_bench",
                "--data",
                "built",
                "--split",
                "train",
                "--out",
                "t.json",
                source=None,
            )
            == 0
        )
        assert len(read_claim_file(Path("t.json"))) == 2
    # The dataset is open, so nothing of it needs to be private.
    assert not private_home().exists()


@pytest.mark.parametrize("task", ["doclens_own", "aci_bench"])
def test_own_texts_stay_on_this_machine(
    task: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TEST_HOST_BASE_URL", "http://judge.example:9/v1")
    assert decompose("--task", task) == 4
    assert "may not be sent to judge.example:9" in capsys.readouterr().err
    assert not Path("claims.json").exists()


@wrong_use("decompose_doclens")
def test_wrong_use(
    line: str,
    code: int,
    message: str,
    server: FaultServer,
    capsys: pytest.CaptureFixture[str],
) -> None:
    refuse(line, code, message, capsys)
    assert not Path("claims.json").exists()
    assert server.calls == []


@needs_shared
@pytest.mark.upstream
def test_official_prompts(serving: Serving, tmp_path: Path) -> None:
    with serving(
        answer=lambda call: "Claim 1: It is new.\nClaim 2: No child gets it."
    ) as server:
        assert (
            decompose(
                "--prompts",
                "official",
                "--upstream",
                str(checkout(tmp_path / "DocLens")),
            )
            == 0
        )
        assert len(server.calls) == 3
        assert all(len(call.body["messages"]) > 2 for call in server.calls)
    assert read_claim_file(Path("claims.json"))[0].claims["full"] == (
        "It is new.",
        "No child gets it.",
    )
