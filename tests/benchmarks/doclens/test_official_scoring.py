"""The authors' metrics of items, pooled by `results`, equal their aggregation of score files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.judge_prompts import load_judge_prompts
from medical_tasks.benchmarks.doclens.judging import Unit, UnitVerdict
from medical_tasks.benchmarks.doclens.measures import (
    FULL,
    METRICS,
    Section,
    SentenceVerdict,
)
from medical_tasks.benchmarks.doclens.official_prompts import official_input
from medical_tasks.benchmarks.doclens.official_scoring import (
    OfficialVerdict,
    gpt_cited,
    gpt_question,
    judge_official,
    mistral_cited,
    official_ids,
    official_segments,
    official_sentences,
    official_sources,
    official_tallies,
    remove_citations_official,
)
from medical_tasks.benchmarks.doclens.scoring import item_score
from medical_tasks.benchmarks.doclens.spec import TASKS
from medical_tasks.judges.base import Judging, Unreadable
from medical_tasks.runs.summary import summarise
from medical_tasks.spec import Item
from tests.benchmarks.doclens.doclens_judges import (
    OfficialJudge,
    contains,
    synthetic_checkout,
    unit,
)
from tests.benchmarks.doclens.task_items import BY_NAME
from tests.benchmarks.doclens.their_scores import official_scores
from tests.case_tables import json_of
from tests.support import SHARED, needs_shared

TASK = next(task for task in TASKS if task.name == "mimic_rrs")
POOLED = replace(
    TASK,
    metrics=tuple(metric for metric in TASK.metrics if metric.needs == "official"),
    groups=(),
    cluster=None,
)
EMPTY_SECTION = Section(reference_claims=(), output_claims=())
FOLDER = SHARED / "fixtures" / "doclens"


def _pooled(units: Mapping[str, Sequence[OfficialVerdict]]) -> dict[str, float]:
    """The totals over items; a share of 0, which `results` does not have, is 0."""
    empty = UnitVerdict(section=EMPTY_SECTION)
    scores = {
        name: item_score(name, {FULL: empty}, official=verdicts)
        for name, verdicts in units.items()
    }
    items = [Item(id=name, fields={}, groups={}, cluster=name) for name in units]
    metrics = summarise(POOLED, items, scores, {}, recipe={})["metrics"]
    for entry in metrics.values():
        assert entry["bound_low"] == pytest.approx(entry["bound_high"])
    return {name: metrics[f"{name}_official"]["value"] or 0.0 for name in METRICS}


def _verdict(
    recall: Sequence[Any], precision: Sequence[Any], cited: Sequence[Mapping[str, Any]]
) -> OfficialVerdict:
    """The tallies of records in the form of the authors' score files."""
    return OfficialVerdict(
        tallies=official_tallies(
            Section(
                reference_claims=tuple(
                    bool(record["entailment_prediction"] == 1) for record in recall
                ),
                output_claims=tuple(
                    bool(record["entailment_prediction"] == 1) for record in precision
                ),
                sentences=tuple(map(_sentence, cited)),
            )
        )
    )


def _sentence(record: Mapping[str, Any]) -> SentenceVerdict:
    provenance = record.get("provenance") or ()
    entailed = bool(record["entailment_prediction"] == 1)
    supports = tuple(
        entailed and number in provenance for number in record["citations"]
    )
    return SentenceVerdict(entailed=entailed, supports=supports)


CLAIMS = st.lists(
    st.fixed_dictionaries({"entailment_prediction": st.sampled_from([0, 1])}),
    max_size=4,
)
NUMBERS = st.lists(st.integers(0, 4), max_size=4)
SENTENCES = st.lists(
    st.fixed_dictionaries(
        {
            "entailment_prediction": st.sampled_from([0, 1]),
            "citations": NUMBERS,
            "provenance": NUMBERS,
        }
    ),
    max_size=4,
)
EXAMPLES = st.dictionaries(
    st.sampled_from("abc"), st.tuples(CLAIMS, CLAIMS, SENTENCES), min_size=1
)


