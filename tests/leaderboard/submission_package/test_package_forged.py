"""Verification of forged packages with correct hashes and totals, and with repeated judge requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import pytest

from medical_tasks.catalog import task_spec
from medical_tasks.cli.entry import main
from medical_tasks.leaderboard.submission_package.contents import (
    DEFAULT_LIMITS,
    Verification,
    VerifyOptions,
)
from medical_tasks.leaderboard.submission_package.reading import read_package
from medical_tasks.leaderboard.submission_package.results import (
    recompute,
    result_differences,
)
from medical_tasks.leaderboard.submission_package.verifying import verify_package
from medical_tasks.runs.recipes import INTERVALS
from medical_tasks.runs.results import Figure, TaskEntry, item_rows
from medical_tasks.runs.summary import summarise
from medical_tasks.spec import Counts, Item, ItemScore, TaskSpec, Verdicts
from tests.fault_server import Call, FaultServer
from tests.leaderboard.made_packages import cases
from tests.leaderboard.submission_package.conftest import CREDENTIALED, Runs
from tests.leaderboard.submission_package.forged_packages import Opened, forged, put

CASES = cases("package_forged")


def verified(package: bytes, **options: Any) -> Verification:
    return verify_package(read_package(package), VerifyOptions(**options))


def outcomes(verification: Verification) -> dict[str, str]:
    return {
        check.name.partition(": ")[2] or check.name: check.outcome
        for check in verification.checks
    }


def detail(verification: Verification, name: str) -> str:
    return next(
        check.detail for check in verification.checks if check.name.endswith(name)
    )


def row_of(opened: Opened, accuracy: float) -> dict[str, Any]:
    return next(row for row in opened.items if row["accuracy"] == accuracy)


def changed_answer(opened: Opened) -> None:
    """A right answer is replaced; its score is kept."""
    opened.answer(row_of(opened, 1.0)["id"])["response"] = '{"answer": "-7777"}'


def better_score(opened: Opened) -> None:
    row_of(opened, 0.0).update(
        accuracy=1.0,
        accuracy_official=1.0,
        accuracy_recomputed=1.0,
        accuracy_agreed=1.0,
    )


def added_item(opened: Opened) -> None:
    row = row_of(opened, 1.0)
    opened.items.append({**row, "id": "777"})
    opened.answers.append({**opened.answer(row["id"]), "id": "777"})


def dropped_item(opened: Opened) -> None:
    row = row_of(opened, 0.0)
    opened.items.remove(row)
    opened.answers.remove(opened.answer(row["id"]))


def changed_group(opened: Opened) -> None:
    groups = sorted({row["group_category"] for row in opened.items})
    row = opened.items[0]
    row["group_category"] = next(
        group for group in groups if group != row["group_category"]
    )


def changed_cluster(opened: Opened) -> None:
    opened.items[0]["cluster"] = opened.items[-1]["cluster"]


def flipped(opened: Opened) -> None:
    """One more verdict favours the model, with all consequences."""
    row = next(
        row
        for row in opened.verdicts
        if row["value"] == "neutral" and "/must/" in row["id"]
    )
    row.update(value="entailment", votes=["entailment"])
    item = opened.item(row["id"].partition("/")[0])
    of = sum(
        verdict["id"].startswith(f"{item['id']}/must/") for verdict in opened.verdicts
    )
    for name in ("comprehensiveness", "comprehensiveness_answered"):
        item[name] += 1 / of


def contradicted(opened: Opened) -> None:
    row = next(row for row in opened.verdicts if row["value"] == "entailment")
    row.update(value="contradiction", votes=["contradiction"])
    item = opened.item(row["id"].partition("/")[0])
    item.update(hallucination_rate=1.0, contradicted=1.0)


def other_question(opened: Opened) -> None:
    """The answer is changed; the verdicts are those on the old one."""
    opened.answers[0]["response"] += " Ask your doctor."


def renamed(judge: str, **identity: str) -> Callable[[Opened], None]:
    """The lexical judge's verdicts are attributed to another judge."""

    def change(opened: Opened) -> None:
        named = opened.entry["recipe"]["judge"]
        kept = {
            key: named[key]
            for key in ("reasks", "reply_tokens", "mode", "prompts", "votes")
        }
        opened.entry["recipe"]["judge"] = {
            **kept,
            **identity,
            "name": judge,
            "comparable": True,
        }
        opened.entry["judge"] |= {"name": judge, "comparable": True}
        for row in opened.verdicts:
            del row["comparable"]
        groups = (
            group for by in opened.entry["breakdown"].values() for group in by.values()
        )
        for metrics in (opened.entry["metrics"], *groups):
            for metric in metrics.values():
                metric.pop("comparable", None)
        opened.verdict_hashes()

    return change


