"""The authors' prompts for judges and for models: reading from a checkout, filling, and the reading of replies."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.data import load_items, read_aci_rows
from medical_tasks.benchmarks.doclens.judge_prompts import (
    QuestionMaker,
    load_judge_prompts,
    read_official_batch,
    read_official_cited,
    read_official_object,
)
from medical_tasks.benchmarks.doclens.judging import judge_units
from medical_tasks.benchmarks.doclens.official_prompts import official_division
from medical_tasks.benchmarks.doclens.official_scoring import (
    judge_official,
    official_claims,
    official_sources,
)
from medical_tasks.benchmarks.doclens.pieces import SECTIONS
from medical_tasks.benchmarks.doclens.prompts import load_prompts
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.judges.base import (
    Call,
    JudgeOptions,
    JudgePrompts,
    Judging,
    Question,
    Reply,
    Unreadable,
)
from tests.benchmarks.common import judge_session
from tests.benchmarks.doclens.doclens_judges import (
    MAKE,
    PLACES,
    PROMPTS,
    TAGGER,
    checkout,
    official_reply,
    synthetic_checkout,
    unit,
)
from tests.benchmarks.doclens.task_items import BY_NAME, cases, items_of
from tests.case_tables import json_of
from tests.judges.scripted import ScriptedBackend, TableJudge
from tests.support import SHARED, needs_shared

FIXTURES = SHARED / "fixtures" / "doclens"

FAMILIES = {
    "aci_bench": "acibench",
    "mimic_rrs": "mimic",
    "doclens_own": "general",
    "meqsum": "meqsum",
}


def _load(folder: Path, task: str = "aci_bench") -> JudgePrompts:
    return load_judge_prompts(BY_NAME[task], "official", folder)


def _messages(question: Question) -> list[tuple[str, str]]:
    return [
        (str(message["role"]), str(message["content"])) for message in question.messages
    ]


@pytest.mark.parametrize(
    "subfolder", [".", "..", "prompts", "claim_evaluation", "claim_evaluation/prompts"]
)
def test_official_prompts_are_found_in_a_checkout(
    tmp_path: Path, subfolder: str
) -> None:
    (synthetic_checkout(tmp_path / "DocLens") / "prompts").mkdir()
    folder = tmp_path / "DocLens" / subfolder
    for task, files in {
        "aci_bench": 12,
        "aci_bench_section_two_shot": 11,
        "mimic_rrs": 5,
        "meqsum": 6,
    }.items():
        prompts = _load(folder, task)
        assert (prompts.name, len(prompts.texts)) == ("official", files)
    assert len({_load(folder, task).sha256 for task in FAMILIES}) == 4


def test_each_section_has_its_own_prompt_for_claims(tmp_path: Path) -> None:
    maker = QuestionMaker(_load(synthetic_checkout(tmp_path)), "json_cot")
    question = maker.make("q", text="The note.", form="note", section="subjective")
    assert _messages(question) == [
        ("system", "From __1__ to __30__."),  # as in the authors' script
        ("user", 'A "note".'),
        ("assistant", "Claim 1: A."),
        ("user", "The note."),
    ]
    assert question.read("Sure.\nClaim 1: A\nb.\nClaim 2: C.") == '["A b.", "C."]'
    with pytest.raises(
        UsageError,
        match="the authors have prompts for the sections subjective, .*; got 'full'",
    ):
        maker.make("q", text="The note.", form="note", section="full")


def test_judged_texts_are_sent_as_json_and_examples_as_turns(tmp_path: Path) -> None:
    maker = QuestionMaker(_load(synthetic_checkout(tmp_path)), "json_cot")
    question = maker.claims("q", text='A "b".', claims=["C.", "D."], form="note")
    assert _messages(question) == [
        ("system", "Judge {all}."),
        ("user", '{"note": "A.", "claims": ["B."]}'),
        ("assistant", '[{"claim": "B.", "entailment_prediction": 0}]'),
        ("user", '{"clinical_note": "A \\"b\\".", "claims": ["C.", "D."]}'),
    ]
    cited = [(3, "[doctor] does it hurt"), (5, "no speaker")]
    question = maker.citation(
        "q", sentence="Pain.", cited=cited, form="section", section="subjective"
    )
    assert json.loads(_messages(question)[-1][1]) == {
        "sentence_in_note": "Pain.",
        "conversational_turns": [
            {"idx": "3", "speaker": "doctor", "content": "does it hurt"},
            {"idx": "5", "content": "no speaker"},
        ],
    }
    questions = QuestionMaker(_load(tmp_path, "meqsum"), "json_cot")
    same = questions.questions("q", "same", first="A?", second="B?")
    assert _messages(same)[-1] == ("user", '{"question A": "A?", "question B": "B?"}')
    assert (
        same.pair,
        questions.questions("q", "question", first="A?", second="B?").pair is None,
    ) == (None, False)


def test_slots_in_filled_texts_are_kept(tmp_path: Path) -> None:
    maker = QuestionMaker(_load(synthetic_checkout(tmp_path), "doclens_own"), "cot")
    claim = maker.claim("q", text="__CLAIM__", claim="__TEXT__", form="text")
    assert _messages(claim) == [("user", "Text: __CLAIM__\nClaim: __TEXT__\n\n")]
    cited = maker.citation(
        "q", sentence="S.", cited=[(7, "a"), (4, "b")], form="text", section="full"
    )
    assert _messages(cited) == [("user", "Text: [0] a\n[1] b\nClaim: S.\n\n")]
    assert cited.read("explanation: x\nprovenance: [0]\nentailment_prediction: 1") == (
        True,
        (7,),
    )


@pytest.mark.parametrize(
    ("broken", "message"), cases("official_judge_prompts", "test_bad_files_are_named")
)
def test_bad_files_are_named(tmp_path: Path, broken: Any, message: str) -> None:
    path = synthetic_checkout(tmp_path) / PLACES["claims"] / "mimic_claim_entail.json"
    path.write_text(
        broken if isinstance(broken, str) else json.dumps(broken), encoding="utf-8"
    )
    with pytest.raises(UsageError, match=f"mimic_claim_entail.json.*{message}"):
        _load(tmp_path, "mimic_rrs")
    assert _load(tmp_path, "meqsum").name == "official"  # does not need the file


def test_bad_slots_are_named(tmp_path: Path) -> None:
    folder = synthetic_checkout(tmp_path)
    claims, citations = (folder / PLACES[name] for name in ("claims", "citations"))
    with pytest.raises(UsageError, match="--upstream"):
        load_judge_prompts(BY_NAME["meqsum"], "official")
    (claims / "meqsum_claim_entail_Mistral.json").write_text(
        json.dumps([{"role": "user", "content": "__TEXT__ __TEXT__ __CLAIM__"}])
    )
    with pytest.raises(
        UsageError, match="__TEXT__ must appear once, but appears 2 times"
    ):
        _load(tmp_path, "meqsum")
    (claims / "general_subclaim_generation.json").write_text(
        json.dumps([{**MAKE[0], "content": "x"}, MAKE[3]])
    )
    with pytest.raises(
        UsageError, match="__MIN_CLAIM__ must appear once, but appears 0 times"
    ):
        _load(tmp_path, "doclens_own")
    tagger = folder / PLACES["sections"] / "sectiontagger.py"
    for broken in ("x = (", TAGGER.replace("objective_exam", "exam"), TAGGER[:100]):
        tagger.write_text(broken)
        with pytest.raises(
            UsageError, match=r"sectiontagger.py: has no tables .* Download it"
        ):
            _load(tmp_path)
    assert _load(tmp_path, "aci_bench_section").texts  # needs no tagger
    (citations / "acibench_subjective_citation_entail.json").write_bytes(b"\xff")
    with pytest.raises(
        UsageError, match=r"not UTF-8 \(byte 0xff\)\. Download it again"
    ):
        _load(tmp_path)
    (citations / "acibench_subjective_citation_entail.json").unlink()
    with pytest.raises(
        MissingError,
        match="prompts/acibench_subjective_citation_entail.json is not there",
    ):
        _load(tmp_path)


def test_styles_without_official_prompts_are_refused(tmp_path: Path) -> None:
    judging = Judging(
        judge=TableJudge({}),
        prompts=_load(synthetic_checkout(tmp_path)),
        mode="batched",
    )
    with pytest.raises(
        UsageError,
        match="the authors have judge prompts of the styles json_cot and cot; got json",
    ):
        judge_units([], judging, style="json")


# Notes


@pytest.mark.parametrize(
    ("note", "sections"),
    [
        ("", {}),
        (
            "Fever.\nCC: cough\nEXAM\nclear\n",
            {"subjective": "Fever.\nCC: cough\n", "objective_exam": "EXAM\nclear\n"},
        ),
        (
            "chiefcomplaint : x\np: rest\nplan of\nResults:\nok",
            {
                "subjective": "chiefcomplaint : x\n",
                "assessment_and_plan": "p: rest\nplan of\n",
                "objective_results": "Results:\nok",
            },
        ),
        # A later heading of a section that has begun divides nothing.
        (
            "EXAM:\nx\nHPI b\nexam: c",
            {"objective_exam": "EXAM:\nx\n", "subjective": "HPI b\nexam: c"},
        ),
        # IMPRESSION is a heading in capitals only, and only where no heading of the
        # tables matches.
        (
            "IMPRESSION: x\nimpression\nhistory of",
            {"assessment_and_plan": "IMPRESSION: x\nimpression\nhistory of"},
        ),
        (
            "exam \r\nclear\na/p : rest",
            {"objective_exam": "exam \r\nclear\n", "assessment_and_plan": "a/p : rest"},
        ),
        # A heading that the tables write without a colon may be followed by other text.
        ("EXAM:\nhpinotes", {"objective_exam": "EXAM:\n", "subjective": "hpinotes"}),
    ],
)
def test_notes_are_divided_by_the_authors_tables(
    tmp_path: Path, note: str, sections: dict[str, str]
) -> None:
    divide = official_division(_load(synthetic_checkout(tmp_path)).texts)
    assert divide is not None
    assert divide(note) == dict.fromkeys(SECTIONS, "") | sections


@given(
    st.lists(
        st.sampled_from(
            ["cc:", "EXAM :", "exam", "p:", "IMPRESSION", "a", "", "\r", "x"]
        )
    )
)
def test_a_divided_note_keeps_every_character_once(lines: list[str]) -> None:
    divide = official_division({"data_processing/sectiontagger.py": TAGGER})
    assert divide is not None
    note = "\n".join(lines)
    parts = divide(note).values()
    assert all(text in note for text in parts)
    assert Counter("".join(parts)) == Counter(note)


# Prompts and scoring together


def shares_words(text: str, phrase: str) -> bool:
    return any(word in text for word in phrase.strip(".").split())


def test_official_metrics_use_the_scripts_reading_of_first_replies(
    tmp_path: Path,
) -> None:
    note_unit = unit(
        "v1/subjective",
        section="subjective",
        form="note",
        output="Pain [2]. Fever [1]. Cough [0]. Chill [0].",
        reference="Pain. Rest.",
        sources=("[doctor] well", "Fever", "Pain"),
    )
    cut = Reply(key="", text="x", finish="length")

    def script(call: Call) -> str | Reply:
        content = str(call.messages[-1]["content"])
        good = official_reply(content, shares_words) or ""
        if call.question.id.endswith("/claims"):
            return good
        if "claims" in json.loads(content):
            # The authors' script reads no JSON in a fence and leaves the text out of the
            # average; ours reads it.
            return (
                good
                if "Rest" in content.partition("claims")[2]
                else f"```json\n{good}\n```"
            )
        if "Fever" in content:
            return json.dumps(
                {"explanation": "x", "provenance": [9999], "entailment_prediction": 1}
            )
        if "Cough" in content:
            return '{"entailment_prediction": 1}'  # the authors' script ends here
        return cut if "Chill" in content else good

    prompts = _load(synthetic_checkout(tmp_path))
    backend = ScriptedBackend(script)
    with judge_session(tmp_path, backend, JudgeOptions(reasks=0)) as session:
        judging = Judging(judge=session, prompts=prompts, mode="batched")
        ours = judge_units([note_unit], judging)
        calls = session.stats.calls
        (theirs,) = judge_official([note_unit], judging)
    assert ours[0].section.output_claims == (True, False, False, False)
    assert [sentence.entailed for sentence in ours[0].section.sentences] == [
        True,
        None,
        True,
        None,
    ]
    tallies = {
        name: (
            sum(note_unit.hits for note_unit in tally.verdicts),
            sum(note_unit.hits + note_unit.missing for note_unit in tally.verdicts),
            tally.counts.of,
        )
        for name, tally in theirs.tallies.items()
    }
    assert tallies == {
        "claim_recall": (1, 1, 2),
        "claim_precision": (0, 0, 0),
        "citation_recall": (2, 4, 4),
        "citation_precision": (1, 3, 4),
    }
    assert theirs.reasons == ("judge: unreadable reply", "judge: cut reply")
    assert session.stats.calls - calls <= 4  # equal questions share their replies


# The authors' own files


@pytest.mark.upstream
@needs_shared
def test_the_authors_files_are_read(tmp_path: Path) -> None:
    for task, files in {"aci_bench_section": 11, "meqsum": 6, "doclens_own": 5}.items():
        prompts = _load(checkout(tmp_path / task), task)
        assert len(prompts.texts) == files
        for name, text in prompts.texts.items():
            assert text == (PROMPTS / name).read_text(encoding="utf-8")
    maker = QuestionMaker(
        _load(tmp_path / "aci_bench_section", "aci_bench_section"), "json_cot"
    )
    for section in SECTIONS:
        question = maker.make("q", text="NOTE", form="note", section=section)
        raw = json_of(
            PROMPTS / "claims" / f"acibench_{section}_subclaim_generation.json"
        )
        assert [content for _, content in _messages(question)[1:]] == [
            *(message["content"] for message in raw[1:-1]),
            "NOTE",
        ]
        assert "at least __1__ at most __30__" in _messages(question)[0][1]
        # The claims of the worked examples are read as by the authors.
        examples = [
            content for role, content in _messages(question) if role == "assistant"
        ]
        assert examples
        for example in examples:
            value = question.read(example)
            assert isinstance(value, str)
            assert len(json.loads(value)) == len(official_claims(example))


@pytest.mark.upstream
@needs_shared
def test_the_authors_worked_replies_are_readable() -> None:
    """Each worked example is read as a reply to the question before it."""
    read: list[Any] = []
    value: Any
    for path in sorted((PROMPTS / "claims").glob("*_claim_entail*.json")):
        messages = json_of(path)
        for question, reply in zip(messages[1:-1:2], messages[2:-1:2], strict=True):
            text = json.dumps(reply["content"])
            if "claims" in question["content"]:
                value = read_official_batch(text, question["content"]["claims"])
                assert value == tuple(
                    entry["entailment_prediction"] == 1 for entry in reply["content"]
                )
            else:
                value = read_official_object(text)
                assert value is (reply["content"]["prediction"] == 1)
            read.append(value)
    assert len(read) >= 5
    for path in sorted((PROMPTS / "citations").glob("*_citation_entail.json")):
        messages = json_of(path)
        for question, reply in zip(messages[1:-1:2], messages[2:-1:2], strict=True):
            numbers = [
                int(entry["idx"])
                for entry in next(
                    v for v in question["content"].values() if isinstance(v, list)
                )
            ]
            value = read_official_cited(json.dumps(reply["content"]), numbers)
            assert not isinstance(value, Unreadable)
            assert value[1] == (
                tuple(sorted(reply["content"]["provenance"])) if value[0] else ()
            )
            read.append(value)
    assert len(read) >= 14


@pytest.mark.upstream
@needs_shared
def test_questions_equal_those_of_the_authors_scripts(tmp_path: Path) -> None:
    """The questions about the outputs of `generation.json` equal the scripts' calls, word for word."""
    cases = json_of(FIXTURES / "expected.json")["end_to_end"]
    calls = {case["name"]: case["calls"] for case in cases}
    rows = json_of(FIXTURES / "generation.json")
    units = [
        unit(
            row["example_id"],
            output=row["output"],
            reference=row["reference"],
            sources=tuple(official_sources(row["input"]).values()),
        )
        for row in rows
    ]
    claims: dict[Any, dict[str, list[str]]] = {
        side: {row["example_id"]: row[f"subclaims_{side}"] for row in rows}
        for side in ("reference", "output")
    }
    prompts = _load(checkout(tmp_path), "doclens_own")

    def prompts_of_style(style: str) -> dict[str, str]:
        judge = TableJudge({})
        judge_official(
            units, Judging(judge=judge, prompts=prompts), style=style, claims=claims
        )
        return {question.id: _messages(question)[-1][1] for question in judge.asked}

    gpt = prompts_of_style("json_cot")
    recall = [text for name, text in gpt.items() if name.endswith("/recall")]
    cited = [text for name, text in gpt.items() if name.rpartition("/")[2].isdigit()]
    assert Counter(recall) == Counter(
        call["user"] for call in calls["gpt_claim_recall"]
    )
    assert Counter(cited) == Counter(
        call["user"] for call in calls["gpt_citation_split_citation"]
    )
    # The fixture has the ends of Mistral's calls; a call with an unreadable reply is repeated.
    tails = {call["tail"].strip() for call in calls["mistral_citation_citation"]}
    mistral = {
        text.strip()
        for name, text in prompts_of_style("cot").items()
        if name.count("/") == 2
    }
    assert len(tails) == len(mistral) > 20
    assert all(any(text.endswith(tail) for tail in tails) for text in mistral)


