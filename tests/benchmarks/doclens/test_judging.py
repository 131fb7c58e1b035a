"""What is asked about outputs, in which rounds and how often, and what is known in the end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.judging import Unit, judge_units
from medical_tasks.benchmarks.doclens.measures import Section, SentenceVerdict, section_tallies, unsupported
from medical_tasks.benchmarks.doclens.pieces import EMPTY, SECTIONS
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Call, Judging, NoReply
from medical_tasks.judges.case import UNREADABLE
from tests.benchmarks.doclens.doclens_judges import OWN, asked, by_pair, cited, judge, made, perfect, unit, verdict
from tests.benchmarks.doclens.task_items import cases
from tests.judges.scripted import TableJudge

SOURCES = ("the knee hurts", "since monday", "no fever", "take ibuprofen")
OUTPUT = "The knee hurts [0]. No fever [2]. Rest."
REFERENCE = "The knee hurts. Take ibuprofen. No fever. Since Monday."
ONE = unit(output=OUTPUT, reference=REFERENCE, sources=SOURCES)


def _limits(section: Section) -> dict[str, tuple[float, float]]:
    return {name: tally.limits for name, tally in section_tallies(section).items()}


def test_a_text_its_claims_and_its_citations(tmp_path: Path) -> None:
    done = judge(tmp_path, [ONE], perfect)
    made = {call.question.id: list(asked(call).things.values()) for call in done.backend.calls}
    assert made["v1/plan/recall/batch"] == ["The knee hurts.", "Take ibuprofen.", "No fever.", "Since Monday."]
    assert made["v1/plan/precision/batch"] == ["The knee hurts.", "No fever.", "Rest."]
    assert done.one.section == Section(
        reference_claims=(True, False, True, False),
        output_claims=(True, True, False),
        sentences=(
            SentenceVerdict(entailed=True, supports=(True,)),
            SentenceVerdict(entailed=True, supports=(True,)),
            SentenceVerdict(entailed=False),
        ),
    )
    assert done.one.reasons == ()
    # Claims of both sides; then both directions and the two sentences that cite, together.
    assert done.backend.rounds == [2, 4]
    assert done.ids == [
        "v1/plan/reference/claims", "v1/plan/output/claims", "v1/plan/recall/batch", "v1/plan/precision/batch",
        "v1/plan/sentence/0", "v1/plan/sentence/1",
    ]  # fmt: skip


def _note(name: str) -> list[Unit]:
    text = {section: f"The {section} of {name}. More of {section}." for section in SECTIONS}
    return [
        unit(
            f"{name}/{section}",
            section=section,
            form="note",
            output=f"The {section} of {name} [0]. More of {section} [0][1]. Nothing.",
            reference=text[section],
            sources=tuple(text.values()),
        )
        for section in SECTIONS
    ]


def test_the_calls_a_note_takes(tmp_path: Path) -> None:
    """docs/doclens_scoring.md: a section takes a call a side for its claims and one a side for all verdicts on them, and
    each sentence that cites takes one."""
    note = _note("v1")
    done = judge(tmp_path, note, perfect)
    assert done.backend.rounds == [8, 8 + 8]
    given = {one.id: ("A fact.",) * 20 for one in note}
    done = judge(tmp_path, note, perfect, reference_claims=given)
    assert done.backend.rounds == [4, 8 + 8]
    # Twenty notes go in the same two rounds.
    notes = [one for number in range(20) for one in _note(f"v{number}")]
    assert judge(tmp_path, notes, perfect).backend.rounds == [160, 320]
    # Claim by claim: two claims in each reference, three in each output.
    single = judge(tmp_path, note, perfect, mode="single")
    assert single.backend.rounds == [8, 4 * (2 + 3) + 8]
    assert single.verdicts == judge(tmp_path, note, perfect).verdicts


# Nothing on a side


@pytest.mark.parametrize("blank", ["", f"\n{EMPTY} "])
def test_nobody_is_asked_what_a_blank_text_entails(tmp_path: Path, blank: str) -> None:
    output = judge(tmp_path, [unit(output=blank, reference=REFERENCE, sources=SOURCES)], perfect)
    assert output.ids == ["v1/plan/reference/claims"]
    assert output.one.section == Section(reference_claims=(False,) * 4, output_claims=())
    reference = judge(tmp_path, [unit(output=OUTPUT, reference=blank, sources=SOURCES)], perfect)
    assert reference.ids == ["v1/plan/output/claims", "v1/plan/sentence/0", "v1/plan/sentence/1"]
    section = reference.one.section
    assert (section.reference_claims, section.output_claims) == ((), (False,) * 3)


def test_markers_alone_are_an_unsupported_sentence(tmp_path: Path) -> None:
    done = judge(tmp_path, [unit(output="[0][1]", reference=REFERENCE, sources=SOURCES)], perfect)
    assert done.ids == ["v1/plan/reference/claims"]
    assert done.one.section.sentences == (unsupported(2),)


def test_nothing_against_nothing_asks_nothing(tmp_path: Path) -> None:
    for form in ("text", "question"):
        done = judge(tmp_path, [unit(form=form)], perfect)
        assert (done.backend.rounds, done.one.section) == ([], Section(reference_claims=(), output_claims=()))
    assert judge(tmp_path, [], perfect).verdicts == []


def test_what_the_source_does_not_have(tmp_path: Path) -> None:
    one = unit(output="No fever [2][9]. The knee hurts [9].", reference="Rest.", sources=SOURCES)
    done = judge(tmp_path, [one], perfect)
    assert done.one.section.sentences == (SentenceVerdict(entailed=True, supports=(True, False)), unsupported(1))
    (call,) = [call for call in done.backend.calls if "/sentence/" in call.question.id]
    assert asked(call).things == {"2": "no fever"}


# Claims that are there already


def test_claims_of_files_are_taken_as_they_are(tmp_path: Path) -> None:
    done = judge(
        tmp_path,
        [ONE],
        perfect,
        reference_claims={"v1/plan": ("No fever.", "No fever.", "Nausea.")},
        output_claims={"v1/plan": ()},
    )
    assert done.backend.rounds == [3]
    assert done.one.section.reference_claims == (True, True, False)
    assert done.one.section.output_claims == ()
    (batch,) = [asked(call) for call in done.backend.calls if asked(call).kind == "claims"]
    assert batch.things == {"c1": "No fever.", "c2": "Nausea."}  # the one that stands twice is asked about once


def test_the_output_is_judged_without_its_markers(tmp_path: Path) -> None:
    done = judge(tmp_path, [ONE], perfect)
    texts = {asked(call).text for call in done.backend.calls}
    assert texts == {"The knee hurts. No fever. Rest.", REFERENCE, ""}


# Judges of entailment


def test_a_judge_of_entailment_reads_sentences_as_claims(tmp_path: Path) -> None:
    done = judge(tmp_path, [ONE], by_pair, reads="pair", mode="batched")
    assert done.one.section.reference_claims == (True, False, True, False)
    assert done.backend.rounds == [4 + 3 + 2]
    assert {call.question.pair is None for call in done.backend.calls} == {False}
    for label in ("neutral", "contradiction", "not_entailment"):
        section = judge(tmp_path, [ONE], lambda call, label=label: label, reads="pair").one.section  # type: ignore[misc]
        assert section.reference_claims == (False,) * 4
        assert section.sentences == (unsupported(1), unsupported(1), unsupported(0))


@given(entails=st.sets(st.sets(st.integers(0, 3), min_size=1).map(frozenset)), k=st.integers(0, 4))
@settings(deadline=None, max_examples=60)
def test_citation_precision_asks_no_more_than_its_definition(entails: set[frozenset[int]], k: int) -> None:
    def say(question: Any) -> bool:
        return frozenset(map(int, question.pair.premise.split())) in entails

    table = TableJudge(say)
    table.reads = "pair"
    one = unit(output="Rest " + "".join(f"[{i}]" for i in range(k)), sources=("0", "1", "2", "3"))
    (done,) = judge_units([one], Judging(judge=table, prompts=OWN), output_claims={one.id: ()})
    low, high = BOUNDS[k]
    assert len(table.asked) <= high
    assert len(table.asked) == low or done.section.sentences[0].entailed
    assert len({question.id for question in table.asked}) == len(table.asked)
    full = frozenset(range(k))
    (sentence,) = done.section.sentences
    assert sentence.entailed is (full in entails)
    if sentence.entailed:
        wanted = tuple(k == 1 or frozenset({i}) in entails or (full - {i}) not in entails for i in range(k))
        assert sentence.supports == wanted


def test_the_premise_is_in_the_order_of_the_source() -> None:
    table = TableJudge(lambda question: True)
    table.reads = "pair"
    one = unit(output="Rest [2][0].", sources=("A.", "B.", "C."))
    (done,) = judge_units([one], Judging(judge=table, prompts=OWN), output_claims={one.id: ()})
    assert [question.pair.premise for question in table.asked if question.pair] == ["A. C.", "A.", "C."]
    assert done.section.sentences == (SentenceVerdict(entailed=True, supports=(True, True)),)


def test_sentences_of_all_units_take_each_step_together(tmp_path: Path) -> None:
    units = [
        unit(f"u{i}", output="The knee hurts since Monday [0][1][2]. No fever [2].", sources=SOURCES) for i in range(5)
    ]
    done = judge(tmp_path, units, by_pair, reads="pair", output_claims={one.id: () for one in units})
    # All five ask the same, so a round has one unit's questions: together and single; each alone; pairs without one.
    assert done.backend.rounds == [2, 3, 3]
    assert {one.section.sentences[0].supports for one in done.verdicts} == {(True, True, False)}


BOUNDS = {0: (0, 0), 1: (1, 1), 2: (1, 3), 3: (1, 7), 4: (1, 9)}
"""Fewest and most questions about a sentence by its number of citations."""


@pytest.mark.parametrize(("missing", "entailed", "supports"), cases("judging", "missing", tuples=True))
def test_missing_answers_stay_open_where_they_decide(missing: Any, entailed: Any, supports: Any) -> None:
    def say(question: Any) -> bool | None:
        numbers = set(map(int, question.pair.premise.split()))
        return None if missing and numbers == set(missing) else {0, 1} <= numbers

    table = TableJudge(say)
    table.reads = "pair"
    one = unit(output="Rest [0][1][2].", sources=("0", "1", "2"))
    (done,) = judge_units([one], Judging(judge=table, prompts=OWN), output_claims={one.id: ()})
    assert done.section.sentences == (SentenceVerdict(entailed=entailed, supports=supports),)
    assert bool(done.reasons) is (None in supports)
    if missing is None:
        said = [question.pair.premise for question in table.asked if question.pair]
        assert said == ["0 1 2", "0", "1", "2", "1 2", "0 2", "0 1"]


# MeQSum


def _question(output: str, reference: str) -> Unit:
    return unit("q1", form="question", output=output, reference=reference, sources=("does it hurt", "what helps"))


@pytest.mark.parametrize(
    ("recall", "precision", "same", "found"),
    [(True, False, False, (True, False)), (False, True, False, (False, True)), (False, False, True, (True, True))],
)
def test_questions_are_judged_both_ways_and_for_sameness(
    tmp_path: Path, recall: bool, precision: bool, same: bool, found: tuple[bool, bool]
) -> None:
    values = {"q1/recall": recall, "q1/precision": precision, "q1/same": same}

    def script(call: Call) -> str:
        about = asked(call)
        return cited(True, 1) if about.kind == "citation" else verdict(values[call.question.id])

    for mode in ("batched", "single"):
        done = judge(tmp_path, [_question("What helps\nthe knee [1]?", "What helps?")], script, mode=mode)
        assert done.backend.rounds == [4]  # no claims are made, and all is asked at once
        assert (done.one.section.reference_claims, done.one.section.output_claims) == ((found[0],), (found[1],))
        assert done.one.section.sentences == (SentenceVerdict(entailed=True, supports=(True,)),)
    ways = {call.question.id: (asked(call).text, asked(call).about) for call in done.backend.calls}
    assert ways["q1/recall"] == ways["q1/same"] == ("What helps the knee?", "What helps?")
    assert ways["q1/precision"] == ("What helps?", "What helps the knee?")


def test_judges_of_entailment_are_not_asked_for_sameness(tmp_path: Path) -> None:
    done = judge(tmp_path, [_question("What helps the knee?", "What helps?")], by_pair, reads="pair")
    assert done.ids == ["q1/recall", "q1/precision"]
    assert (done.one.section.reference_claims, done.one.section.output_claims) == ((True,), (False,))


def test_a_question_without_an_answer(tmp_path: Path) -> None:
    empty = judge(tmp_path, [_question(" ", "What helps?")], perfect)
    assert (empty.backend.rounds, empty.one.section) == ([], Section(reference_claims=(False,), output_claims=()))
    no_reference = judge(tmp_path, [_question("What helps?", "")], perfect)
    assert no_reference.one.section.output_claims == (False,)


def test_a_missing_verdict_on_a_question_matters_only_where_it_can(tmp_path: Path) -> None:
    def script(call: Call) -> str | NoReply:
        return NoReply(key=call.key, reason="http 500") if call.question.id == "q1/recall" else verdict(True)

    done = judge(tmp_path, [_question("What helps?", "What helps?")], script)
    assert (done.one.section.reference_claims, done.one.reasons) == ((True,), ())  # they are the same

    def other(call: Call) -> str | NoReply:
        return NoReply(key=call.key, reason="http 500") if call.question.id == "q1/recall" else verdict(False)

    done = judge(tmp_path, [_question("What helps?", "What helps now?")], other)
    assert (done.one.section.reference_claims, done.one.section.output_claims) == ((None,), (False,))
    assert done.one.reasons == ("judge: http 500",)


# What is refused


@pytest.mark.parametrize(
    ("mode", "style", "message"),
    [
        ("batched", "cot", "style cot asks about one claim at a time, and cannot be batched. Give --judging single"),
        ("batched", "plain", "cannot be batched"),
        ("single", "yaml", "style must be one of json_cot, json, cot, plain; got 'yaml'"),
    ],
)
def test_combinations_are_refused_before_anybody_is_asked(mode: Any, style: str, message: str) -> None:
    table = TableJudge({})
    with pytest.raises(UsageError, match=message):
        judge_units([], Judging(judge=table, prompts=OWN, mode=mode), style=style)
    assert judge_units([], Judging(judge=table, prompts=OWN, mode="batched")) == []
    assert table.asked == []


def test_units_of_one_id_are_refused() -> None:
    with pytest.raises(UsageError, match="same id"):
        judge_units([ONE, ONE], Judging(judge=TableJudge({}), prompts=OWN))


@pytest.mark.parametrize("style", ["json_cot", "json", "cot", "plain"])
def test_every_style_says_the_same(tmp_path: Path, style: str) -> None:
    def script(call: Call) -> str:
        about = asked(call)
        if about.kind == "make":
            return perfect(call)
        said = json.loads(perfect(call))
        if style.startswith("json"):
            if style == "json":
                said.pop("explanation")
            return json.dumps(said)
        lines = [f"explanation: {said['explanation']}"] if style == "cot" else []
        if about.kind == "citation":
            lines.append("provenance: " + (", ".join(map(str, said["provenance"])) or "none"))
        return "\n".join((*lines, f"entailed: {'yes' if said['entailed'] else 'no'}"))

    done = judge(tmp_path, [ONE], script, mode="single", style=style)
    assert done.verdicts == judge(tmp_path, [ONE], perfect).verdicts
    assert done.session.stats.reasked == 0


def test_reasons_are_named_once(tmp_path: Path) -> None:
    def script(call: Call) -> str:
        return made("A.", "B.") if asked(call).kind == "make" else "I cannot say."

    done = judge(tmp_path, [ONE], script)
    assert done.one.reasons == (UNREADABLE,)
    assert done.one.section.reference_claims == (None, None)
    limits = _limits(done.one.section)
    assert limits["claim_recall"] == (0.0, 1.0)
    assert limits["citation_recall"] == (0.0, 2 / 3)  # the third sentence cites nothing
