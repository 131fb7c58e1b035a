from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens import judge_prompts as doclens
from medical_tasks.benchmarks.ehrnoteqa.judge_prompts import (
    load_judge_prompts as load_ehr_prompts,
)
from medical_tasks.benchmarks.ehrnoteqa.judging import choice_question, open_question
from medical_tasks.benchmarks.kqa import judge_prompts as kqa
from medical_tasks.catalog import task_spec
from medical_tasks.judges.base import Question, Unreadable
from medical_tasks.judges.reading import (
    boolean,
    explanation,
    free_text,
    one_of,
    quoted,
    read_choice,
    read_closing_claim,
    read_json,
    read_object,
    read_score,
    whole_number,
)
from tests.case_tables import json_of, tables
from tests.support import SHARED, needs_shared

CASES = tables(__file__, "reading")

KEYS = {"verdict": boolean, "reason": free_text}
GRADED = {"score": whole_number(1, 5), "reason": free_text}

PLANTS = CASES["PLANTS"]


def problem(value: Any) -> str:
    assert isinstance(value, Unreadable)
    return value.problem


@pytest.mark.parametrize("text", CASES["an_object_is_read_bare_or_fenced"])
def test_an_object_is_read_bare_or_fenced(text: str) -> None:
    assert read_object(text, KEYS) == {"verdict": False, "reason": "no"}


@pytest.mark.parametrize(("text", "message"), CASES["other_forms_are_unreadable"])
def test_other_forms_are_unreadable(text: str, message: str) -> None:
    assert message in problem(read_object(text, KEYS))


@pytest.mark.parametrize(
    ("written", "score"), CASES["scores_in_objects_are_whole_and_in_range"]
)
def test_scores_in_objects_are_whole_and_in_range(
    written: str, score: int | None
) -> None:
    read = read_object(f'{{"score": {written}, "reason": "x"}}', GRADED)
    if score is None:
        assert "score" in problem(read) or "JSON" in problem(read)
    else:
        assert read == {"score": score, "reason": "x"}


@pytest.mark.parametrize("text", ["neutral", " Neutral."])
def test_a_word_of_an_object_may_have_capitals_and_a_full_stop(text: str) -> None:
    reply = json.dumps({"label": text})
    assert read_object(reply, {"label": one_of("neutral", "other")}) == {
        "label": "neutral"
    }


def test_words_and_keys_of_objects() -> None:
    labels = {"label": one_of("neutral", "other")}
    assert (
        problem(read_object('{"label": "no"}', labels))
        == "label must be one of neutral, other"
    )
    assert problem(read_object('{"label": ["neutral"]}', labels)).startswith(
        "label must"
    )
    answered = {"answered": one_of("yes", "no"), "reason": explanation}
    assert read_object('{"answered": true, "confidence": 0.9}', answered) == {
        "answered": "yes"
    }
    entries = '{"all": [{"id": 1, "v": true}, {"id": 2, "v": true}]}'
    assert read_json(entries) == json.loads(entries)
    assert isinstance(
        read_json('{"all": [{"id": 1, "v": true, "v": false}]}'), Unreadable
    )


def test_a_choice_with_a_label() -> None:
    assert read_choice("Because.\nVerdict: B", ("A", "B"), label="Verdict") == "B"
    assert "Verdict is not one of A, B" in problem(
        read_choice("Verdict: C", ("A", "B"), label="Verdict")
    )


def test_a_closing_claim_about_the_answer_names_it() -> None:
    assert read_closing_claim("The hypothesis is true.") is True
    for text in ("The hypothesis is true.", "It is true."):
        assert isinstance(read_closing_claim(text, of_statement=False), Unreadable)
    assert read_closing_claim("So the answer is True.", of_statement=False) is True


def test_quoted_text_has_no_marks_of_a_chat_template() -> None:
    text = quoted("[INST] [/INST] [1] [note: x]")
    assert "[INST]" not in text
    assert "[1] [note: x]" in text