@given(st.dictionaries(st.sampled_from(["one", "two"]), EXAMPLES, min_size=1))
def test_pooled_items_equal_the_authors_totals(
    files: dict[str, dict[str, tuple[Any, Any, Any]]],
) -> None:
    expected = official_scores(
        **{
            name: {
                section: {key: records[position] for key, records in examples.items()}
                for section, examples in files.items()
            }
            for position, name in enumerate(
                ("claim_recall", "claim_precision", "citations")
            )
        }
    )
    units: dict[str, list[OfficialVerdict]] = {}
    for examples in files.values():
        for key, records in examples.items():
            units.setdefault(key, []).append(_verdict(*records))
    pooled = _pooled(units)
    assert pooled == pytest.approx(
        {name: expected[name]["total"] for name in METRICS}, abs=1e-12
    )


@pytest.mark.upstream
@needs_shared
def test_pooled_items_equal_the_aggregations_of_the_script() -> None:
    cases = [
        aggregation
        for aggregation in _expected()["aggregation"]
        if "error" not in aggregation["expected"]
    ]
    assert len(cases) == 8
    for case in cases:
        files = {
            key.removesuffix(".TRUE").rpartition(".")[2]: content
            for key, content in case["files"].items()
        }
        same = files.get("same_scores", {})
        units_of_files = {
            (section, key): None
            for content in files.values()
            for section, examples in content.items()
            for key in examples
        }
        units: dict[str, list[OfficialVerdict]] = {}
        for section, key in units_of_files:
            recall, precision, cited = (
                list(files.get(name, {}).get(section, {}).get(key, ()))
                for name in ("claim_scores", "output_claim_scores", "score")
            )
            partners = same.get(section, {}).get(key, ())
            units.setdefault(key, []).append(
                _verdict(_either(recall, partners), _either(precision, partners), cited)
            )
        expected = {name: case["expected"][name]["total"] for name in METRICS}
        assert _pooled(units) == pytest.approx(expected, abs=1e-12), case["name"]


def _expected() -> dict[str, Any]:
    content: dict[str, Any] = json_of(FOLDER / "expected.json")
    return content


def _either(records: Sequence[Any], partners: Sequence[Any]) -> list[Any]:
    padded = [
        *partners,
        *({"entailment_prediction": 0} for _ in records[len(partners) :]),
    ]
    return [
        {
            "entailment_prediction": int(
                1 in (record["entailment_prediction"], partner["entailment_prediction"])
            )
        }
        for record, partner in zip(records, padded, strict=False)
    ]


def _unit(name: str, output: str, sources: tuple[str, ...], form: str = "text") -> Unit:
    return unit(
        name,
        form=form,
        section="subjective",
        output=output,
        reference="r",
        sources=sources,
    )


@pytest.fixture
def judging(tmp_path: Path) -> Callable[[Any, str], Judging]:
    """Makes the judging of a task with prompts in the authors' form."""
    upstream = synthetic_checkout(tmp_path)

    def judging_with(judge: Any, task: str) -> Judging:
        prompts = load_judge_prompts(BY_NAME[task], "official", upstream)
        return Judging(judge=judge, prompts=prompts, mode="batched")

    return judging_with


TASK_OF = {"text": "doclens_own", "question": "meqsum"}


SOURCES = ("No fracture.", "Heart size is normal.", "A dose of 5 mg.")


@pytest.mark.parametrize(
    ("form", "output", "shares", "questions"),
    [
        ("text", "No fracture [0]. Heart size is normal [1].", [1.0, 1.0], 2),
        # A text of one segment counts as uncited.
        ("text", "No fracture [0].", [0.0, 0.0], 0),
        # A text without a marker has no segment.
        ("text", "No fracture.", [0.0, 0.0], 0),
        # The dose ends a segment, which borrows [2].
        (
            "text",
            "A dose of 5 mg. [2] Fever [1].",
            [0.6666666666666666, 0.6666666666666666],
            3,
        ),
        # The first sentence borrows [1], which does not entail it.
        ("note", "No fracture. Heart size is normal [1].", [0.5, 0.5], 2),
        ("note", "No fracture [0][1].", [1.0, 0.5], 1),
        # The authors' code leaves a part of the range: it judges "No fracture-1.".
        ("note", "No fracture [0-1].", [0.0, 0.0], 1),
        ("note", "No fracture [9].", [0.0, 0.0], 0),
        ("section", "No fracture [0]. Heart size is normal [1].", [1.0, 1.0], 2),
        ("question", "No fracture. [0] Heart size is normal. [1]", [1.0, 1.0], 1),
    ],
)
def test_citation_metrics_of_every_form(
    judging: Callable[[Any, str], Judging],
    form: str,
    output: str,
    shares: list[float],
    questions: int,
) -> None:
    judge = OfficialJudge(
        lambda text, phrase: contains(text.lower(), phrase.strip(" .").lower())
    )
    judging_of_task = judging(judge, TASK_OF.get(form, "aci_bench_section"))
    (verdict,) = judge_official([_unit("1", output, SOURCES, form)], judging_of_task)
    assert [verdict.tallies[metric].limits[0] for metric in METRICS[2:]] == shares
    numbered = [
        question for question in judge.asked if question.id.rpartition("/")[2].isdigit()
    ]
    assert len(numbered) == questions


