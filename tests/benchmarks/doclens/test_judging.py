"""The judge's questions about outputs, their rounds and number, and the verdicts, also of missing replies."""

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
from tests.benchmarks.common import write_jsonl
from tests.benchmarks.doclens.doclens_judges import (
    OWN,
    WHY,
    by_pair,
    citation_reply,
    claims_reply,
    judge,
    perfect,
    prompt_content,
    unit,
    verdict,
    verdicts,
)
from tests.benchmarks.doclens.task_items import cases
from tests.judges.scripted import TableJudge

SOURCES = ("the knee hurts", "since monday", "no fever", "take ibuprofen")
OUTPUT = "The knee hurts [0]. No fever [2]. Rest."
REFERENCE = "The knee hurts. Take ibuprofen. No fever. Since Monday."
UNIT = unit(output=OUTPUT, reference=REFERENCE, sources=SOURCES)


def test_claims_and_citations_of_a_text_are_judged(tmp_path: Path) -> None:
    done = judge(tmp_path, [UNIT], perfect)
    claims = {
        call.question.id: list(prompt_content(call).listed.values())
        for call in done.backend.calls
    }
    assert claims["v1/plan/recall/batch"] == [
        "The knee hurts.",
        "Take ibuprofen.",
        "No fever.",
        "Since Monday.",
    ]
    assert claims["v1/plan/precision/batch"] == [
        "The knee hurts.",
        "No fever.",
        "Rest.",
    ]
    assert done.verdict.section == Section(
        reference_claims=(True, False, True, False),
        output_claims=(True, True, False),
        sentences=(
            SentenceVerdict(entailed=True, supports=(True,)),
            SentenceVerdict(entailed=True, supports=(True,)),
            SentenceVerdict(entailed=False),
        ),
    )
    assert done.verdict.reasons == ()
    # The output is judged without its citation markers.
    assert {prompt_content(call).text for call in done.backend.calls} == {
        "The knee hurts. No fever. Rest.",
        REFERENCE,
        "",
    }
    # Claims of both texts; then both directions and the two sentences with citations,
    # together.
    assert done.backend.rounds == [2, 4]
    assert done.ids == [
        "v1/plan/reference/claims", "v1/plan/output/claims", "v1/plan/recall/batch", "v1/plan/precision/batch",
        "v1/plan/sentence/0", "v1/plan/sentence/1",
    ]  # fmt: skip


def always(label: str, call: Call) -> str:
    """The same reply to every question."""
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


def test_the_number_of_calls_for_a_note(tmp_path: Path) -> None:
    """docs/doclens_scoring.md: a section needs a call for the claims of each text and one for their verdicts, and
    each sentence with citations needs one."""
    note = _note("v1")
    done = judge(tmp_path, note, perfect)
    assert done.backend.rounds == [8, 8 + 8]
    reference_claims = {note_unit.id: ("A fact.",) * 20 for note_unit in note}
    done = judge(tmp_path, note, perfect, reference_claims=reference_claims)
    assert done.backend.rounds == [4, 8 + 8]
    # Twenty notes need the same two rounds.
    notes = [note_unit for number in range(20) for note_unit in _note(f"v{number}")]
    assert judge(tmp_path, notes, perfect).backend.rounds == [160, 320]
    # Claim by claim: two claims in each reference, three in each output.
    single = judge(tmp_path, note, perfect, mode="single")
    assert single.backend.rounds == [8, 4 * (2 + 3) + 8]
    assert single.verdicts == judge(tmp_path, note, perfect).verdicts


# Empty texts


