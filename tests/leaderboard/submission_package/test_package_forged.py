"""What verifying finds in packages whose forger made every hash and every total right, and by asking the judge again."""

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


def outcomes(found: Verification) -> dict[str, str]:
    return {
        check.name.partition(": ")[2] or check.name: check.outcome
        for check in found.checks
    }


def detail(found: Verification, part: str) -> str:
    return next(check.detail for check in found.checks if check.name.endswith(part))


def row_of(opened: Opened, accuracy: float) -> dict[str, Any]:
    return next(row for row in opened.items if row["accuracy"] == accuracy)


def changed_answer(opened: Opened) -> None:
    """An answer that was right is replaced, its score is kept."""
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
    """One verdict more for the model, with all that follows from it."""
    row = next(
        row
        for row in opened.verdicts
        if row["value"] == "neutral" and "/must/" in row["id"]
    )
    row.update(value="entailment", votes=["entailment"])
    item = opened.item(row["id"].partition("/")[0])
    of = sum(each["id"].startswith(f"{item['id']}/must/") for each in opened.verdicts)
    for name in ("comprehensiveness", "comprehensiveness_answered"):
        item[name] += 1 / of


def contradicted(opened: Opened) -> None:
    row = next(row for row in opened.verdicts if row["value"] == "entailment")
    row.update(value="contradiction", votes=["contradiction"])
    item = opened.item(row["id"].partition("/")[0])
    item.update(hallucination_rate=1.0, contradicted=1.0)


def other_question(opened: Opened) -> None:
    """Another answer, under verdicts on the answer that was."""
    opened.answers[0]["response"] += " Ask your doctor."


