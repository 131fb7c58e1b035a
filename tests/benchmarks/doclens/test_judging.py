"""What is asked about outputs, in which rounds and how often, and what is known in the end, whatever the replies."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.judging import Unit, UnitVerdict, judge_units
from medical_tasks.benchmarks.doclens.measures import (
    Section,
    SentenceVerdict,
    unsupported,
)
from medical_tasks.benchmarks.doclens.pieces import EMPTY, SECTIONS
from medical_tasks.errors import UsageError
from medical_tasks.guard.private_store import redact_value
from medical_tasks.judges.base import Call, Judging, NoReply
from medical_tasks.judges.case import UNREADABLE
from medical_tasks.judges.recorded import RecordedJudge
from tests.benchmarks.doclens.doclens_judges import (
    OWN,
    WHY,
    asked,
    by_pair,
    cited,
    judge,
    made,
    perfect,
    unit,
    verdict,
    verdicts,
)
from tests.benchmarks.doclens.task_items import cases
from tests.judges.scripted import TableJudge

SOURCES = ("the knee hurts", "since monday", "no fever", "take ibuprofen")
OUTPUT = "The knee hurts [0]. No fever [2]. Rest."
REFERENCE = "The knee hurts. Take ibuprofen. No fever. Since Monday."
ONE = unit(output=OUTPUT, reference=REFERENCE, sources=SOURCES)


def test_a_text_its_claims_and_its_citations(tmp_path: Path) -> None:
    done = judge(tmp_path, [ONE], perfect)
    made = {
        call.question.id: list(asked(call).things.values())
        for call in done.backend.calls
    }
    assert made["v1/plan/recall/batch"] == [
        "The knee hurts.",
        "Take ibuprofen.",
        "No fever.",
        "Since Monday.",
    ]
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
    # Without its markers the output is judged.
    assert {asked(call).text for call in done.backend.calls} == {
        "The knee hurts. No fever. Rest.",
        REFERENCE,
        "",
    }
    # Claims of both sides; then both directions and the two sentences that cite,
    # together.
    assert done.backend.rounds == [2, 4]
    assert done.ids == [
        "v1/plan/reference/claims", "v1/plan/output/claims", "v1/plan/recall/batch", "v1/plan/precision/batch",
        "v1/plan/sentence/0", "v1/plan/sentence/1",
    ]  # fmt: skip


def always(label: str, call: Call) -> str:
    """A judge's reply that is the same to every question."""
    return label


def _note(name: str) -> list[Unit]:
    text = {
        section: f"The {section} of {name}. More of {section}." for section in SECTIONS
    }
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
    output = judge(
        tmp_path, [unit(output=blank, reference=REFERENCE, sources=SOURCES)], perfect
    )
    assert output.ids == ["v1/plan/reference/claims"]
    assert output.one.section == Section(
        reference_claims=(False,) * 4, output_claims=()
    )
    reference = judge(
        tmp_path, [unit(output=OUTPUT, reference=blank, sources=SOURCES)], perfect
    )
    assert reference.ids == [
        "v1/plan/output/claims",
        "v1/plan/sentence/0",
        "v1/plan/sentence/1",
    ]
    section = reference.one.section
    assert (section.reference_claims, section.output_claims) == ((), (False,) * 3)


def test_nothing_against_nothing_asks_nothing_and_markers_alone_are_an_unsupported_sentence(
    tmp_path: Path,
) -> None:
    for form in ("text", "question"):
        done = judge(tmp_path, [unit(form=form)], perfect)
        assert (done.backend.rounds, done.one.section) == (
            [],
            Section(reference_claims=(), output_claims=()),
        )
    assert judge(tmp_path, [], perfect).verdicts == []
    done = judge(
        tmp_path, [unit(output="[0][1]", reference=REFERENCE, sources=SOURCES)], perfect
    )
    assert done.ids == ["v1/plan/reference/claims"]
    assert done.one.section.sentences == (unsupported(2),)


def test_what_the_source_does_not_have(tmp_path: Path) -> None:
    one = unit(
        output="No fever [2][9]. The knee hurts [9].",
        reference="Rest.",
        sources=SOURCES,
    )
    done = judge(tmp_path, [one], perfect)
    assert done.one.section.sentences == (
        SentenceVerdict(entailed=True, supports=(True, False)),
        unsupported(1),
    )
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
    (batch,) = [
        asked(call) for call in done.backend.calls if asked(call).kind == "claims"
    ]
    # the one that appears twice is asked about once
    assert batch.things == {"c1": "No fever.", "c2": "Nausea."}


# Judges of entailment