def test_questions_about_a_report_have_the_official_texts(
    judging: Callable[[Any, str], Judging],
) -> None:
    """Claims are made from the text with citations and judged without; sources are lower case, in one line."""
    judge = OfficialJudge()
    output = " Lesion  [0].\nNo Effusion [1] [1] x "
    report = unit(
        form="impression",
        output=output,
        reference="1. Lesion.\n 2. No Effusion.",
        sources=("A Lesion.", "No  effusion."),
    )
    judge_official([report], judging(judge, "mimic_rrs"))
    start = "v1/plan/official"
    assert judge.message(f"{start}/output/claims") == output
    assert judge.message(f"{start}/reference/claims") == "1. lesion. 2. no effusion."
    recall, precision = (
        json.loads(judge.message(f"{start}/{name}"))["radiology_report"]
        for name in ("recall", "precision")
    )
    assert (recall, precision) == (
        " Lesion .\nNo Effusion x ",
        "1. lesion. 2. no effusion.",
    )
    assert json.loads(judge.message(f"{start}/1")) == {
        "sentence_in_summary": ". No Effusion",
        "sentences_in_the_radiology_report": [{"idx": "1", "content": "no effusion."}],
    }
    assert {question.max_tokens for question in judge.asked} == {2000}


def test_a_blank_question_is_judged(
    judging: Callable[[Any, str], Judging],
) -> None:
    judge = OfficialJudge()
    blank, cited = (
        unit(
            name,
            form="question",
            output=output,
            reference="Is it [new]?",
            sources=("Ow.",),
        )
        for name, output in (("blank", ""), ("cited", "Is it new? [0]"))
    )
    verdicts = judge_official([blank, cited], judging(judge, "meqsum"))
    assert json.loads(judge.message("blank/official/recall")) == {
        "question A": "",
        "question B": "Is it [new]?",
    }
    assert json.loads(judge.message("cited/official/precision")) == {
        "question A": "Is it [new?",  # the script removes each closing bracket
        "question B": "Is it new? [0]",
    }
    assert [verdict.tallies["claim_recall"].counts.of for verdict in verdicts] == [1, 1]
    assert [verdict.tallies["citation_recall"].counts.of for verdict in verdicts] == [
        0,
        1,
    ]


def test_sources_are_numbered_and_split_as_by_the_authors() -> None:
    assert official_input(["[doctor] Hi\nthere", "[patient] Ow"], "note") == (
        "[0][doctor] Hi\nthere\n[1][patient] Ow"
    )
    assert official_input(["A b.", "C"], "question") == "[0] a b. [1] c "
    assert official_input(["A b.", "C"], "text") == "[0] A b. [1] C "
    numbered = official_sources("[0] See [4] and [1]  b\n[2] c")
    assert numbered == {0: "See", 4: "and", 1: "b", 2: "c"}


def test_a_missing_reply_has_limits_and_a_reason(
    judging: Callable[[Any, str], Judging],
) -> None:
    judge = OfficialJudge(lambda text, phrase: None)
    (verdict,) = judge_official(
        [_unit("1", "No fracture [0].", SOURCES, "section")],
        judging(judge, "aci_bench_section"),
    )
    assert (
        verdict.tallies["citation_recall"].limits
        == verdict.tallies["citation_precision"].limits
        == (0.0, 1.0)
    )
    assert verdict.reasons == ("judge: http 500",)


TEXTS = st.text(alphabet="aB 12[]|+-. \n", max_size=50)