def without_pair(opened: Opened) -> None:
    renamed("openai-api/[host]/m", backend="openai-api")(opened)
    for row in opened.verdicts:
        del row["reads"]
    opened.verdict_hashes()


def undecided(opened: Opened) -> None:
    """A verdict against the model is marked as unreadable."""
    row = opened.verdicts[0]
    del row["value"]
    row.update(unscored="judge: unreadable reply", votes=[])
    opened.verdict_hashes()


def verdict_twice(opened: Opened) -> None:
    opened.verdicts.insert(1, opened.verdicts[0])
    opened.verdict_hashes()


def verdict_elsewhere(opened: Opened) -> None:
    opened.verdicts.insert(1, {**opened.verdicts[0], "sha256": "ab" * 32})
    opened.verdict_hashes()


# Changes of verdicts alone, without totals.
OF_VERDICTS: dict[str, Callable[[Opened], None]] = {
    "words_renamed": renamed("openai-api/[host]/m", backend="openai-api"),
    "nobody": renamed("physicians"),
    **{
        change.__name__: change
        for change in (without_pair, undecided, verdict_twice, verdict_elsewhere)
    },
}


@pytest.mark.parametrize(
    ("package", "change", "details"), CASES["forgeries_are_detected"]
)
def test_forgeries_are_detected(
    request: pytest.FixtureRequest,
    package: str,
    change: str | dict[str, Any],
    details: dict[str, list[str]],
) -> None:
    apply = (
        OF_VERDICTS.get(change) or globals()[change]
        if isinstance(change, str)
        else lambda opened: put(opened, change)
    )
    verification = verified(
        forged(
            request.getfixturevalue(package),
            apply,
            totals=apply not in OF_VERDICTS.values(),
        )
    )
    assert verification.differs
    assert not verification.matches
    for name, texts in details.items():
        assert outcomes(verification)[name] == "mismatch"
        assert [text for text in texts if text not in detail(verification, name)] == []


def test_verdicts_match_by_their_texts_alone(chat_judged: bytes, runs: Runs) -> None:
    sound = verified(chat_judged)
    assert sound.matches
    assert outcomes(sound)["judge"] == "not checked"
    assert "are what the judge's text says" in detail(sound, "verdicts")
    words = runs.package("kqa", "--model", "baseline/random")
    verification = verified(
        forged(words, renamed("nli/org/model", kind="nli"), totals=False)
    )
    assert outcomes(verification)["verdicts"] == "not checked"
    assert "are what the judge that compares words says" in detail(
        verification, "verdicts"
    )
    assert verification.on_trust == ("kqa",)


def wider(opened: Opened) -> None:
    """The items do not determine the interval of a metric without a largest value, so the reader accepts it."""
    opened.entry["metrics"]["hallucination_rate"]["ci_high"] += 0.001


def test_intervals_that_items_do_not_determine_are_computed_from_answers(
    kqa: bytes,
) -> None:
    verification = verified(forged(kqa, wider, totals=False))
    assert outcomes(verification) | {"results": ""} == outcomes(verified(kqa)) | {
        "results": ""
    }
    assert "1 numbers differ: metrics, hallucination_rate, ci_high" in detail(
        verification, "results"
    )