@pytest.mark.parametrize("blank", ["", f"\n{EMPTY} "])
def test_a_blank_text_needs_no_judge(tmp_path: Path, blank: str) -> None:
    output = judge(
        tmp_path, [unit(output=blank, reference=REFERENCE, sources=SOURCES)], perfect
    )
    assert output.ids == ["v1/plan/reference/claims"]
    assert output.verdict.section == Section(
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
    section = reference.verdict.section
    assert (section.reference_claims, section.output_claims) == ((), (False,) * 3)


def test_two_empty_texts_need_no_judge_and_markers_alone_are_an_unsupported_sentence(
    tmp_path: Path,
) -> None:
    for form in ("text", "question"):
        done = judge(tmp_path, [unit(form=form)], perfect)
        assert (done.backend.rounds, done.verdict.section) == (
            [],
            Section(reference_claims=(), output_claims=()),
        )
    assert judge(tmp_path, [], perfect).verdicts == []
    done = judge(
        tmp_path, [unit(output="[0][1]", reference=REFERENCE, sources=SOURCES)], perfect
    )
    assert done.ids == ["v1/plan/reference/claims"]
    assert done.verdict.section.sentences == (unsupported(2),)


def test_a_citation_of_a_missing_source_is_unsupported(tmp_path: Path) -> None:
    judged_unit = unit(
        output="No fever [2][9]. The knee hurts [9].",
        reference="Rest.",
        sources=SOURCES,
    )
    done = judge(tmp_path, [judged_unit], perfect)
    assert done.verdict.section.sentences == (
        SentenceVerdict(entailed=True, supports=(True, False)),
        unsupported(1),
    )
    (call,) = [call for call in done.backend.calls if "/sentence/" in call.question.id]
    assert prompt_content(call).listed == {"2": "no fever"}


# Claims from files


def test_claims_of_files_are_judged_unchanged(tmp_path: Path) -> None:
    done = judge(
        tmp_path,
        [UNIT],
        perfect,
        reference_claims={"v1/plan": ("No fever.", "No fever.", "Nausea.")},
        output_claims={"v1/plan": ()},
    )
    assert done.backend.rounds == [3]
    assert done.verdict.section.reference_claims == (True, True, False)
    assert done.verdict.section.output_claims == ()
    (batch,) = [
        prompt_content(call)
        for call in done.backend.calls
        if prompt_content(call).kind == "claims"
    ]
    # The repeated claim is judged once.
    assert batch.listed == {"c1": "No fever.", "c2": "Nausea."}


# Judges of entailment


def test_a_judge_of_entailment_takes_sentences_as_claims(tmp_path: Path) -> None:
    done = judge(tmp_path, [UNIT], by_pair, reads="pair", mode="batched")
    assert done.verdict.section.reference_claims == (True, False, True, False)
    assert done.backend.rounds == [4 + 3 + 2]
    assert {call.question.pair is None for call in done.backend.calls} == {False}
    for label in ("neutral", "contradiction", "not_entailment"):
        reply = partial(always, label)
        section = judge(tmp_path, [UNIT], reply, reads="pair").verdict.section
        assert section.reference_claims == (False,) * 4
        assert section.sentences == (unsupported(1), unsupported(1), unsupported(0))


@given(
    entails=st.sets(st.sets(st.integers(0, 3), min_size=1).map(frozenset)),
    k=st.integers(0, 4),
)
def test_citation_precision_needs_only_the_questions_of_its_definition(
    entails: set[frozenset[int]], k: int
) -> None:
    def decide(question: Any) -> bool:
        return frozenset(map(int, question.pair.premise.split())) in entails

    output = "Rest " + "".join(f"[{i}]" for i in range(k))
    table, done = by_pairs(decide, unit(output=output, sources=("0", "1", "2", "3")))
    low, high = BOUNDS[k]
    assert len(table.asked) <= high
    assert len(table.asked) == low or done.section.sentences[0].entailed
    assert len({question.id for question in table.asked}) == len(table.asked)
    full = frozenset(range(k))
    (sentence,) = done.section.sentences
    assert sentence.entailed is (full in entails)
    if sentence.entailed:
        expected = tuple(
            k == 1 or frozenset({i}) in entails or (full - {i}) not in entails
            for i in range(k)
        )
        assert sentence.supports == expected


def by_pairs(
    decide: Callable[[Any], bool | None], judged_unit: Unit
) -> tuple[TableJudge, UnitVerdict]:
    """A judge of entailment, and its verdicts on an output's sentences."""
    table = TableJudge(decide)
    table.reads = "pair"
    (done,) = judge_units(
        [judged_unit],
        Judging(judge=table, prompts=OWN),
        output_claims={judged_unit.id: ()},
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


def test_sentences_of_all_units_are_judged_in_the_same_rounds(tmp_path: Path) -> None:
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
        output_claims={judged_unit.id: () for judged_unit in units},
    )
    # All five have the same questions, so a round has those of one unit: all and single citations;
    # each alone; all but one.
    assert done.backend.rounds == [2, 3, 3]
    assert {
        judged_unit.section.sentences[0].supports for judged_unit in done.verdicts
    } == {(True, True, False)}


BOUNDS = {0: (0, 0), 1: (1, 1), 2: (1, 3), 3: (1, 7), 4: (1, 9)}
"""Fewest and most questions about a sentence by its number of citations."""


@pytest.mark.parametrize(
    ("missing", "entailed", "supports"),
    [
        # Figure 3 of the paper: two sources are needed, and the third says nothing
        # about it.
        (None, True, (True, True, False)),
        # Without the verdict on all three together, nothing is known.
        ((0, 1, 2), None, (None, None, None)),
        # The verdict on [0] alone is missing. The others do not entail the sentence, so
        # that [0] is needed whatever it entails.
        ((0,), True, (True, True, False)),
        # The verdict on [2] alone is missing, and decides: the others entail the sentence.
        ((2,), True, (True, True, None)),
        # The verdict on the others without [2] is missing, and decides: [2] alone does
        # not entail the sentence.
        ((0, 1), True, (True, True, None)),
    ],
)
def test_missing_verdicts_that_decide_stay_open(
    missing: Any, entailed: Any, supports: Any
) -> None:
    def decide(question: Any) -> bool | None:
        numbers = set(map(int, question.pair.premise.split()))
        return None if missing and numbers == set(missing) else {0, 1} <= numbers

    table, done = by_pairs(
        decide, unit(output="Rest [0][1][2].", sources=("0", "1", "2"))
    )
    assert done.section.sentences == (
        SentenceVerdict(entailed=entailed, supports=supports),
    )
    assert bool(done.reasons) is (None in supports)
    if missing is None:
        premises = [question.pair.premise for question in table.asked if question.pair]
        assert premises == ["0 1 2", "0", "1", "2", "1 2", "0 2", "0 1"]


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
    ("recall", "precision", "same", "expected"),
    [
        (True, False, False, (True, False)),
        (False, True, False, (False, True)),
        (False, False, True, (True, True)),
    ],
)
def test_questions_are_judged_in_both_directions_and_for_equivalence(
    tmp_path: Path,
    recall: bool,
    precision: bool,
    same: bool,
    expected: tuple[bool, bool],
) -> None:
    values = {"q1/recall": recall, "q1/precision": precision, "q1/same": same}

    def script(call: Call) -> str:
        content = prompt_content(call)
        return (
            citation_reply(True, 1)
            if content.kind == "citation"
            else verdict(values[call.question.id])
        )

    for mode in ("batched", "single"):
        done = judge(
            tmp_path,
            [_question("What helps\nthe knee [1]?", "What helps?")],
            script,
            mode=mode,
        )
        # There are no claims, and all questions are in one round.
        assert done.backend.rounds == [4]
        assert (
            done.verdict.section.reference_claims,
            done.verdict.section.output_claims,
        ) == (
            (expected[0],),
            (expected[1],),
        )
        assert done.verdict.section.sentences == (
            SentenceVerdict(entailed=True, supports=(True,)),
        )
    ways = {
        call.question.id: (prompt_content(call).text, prompt_content(call).about)
        for call in done.backend.calls
    }
    assert (
        ways["q1/recall"] == ways["q1/same"] == ("What helps the knee?", "What helps?")
    )
    assert ways["q1/precision"] == ("What helps?", "What helps the knee?")


