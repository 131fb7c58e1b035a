"""Claims that clinicians labelled: both published forms, wrong files, and a judge's labels of the claims."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import pytest

from medical_tasks.benchmarks.doclens.judge_check import (
    LabelledClaim,
    Record,
    judge_claims,
    read_demo,
    read_factehr,
    read_verifact,
    with_passages,
)
from medical_tasks.benchmarks.doclens.judge_prompts import load_judge_prompts
from medical_tasks.cli.entry import main
from medical_tasks.errors import MedicalTasksError
from medical_tasks.judges.base import Judging, Question, Unscored, Verdict
from medical_tasks.runs.results import read_results
from tests.benchmarks.doclens.labelled_files import (
    FACTEHR,
    NOTES,
    PAIRS,
    PREMISES,
    factehr,
    verifact,
    write_factehr,
    write_verifact,
)
from tests.benchmarks.doclens.task_items import BY_NAME

PROMPTS = load_judge_prompts(BY_NAME["aci_bench"])


def labels(claims: Sequence[LabelledClaim]) -> dict[str, tuple[str | None, str]]:
    return {claim.id: (claim.gold, claim.group) for claim in claims}


def read_both(folder: Path) -> list[LabelledClaim]:
    names = ("propositions/propositions.csv.gz", "propositions/human_verdicts.csv.gz")
    claims = read_verifact(*(folder / name for name in names))
    return with_passages(claims, folder / "reference_ehr/ehr_noteevents.csv.gz")


def test_verifact_is_read_in_its_published_form(tmp_path: Path) -> None:
    claims = read_both(write_verifact(tmp_path))
    assert labels(claims) == {
        "p1": ("entailment", "llm"),
        "p2": ("not_entailment", "llm"),
        "p3": ("not_entailment", "human"),
        "p4": ("entailment", "human"),
        "p5": ("not_entailment", "llm"),
    }
    first, second, third, *_ = claims
    assert second.groups == {"label": "Not Supported", "proposition": "claim"}
    assert third.groups == {"label": "Not Addressed", "proposition": "sentence"}
    assert first.ratings == ("entailment",) * 3
    # A claim is judged by its own patient's notes, with their dates, in order.
    lines = first.text.splitlines()
    assert lines[0] == "2101-03-02: Admitted with chest pain."
    assert lines[-1] == "2101-03-04: No bleeding at the groin."
    assert claims[-1].cluster == "12"
    assert "chest" not in claims[-1].text


def test_passages_share_most_words_with_a_claim() -> None:
    others = " ".join(f"Day {number} was quiet." for number in range(30))
    record = Record([("2101-01-01", f"{others} Lithium was stopped. {others}")])
    assert record.passages("Lithium was stopped for a while.", 1) == (
        "2101-01-01: Lithium was stopped."
    )
    # A sentence copied from note to note appears once, at its first place.
    record = Record([("2101-01-02", "No fever."), ("2101-01-03", "No fever. Home.")])
    assert record.passages("Home").splitlines() == [
        "2101-01-02: No fever.",
        "2101-01-03: Home.",
    ]
    # A claim that shares no word has a passage, too.
    assert len(record.passages("zebra", 1).splitlines()) == 1


def test_factehr_is_read_in_its_published_form(tmp_path: Path) -> None:
    claims = read_factehr(write_factehr(tmp_path))
    assert [(claim.claim, claim.gold) for claim in claims] == [
        (hypothesis, "entailment" if label == "1" else "not_entailment")
        for _, _, hypothesis, label in PAIRS
    ]
    # A model's facts against the note, and the note's sentences against the facts.
    assert [claim.group for claim in claims] == ["llm", "llm", "human", "human"]
    assert claims[0].text == PREMISES["precision"]
    assert [claim.cluster for claim in claims] == ["d1", "d1", "d1", "d2"]
    assert claims[0].model == "o1-mini"


Change = tuple[str, int, str, str]
"""A file, a row of its table, a column, and the wrong cell."""
VERDICTS = "propositions/human_verdicts.csv.gz"
WRONG: list[tuple[Change, str]] = [
    (
        (VERDICTS, 2, "human_gt", "Refuted"),
        "human_verdicts.csv.gz, row 3, column 'human_gt': must be Supported, Not Supported, Not "
        "Addressed, got 'Refuted'",
    ),
    (
        (VERDICTS, 1, "human_gt", "The patient was admitted with chest pain"),
        "column 'human_gt': must be Supported, Not Supported, Not Addressed, got a text of 40",
    ),
    ((VERDICTS, 1, "human_gt", ""), "column 'human_gt': must be Supported"),
    ((VERDICTS, 1, "verdict2", "Maybe"), "column 'verdict2': must be Supported"),
    (
        (VERDICTS, 3, "author_type", "nurse"),
        "row 4, column 'author_type': must be human, llm",
    ),
    ((VERDICTS, 1, "proposition_id", "p9"), "no row of propositions.csv.gz has it"),
    (
        (VERDICTS, 2, "proposition_id", "p1"),
        "row 3, column 'proposition_id': appears twice",
    ),
    (
        ("propositions/propositions.csv.gz", 1, "subject_id", ""),
        "propositions.csv.gz, row 2, column 'subject_id': empty",
    ),
    (
        ("propositions/propositions.csv.gz", 1, "subject_id", "99"),
        "ehr_noteevents.csv.gz: has no note of the patient of proposition p1",
    ),
    (("reference_ehr/ehr_noteevents.csv.gz", 0, "TEXT", "NOTE"), "missing: 'TEXT'"),
    (
        (FACTEHR, 1, "human_pred", "yes"),
        f"{FACTEHR}, row 2, column 'human_pred': must be 1, 0",
    ),
    ((FACTEHR, 1, "entailment_type", "f1"), "must be precision, recall, got 'f1'"),
    ((FACTEHR, 1, "hypothesis", " "), "row 2, column 'hypothesis': empty"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_a_wrong_cell_is_named_by_file_column_and_value(
    change: Change, message: str, tmp_path: Path
) -> None:
    name, row, column, value = change
    tables = {FACTEHR: factehr()} if name == FACTEHR else verifact()
    table = tables[name]
    table[row][table[0].index(column)] = value
    read = read_factehr if name == FACTEHR else read_both
    path = (
        write_factehr(tmp_path, table)
        if name == FACTEHR
        else write_verifact(tmp_path, tables)
    )
    with pytest.raises(MedicalTasksError) as caught:
        read(path)
    assert message in str(caught.value)
    assert "chest pain" not in str(caught.value)


class ClaimJudge:
    """Decides each claim by a function, singly or in batches."""

    name, comparable = "scripted", True
    reads: Literal["prompt", "pair"] = "prompt"

    def __init__(self, entailed: Callable[[str], bool]) -> None:
        self.entailed = entailed
        self.asked: list[str] = []

    def ask(self, questions: Sequence[Question]) -> list[Verdict | Unscored]:
        return [self._verdict(question) for question in questions]

    def _verdict(self, question: Question) -> Verdict | Unscored:
        prompt = question.messages[-1]["content"]
        self.asked.append(prompt)
        if "down" in prompt:
            return Unscored(id=question.id, reason="judge: http 500")
        listed = prompt.split("each behind its id:\n")
        if len(listed) == 1:
            value: object = self.entailed(prompt.split("Claim:\n")[1].split("\n")[0])
        else:
            lines = listed[1].split("\n\n")[0].splitlines()
            value = tuple(self.entailed(line) for line in lines)
        return Verdict(id=question.id, value=value, votes=(value,))


@pytest.mark.parametrize("mode", ["single", "batched"])
def test_claims_are_judged_as_in_scoring(
    mode: Literal["single", "batched"], tmp_path: Path
) -> None:
    claims, _, _ = read_demo()
    judge = ClaimJudge(lambda claim: "Ms Ortega" in claim)
    judging = Judging(judge=judge, prompts=PROMPTS, mode=mode)
    judged = judge_claims(claims, judging)
    assert judged == [
        "entailment" if "Ms Ortega" in claim.claim else "not_entailment"
        for claim in claims
    ]
    assert len(judge.asked) == (4 if mode == "batched" else len(claims))
    # Backwards, the claims on a text are in reverse order, and keep their labels.
    assert judge_claims(claims, judging, backwards=True) == judged
    if mode == "batched":
        assert judge.asked[0] != judge.asked[4]


def test_a_missing_verdict_has_a_reason() -> None:
    claims, _, _ = read_demo()
    broken = [
        claims[0],
        LabelledClaim(id="x", gold="entailment", cluster="x", text="down", claim="c"),
    ]
    judged = judge_claims(
        broken, Judging(judge=ClaimJudge(lambda _: True), prompts=PROMPTS)
    )
    assert judged[0] == "entailment"
    assert isinstance(judged[1], Unscored)
    assert judged[1].reason == "judge: http 500"


@pytest.fixture
def empty_checks_file(
    demo_home: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checks are recorded in a file of the test."""
    monkeypatch.setattr(
        "medical_tasks.judges.checks.checks_file", lambda: tmp_path / "checks.json"
    )