def test_a_judge_of_entailment_reads_sentences_as_claims(tmp_path: Path) -> None:
    done = judge(tmp_path, [ONE], by_pair, reads="pair", mode="batched")
    assert done.one.section.reference_claims == (True, False, True, False)
    assert done.backend.rounds == [4 + 3 + 2]
    assert {call.question.pair is None for call in done.backend.calls} == {False}
    for label in ("neutral", "contradiction", "not_entailment"):
        reply = partial(always, label)
        section = judge(tmp_path, [ONE], reply, reads="pair").one.section
        assert section.reference_claims == (False,) * 4
        assert section.sentences == (unsupported(1), unsupported(1), unsupported(0))


@given(
    entails=st.sets(st.sets(st.integers(0, 3), min_size=1).map(frozenset)),
    k=st.integers(0, 4),
)
def test_citation_precision_asks_no_more_than_its_definition(
    entails: set[frozenset[int]], k: int
) -> None:
    def say(question: Any) -> bool:
        return frozenset(map(int, question.pair.premise.split())) in entails

    output = "Rest " + "".join(f"[{i}]" for i in range(k))
    table, done = by_pairs(say, unit(output=output, sources=("0", "1", "2", "3")))
    low, high = BOUNDS[k]
    assert len(table.asked) <= high
    assert len(table.asked) == low or done.section.sentences[0].entailed
    assert len({question.id for question in table.asked}) == len(table.asked)
    full = frozenset(range(k))
    (sentence,) = done.section.sentences
    assert sentence.entailed is (full in entails)
    if sentence.entailed:
        wanted = tuple(
            k == 1 or frozenset({i}) in entails or (full - {i}) not in entails
            for i in range(k)
        )
        assert sentence.supports == wanted


def by_pairs(
    say: Callable[[Any], bool | None], one: Unit
) -> tuple[TableJudge, UnitVerdict]:
    """A judge of entailment, and what it made of an output's sentences."""
    table = TableJudge(say)
    table.reads = "pair"
    (done,) = judge_units(
        [one], Judging(judge=table, prompts=OWN), output_claims={one.id: ()}
    )
    return table, done


def test_the_premise_is_in_the_order_of_the_source() -> None:
    table, done = by_pairs(
        lambda question: True, unit(output="Rest [2][0].", sources=("A.", "B.", "C."))
    )
    assert [question.pair.premise for question in table.asked if question.pair] == [
        "A. C.",
        "A.",
        "C.",
    ]
    assert done.section.sentences == (
        SentenceVerdict(entailed=True, supports=(True, True)),
    )


def test_sentences_of_all_units_take_each_step_together(tmp_path: Path) -> None:
    units = [
        unit(
            f"u{i}",
            output="The knee hurts since Monday [0][1][2]. No fever [2].",
            sources=SOURCES,
        )
        for i in range(5)
    ]
    done = judge(
        tmp_path,
        units,
        by_pair,
        reads="pair",
        output_claims={one.id: () for one in units},
    )
    # All five ask the same, so a round has one unit's questions: together and single;
    # each alone; pairs without one.
    assert done.backend.rounds == [2, 3, 3]
    assert {one.section.sentences[0].supports for one in done.verdicts} == {
        (True, True, False)
    }


BOUNDS = {0: (0, 0), 1: (1, 1), 2: (1, 3), 3: (1, 7), 4: (1, 9)}
"""Fewest and most questions about a sentence by its number of citations."""


@pytest.mark.parametrize(
    ("missing", "entailed", "supports"), cases("judging", "missing", tuples=True)
)
def test_missing_answers_stay_open_where_they_decide(
    missing: Any, entailed: Any, supports: Any
) -> None:
    def say(question: Any) -> bool | None:
        numbers = set(map(int, question.pair.premise.split()))
        return None if missing and numbers == set(missing) else {0, 1} <= numbers

    table, done = by_pairs(say, unit(output="Rest [0][1][2].", sources=("0", "1", "2")))
    assert done.section.sentences == (
        SentenceVerdict(entailed=entailed, supports=supports),
    )
    assert bool(done.reasons) is (None in supports)
    if missing is None:
        said = [question.pair.premise for question in table.asked if question.pair]
        assert said == ["0 1 2", "0", "1", "2", "1 2", "0 2", "0 1"]


# MeQSum


def _question(output: str, reference: str) -> Unit:
    return unit(
        "q1",
        form="question",
        output=output,
        reference=reference,
        sources=("does it hurt", "what helps"),
    )