UPSTREAM = SHARED / "data" / "doclens"
NAMES = {
    "acibench": 2,
    **{f"acibench_{section}": 2 for section in SECTIONS},
    "meqsum": 2,
    "mimic": 12,
}
"""The authors' files for models, each with its number of examples."""

Messages = list[dict[str, Any]]


def messages(name: str, pairs: int) -> Messages:
    """Messages in the authors' form, with texts of our own."""
    examples = [
        {
            "role": "system",
            "name": f"example_{who}",
            "content": f"{name} {who} {number}",
        }
        for number in range(pairs)
        for who in ("user", "assistant")
    ]
    return [
        {"role": "system", "content": f"do {name}"},
        *examples,
        {"role": "user", "content": ""},
    ]


def write(
    folder: Path, change: Callable[[Messages], Any] = lambda file_messages: None
) -> Path:
    """Writes all fourteen files; `change` may alter a file's messages or return others."""
    folder.mkdir(parents=True)
    for name, examples in NAMES.items():
        for ending, pairs in (("", examples), ("_dummy", 1)):
            file_messages = messages(f"{name}{ending}", pairs)
            changed = change(file_messages)
            text = json.dumps(file_messages if changed is None else changed)
            (folder / f"{name}_annotated-citation{ending}.json").write_text(
                text, encoding="utf-8"
            )
    return folder