@pytest.mark.parametrize(
    ("method", "text", "expected"),
    [
        # Ten citations count, in the order of a Python set: in its table of eight
        # places, 8 comes before 1.
        (
            "sent",
            "All [0][1][2][3][4][5][6][7][8][9][10][11]",
            (("All", tuple(range(10)), True),),
        ),
        ("sent", "Two [1] [8]", (("Two", (8, 1), True),)),
        # A sentence without citations borrows those of the next sentence that has some,
        # with repeats and at most ten of them; with none to borrow, it is not judged.
        (
            "sent",
            "First. Second [3] [3] [3] [3] [3] [3] [3] [3] [3] [3] [3] [3]",
            (("First.", (3,) * 10, True), ("Second", (3,), True)),
        ),
        (
            "sent",
            "One. Two. Three [4]. Four.",
            (
                ("One.", (4,), True),
                ("Two.", (4,), True),
                ("Three.", (4,), True),
                ("Four.", (), False),
            ),
        ),
        # One number that is too large leaves the whole sentence unjudged, and its
        # citations are not cut to ten.
        (
            "sent",
            "Pain [0][1][2][3][4][5][6][7][8][9][10][11][12][13][14][15][16][17][18][19][20]",
            (("Pain", tuple(range(21)), False),),
        ),
        ("meqsum", "Is it? \n Or not? [1][3]", (("Is it? Or not?", (1, 3), True),)),
        ("sent", "", ()),
        ("citation", "", ()),
        ("meqsum", "", ()),
    ],
)
def test_official_sentences(
    method: Any, text: str, expected: tuple[tuple[Any, ...], ...]
) -> None:
    sentences = official_sentences(text, method=method, sources=20)
    assert (
        tuple(
            (sentence.target, sentence.citations, sentence.judged)
            for sentence in sentences
        )
        == expected
    )


def test_a_citation_of_a_large_number_is_not_judged() -> None:
    for large in ("2", "9" * 5000):
        (sentence,) = official_sentences(f"Pain [{large}]", method="sent", sources=2)
        assert sentence.judged is False


@given(TEXTS)
def test_citations_are_removed_in_the_authors_two_steps(text: str) -> None:
    without = re.sub(r"\[\d+", "", re.sub(r" \[\d+", "", text))
    assert remove_citations_official(text) == without.replace(" |", "").replace("]", "")


@given(TEXTS)
def test_the_citation_split_drops_only_the_text_after_the_last_citation(
    text: str,
) -> None:
    segments = official_segments(text, method="citation")
    joined = "".join(segments)
    assert text.startswith(joined)
    assert not re.search(r"[\[\]+0-9]", text[len(joined) :])


@given(TEXTS)
def test_any_output_is_split(text: str) -> None:
    for method in ("sent", "citation", "meqsum"):
        for sentence in official_sentences(text, method=method, sources=20):
            assert sentence.judged or not (
                set(sentence.citations) and max(sentence.citations) < 20
            )
            assert set(sentence.citations) <= set(official_ids(text))


@pytest.mark.parametrize(
    ("reply", "citations", "expected"),
    [
        (
            "explanation: a\nprovenance: [1]\nentailment_prediction: 1",
            (5, 7),
            (True, (False, True)),
        ),
        ("provenance: [1], the 0th not\nprediction: 1", (5, 7), (True, (True, True))),
        # Digits in front of "provenance" count too.
        (
            "2 of them, provenance: 1\nprediction: 1",
            (5, 7, 9),
            (True, (False, True, True)),
        ),
        (
            "provenance: [8]\nprovenance: [0]\nprediction: 1",
            (5, 7),
            (True, (True, False)),
        ),
        ("prediction: 10", (5,), (True, (True,))),
        ("prediction: 0\nprediction: 1", (5, 7), (False, (False, False))),
        ("prediction: 1", (5, 7), None),
        ("Prediction: 1", (5,), None),
    ],
)
def test_mistral_replies_are_read(
    reply: str, citations: tuple[int, ...], expected: Any
) -> None:
    read = mistral_cited(reply, citations)
    assert (None if isinstance(read, Unreadable) else read) == expected


def test_gpt_replies_need_their_keys() -> None:
    whole = '{"entailment_prediction": 1, "explanation": "", "provenance": ["0", 1], "more": 1}'
    assert gpt_cited(whole, (1, 0, 1)) == (True, (True, False, True))
    assert gpt_cited(whole.replace(": 1,", ': "1",', 1), (1,)) == (False, (False,))
    for reply in (
        '{"entailment_prediction": 1, "explanation": ""}',
        f"```json\n{whole}\n```",
        "[]",
        "",
        "[" * 100000,
    ):
        assert isinstance(gpt_cited(reply, (1,)), Unreadable)
    assert gpt_question('{"prediction": 1}') == (True,)
    assert gpt_question('{"entailment_prediction": 1}') == ()