@pytest.mark.parametrize(
    ("recall", "precision", "same", "found"),
    [
        (True, False, False, (True, False)),
        (False, True, False, (False, True)),
        (False, False, True, (True, True)),
    ],
)
def test_questions_are_judged_both_ways_and_for_sameness(
    tmp_path: Path, recall: bool, precision: bool, same: bool, found: tuple[bool, bool]
) -> None:
    values = {"q1/recall": recall, "q1/precision": precision, "q1/same": same}

    def script(call: Call) -> str:
        about = asked(call)
        return (
            cited(True, 1)
            if about.kind == "citation"
            else verdict(values[call.question.id])
        )

    for mode in ("batched", "single"):
        done = judge(
            tmp_path,
            [_question("What helps\nthe knee [1]?", "What helps?")],
            script,
            mode=mode,
        )
        # no claims are made, and all is asked at once
        assert done.backend.rounds == [4]
        assert (done.one.section.reference_claims, done.one.section.output_claims) == (
            (found[0],),
            (found[1],),
        )
        assert done.one.section.sentences == (
            SentenceVerdict(entailed=True, supports=(True,)),
        )
    ways = {
        call.question.id: (asked(call).text, asked(call).about)
        for call in done.backend.calls
    }
    assert (
        ways["q1/recall"] == ways["q1/same"] == ("What helps the knee?", "What helps?")
    )
    assert ways["q1/precision"] == ("What helps?", "What helps the knee?")


def test_questions_for_judges_of_entailment_and_without_an_answer(
    tmp_path: Path,
) -> None:
    done = judge(
        tmp_path,
        [_question("What helps the knee?", "What helps?")],
        by_pair,
        reads="pair",
    )
    assert done.ids == ["q1/recall", "q1/precision"]  # sameness is not asked for
    assert (done.one.section.reference_claims, done.one.section.output_claims) == (
        (True,),
        (False,),
    )
    empty = judge(tmp_path, [_question(" ", "What helps?")], perfect)
    assert (empty.backend.rounds, empty.one.section) == (
        [],
        Section(reference_claims=(False,), output_claims=()),
    )
    assert judge(
        tmp_path, [_question("What helps?", "")], perfect
    ).one.section.output_claims == (False,)


@pytest.mark.parametrize(
    ("reference", "same", "claims", "reasons"),
    cases("judging", "missing_on_a_question", tuples=True),
)
def test_a_missing_verdict_on_a_question_matters_only_where_it_can(
    tmp_path: Path, reference: str, same: bool, claims: Any, reasons: tuple[str, ...]
) -> None:
    def script(call: Call) -> str | NoReply:
        return (
            NoReply(key=call.key, reason="http 500")
            if call.question.id == "q1/recall"
            else verdict(same)
        )

    done = judge(tmp_path, [_question("What helps?", reference)], script)
    assert (
        (done.one.section.reference_claims, done.one.section.output_claims),
        done.one.reasons,
    ) == (claims, reasons)


# What is refused


@pytest.mark.parametrize(("mode", "style", "message"), cases("judging", "refused"))
def test_combinations_are_refused_before_anybody_is_asked(
    mode: Any, style: str, message: str
) -> None:
    table = TableJudge({})
    with pytest.raises(UsageError, match=message):
        judge_units([], Judging(judge=table, prompts=OWN, mode=mode), style=style)
    assert judge_units([], Judging(judge=table, prompts=OWN, mode="batched")) == []
    with pytest.raises(UsageError, match="same id"):
        judge_units([ONE, ONE], Judging(judge=table, prompts=OWN))
    assert table.asked == []


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
            lines.append(
                "provenance: " + (", ".join(map(str, said["provenance"])) or "none")
            )
        return "\n".join((*lines, f"entailed: {'yes' if said['entailed'] else 'no'}"))

    done = judge(tmp_path, [ONE], script, mode="single", style=style)
    assert done.verdicts == judge(tmp_path, [ONE], perfect).verdicts
    assert done.session.stats.reasked == 0


CLAIMS = ("Pain.", "Fever.", "Cough.")
GIVEN = unit(output="Pain and cough.", reference="Pain.", sources=())


def _recall(
    folder: Path, script: Callable[[Call], str | NoReply], **options: Any
) -> Any:
    """Judges three given claims of the reference, and none of the output."""
    return judge(
        folder,
        [GIVEN],
        script,
        reference_claims={GIVEN.id: CLAIMS},
        output_claims={GIVEN.id: ()},
        **options,
    )


def test_unknown_and_repeated_ids_are_never_verdicts(tmp_path: Path) -> None:
    def script(call: Call) -> str:
        about = asked(call)
        if about.kind == "claim":
            return verdict(False)
        if len(call.messages) == 1:
            return verdicts({**dict.fromkeys(about.things, True), "c99": True})
        return json.dumps(
            {
                "verdicts": [
                    {"id": "c1", "explanation": WHY, "entailed": each}
                    for each in (True, False)
                ]
            }
        )

    done = _recall(tmp_path, script)
    assert done.backend.rounds == [1, 1, 3]  # asked, asked again, then one by one
    assert done.one.section.reference_claims == (False, False, False)