def test_questions_with_a_judge_of_entailment_and_empty_questions(
    tmp_path: Path,
) -> None:
    done = judge(
        tmp_path,
        [_question("What helps the knee?", "What helps?")],
        by_pair,
        reads="pair",
    )
    assert done.ids == ["q1/recall", "q1/precision"]  # equivalence is not judged
    assert (
        done.verdict.section.reference_claims,
        done.verdict.section.output_claims,
    ) == (
        (True,),
        (False,),
    )
    empty = judge(tmp_path, [_question(" ", "What helps?")], perfect)
    assert (empty.backend.rounds, empty.verdict.section) == (
        [],
        Section(reference_claims=(False,), output_claims=()),
    )
    assert judge(
        tmp_path, [_question("What helps?", "")], perfect
    ).verdict.section.output_claims == (False,)


@pytest.mark.parametrize(
    ("reference", "same", "claims", "reasons"),
    cases("judging", "missing_on_a_question", tuples=True),
)
def test_a_missing_verdict_on_a_question_is_open_only_if_it_decides(
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
        (done.verdict.section.reference_claims, done.verdict.section.output_claims),
        done.verdict.reasons,
    ) == (claims, reasons)


# Refused input


@pytest.mark.parametrize(("mode", "style", "message"), cases("judging", "refused"))
def test_wrong_combinations_are_refused_before_the_first_call(
    mode: Any, style: str, message: str
) -> None:
    table = TableJudge({})
    with pytest.raises(UsageError, match=message):
        judge_units([], Judging(judge=table, prompts=OWN, mode=mode), style=style)
    assert judge_units([], Judging(judge=table, prompts=OWN, mode="batched")) == []
    with pytest.raises(UsageError, match="same id"):
        judge_units([UNIT, UNIT], Judging(judge=table, prompts=OWN))
    assert table.asked == []