CHECK = "judge-check doclens --judge lexical --out check --source".split()


@pytest.mark.usefixtures("empty_checks_file")
def test_a_check_by_author_and_label(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_verifact(tmp_path / "verifact")
    assert main([*CHECK, str(folder)]) == 0
    check = json.loads((tmp_path / "check/check.json").read_text())
    assert (check["set"], check["mode"], check["claims"]) == (
        "doclens",
        "batched",
        "VeriFact-BHC",
    )
    figures = check["figures"]
    assert set(figures["groups"]) == {"human", "llm"}
    assert set(figures["within"]["label"]) == {
        "Supported",
        "Not Supported",
        "Not Addressed",
    }
    counts = figures["two_way"]["confusion"]["counts"]
    assert [sum(row) for row in counts] == [2, 3]
    # Clinicians agree on 13 of 15 pairs (SSS, NNA, AAN, SSN, AAA; N and A are one class).
    assert figures["people"]["two_way"]["pairwise_agreement"]["value"] == pytest.approx(
        13 / 15
    )
    stdout = capsys.readouterr().out
    assert "recall, not_entailment" in stdout
    # The written files contain no note and no claim.
    written = "".join(
        path.read_text(errors="replace") for path in Path("check").rglob("*.json*")
    )
    for text in (NOTES["12"][0][1][:20], "Urine grew", "smokes two packs"):
        assert text not in written


@pytest.mark.usefixtures("empty_checks_file")
def test_labels_are_not_sent_to_a_remote_judge(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAR_BASE_URL", "https://far.example/v1")
    monkeypatch.setenv("FAR_API_KEY", "k")
    path = write_factehr(tmp_path / "factehr")
    check = f"judge-check doclens --source {path} --judge openai-api/far/j"
    assert main(check.split()) == 4
    assert (
        "VeriFact-BHC (PhysioNet-Credentialed) and FactEHR" in capsys.readouterr().err
    )


@pytest.mark.usefixtures("empty_checks_file")
def test_labels_correct_claim_metrics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(tmp_path / "data"))
    assert main("build aci_bench --config demo".split()) == 0
    # Of 40 claims that are not entailed the judge takes the eight with shared words for entailed.
    denied = ["The patient has asthma."] * 8 + [f"No gout {n} seen." for n in range(32)]
    claims = [("The patient has asthma.", "1")] * 80 + [
        (claim, "0") for claim in denied
    ]
    pairs = [
        (f"d{number}", "recall", claim, label)
        for number, (claim, label) in enumerate(claims)
    ]
    path = write_factehr(tmp_path / "factehr", factehr(pairs))
    assert main([*CHECK, str(path)]) == 0
    run = "run --tasks aci_bench --config demo --model baseline/reference --judge lexical".split()
    assert main([*run, "--calibration", "check", "--out", "r"]) == 0
    metrics = read_results(Path("r"))["tasks"]["aci_bench"]["metrics"]
    for name in ("claim_recall", "claim_precision"):
        calibration = metrics[f"{name}_corrected"]["calibration"]
        assert calibration["set"] == "doclens"
        assert metrics[f"{name}_corrected"]["value"] == pytest.approx(1.0)
        assert "They are of another task" in calibration["said"]
    capsys.readouterr()
    # A run reports the judge's last check.
    assert main([*run, "--out", "again"]) == 0
    assert "judge lexical: checked on doclens (120 pairs" in capsys.readouterr().out
    # A check on invented claims is no correction.
    assert (
        main("judge-check doclens --judge lexical --out demo --config demo".split())
        == 0
    )
    assert main([*run, "--calibration", "demo", "--out", "s"]) == 2
    assert "is a check on doclens_demo, but aci_bench needs one on doclens or" in (
        capsys.readouterr().err
    )


@pytest.mark.usefixtures("empty_checks_file")
@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("", 3, "judge-check doclens needs labelled claims"),
        ("--source nowhere", 3, "has neither propositions/human_verdicts.csv.gz nor"),
        ("--source half", 3, "lacks propositions/human_verdicts.csv.gz, reference_ehr"),
        ("--source both", 2, "holds files of VeriFact-BHC and of FactEHR"),
        ("--config full", 2, "has the configuration demo alone"),
        ("--config demo --source both", 2, "give it, or --source"),
        ("--config demo --style plain", 2, "--style: only for judge-check"),
    ],
)
def test_missing_files_and_wrong_options_are_refused(
    words: str,
    code: int,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_verifact(tmp_path / "both")
    write_factehr(tmp_path / "both")
    name = "propositions/propositions.csv.gz"
    write_verifact(tmp_path / "half", {name: verifact()[name]})
    command = ["judge-check", "doclens", "--judge", "lexical", *words.split()]
    assert main(command) == code
    assert message in capsys.readouterr().err
