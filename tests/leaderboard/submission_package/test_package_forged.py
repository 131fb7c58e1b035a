"""What verifying finds in packages whose forger made every hash and every total right."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.catalog import task_spec
from medical_tasks.leaderboard.submission_package.contents import DEFAULT_LIMITS, Verification, VerifyOptions
from medical_tasks.leaderboard.submission_package.reading import read_package
from medical_tasks.leaderboard.submission_package.results import recompute, result_differences
from medical_tasks.leaderboard.submission_package.verifying import verify_package
from medical_tasks.runs.results import item_rows, summarise
from medical_tasks.spec import Counts, Item, ItemScore, TaskSpec, Verdicts
from tests.leaderboard.made_packages import cases
from tests.leaderboard.submission_package.conftest import CREDENTIALED, Runs
from tests.leaderboard.submission_package.forged_packages import Opened, forged

CASES = cases("package_forged")


def verified(package: bytes, **options: Any) -> Verification:
    return verify_package(read_package(package), VerifyOptions(**options))


def outcomes(found: Verification) -> dict[str, str]:
    return {check.name.partition(": ")[2] or check.name: check.outcome for check in found.checks}


def detail(found: Verification, part: str) -> str:
    return next(check.detail for check in found.checks if check.name.endswith(part))


def right_row(opened: Opened) -> dict[str, Any]:
    return next(row for row in opened.items if row["accuracy"] == 1.0)


def wrong_row(opened: Opened) -> dict[str, Any]:
    return next(row for row in opened.items if row["accuracy"] == 0.0)


def changed_answer(opened: Opened) -> None:
    """An answer that was right is replaced, its score is kept."""
    opened.answer(right_row(opened)["id"])["response"] = '{"answer": "-7777"}'


def better_score(opened: Opened) -> None:
    wrong_row(opened).update(accuracy=1.0, accuracy_official=1.0, accuracy_recomputed=1.0, accuracy_agreed=1.0)


def added_item(opened: Opened) -> None:
    row = right_row(opened)
    opened.items.append({**row, "id": "777"})
    opened.answers.append({**opened.answer(row["id"]), "id": "777"})


def dropped_item(opened: Opened) -> None:
    row = wrong_row(opened)
    opened.items.remove(row)
    opened.answers.remove(opened.answer(row["id"]))


def changed_group(opened: Opened) -> None:
    groups = sorted({row["group_category"] for row in opened.items})
    row = opened.items[0]
    row["group_category"] = next(group for group in groups if group != row["group_category"])


def recipe(**parts: Any) -> Callable[[Opened], None]:
    """Entries of parts of the recipe."""

    def change(opened: Opened) -> None:
        for part, values in parts.items():
            opened.entry["recipe"][part] |= values

    return change


def flipped(opened: Opened) -> None:
    """One verdict more for the model, with all that follows from it."""
    row = next(row for row in opened.verdicts if row["value"] == "neutral" and "/must/" in row["id"])
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
        kept = {part: named[part] for part in ("reasks", "reply_tokens", "mode", "prompts", "votes")}
        opened.entry["recipe"]["judge"] = {**kept, **identity, "name": judge, "comparable": True}
        opened.entry["judge"] |= {"name": judge, "comparable": True}
        for row in opened.verdicts:
            del row["comparable"]
        groups = (group for by in opened.entry["breakdown"].values() for group in by.values())
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


def other_settings(opened: Opened) -> None:
    opened.entry["recipe"] |= {"task_args": {"made_up": "1"}, "protocol": {"a": "b"}, "baseline": {"a": "b"}}
    opened.entry["recipe"]["model"]["name"] = "hf/org/model"


WORDS_RENAMED, NOBODY = renamed("openai-api/[host]/m", backend="openai-api"), renamed("physicians")


@pytest.mark.parametrize(
    ("package", "change", "part", "said"),
    [
        ("right", changed_answer, "scores", "1 of 3 items score otherwise"),
        ("medcalc", better_score, "scores", "1 of 9 items score otherwise"),
        ("right", added_item, "items", "1 added: '777'"),
        ("medcalc", dropped_item, "items", "1 missing: "),
        ("medcalc", changed_group, "items", "1 in another group: "),
        ("medcalc", lambda one: one.items[0].update(cluster=one.items[-1]["cluster"]), "items", "1 in another cluster: "),
        ("medcalc", recipe(data={"rows_sha256": "ab" * 32}), "data", "another revision: rows_sha256 'abababab"),
        ("medcalc", lambda one: one.entry["recipe"].update(task_version="0-A"), "recipe", "task_version: '0-A' in the package, '"),
        ("medcalc", recipe(metrics={"accuracy": {"kind": "mean"}}), "recipe", "metrics, accuracy, kind: 'mean' in the package"),
        ("medcalc", recipe(statistics={"bootstrap_seed": 7}), "recipe", "statistics, bootstrap_seed: 7 in the package, 0 computed"),
        ("medcalc", lambda one: one.items[0].update(parsed="12"), "scores", "parsed: reads otherwise"),
        ("medcalc", other_settings, "recipe", "task_args: 'made_up' is a setting of no such task"),
        ("medcalc", other_settings, "recipe", "protocol: there is none"),
        ("medcalc", other_settings, "recipe", "baseline: there is none"),
        ("kqa", flipped, "verdicts", "value: 'entailment' in the package, 'neutral' computed"),
        ("kqa", flipped, "scores", "items score otherwise"),
        ("kqa", WORDS_RENAMED, "verdicts", "is not by a judge of that kind"),
        ("kqa", without_pair, "verdicts", "has no text of a judge that says why"),
        ("kqa", NOBODY, "recipe", "judge: 'physicians' is no judge that there is"),
        ("kqa", recipe(judge={"prompts": {"set": "own", "sha256": "cd" * 32}}), "recipe", "judge's prompts"),
        ("kqa", recipe(judge={"entails_from": "0.1"}), "recipe", "entails_from"),
        ("chat_judged", contradicted, "verdicts", "contradicts the judge's own text"),
        ("chat_judged", undecided, "verdicts", "contradicts the judge's own text"),
        ("chat_judged", verdict_twice, "verdicts", "24 verdicts on the 23 questions"),
        ("chat_judged", verdict_elsewhere, "verdicts", "was given on another question or answer"),
        ("chat_judged", other_question, "verdicts", "was given on another question or answer"),
        ("chat_judged", other_question, "scores", "items score otherwise"),
    ],
)  # fmt: skip
def test_what_is_forged_is_found(
    request: pytest.FixtureRequest, package: str, change: Callable[[Opened], None], part: str, said: str
) -> None:
    totals = change not in (WORDS_RENAMED, NOBODY, without_pair, undecided, verdict_twice, verdict_elsewhere)
    found = verified(forged(request.getfixturevalue(package), change, totals=totals))
    assert found.differs
    assert not found.matches
    assert outcomes(found)[part] == "mismatch"
    assert said in detail(found, part)


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


def test_an_interval_that_items_do_not_tell_is_computed_from_answers(kqa: bytes) -> None:
    found = verified(forged(kqa, wider, totals=False))
    assert outcomes(found) | {"results": ""} == outcomes(verified(kqa)) | {"results": ""}
    assert "1 numbers differ: metrics, hallucination_rate, ci_high" in detail(found, "results")


def better_recall(opened: Opened) -> None:
    opened.items[0]["rouge1"] = 0.125


def test_credentialed_answers_are_given_by_whoever_has_them(credentialed: bytes, runs: Runs, tmp_path: Path) -> None:
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
    other.write_text(f'{{"id": "{first}", "response": "Clear lungs."}}\n', encoding="utf-8")
    found = verified(credentialed, responses=other)
    assert outcomes(found)["answers"] == "mismatch"
    assert outcomes(found)["scores"] == "not checked"


def test_answers_given_beside_the_package_are_compared(right: bytes, tmp_path: Path) -> None:
    answers = read_package(right).answers["medcalc"]
    given = tmp_path / "answers.jsonl"
    given.write_text("".join(f"{json.dumps({'id': each, 'response': answers[each]})}\n" for each in answers), "utf-8")
    assert verified(right, responses=given).matches
    # Right hashes say nothing of scores that nobody computed.
    found = verified(right, responses=given, data=tmp_path)
    assert outcomes(found)["answers"] == "match"
    assert found.unproven == ("medcalc",)
    assert not found.matches
    found = verified(forged(right, changed_answer), responses=given)
    assert outcomes(found)["answers"] == "mismatch"
    assert "1 of 3 given here do not have the stated hash" in detail(found, "answers")


def test_without_the_data_nothing_is_called_a_match(medcalc: bytes, tmp_path: Path) -> None:
    found = verified(medcalc, data=tmp_path)
    assert outcomes(found)["data"] == outcomes(found)["items"] == outcomes(found)["scores"] == "not checked"
    assert "not computed from answers" in detail(found, "results")
    assert outcomes(found)["answers"] == "match"  # with the package's own hashes, which proves nothing
    assert not found.matches
    assert found.unproven == ("medcalc",)


def _with_a_missing_verdict() -> tuple[TaskSpec, dict[str, Any], list[dict[str, Any]]]:
    """Forty judged answers of which four lack their verdict."""
    task = replace(task_spec("ehrnoteqa_open_level1"), groups=(), cluster=None)
    task = replace(task, metrics=task.metrics[:1])
    items = [Item(id=f"{place:02}", fields={}, groups={}, cluster=str(place)) for place in range(40)]
    known = [Counts(how="count", verdicts=(Verdicts(hits=place % 2, known=1),)) for place in range(36)]
    lost = [Counts(how="count", verdicts=(Verdicts(missing=1),)) for _ in range(4)]
    scores = [
        ItemScore.counted({"accuracy": counts}, id=item.id, unscored=None if counts.known else "judge: http 500")
        for item, counts in zip(items, [*known, *lost], strict=True)
    ]
    named = {score.id: score for score in scores}
    entry = summarise(task, items, named, {}, recipe={"judge": None})
    return task, entry, [{**row, "answer_sha256": "ab" * 32} for row in item_rows(task, items, named, {})]


@pytest.mark.parametrize(("change", "found"), CASES["an_estimate_lies_where_the_undecided_items_can_bring_it"])
def test_an_estimate_lies_where_the_undecided_items_can_bring_it(change: dict[str, Any], found: int) -> None:
    task, entry, rows = _with_a_missing_verdict()
    assert (entry["metrics"]["accuracy"]["value"], entry["metrics"]["accuracy"]["estimated"]) == (0.5, 4)
    made = recompute(task, entry, rows, DEFAULT_LIMITS)
    entry["metrics"]["accuracy"] |= change
    assert len(list(result_differences(task, entry, made, rows))) == found