def test_claims_that_could_not_be_made_and_a_sentence_without_a_verdict_are_not_known(
    tmp_path: Path,
) -> None:
    def script(call: Call) -> str | NoReply:
        if call.question.id.endswith("/output/claims"):
            return NoReply(key=call.key, reason="timeout")
        return "Yes." if call.question.id.endswith("/sentence/0") else perfect(call)

    done = judge(tmp_path, [unit(output="Pain.", reference="Pain. Fever.")], script)
    assert (done.one.section.reference_claims, done.one.section.output_claims) == (
        (True, False),
        None,
    )
    assert done.one.reasons == ("judge: timeout",)
    one = unit(
        output="Pain [0][7]. Fever [1].", reference="Rest.", sources=("pain", "fever")
    )
    done = judge(tmp_path, [one], script, output_claims={one.id: ()})
    assert done.one.section.sentences == (
        SentenceVerdict(entailed=None, supports=(None, False)),
        SentenceVerdict(entailed=True, supports=(True,)),
    )
    assert done.one.reasons == (UNREADABLE,)


@pytest.mark.parametrize("reply", ["1. Pain\n2. Fever", made(*map(str, range(31)))])
def test_claims_that_cannot_be_read_are_asked_for_again(
    tmp_path: Path, reply: str
) -> None:
    def script(call: Call) -> str:
        return reply if len(call.messages) == 1 else perfect(call)

    done = judge(tmp_path, [unit(output="Pain.", reference="Pain.")], script)
    assert (
        done.one.section.reference_claims == done.one.section.output_claims == (True,)
    )
    never = judge(
        tmp_path, [unit(output="Pain.", reference="Pain.")], lambda call: reply
    )
    assert (never.one.section.reference_claims, never.one.reasons) == (
        None,
        (UNREADABLE,),
    )


@pytest.mark.parametrize(
    ("values", "message"), cases("judging_faults", "recorded", tuples=True)
)
def test_recorded_verdicts_of_another_kind_are_refused(
    values: dict[str, Any], message: str
) -> None:
    known: dict[str, Any] = {
        "u/reference/claims": '["Pain.", "Rest."]',
        "u/output/claims": '["Pain."]',
        "u/recall/batch": (True, False),
        "u/precision/batch": (True,),
        "u/sentence/0": (True, (0,)),
    }
    one = unit("u", output="Pain [0].", reference="Pain. Rest.", sources=("pain",))
    judging = Judging(judge=TableJudge(known), prompts=OWN, mode="batched")
    (found,) = judge_units([one], judging)
    assert (found.section.reference_claims, found.section.output_claims) == (
        (True, False),
        (True,),
    )
    with pytest.raises(UsageError, match=message):
        judge_units(
            [one],
            Judging(judge=TableJudge(known | values), prompts=OWN, mode="batched"),
        )
    single = Judging(judge=TableJudge(known | {"u/recall/0": "yes"}), prompts=OWN)
    with pytest.raises(
        UsageError, match="^the verdict of the question u/recall/0 is neither"
    ):
        judge_units([one], single)


def test_what_a_private_run_keeps_holds_no_text_and_is_scored_again(
    tmp_path: Path,
) -> None:
    one = unit(
        output="Pain [0]. Fever [0][1].",
        reference="Pain. Rest.",
        sources=("pain", "fever"),
    )
    claims: dict[str, Any] = {
        "reference_claims": {one.id: ("Pain", "Rest")},
        "output_claims": {one.id: ("Pain", "Fever")},
    }
    made_too = judge(
        tmp_path,
        [one],
        lambda call: made("Fracture") if asked(call).kind == "make" else perfect(call),
    )
    assert [redact_value(row["value"]) for row in made_too.session.rows[:2]] == ["", ""]
    done = judge(tmp_path, [one], perfect, **claims)
    rows = [
        {**row, "text": "", "value": redact_value(row["value"])}
        for row in done.session.rows
    ]
    kept = tmp_path / "verdicts.jsonl"
    kept.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    judging = Judging(judge=RecordedJudge(kept), prompts=OWN, mode="batched")
    assert judge_units([one], judging, **claims) == done.verdicts


def test_of_a_verdict_in_two_parts_the_known_one_counts(tmp_path: Path) -> None:
    two = unit(
        output="The knee hurts since Monday [0][1].",
        reference=REFERENCE,
        sources=SOURCES,
    )

    def without_provenance(call: Call) -> str:
        return cited(True) if "/sentence/" in call.question.id else perfect(call)

    done = judge(tmp_path, [two], without_provenance)
    (sentence,) = done.one.section.sentences
    assert sentence == SentenceVerdict(entailed=True, supports=(None, None))
    assert done.one.reasons == (UNREADABLE,)
    # Asked again as often as may be, since a whole verdict is better.
    assert sum("/sentence/" in call.question.id for call in done.backend.calls) == 2
