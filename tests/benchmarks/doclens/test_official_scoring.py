"""The authors' figures of items, pooled by `results`, are what their aggregation gives for their score files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.judge_prompts import load_judge_prompts
from medical_tasks.benchmarks.doclens.judging import CitationVerdict, Unit, UnitVerdict
from medical_tasks.benchmarks.doclens.measures import FULL, METRICS, Section
from medical_tasks.benchmarks.doclens.official_scoring import (
    OfficialSentence,
    OfficialVerdict,
    gpt_cited,
    gpt_question,
    judge_official,
    mistral_cited,
    official_claims_of,
    official_ids,
    official_segments,
    official_sentence,
    official_sentences,
    official_tallies,
    remove_citations_official,
)
from medical_tasks.benchmarks.doclens.scoring import item_score
from medical_tasks.benchmarks.doclens.spec import TASKS
from medical_tasks.judges.base import Judging, Unreadable
from medical_tasks.runs.results import summarise
from medical_tasks.spec import Item
from tests.benchmarks.doclens.doclens_judges import PerfectJudge, said_in, unit
from tests.benchmarks.doclens.task_items import cases
from tests.benchmarks.doclens.their_scores import official_scores
from tests.support import SHARED, needs_shared

TASK = next(task for task in TASKS if task.name == "mimic_rrs")
POOLED = replace(
    TASK,
    metrics=tuple(one for one in TASK.metrics if one.needs == "official"),
    groups=(),
    cluster=None,
)
NOTHING = Section(reference_claims=(), output_claims=())
FOLDER = SHARED / "fixtures" / "doclens"


def _pooled(units: Mapping[str, Sequence[OfficialVerdict]]) -> dict[str, float]:
    """The totals over items; a share of nothing, which `results` does not have, is 0."""
    empty = UnitVerdict(section=NOTHING)
    scores = {name: item_score(name, {FULL: empty}, official=some) for name, some in units.items()}
    items = [Item(id=name, fields={}, groups={}, cluster=name) for name in units]
    metrics = summarise(POOLED, items, scores, {}, recipe={})["metrics"]
    for entry in metrics.values():
        assert entry["bound_low"] == pytest.approx(entry["bound_high"])
    return {name: metrics[f"{name}_official"]["value"] or 0.0 for name in METRICS}


def _verdict(
    recall: Sequence[Any], precision: Sequence[Any], cited: Sequence[Mapping[str, Any]]
) -> OfficialVerdict:
    """What is counted of records as in their score files."""
    return OfficialVerdict(
        tallies=official_tallies(
            Section(
                reference_claims=tuple(bool(one["entailment_prediction"] == 1) for one in recall),
                output_claims=tuple(bool(one["entailment_prediction"] == 1) for one in precision),
                sentences=tuple(official_sentence(*_sentence(one)) for one in cited),
            )
        )
    )


def _sentence(record: Mapping[str, Any]) -> tuple[OfficialSentence, CitationVerdict]:
    citations = tuple(record["citations"])
    provenance = record.get("provenance") or ()
    entailed = bool(record["entailment_prediction"] == 1)
    return (
        OfficialSentence(target="s", citations=citations, asked=True),
        CitationVerdict(
            entailed=entailed, supports={one: entailed and one in provenance for one in citations}
        ),
    )


CLAIMS = st.lists(
    st.fixed_dictionaries({"entailment_prediction": st.sampled_from([0, 1])}), max_size=4
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
EXAMPLES = st.dictionaries(st.sampled_from("abc"), st.tuples(CLAIMS, CLAIMS, SENTENCES), min_size=1)


@given(st.dictionaries(st.sampled_from(["one", "two"]), EXAMPLES, min_size=1))
@settings(deadline=None, max_examples=50)
def test_items_pooled_are_their_totals(files: dict[str, dict[str, tuple[Any, Any, Any]]]) -> None:
    expected = official_scores(
        **{
            name: {
                section: {key: known[place] for key, known in each.items()}
                for section, each in files.items()
            }
            for place, name in enumerate(("claim_recall", "claim_precision", "citations"))
        }
    )
    units: dict[str, list[OfficialVerdict]] = {}
    for each in files.values():
        for key, known in each.items():
            units.setdefault(key, []).append(_verdict(*known))
    found = _pooled(units)
    assert found == pytest.approx({name: expected[name]["total"] for name in METRICS}, abs=1e-12)


@pytest.mark.upstream
@needs_shared
def test_the_checked_aggregations() -> None:
    cases = [one for one in _expected()["aggregation"] if "error" not in one["expected"]]
    assert len(cases) == 8
    for case in cases:
        files = {
            key.removesuffix(".TRUE").rpartition(".")[2]: content
            for key, content in case["files"].items()
        }
        same = files.get("same_scores", {})
        places = {
            (section, key): None
            for content in files.values()
            for section, each in content.items()
            for key in each
        }
        units: dict[str, list[OfficialVerdict]] = {}
        for section, key in places:
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
    content: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
    return content


def _either(records: Sequence[Any], partners: Sequence[Any]) -> list[Any]:
    padded = [*partners, *({"entailment_prediction": 0} for _ in records[len(partners) :])]
    return [
        {
            "entailment_prediction": int(
                1 in (one["entailment_prediction"], other["entailment_prediction"])
            )
        }
        for one, other in zip(records, padded, strict=False)
    ]


def _unit(name: str, output: str, sources: tuple[str, ...], form: str = "text") -> Unit:
    return unit(name, form=form, output=output, reference="r", sources=sources)


def _known(section: Section = NOTHING) -> UnitVerdict:
    return UnitVerdict(section=section)


def _judging(judge: Any, mode: Any = "batched") -> Judging:
    return Judging(judge=judge, prompts=load_judge_prompts(TASK), mode=mode)


SOURCES = ("No fracture.", "Heart size is normal.", "A dose of 5 mg.")


@pytest.mark.parametrize(
    ("form", "output", "shares", "asked"), cases("official_scoring", "test_forms")
)
def test_forms(form: str, output: str, shares: list[float], asked: int) -> None:
    judge = PerfectJudge(lambda text, said: said_in(text, said.strip(" .")))
    (found,) = judge_official([_unit("1", output, SOURCES, form)], [_known()], _judging(judge))
    assert [found.tallies[metric].limits[0] for metric in METRICS[2:]] == shares
    assert len(judge.asked) == asked


@given(st.text("ab.5 []+\n", max_size=20))
@settings(deadline=None, max_examples=100)
def test_no_sentence_of_a_report_has_numbers_of_items(output: str) -> None:
    """Which is why they need not be taken out for judges of entailment."""
    for sentence in official_sentences(output, method="citation", sources=9):
        assert not re.search(r"\d+. ", sentence.target)


def test_claims_as_their_files_have_them() -> None:
    assert official_claims_of(None, whole=True) == official_claims_of(None, whole=False) == ()
    assert (
        official_claims_of((None, None), whole=True) == ()
    )  # a reply that could not be read leaves the average
    assert official_claims_of((True, None), whole=True) == (True,)
    assert official_claims_of((True, None), whole=False) == (True, None)
    known = _known(Section(reference_claims=(True, None), output_claims=None))
    for mode, of in (("batched", 1), ("single", 2)):
        (found,) = judge_official([_unit("1", "", ())], [known], _judging(PerfectJudge(), mode))
        assert found.tallies["claim_recall"].counts.of == of
        assert found.tallies["claim_precision"].limits == (0.0, 0.0)


def test_without_a_reply_there_are_limits_and_a_reason() -> None:
    judge = PerfectJudge(lambda text, said: None)
    (found,) = judge_official(
        [_unit("1", "No fracture [0].", SOURCES, "note")], [_known()], _judging(judge)
    )
    assert (
        found.tallies["citation_recall"].limits
        == found.tallies["citation_precision"].limits
        == (0.0, 1.0)
    )
    assert found.reasons == ("judge: http 500",)


TEXTS = st.text(alphabet="aB 12[]|+-. \n", max_size=50)


@pytest.mark.parametrize(
    ("method", "text", "found"), cases("official_reading", "sentences", tuples=True)
)
def test_sentences(method: Any, text: str, found: tuple[tuple[Any, ...], ...]) -> None:
    sentences = official_sentences(text, method=method, sources=20)
    assert tuple((one.target, one.citations, one.asked) for one in sentences) == found


def test_a_number_too_large_is_no_error() -> None:
    for large in ("2", "9" * 5000):
        (one,) = official_sentences(f"Pain [{large}]", method="sent", sources=2)
        assert one.asked is False


@given(TEXTS)
@settings(deadline=None, max_examples=300)
def test_removal_is_their_two_steps(text: str) -> None:
    without = re.sub(r"\[\d+", "", re.sub(r" \[\d+", "", text))
    assert remove_citations_official(text) == without.replace(" |", "").replace("]", "")


@given(TEXTS)
@settings(deadline=None, max_examples=300)
def test_the_citation_split_drops_the_rest_alone(text: str) -> None:
    segments = official_segments(text, method="citation")
    joined = "".join(segments)
    assert text.startswith(joined)
    assert not re.search(r"[\[\]+0-9]", text[len(joined) :])


@given(TEXTS)
@settings(deadline=None, max_examples=200)
def test_no_output_is_an_error(text: str) -> None:
    for method in ("sent", "citation", "meqsum"):
        for one in official_sentences(text, method=method, sources=20):
            assert one.asked or not (set(one.citations) and max(one.citations) < 20)
            assert set(one.citations) <= set(official_ids(text))


@pytest.mark.parametrize(
    ("reply", "citations", "said"), cases("official_reading", "test_mistral_replies", tuples=True)
)
def test_mistral_replies(reply: str, citations: tuple[int, ...], said: Any) -> None:
    read = mistral_cited(reply, citations)
    assert (None if isinstance(read, Unreadable) else read) == said


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