@pytest.mark.parametrize("subfolder", ["prompts", ".", "DocLens/prompts"])
def test_messages_of_official_prompts(tmp_path: Path, subfolder: str) -> None:
    write(tmp_path / "up" / subfolder) if subfolder != "." else write(tmp_path / "up")
    for name, stem in (("aci_bench", "acibench"), ("meqsum", "meqsum")):
        item = items_of(name)[0]
        zero_shot, one_shot, two_shot = (
            load_prompts(BY_NAME[f"{name}{shots}"], "official", tmp_path / "up").render(
                item
            )
            for shots in ("", "_one_shot", "_two_shot")
        )
        assert [message["role"] for message in two_shot] == [
            "system",
            *["user", "assistant"] * 2,
            "user",
        ]
        assert [message["content"] for message in two_shot[:-1]] == [
            f"do {stem}",
            *(
                f"{stem} {who} {number}"
                for number in (0, 1)
                for who in ("user", "assistant")
            ),
        ]
        assert one_shot == (*two_shot[:3], two_shot[-1])
        assert [message["content"] for message in zero_shot[:-1]] == [
            f"do {stem}_dummy",
            f"{stem}_dummy user 0",
            f"{stem}_dummy assistant 0",
        ]
        assert all(set(message) == {"role", "content"} for message in two_shot)
        # Dialogues have one line a turn, questions are one line.
        first, second = item.fields["sentences"][:2]
        between = "\n[1]" if name == "aci_bench" else " [1] "
        before = "[0]" if name == "aci_bench" else "[0] "
        beginning = f"{before}{first}{between}{second}"
        assert two_shot[-1]["content"].startswith(
            beginning if name == "aci_bench" else beginning.lower()
        )
        assert zero_shot[-1] == one_shot[-1] == two_shot[-1]