@pytest.mark.parametrize("style", ["json_cot", "json", "cot", "plain"])
def test_every_style_gives_the_same_verdicts(tmp_path: Path, style: str) -> None:
    def script(call: Call) -> str:
        content = prompt_content(call)
        if content.kind == "make":
            return perfect(call)
        values = json.loads(perfect(call))
        if style.startswith("json"):
            if style == "json":
                values.pop("explanation")
            return json.dumps(values)
        lines = [f"explanation: {values['explanation']}"] if style == "cot" else []
        if content.kind == "citation":
            lines.append(
                "provenance: " + (", ".join(map(str, values["provenance"])) or "none")
            )
        return "\n".join((*lines, f"entailed: {'yes' if values['entailed'] else 'no'}"))

    done = judge(tmp_path, [UNIT], script, mode="single", style=style)
    assert done.verdicts == judge(tmp_path, [UNIT], perfect).verdicts
    assert done.session.stats.reasked == 0


CLAIMS = ("Pain.", "Fever.", "Cough.")
CLAIMS_UNIT = unit(output="Pain and cough.", reference="Pain.", sources=())


def _recall(
    folder: Path, script: Callable[[Call], str | NoReply], **options: Any
) -> Any:
    """Judges `CLAIMS` of the reference, and no claim of the output."""
    return judge(
        folder,
        [CLAIMS_UNIT],
        script,
        reference_claims={CLAIMS_UNIT.id: CLAIMS},
        output_claims={CLAIMS_UNIT.id: ()},
        **options,
    )


def test_unknown_and_repeated_ids_are_never_verdicts(tmp_path: Path) -> None:
    def script(call: Call) -> str:
        content = prompt_content(call)
        if content.kind == "claim":
            return verdict(False)
        if len(call.messages) == 1:
            return verdicts({**dict.fromkeys(content.listed, True), "c99": True})
        return json.dumps(
            {
                "verdicts": [
                    {"id": "c1", "explanation": WHY, "entailed": entailed}
                    for entailed in (True, False)
                ]
            }
        )

    done = _recall(tmp_path, script)
    assert done.backend.rounds == [1, 1, 3]  # asked, asked again, then singly
    assert done.verdict.section.reference_claims == (False, False, False)


def test_missing_claims_and_a_sentence_without_a_verdict_stay_open(
    tmp_path: Path,
) -> None:
    def script(call: Call) -> str | NoReply:
        if call.question.id.endswith("/output/claims"):
            return NoReply(key=call.key, reason="timeout")
        return "Yes." if call.question.id.endswith("/sentence/0") else perfect(call)

    done = judge(tmp_path, [unit(output="Pain.", reference="Pain. Fever.")], script)
    assert (
        done.verdict.section.reference_claims,
        done.verdict.section.output_claims,
    ) == (
        (True, False),
        None,
    )
    assert done.verdict.reasons == ("judge: timeout",)
    cited_unit = unit(
        output="Pain [0][7]. Fever [1].", reference="Rest.", sources=("pain", "fever")
    )
    done = judge(tmp_path, [cited_unit], script, output_claims={cited_unit.id: ()})
    assert done.verdict.section.sentences == (
        SentenceVerdict(entailed=None, supports=(None, False)),
        SentenceVerdict(entailed=True, supports=(True,)),
    )
    assert done.verdict.reasons == (UNREADABLE,)