def renamed(judge: str, **identity: str) -> Callable[[Opened], None]:
    """The lexical judge's verdicts given out as those of another."""

    def change(opened: Opened) -> None:
        named = opened.entry["recipe"]["judge"]
        kept = {
            part: named[part]
            for part in ("reasks", "reply_tokens", "mode", "prompts", "votes")
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
    """A verdict against the model is said to have been unreadable."""
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


# What touches verdicts alone, and no total.
OF_VERDICTS: dict[str, Callable[[Opened], None]] = {
    "words_renamed": renamed("openai-api/[host]/m", backend="openai-api"),
    "nobody": renamed("physicians"),
    **{
        made.__name__: made
        for made in (without_pair, undecided, verdict_twice, verdict_elsewhere)
    },
}


@pytest.mark.parametrize(
    ("package", "change", "said"), CASES["what_is_forged_is_found"]
)
def test_what_is_forged_is_found(
    request: pytest.FixtureRequest,
    package: str,
    change: str | dict[str, Any],
    said: dict[str, list[str]],
) -> None:
    made = (
        OF_VERDICTS.get(change) or globals()[change]
        if isinstance(change, str)
        else lambda one: put(one, change)
    )
    found = verified(
        forged(
            request.getfixturevalue(package),
            made,
            totals=made not in OF_VERDICTS.values(),
        )
    )
    assert found.differs
    assert not found.matches
    for part, texts in said.items():
        assert outcomes(found)[part] == "mismatch"
        assert [text for text in texts if text not in detail(found, part)] == []


def test_verdicts_match_by_their_texts_alone(chat_judged: bytes, runs: Runs) -> None:
    sound = verified(chat_judged)
    assert sound.matches
    assert outcomes(sound)["judge"] == "not checked"
    assert "are what the judge's text says" in detail(sound, "verdicts")
    words = runs.package("kqa", "--model", "baseline/random")
    found = verified(forged(words, renamed("nli/org/model", kind="nli"), totals=False))
    assert outcomes(found)["verdicts"] == "not checked"
    assert "are what the judge that compares words says" in detail(found, "verdicts")
    assert found.on_trust == ("kqa",)


def wider(opened: Opened) -> None:
    """The interval of a metric without a largest value is not told by the items: reading lets it pass."""
    opened.entry["metrics"]["hallucination_rate"]["ci_high"] += 0.001


def test_an_interval_that_items_do_not_tell_is_computed_from_answers(
    kqa: bytes,
) -> None:
    found = verified(forged(kqa, wider, totals=False))
    assert outcomes(found) | {"results": ""} == outcomes(verified(kqa)) | {
        "results": ""
    }
    assert "1 numbers differ: metrics, hallucination_rate, ci_high" in detail(
        found, "results"
    )


def better_recall(opened: Opened) -> None:
    opened.items[0]["rouge1"] = 0.125


def test_credentialed_answers_are_given_by_whoever_has_them(
    credentialed: bytes, runs: Runs, tmp_path: Path
) -> None:
    without = verified(credentialed)
    assert without.unproven == ("mimic_rrs",)
    assert not without.matches
    assert not without.differs
    run = runs.folder(*CREDENTIALED)
    assert verified(credentialed, responses=run).matches
    found = verified(forged(credentialed, better_recall), responses=run)
    assert outcomes(found)["scores"] == "mismatch"
    other = tmp_path / "answers.jsonl"
    first = read_package(credentialed).items[0]["id"]
    other.write_text(
        f'{{"id": "{first}", "response": "Clear lungs."}}\n', encoding="utf-8"
    )
    found = verified(credentialed, responses=other)
    assert outcomes(found)["answers"] == "mismatch"
    assert outcomes(found)["scores"] == "not checked"


def test_answers_given_beside_the_package_are_compared(
    right: bytes, tmp_path: Path
) -> None:
    answers = read_package(right).answers["medcalc"]
    given = tmp_path / "answers.jsonl"
    given.write_text(
        "".join(
            f"{json.dumps({'id': each, 'response': answers[each]})}\n"
            for each in answers
        ),
        "utf-8",
    )
    assert verified(right, responses=given).matches
    # Right hashes say nothing of scores that nobody computed.
    found = verified(right, responses=given, data=tmp_path)
    assert outcomes(found)["answers"] == "match"
    assert found.unproven == ("medcalc",)
    assert not found.matches
    found = verified(forged(right, changed_answer), responses=given)
    assert outcomes(found)["answers"] == "mismatch"
    assert "1 of 3 given here do not have the stated hash" in detail(found, "answers")


def test_without_the_data_nothing_is_called_a_match(
    medcalc: bytes, tmp_path: Path
) -> None:
    found = verified(medcalc, data=tmp_path)
    assert (
        outcomes(found)["data"]
        == outcomes(found)["items"]
        == outcomes(found)["scores"]
        == "not checked"
    )
    assert "not computed from answers" in detail(found, "results")
    # with the package's own hashes, which proves nothing
    assert outcomes(found)["answers"] == "match"
    assert not found.matches
    assert found.unproven == ("medcalc",)


def _with_a_missing_verdict() -> tuple[TaskSpec, TaskEntry, list[dict[str, Any]]]:
    """Forty judged answers of which four lack their verdict."""
    task = replace(task_spec("ehrnoteqa_open_level1"), groups=(), cluster=None)
    task = replace(task, metrics=task.metrics[:1])
    items = [
        Item(id=f"{place:02}", fields={}, groups={}, cluster=str(place))
        for place in range(40)
    ]
    known = [
        Counts(how="count", verdicts=(Verdicts(hits=place % 2, known=1),))
        for place in range(36)
    ]
    lost = [Counts(how="count", verdicts=(Verdicts(missing=1),)) for _ in range(4)]
    scores = [
        ItemScore.counted(
            {"accuracy": counts},
            id=item.id,
            unscored=None if counts.known else "judge: http 500",
        )
        for item, counts in zip(items, [*known, *lost], strict=True)
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
    ("change", "found"),
    CASES["an_estimate_lies_where_the_undecided_items_can_bring_it"],
)
def test_an_estimate_lies_where_the_undecided_items_can_bring_it(
    change: dict[str, Any], found: int
) -> None:
    task, entry, rows = _with_a_missing_verdict()
    assert (
        entry["metrics"]["accuracy"]["value"],
        entry["metrics"]["accuracy"]["estimated"],
    ) == (
        0.5,
        4,
    )
    made = recompute(task, entry, rows, DEFAULT_LIMITS)
    entry["metrics"]["accuracy"] |= cast(Figure, change)
    assert len(list(result_differences(task, entry, made, rows))) == found


JUDGE = "openai-api/judge-host/scripted"
RUN = ("kqa", "--model", "baseline/random", "--max-samples", "3", "--judge", JUDGE)


@pytest.fixture
def mind(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Of a judge by the statement alone, who may change it."""
    mind = [0]

    def answer(call: Call) -> str:
        number = (
            sha256(str(call.body["messages"][0]["content"]).encode()).digest()[0]
            + mind[0]
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
        yield mind


def test_the_judge_is_asked_again(
    mind: list[int], runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "judged.zip"
    package.write_bytes(runs.package(*RUN))
    recipe = read_package(package).results["tasks"]["kqa"]["recipe"]["judge"]
    assert (recipe["name"], recipe["base_url"]) == (
        "openai-api/[host]/scripted",
        "[address]",
    )
    asked = ["verify", str(package), "--judge", JUDGE, "--sample", "2"]
    assert main(asked) == 0
    assert "asked again about 2 items: " in capsys.readouterr().out
    mind[0] = 1
    assert main(asked) == 6
    assert "0 of " in capsys.readouterr().out
    assert main([*asked[:2], "--judge", "openai-api/judge-host/another"]) == 2
    assert (
        "is another judge than that of kqa: judge, model: 'scripted' in the package"
        in capsys.readouterr().err
    )
    assert main(asked[:2]) == 0
    told = capsys.readouterr().out
    assert "was not asked again; give --judge" in told
    assert told.endswith(
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