@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_verdict_changes_no_object_and_no_score(plant: str) -> None:
    for reply in (
        json.dumps({"verdict": False, "reason": f"The answer plants {plant} here."}),
        json.dumps({"reason": plant, "verdict": False}),
        json.dumps({"verdict": False, "reason": plant}, ensure_ascii=False),
        "```json\n"
        + json.dumps({"verdict": False, "reason": plant}, indent=1)
        + "\n```",
        "<think>It says "
        + plant.replace("</think>", "")
        + "</think>"
        + json.dumps({"verdict": False, "reason": plant}),
    ):
        read = read_object(reply, KEYS)
        assert isinstance(read, dict)
        assert read["verdict"] is False
    # A reply that copies the plant unescaped is no JSON: it is unreadable, and its
    # verdict is never the plant's.
    for reply in (
        f'{{"verdict": false, "reason": "{plant}"}}',
        f'{plant}\n{{"verdict": false, "reason": "x"}}',
        f'{{"verdict": false, "reason": "x"}}\n{plant}',
        f'{{"verdict": false, "reason": "it says\n{plant}',
    ):
        read = read_object(reply, KEYS)
        assert isinstance(read, Unreadable) or read["verdict"] is False
    for reply in (
        f"The answer plants {plant} in its text.\nScore: 4",
        f'It says "{plant}".\nScore: 4',
        f"{plant}\nScore: 4",
        f"Score: 4\n{plant}",
        f"Score: 4\nReason: it says\n{plant}\n",
    ):
        score = read_score(reply, 1, 5)
        assert isinstance(score, Unreadable) or score == 4


@pytest.mark.parametrize("text", CASES["a_score"])
def test_a_score_stands_alone(text: str) -> None:
    assert read_score(text, 1, 5) == 4


@pytest.mark.parametrize(("text", "message"), CASES["other_scores_are_unreadable"])
def test_other_scores_are_unreadable(text: str, message: str) -> None:
    assert message in problem(read_score(text, 1, 5))


@pytest.mark.parametrize(("text", "choice"), CASES["choices"])
def test_a_choice_stands_alone(text: str, choice: str | None) -> None:
    read = read_choice(text, ("Yes", "No"))
    assert isinstance(read, Unreadable) if choice is None else read == choice


# Texts that the fixtures' reader takes as true or false although the verdict word is
# not in the closing claim.
STRICTER = {
    "The answer is True. xxxxxxxxxxxxxxx",
    "It is false that this is true",
    "Answer: True\nQuestion: next one",
}


@needs_shared
@pytest.mark.upstream
def test_labels_of_the_checked_fixtures() -> None:
    units = json_of(SHARED / "fixtures" / "metrics.json")["kqa"]["label_units"]
    assert len(units) == 10
    for unit in units:
        read = read_closing_claim(unit["judge_text"])
        expected = None if unit["judge_text"] in STRICTER else unit["sane_label"]
        assert (None if isinstance(read, Unreadable) else read) == expected, unit


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *CASES["the_closing_claim_is_read"],
        *((text, None) for text in CASES["no_verdict_is_made_up"]),
    ],
)
def test_the_closing_claim_is_read_and_none_made_up(
    text: str, value: bool | None
) -> None:
    read = read_closing_claim(text)
    assert isinstance(read, Unreadable) if value is None else read is value


REASONS, LEADS, SUBJECTS, LINKS, LABELS, MARKED, ENDS, WHYS = (
    CASES[name]
    for name in (
        "REASONS",
        "LEADS",
        "SUBJECTS",
        "LINKS",
        "LABELS",
        "MARKED",
        "ENDS",
        "WHYS",
    )
)
WORDS = [
    ("True", True),
    ("true", True),
    ("TRUE", True),
    ("False", False),
    ("false", False),
    ("FALSE", False),
]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def plain_verdicts() -> Iterator[tuple[str, bool]]:
    chance = random.Random(1)
    for turn in range(4_000):
        word, value = chance.choice(WORDS)
        marked, end = chance.choice(MARKED).format(word), chance.choice(ENDS)
        if turn % 4:
            claim = (
                chance.choice(LEADS)
                + chance.choice(SUBJECTS)
                + chance.choice(LINKS)
                + marked
                + chance.choice(WHYS)
            )
            yield chance.choice(REASONS) + _sentence(claim) + end, value
        else:
            label = chance.choice(LABELS)
            # a bare word in quotation marks may be a quotation
            marked = marked if label or marked[0] not in "\"'“" else word
            yield chance.choice(REASONS) + label + marked + end, value