@pytest.mark.parametrize(
    ("name", "pairs"), [("", 1), ("_six_shot", 6), ("_twelve_shot", 12)]
)
def test_official_prompts_of_radiology_reports(
    tmp_path: Path, name: str, pairs: int
) -> None:
    prompts = load_prompts(
        BY_NAME[f"mimic_rrs{name}"], "official", write(tmp_path / "up")
    )
    item = items_of("mimic_rrs")[0]
    *before, last = (message["content"] for message in prompts.render(item))
    stem = "mimic" if name else "mimic_dummy"
    assert before == [
        f"do {stem}",
        *(
            f"{stem} {who} {number}"
            for number in range(pairs)
            for who in ("user", "assistant")
        ),
    ]
    # As the authors' inputs: lower case, one line, a space after each sentence.
    assert last == "".join(
        f"[{number}] {text.lower()} "
        for number, text in enumerate(item.fields["sentences"])
    )


def test_the_hash_covers_the_shown_examples(tmp_path: Path) -> None:
    names = [
        f"{name}{shots}"
        for name in ("aci_bench", "aci_bench_section", "meqsum")
        for shots in ("", "_one_shot", "_two_shot")
    ]

    def hashes(folder: Path) -> dict[str, str]:
        return {
            name: load_prompts(BY_NAME[name], "official", folder).sha256
            for name in names
        }

    before = hashes(write(tmp_path / "a"))
    assert len(set(before.values())) == 9
    assert before == hashes(write(tmp_path / "b"))

    def second_pair(file_messages: Messages) -> None:
        if len(file_messages) == 6:
            file_messages[4]["content"] += "!"

    after = hashes(write(tmp_path / "c", second_pair))
    assert {name for name in names if after[name] != before[name]} == {
        name for name in names if name.endswith("_two_shot")
    }