def better_recall(opened: Opened) -> None:
    opened.items[0]["rouge1"] = 0.125


def test_credentialed_answers_are_verified_with_responses(
    credentialed: bytes, runs: Runs, tmp_path: Path
) -> None:
    without = verified(credentialed)
    assert without.unproven == ("mimic_rrs",)
    assert not without.matches
    assert not without.differs
    run = runs.folder(*CREDENTIALED)
    assert verified(credentialed, responses=run).matches
    verification = verified(forged(credentialed, better_recall), responses=run)
    assert outcomes(verification)["scores"] == "mismatch"
    other = tmp_path / "answers.jsonl"
    first = read_package(credentialed).items[0]["id"]
    other.write_text(
        f'{{"id": "{first}", "response": "Clear lungs."}}\n', encoding="utf-8"
    )
    verification = verified(credentialed, responses=other)
    assert outcomes(verification)["answers"] == "mismatch"
    assert outcomes(verification)["scores"] == "not checked"


def test_responses_are_compared_with_the_package(right: bytes, tmp_path: Path) -> None:
    answers = read_package(right).answers["medcalc"]
    responses_file = tmp_path / "answers.jsonl"
    responses_file.write_text(
        "".join(
            f"{json.dumps({'id': item_id, 'response': answers[item_id]})}\n"
            for item_id in answers
        ),
        "utf-8",
    )
    assert verified(right, responses=responses_file).matches
    # Correct hashes do not prove scores that were not recomputed.
    verification = verified(right, responses=responses_file, data=tmp_path)
    assert outcomes(verification)["answers"] == "match"
    assert verification.unproven == ("medcalc",)
    assert not verification.matches
    verification = verified(forged(right, changed_answer), responses=responses_file)
    assert outcomes(verification)["answers"] == "mismatch"
    assert "1 of 3 given here do not have the stated hash" in detail(
        verification, "answers"
    )


def test_nothing_matches_without_the_data(medcalc: bytes, tmp_path: Path) -> None:
    verification = verified(medcalc, data=tmp_path)
    assert (
        outcomes(verification)["data"]
        == outcomes(verification)["items"]
        == outcomes(verification)["scores"]
        == "not checked"
    )
    assert "not computed from answers" in detail(verification, "results")
    # with the package's own hashes, which proves nothing
    assert outcomes(verification)["answers"] == "match"
    assert not verification.matches
    assert verification.unproven == ("medcalc",)


def _with_a_missing_verdict() -> tuple[TaskSpec, TaskEntry, list[dict[str, Any]]]:
    """Forty judged answers of which four lack their verdict."""
    task = replace(task_spec("ehrnoteqa_open_level1"), groups=(), cluster=None)
    task = replace(task, metrics=task.metrics[:1])
    items = [
        Item(id=f"{number:02}", fields={}, groups={}, cluster=str(number))
        for number in range(40)
    ]
    decided = [
        Counts(how="count", verdicts=(Verdicts(hits=number % 2, known=1),))
        for number in range(36)
    ]
    lost = [Counts(how="count", verdicts=(Verdicts(missing=1),)) for _ in range(4)]
    scores = [
        ItemScore.counted(
            {"accuracy": counts},
            id=item.id,
            unscored=None if counts.known else "judge: http 500",
        )
        for item, counts in zip(items, [*decided, *lost], strict=True)
    ]
    named = {score.id: score for score in scores}
    entry = summarise(
        task,
        items,
        named,
        {},
        recipe={"judge": None, "statistics": {"intervals": INTERVALS}},
    )
    return (
        task,
        entry,
        [
            {**row, "answer_sha256": "ab" * 32}
            for row in item_rows(task, items, named, {})
        ],
    )


@pytest.mark.parametrize(
    ("change", "count"),
    CASES["estimates_must_be_possible"],
)
def test_estimates_must_be_possible(change: dict[str, Any], count: int) -> None:
    task, entry, rows = _with_a_missing_verdict()
    assert (
        entry["metrics"]["accuracy"]["value"],
        entry["metrics"]["accuracy"]["estimated"],
    ) == (
        0.5,
        4,
    )
    recomputed = recompute(task, entry, rows, DEFAULT_LIMITS)
    entry["metrics"]["accuracy"] |= cast(Figure, change)
    assert len(list(result_differences(task, entry, recomputed, rows))) == count