@pytest.mark.parametrize(
    "reply", ["1. Pain\n2. Fever", claims_reply(*map(str, range(31)))]
)
def test_unreadable_claims_are_asked_for_again(tmp_path: Path, reply: str) -> None:
    def script(call: Call) -> str:
        return reply if len(call.messages) == 1 else perfect(call)

    done = judge(tmp_path, [unit(output="Pain.", reference="Pain.")], script)
    assert (
        done.verdict.section.reference_claims
        == done.verdict.section.output_claims
        == (True,)
    )
    never = judge(
        tmp_path, [unit(output="Pain.", reference="Pain.")], lambda call: reply
    )
    assert (never.verdict.section.reference_claims, never.verdict.reasons) == (
        None,
        (UNREADABLE,),
    )


@pytest.mark.parametrize(
    ("values", "message"), cases("judging_faults", "recorded", tuples=True)
)
def test_stored_verdicts_of_another_type_are_refused(
    values: dict[str, Any], message: str
) -> None:
    stored: dict[str, Any] = {
        "u/reference/claims": '["Pain.", "Rest."]',
        "u/output/claims": '["Pain."]',
        "u/recall/batch": (True, False),
        "u/precision/batch": (True,),
        "u/sentence/0": (True, (0,)),
    }
    judged_unit = unit(
        "u", output="Pain [0].", reference="Pain. Rest.", sources=("pain",)
    )
    judging = Judging(judge=TableJudge(stored), prompts=OWN, mode="batched")
    (unit_verdict,) = judge_units([judged_unit], judging)
    assert (
        unit_verdict.section.reference_claims,
        unit_verdict.section.output_claims,
    ) == (
        (True, False),
        (True,),
    )
    with pytest.raises(UsageError, match=message):
        judge_units(
            [judged_unit],
            Judging(judge=TableJudge(stored | values), prompts=OWN, mode="batched"),
        )
    single = Judging(judge=TableJudge(stored | {"u/recall/0": "yes"}), prompts=OWN)
    with pytest.raises(
        UsageError, match="^the verdict of the question u/recall/0 is neither"
    ):
        judge_units([judged_unit], single)


def test_stored_verdicts_of_a_private_run_have_no_text_and_score_again(
    tmp_path: Path,
) -> None:
    judged_unit = unit(
        output="Pain [0]. Fever [0][1].",
        reference="Pain. Rest.",
        sources=("pain", "fever"),
    )
    claims: dict[str, Any] = {
        "reference_claims": {judged_unit.id: ("Pain", "Rest")},
        "output_claims": {judged_unit.id: ("Pain", "Fever")},
    }
    with_claims = judge(
        tmp_path,
        [judged_unit],
        lambda call: (
            claims_reply("Fracture")
            if prompt_content(call).kind == "make"
            else perfect(call)
        ),
    )
    assert [redact_value(row["value"]) for row in with_claims.session.rows[:2]] == [
        "",
        "",
    ]
    done = judge(tmp_path, [judged_unit], perfect, **claims)
    rows = [
        {**row, "text": "", "value": redact_value(row["value"])}
        for row in done.session.rows
    ]
    path = write_jsonl(tmp_path / "verdicts.jsonl", rows)
    judging = Judging(judge=RecordedJudge(path), prompts=OWN, mode="batched")
    assert judge_units([judged_unit], judging, **claims) == done.verdicts


def test_an_entailed_sentence_without_provenance_counts(tmp_path: Path) -> None:
    two = unit(
        output="The knee hurts since Monday [0][1].",
        reference=REFERENCE,
        sources=SOURCES,
    )

    def without_provenance(call: Call) -> str:
        return (
            citation_reply(True) if "/sentence/" in call.question.id else perfect(call)
        )

    done = judge(tmp_path, [two], without_provenance)
    (sentence,) = done.verdict.section.sentences
    assert sentence == SentenceVerdict(entailed=True, supports=(None, None))
    assert done.verdict.reasons == (UNREADABLE,)
    # The sentence is asked again, since its verdict is incomplete.
    assert sum("/sentence/" in call.question.id for call in done.backend.calls) == 2