# The form that all files share is tested above.
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda file_messages: file_messages.insert(1, file_messages.pop(2)),
            "message 2 must be a text of the system named example_user",
        ),
        (
            lambda file_messages: file_messages[2].update(content=" "),
            "message 3 must be a text of the system named example_assistant",
        ),
        (
            lambda file_messages: [*file_messages[:-2], file_messages[-1]],
            "1 examples of two messages each are needed, it has 3 example messages",
        ),
        (
            lambda file_messages: [file_messages[0], file_messages[-1]],
            "1 examples of two messages each are needed, it has 0 example messages",
        ),
    ],
)
def test_damaged_files_for_models_are_refused(
    tmp_path: Path, change: Callable[[Messages], Any], message: str
) -> None:
    folder = write(tmp_path / "up", change)
    path = folder / "meqsum_annotated-citation.json"
    with pytest.raises(UsageError, match=f"{path.name}: {message}.* Download it again"):
        load_prompts(BY_NAME["meqsum_one_shot"], "official", folder)
    path.write_text("[" * 100_000)
    with pytest.raises(UsageError, match=f"{path.name}: is no JSON in UTF-8"):
        load_prompts(BY_NAME["meqsum_one_shot"], "official", folder)


def test_missing_and_unsupported_official_prompts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"official prompts .*Clone https.*--upstream"):
        load_prompts(BY_NAME["meqsum"], "official")
    with pytest.raises(
        MissingError,
        match=r"prompts/meqsum_annotated-citation_dummy.json is not there .*Clone https",
    ):
        load_prompts(BY_NAME["meqsum"], "official", tmp_path)
    folder = write(tmp_path / "up")
    with pytest.raises(
        UsageError,
        match="doclens_own has no official prompts: .*ACI-BENCH, MIMIC and MeQSum. Use --prompts "
        "own",
    ):
        load_prompts(BY_NAME["doclens_own"], "official", folder)
    with pytest.raises(
        UsageError,
        match="meqsum: the authors' prompts ask for citations. Leave citations=no out",
    ):
        load_prompts(
            BY_NAME["meqsum"], "official", folder, arguments={"citations": "no"}
        )