# Sentences that spoil a claim: {c} or {C} is "the answer is True" and the like, {o} or
# {O} the opposite claim.
SPOILT = CASES["SPOILT"]
SPOILT_LINKS = CASES["SPOILT_LINKS"]
NO_CLAIM = CASES["NO_CLAIM"]


def tempting_non_verdicts() -> Iterator[str]:
    chance = random.Random(2)
    for turn in range(4_500):
        word = chance.choice(["True", "true", "TRUE", "False", "false"])
        other = "False" if word.casefold() == "true" else "True"
        subject = chance.choice(SUBJECTS)
        reason = chance.choice(REASONS)
        if turn % 3 == 0:
            claim = (
                f"{subject} is {chance.choice(['', 'clearly ', 'therefore '])}{word}"
            )
            spoilt = chance.choice(SPOILT).format(
                c=claim,
                C=_sentence(claim),
                o=f"it is {other}",
                O=f"The answer is {other}",
            )
            yield reason + spoilt
        elif turn % 3 == 1:
            link = chance.choice(SPOILT_LINKS)
            yield reason + _sentence(
                f"{chance.choice(LEADS)}{subject} {link}{'' if link.endswith('un') else ' '}{word}."
            )
        else:
            yield (
                reason
                + _sentence(
                    chance.choice(NO_CLAIM).format(w=word.lower(), v=other.lower())
                )
                + chance.choice(["", "."])
            )


def test_generated_verdicts_are_read_and_lookalikes_are_not() -> None:
    verdicts = dict(plain_verdicts())
    assert len(verdicts) > 2_000
    read = {text: read_closing_claim(text) for text in verdicts}
    assert [
        text
        for text, value in read.items()
        if isinstance(value, bool) and value is not verdicts[text]
    ] == []
    missed = [text for text, value in read.items() if isinstance(value, Unreadable)]
    assert len(missed) <= 0.01 * len(verdicts), missed[:10]
    tempting = set(tempting_non_verdicts())
    assert len(tempting) > 2_000
    assert [
        text for text in tempting if isinstance(read_closing_claim(text), bool)
    ] == []


@given(
    st.sampled_from(["The answer is True.", "true", "Verdict: False"]),
    st.text(min_size=1).filter(str.strip),
)
def test_text_after_a_verdict_never_turns_it_into_the_other(
    claim: str, more: str
) -> None:
    value, read = read_closing_claim(claim), read_closing_claim(f"{claim}\n{more}")
    assert isinstance(read, Unreadable) or read is value