JUDGE = "openai-api/judge-host/scripted"
RUN = ("kqa", "--model", "baseline/random", "--max-samples", "3", "--judge", JUDGE)


@pytest.fixture
def verdict_shift(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """A shift that a test may change, of a judge whose verdict otherwise depends on the statement alone."""
    verdict_shift = [0]

    def answer(call: Call) -> str:
        number = (
            sha256(str(call.body["messages"][0]["content"]).encode()).digest()[0]
            + verdict_shift[0]
        )
        return json.dumps(
            {
                "reason": "So it is.",
                "verdict": ("entailed", "contradicted", "neither")[number % 3],
            }
        )

    with FaultServer((), answer=answer) as server:
        monkeypatch.setenv("JUDGE_HOST_BASE_URL", server.base_url)
        monkeypatch.setenv("JUDGE_HOST_API_KEY", "k")
        yield verdict_shift


def test_the_judge_is_queried_again(
    verdict_shift: list[int],
    runs: Runs,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    package = tmp_path / "judged.zip"
    package.write_bytes(runs.package(*RUN))
    recipe = read_package(package).results["tasks"]["kqa"]["recipe"]["judge"]
    assert (recipe["name"], recipe["base_url"]) == (
        "openai-api/[host]/scripted",
        "[address]",
    )
    command = ["verify", str(package), "--judge", JUDGE, "--sample", "2"]
    assert main(command) == 0
    assert "asked again about 2 items: " in capsys.readouterr().out
    verdict_shift[0] = 1
    assert main(command) == 6
    assert "0 of " in capsys.readouterr().out
    assert main([*command[:2], "--judge", "openai-api/judge-host/another"]) == 2
    assert (
        "is another judge than that of kqa: judge, model: 'scripted' in the package"
        in capsys.readouterr().err
    )
    assert main(command[:2]) == 0
    output = capsys.readouterr().out
    assert "was not asked again; give --judge" in output
    assert output.endswith(
        "The judge of kqa was not asked again: its verdicts are the submitter's word (--judge asks it).\n"
    )


def test_an_unanswered_item_leaves_open_only_metrics_without_limits() -> None:
    """A forged upper bound of comprehensiveness (0 to 1) is found, although hallucinations have no limit."""
    task = replace(task_spec("kqa"), groups=(), cluster=None)
    bounded, unbounded = "comprehensiveness", "hallucination_rate"
    task = replace(
        task,
        metrics=tuple(
            metric for metric in task.metrics if metric.name in (bounded, unbounded)
        ),
    )
    items = [
        Item(id=f"{number:02}", fields={}, groups={}, cluster=str(number))
        for number in range(20)
    ]
    scores = {
        item.id: ItemScore(id=item.id, values={bounded: 0.5, unbounded: 1.0})
        for item in items[:-1]
    }
    scores[items[-1].id] = ItemScore(
        id=items[-1].id, values={}, unscored="model: http 500"
    )
    entry = summarise(
        task,
        items,
        scores,
        {},
        recipe={"judge": None, "statistics": {"intervals": INTERVALS}},
    )
    rows = [
        {**row, "answer_sha256": "ab" * 32 if row[bounded] is not None else None}
        for row in item_rows(task, items, scores, {})
    ]
    computed = recompute(task, entry, rows, DEFAULT_LIMITS)
    assert not list(result_differences(task, entry, computed, rows))

    assert entry["metrics"][bounded]["bound_high"] == pytest.approx(10.5 / 20)
    entry["metrics"][bounded]["bound_high"] = 0.9
    entry["metrics"][unbounded]["bound_high"] = 40.0
    [difference] = result_differences(task, entry, computed, rows)
    assert difference[0] == ("metrics", bounded, "bound_high")