@needs_shared
@pytest.mark.upstream
def test_the_released_prompts(tmp_path: Path) -> None:
    """Dialogues are numbered like the authors' inputs, and all messages together have a known hash."""
    path = (
        SHARED / "data" / "aci_bench" / "challenge_data" / "clinicalnlp_taskB_test1.csv"
    )
    visits = list(read_aci_rows("doclens", "test1", {"test1": path}))
    released = json_of(UPSTREAM / "ACI-Bench-TestSet-1_clean.json")
    inputs = {row["example_id"]: row["input"] for row in released}
    upstream = checkout(tmp_path)
    items = load_items(BY_NAME["aci_bench"], visits)
    assert len(items) == 40
    for shots in ("", "_one_shot", "_two_shot"):
        prompts = load_prompts(BY_NAME[f"aci_bench{shots}"], "official", upstream)
        assert all(
            prompts.render(item)[-1]["content"] == inputs[item.id] for item in items
        )
    sections = load_prompts(BY_NAME["aci_bench_section_two_shot"], "official", upstream)
    items = load_items(BY_NAME["aci_bench_section"], visits)
    assert len(items) == 160
    contents = [
        [message["content"] for message in sections.render(item)[:-1]]
        for item in items[:4]
    ]
    assert (
        hashlib.sha256(json.dumps(contents).encode()).hexdigest()
        == "95ca83cd0bf7ba3bf6f55d07333686200dbe8da35ac4a3b9a861d18bc01ec232"
    )