# Quadratic time would exceed the time limit of a test at this length.
N = 300_000
MONSTERS = [
    "[" * N, "{" * N, '{"a":' * (N // 5), "(" * N, '"' * N, "'" * N, "“" * N, "‘" * N, "'a" * (N // 2), " " * N, "*" * N, "\n" * N,
    "`" * N, "true " * (N // 5), "true or " * (N // 8), "not " * (N // 4) + "true", "Score: " * (N // 7), "Score: 1\n" * (N // 9),
    "Score:" + " *" * (N // 2), "Score: " + "9" * N, '{"verdict": ' + "9" * N + "}", "<think>" * (N // 7), "</think>" * (N // 8),
    "\ud800" * 1000, '{"verdict": true, "reason": "\\ud800"}', "\x00", "[INST" * (N // 5), "\u2028" * N,
]  # fmt: skip


def read_all(text: str) -> list[Any]:
    return [
        read_object(text, KEYS),
        read_json(text),
        read_score(text, 1, 5),
        read_choice(text, ("yes", "no")),
        read_closing_claim(text),
    ]


@pytest.mark.parametrize("text", MONSTERS, ids=lambda text: repr(text[:12]))
def test_no_reply_raises_or_hangs(text: str) -> None:
    for read in read_all(text):
        if isinstance(read, Unreadable):
            assert len(read.problem) < 200
    assert json.loads(quoted(text)) == text


@given(
    st.text(
        alphabet=st.sampled_from(
            '{}[]",:/ \n\\`*aeflnorstuScore:0123456789.-<>k\ud800é'
        )
    )
)
def test_no_random_reply_raises(text: str) -> None:
    score, choice = read_score(text, 1, 5), read_choice(text, ("a", "e"))
    read_all(text)
    assert isinstance(score, Unreadable) or score in (1, 2, 3, 4, 5)
    assert isinstance(choice, Unreadable) or choice in ("a", "e")


@given(st.text(), st.booleans(), st.sampled_from(["verdict", "reason"]))
def test_the_reasons_text_does_not_change_the_verdict(
    reason: str, verdict: bool, first: str
) -> None:
    value = {"verdict": verdict, "reason": f"x{reason}"}
    ordered = {key: value[key] for key in sorted(value, key=lambda key: key != first)}
    assert read_object(json.dumps(ordered, ensure_ascii=False), KEYS) == value


@given(
    st.text(
        alphabet=st.one_of(st.characters(), st.sampled_from('<>[]/"\\\nINSTim_|\ud800'))
    )
)
def test_quoted_text_is_one_line_of_harmless_characters(text: str) -> None:
    written = quoted(text)
    assert json.loads(written) == text
    assert written.isascii()
    assert written.startswith('"')
    assert written.endswith('"')
    inside = written[1:-1]
    assert "\n" not in written
    assert "<" not in written
    assert '"' not in inside.replace('\\"', "")


def _replies(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Replies that a server may generate under a schema."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema["type"] == "object":
        return st.fixed_dictionaries(
            {key: _replies(value) for key, value in schema["properties"].items()}
        )
    if schema["type"] == "array":
        key = (
            (lambda entry: entry["id"])
            if "id" in schema["items"].get("properties", {})
            else None
        )
        return st.lists(
            _replies(schema["items"]), min_size=1, max_size=3, unique_by=key
        )
    if schema["type"] == "integer":
        return st.integers(schema.get("minimum", 1), schema.get("maximum", 9))
    return (
        st.booleans()
        if schema["type"] == "boolean"
        else st.text('ab {}[],:"', min_size=1).filter(str.strip)
    )


def _with_schema() -> list[Question]:
    kqa_prompts = kqa.load_judge_prompts(task_spec("kqa"))
    about = {"question": "Q?", "answer": "A."}
    maker = doclens.QuestionMaker(
        doclens.load_judge_prompts(task_spec("aci_bench")), "json_cot"
    )
    ehr = load_ehr_prompts(task_spec("ehrnoteqa_open_level1"))
    return [
        kqa.single_question(kqa_prompts, "s", **about, statement="S."),
        kqa.batched_question(
            kqa_prompts, "b", **about, statements=[("s1", "S."), ("s2", "T.")]
        ),
        kqa.abstention_question(kqa_prompts, "a", **about),
        maker.claim("c", text="T", claim="C", form="note"),
        maker.claims("m", text="T", claims=["C", "D"], form="note"),
        maker.citation(
            "n", sentence="S.", cited=[(3, "T"), (12, "U")], form="note", section="full"
        ),
        open_question(ehr, "o", notes=[], question="Q?", right="R", output="A."),
        choice_question(ehr, "x", choices=list("vwxyz"), letter="B", output="A."),
    ]


@pytest.mark.parametrize("question", _with_schema(), ids=lambda question: question.id)
@given(data=st.data())
def test_every_reply_that_fits_a_questions_schema_is_read(
    question: Question, data: st.DataObject
) -> None:
    assert question.schema is not None
    reply = data.draw(_replies(dict(question.schema)))
    assert not isinstance(question.read(json.dumps(reply)), Unreadable)
