"""Scores of outputs, of items and pooled."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.declarations import demo_entries
from medical_tasks.benchmarks.doclens.judge_prompts import load_judge_prompts
from medical_tasks.benchmarks.doclens.judging import UnitVerdict
from medical_tasks.benchmarks.doclens.measures import (
    METRICS,
    ClaimRecord,
    Limits,
    Section,
    section_tallies,
    total,
)
from medical_tasks.benchmarks.doclens.pieces import SECTIONS, divide_note
from medical_tasks.benchmarks.doclens.scoring import (
    item_score,
    join_claims,
    medcon_metrics,
    score_items,
    scoring_identity,
    text_metrics,
    unanswered_limits,
    word_metrics,
)
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.judges.base import Judge, Judging
from medical_tasks.models.bleurt import open_bleurt
from medical_tasks.models.text_metrics import (
    MODEL_METRICS,
    checkpoint_layer,
    identity_of_models,
)
from medical_tasks.runs.summary import summarise
from medical_tasks.scoring.umls.index import build_index
from medical_tasks.spec import Item, ItemScore
from tests.benchmarks.doclens.doclens_judges import (
    OfficialJudge,
    PerfectJudge,
    cited_by_itself,
    contains,
    synthetic_checkout,
    text_item,
    unit,
)
from tests.benchmarks.doclens.task_items import (
    BY_NAME,
    SECTION_VERDICTS,
    cases,
    official_notes,
)
from tests.judges.scripted import TableJudge
from tests.models.tiny_bleurt import make_word_bleurt
from tests.support import SHARED, needs_shared

ROUGE = ("rouge1", "rouge2", "rougeLsum")
OFFICIAL = tuple(f"{name}_official" for name in METRICS)


def _scored(
    task: str,
    items: list[Item],
    responses: list[str],
    judge: Judge | None = None,
    arguments: Mapping[str, str] | None = None,
    mode: Any = "batched",
) -> list[ItemScore]:
    judging = Judging(
        judge=judge or PerfectJudge(),
        prompts=load_judge_prompts(BY_NAME[task]),
        mode=mode,
    )
    return score_items(
        BY_NAME[task], items, responses, judging=judging, arguments=arguments
    )


def _gold(name: str, note: str) -> tuple[Item, str]:
    """An item, and its note with citations of itself."""
    sections = divide_note(note)
    sentences: list[str] = []
    cited = ""
    for text in sections.values():
        written, more = cited_by_itself(text, len(sentences))
        cited += written if not written or written.endswith("\n") else f"{written}\n"
        sentences += more
    return text_item(
        name, reference=note, sentences=sentences, form="note", sections=sections
    ), cited


def _of_metrics(score: ItemScore) -> list[float]:
    return [score.values[name] for name in METRICS]


@pytest.mark.parametrize("mode", ["single", "batched"])
def test_gold_of_the_demo(mode: str) -> None:
    pairs = [
        _gold(visit["id"], visit["note"]) for visit in demo_entries("visits", "test1")
    ]
    assert len(pairs) == 6
    items, cited = [item for item, _ in pairs], [text for _, text in pairs]
    for score in _scored(
        "aci_bench", items, cited, arguments={"official": "yes"}, mode=mode
    ):
        assert (score.unscored, score.limits) == (None, {})
        assert _of_metrics(score) == [1.0] * 4, score.parsed
        # They need the authors' prompts.
        assert not any(name in score.values for name in OFFICIAL)
        for name in (
            "rouge1",
            "rouge2",
            "rougeLsum",
            "rougeL_recall",
            "rougeL_precision",
            "bleu",
        ):
            assert score.values[name] == 1.0
        values = [
            score.values[f"{name}_{section}"]
            for name in METRICS
            for section in SECTIONS
        ]
        assert {value for value in values if not math.isnan(value)} == {1.0}


def test_gold_of_a_section_and_of_other_forms() -> None:
    text, sentences = cited_by_itself("No fracture. Heart size is normal.")
    section = text_item(
        "v/objective_exam",
        reference="No fracture. Heart size is normal.",
        sentences=sentences,
    )
    section.fields["form"] = "section"  # type: ignore[index]
    section.groups["section"] = "objective_exam"  # type: ignore[index]
    assert _of_metrics(_scored("aci_bench_section", [section], [text])[0]) == [1.0] * 4
    for task, form in (
        ("mimic_rrs", "impression"),
        ("doclens_own", "text"),
        ("meqsum", "question"),
    ):
        item = text_item(
            "1",
            reference="No fracture. Heart size is normal.",
            sentences=sentences,
            form=form,
        )
        (score,) = _scored(task, [item], [text])
        assert _of_metrics(score) == [1.0] * 4, task
        counted = 1 if task == "meqsum" else 2
        assert [score.weights[name] for name in METRICS] == [counted, counted, 2, 2]
        assert not [name for name in score.values if name.endswith("_full")]


@pytest.mark.upstream
@needs_shared
def test_gold_of_every_note_with_the_released_claims() -> None:
    notes = official_notes(
        SHARED / "data" / "aci_bench" / "challenge_data" / "clinicalnlp_taskB_test1.csv"
    )
    pairs = [_gold(visit, note) for visit, note in notes.items()]
    assert len(pairs) == 40
    references = {
        " ".join(text.split())
        for item, _ in pairs
        for text in item.fields["sections"].values()
    }
    judge = PerfectJudge(
        lambda text, claim: (
            " ".join(text.split()) in references or contains(text, claim)
        )
    )
    claims = str(SHARED / "data/doclens/ACI-Bench-TestSet-1_clean.claim_min1max30.json")
    scores = _scored(
        "aci_bench",
        [item for item, _ in pairs],
        [cited for _, cited in pairs],
        judge,
        {"claims": claims},
    )
    assert {value for score in scores for value in _of_metrics(score)} == {1.0}
    assert sum(score.weights["claim_recall"] for score in scores) == 1287
    # The first round makes claims of 160 sections less 8 that are empty; the second has
    # all other questions.
    nonempty = sum(
        bool(text.strip())
        for item, _ in pairs
        for text in item.fields["sections"].values()
    )
    assert (judge.rounds[0], len(judge.rounds)) == (nonempty, 2)


@pytest.mark.parametrize(
    ("form", "task"),
    [("impression", "mimic_rrs"), ("question", "meqsum"), ("text", "doclens_own")],
)
@pytest.mark.parametrize("response", ["", " \n", "<think>No fracture"])
def test_scores_of_an_empty_output(form: str, task: str, response: str) -> None:
    judge = PerfectJudge()
    item = text_item(
        "1", reference="No fracture.", sentences=["No fracture."], form=form
    )
    (score,) = _scored(task, [item], [response], judge)
    recall, precision, cited, precise = _of_metrics(score)
    assert (recall, cited) == (0.0, 0.0)
    assert math.isnan(precision)
    assert math.isnan(precise)
    assert (score.weights["claim_recall"], score.weights["citation_recall"]) == (1, 0)
    assert (score.unscored, score.parsed, score.why) == (
        None,
        "recall 0/1, precision 0/0, sentences 0/0, citations 0/0",
        "without sentences: full",
    )
    assert (score.values["rouge1"], score.values["words"]) == (0.0, 0.0)
    assert [question.id for question in judge.asked] == (
        [] if form == "question" else ["1/reference/claims"]
    )


def test_empty_and_unusual_references_and_outputs() -> None:
    rows = [
        ("", ""), ("#####EMPTY#####", "Normal. [0]"), ("Normal.", "[0]"), ("Normal.", "Normal."),
        ("Normal.", "Normal [9]."),
    ]  # fmt: skip
    items = [
        text_item(str(number), reference=text, sentences=["Normal."])
        for number, (text, _) in enumerate(rows)
    ]
    scores = _scored("doclens_own", items, [output for _, output in rows])
    expected: list[tuple[float, ...]] = [
        (math.nan, math.nan, math.nan, math.nan),
        (math.nan, 0.0, 1.0, 1.0),
        (0.0, math.nan, 0.0, 0.0),  # a marker without words is an unsupported sentence
        (1.0, 1.0, 0.0, math.nan),
        (1.0, 1.0, 0.0, 0.0),
    ]
    for score, values in zip(scores, expected, strict=True):
        assert _of_metrics(score) == pytest.approx(values, nan_ok=True), score.id
        assert score.unscored is None
    # Without a reference there is no overlap; markers are not words.
    assert [score.values["rouge1"] for score in scores] == pytest.approx(
        [math.nan, math.nan, 0, 1, 1], nan_ok=True
    )
    assert [score.values["words"] for score in scores] == [0, 1, 0, 1, 1]


def test_a_missing_verdict_has_limits_and_a_reason() -> None:
    judge = PerfectJudge(
        lambda text, claim: None if "effusion" in claim else contains(text, claim)
    )
    text, sentences = cited_by_itself("No fracture. No effusion.")
    item = text_item("1", reference="No fracture. No effusion.", sentences=sentences)
    (score,) = _scored("doclens_own", [item], [text], judge)
    assert [score.limits[name] for name in METRICS] == [(0.5, 1.0)] * 4
    assert (score.unscored, score.why) == ("judge: http 500", "judge: http 500")
    assert score.weights["claim_recall"] == 2
    assert (
        score.parsed
        == "recall 1 to 2/2, precision 1 to 2/2, sentences 1 to 2/2, citations 1 to 2/2"
    )


@pytest.mark.parametrize("reads", ["prompt", "pair"])
def test_a_judge_without_replies_leaves_all_metrics_open(reads: Any) -> None:
    text, sentences = cited_by_itself("No fracture. No effusion.")
    for task, form in (("doclens_own", "text"), ("meqsum", "question")):
        item = text_item("1", reference="No fracture.", sentences=sentences, form=form)
        judge = TableJudge({})
        judge.reads = reads
        (score,) = _scored(task, [item], [text], judge)
        assert {name: score.limits[name] for name in METRICS} == dict.fromkeys(
            METRICS, (0.0, 1.0)
        ), task
        assert score.unscored == "judge: http 500"
        claims_open = task == "doclens_own" and reads == "prompt"
        assert (score.weights["claim_recall"] == 30) is claims_open
        assert (
            score.parsed.startswith("recall 0 to 30/up to 30, precision ")
            is claims_open
        )
        assert ("no list of claims of the reference: full" in score.why) is claims_open


def test_scores_quote_no_text() -> None:
    item = text_item("1", reference="Zebra fever.", sentences=["Zebra cough."])
    (score,) = _scored("doclens_own", [item], ["Zebra rash [0]. Zebra pain."])
    assert "ebra" not in score.parsed + score.why + str(score.unscored)


def test_outputs_without_citations() -> None:
    judge = PerfectJudge()
    item = text_item("1", reference="No fracture.", sentences=["No fracture."])
    (score,) = _scored(
        "doclens_own", [item], ["No fracture."], judge, {"citations": "no"}
    )
    assert _of_metrics(score) == pytest.approx(
        [1.0, 1.0, math.nan, math.nan], nan_ok=True
    )
    for name in METRICS[2:]:
        assert math.isnan(score.values[name])
        assert score.weights[name] == 0
    assert score.parsed == "recall 1/1, precision 1/1"
    assert not any("sentence" in question.id for question in judge.asked)


def _official(
    folder: Path,
    task: str,
    item: Item,
    response: str,
    judge: Judge,
    arguments: Mapping[str, str] | None = None,
) -> ItemScore:
    """A score with the authors' metrics, by a judge with prompts in their form."""
    prompts = load_judge_prompts(BY_NAME[task], "official", synthetic_checkout(folder))
    judging = Judging(judge=judge, prompts=prompts, mode="batched")
    scoring_arguments = {"official": "yes", **(arguments or {})}
    (score,) = score_items(
        BY_NAME[task], [item], [response], judging=judging, arguments=scoring_arguments
    )
    return score


def test_official_metrics_need_official_prompts(tmp_path: Path) -> None:
    item = text_item("1", reference="No fracture.", sentences=["No fracture."])
    arguments = {"official": "yes"}
    pairs = TableJudge({})
    pairs.reads = "pair"
    for score in (
        _scored("doclens_own", [item], ["No fracture [0]."], arguments=arguments)[0],
        _official(tmp_path, "doclens_own", item, "No fracture [0].", pairs),
    ):
        assert not any(
            name in values
            for name in OFFICIAL
            for values in (score.values, score.limits)
        )
    output = " No fracture [0]. Rash [0].\n"
    score = _official(tmp_path, "doclens_own", item, output, OfficialJudge())
    # Sentences end after citations, and the text after the last one is dropped.
    assert [score.values[name] for name in OFFICIAL] == [1.0, 0.5, 0.5, 0.5]
    assert [score.weights[name] for name in OFFICIAL] == [1, 2, 2, 2]


def test_official_metrics_of_an_empty_output(tmp_path: Path) -> None:
    item = text_item("1", reference="No fracture.", sentences=["No fracture."])
    for response in ("", "<think>No fracture"):
        score = _official(tmp_path, "doclens_own", item, response, OfficialJudge())
        # A share of 0 claims is 0.
        assert [score.values[name] for name in OFFICIAL] == [0.0] * 4
    blank = _official(
        tmp_path, "doclens_own", item, " \n", OfficialJudge(lambda *_: False)
    )
    assert blank.values["claim_recall_official"] == 0.0
    uncited = _official(
        tmp_path, "doclens_own", item, "a", OfficialJudge(), {"citations": "no"}
    )
    assert [uncited.weights[name] for name in OFFICIAL] == [1, 1, 0, 0]
    assert all(math.isnan(uncited.values[name]) for name in OFFICIAL[2:])


def test_a_missing_verdict_leaves_official_metrics_open(tmp_path: Path) -> None:
    judge = OfficialJudge(
        lambda text, claim: None if "effusion" in claim else contains(text, claim)
    )
    item = text_item(
        "1", reference="No fracture.", sentences=["No fracture", "No effusion"]
    )
    output = "No fracture [0]. No effusion [1]"
    score = _official(tmp_path, "doclens_own", item, output, judge)
    assert score.values["claim_recall_official"] == 1.0
    assert score.limits["claim_precision_official"] == (0.0, 1.0)
    assert score.limits["citation_recall_official"] == (0.5, 1.0)
    assert score.unscored == "judge: http 500"


def test_official_metrics_divide_and_split_a_note_as_the_authors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the headings of their tables, and by Punkt trained on abbreviations."""
    note = "CC: Pain at 5 p.m. Severe [0].\nEXAM\nNo rash [1].\n"
    reference = "CC:\nPain.\n"
    sections = divide_note(reference)
    item = text_item(
        "1", reference=reference, sentences=["a"], form="note", sections=sections
    )
    judge = OfficialJudge()
    score = _official(tmp_path, "aci_bench", item, note, judge)
    assert (
        judge.message("1/subjective/official/output/claims")
        == note[: note.index("EXAM")]
    )
    assert (
        judge.message("1/objective_exam/official/output/claims")
        == note[note.index("EXAM") :]
    )
    assert score.weights["citation_recall_official"] == 3
    assert "untrained Punkt" in capsys.readouterr().err
    (tmp_path / "english").mkdir()
    for name in (
        "abbrev_types.txt",
        "sent_starters.txt",
        "collocations.tab",
        "ortho_context.tab",
    ):
        (tmp_path / "english" / name).write_text("p.m\n" * name.startswith("abbrev"))
    punkt = {"punkt": str(tmp_path / "english")}
    score = _official(tmp_path, "aci_bench", item, note, judge, punkt)
    assert score.weights["citation_recall_official"] == 2
    assert "untrained" not in capsys.readouterr().err
    identity = scoring_identity(BY_NAME["aci_bench"], {"official": "yes", **punkt})
    assert identity["punkt"].startswith("punkt_tab ")
    identity = scoring_identity(BY_NAME["aci_bench"], {"official": "yes"})
    assert identity["punkt"] == "punkt untrained"
    with pytest.raises(MissingError, match="abbrev_types.txt"):
        scoring_identity(
            BY_NAME["aci_bench"], {"official": "yes", "punkt": str(tmp_path / "no")}
        )
    with pytest.raises(
        UsageError, match="aci_bench: punkt splits notes .* Give official=yes too"
    ):
        scoring_identity(BY_NAME["aci_bench"], punkt)


def test_claims_of_a_file_are_used(tmp_path: Path) -> None:
    path = tmp_path / "claims.json"
    path.write_text(
        json.dumps(
            [{"example_id": "1", "subclaims_reference": ["No fracture.", "Rash."]}]
        )
    )
    judge = PerfectJudge()
    item = text_item("1", reference="No fracture. Rash.", sentences=["No fracture."])
    (score,) = _scored(
        "doclens_own", [item], ["No fracture [0]."], judge, {"claims": str(path)}
    )
    assert (score.values["claim_recall"], score.weights["claim_recall"]) == (0.5, 2)
    assert [question.id for question in judge.asked[: judge.rounds[0]]] == [
        "1/output/claims"
    ]
    with pytest.raises(UsageError, match="no claims of the reference of 2"):
        _scored(
            "doclens_own",
            [text_item("2", reference="Rash.", sentences=[])],
            [""],
            judge,
            {"claims": str(path)},
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    cases("scoring", "test_wrong_scoring_arguments_are_refused"),
)
def test_wrong_scoring_arguments_are_refused(
    arguments: dict[str, str], message: str
) -> None:
    item = text_item("1", reference="a", sentences=[])
    with pytest.raises(UsageError, match=message):
        _scored("doclens_own", [item], ["a"], arguments=arguments)
    with pytest.raises(UsageError, match=message):
        scoring_identity(BY_NAME["doclens_own"], arguments)


def test_wrong_items_and_combinations_are_refused() -> None:
    item = text_item("1", reference="a", sentences=[])
    assert unanswered_limits(BY_NAME["aci_bench"], item) == {
        "medcon_official": (0.0, 2.0)
    }
    with pytest.raises(UsageError, match="doclens_own: 1 items but 0 responses"):
        _scored("doclens_own", [item], [])
    with pytest.raises(
        UsageError,
        match="two texts to judge have the same id. Give each item one response",
    ):
        _scored("doclens_own", [item, item], ["a", "b"])
    with pytest.raises(
        UsageError, match="meqsum: each question is one claim, and claims is not used"
    ):
        _scored("meqsum", [], [], arguments={"claims": "x.json"})
    with pytest.raises(UsageError, match="cannot be batched"):
        _scored("doclens_own", [], [], arguments={"style": "plain"})
    assert _scored("doclens_own", [], []) == []


def test_the_recipe_of_scoring(tmp_path: Path) -> None:
    path = tmp_path / "claims.json"
    path.write_text(json.dumps([{"example_id": "1", "subclaims_reference": ["a"]}]))
    identity = scoring_identity(
        BY_NAME["aci_bench"], {"claims": str(path), "official": "yes", "style": "json"}
    )
    assert identity["reference_claims"]["file"] == "claims.json"
    assert len(identity["reference_claims"]["sha256"]) == 64
    assert (
        identity["output_claims"]
        == "made by the judge; a judge of entailment takes sentences"
    )
    assert (identity["style"], identity["official"], identity["citations"]) == (
        "json",
        True,
        True,
    )
    json.dumps(identity)
    assert scoring_identity(BY_NAME["meqsum"], {})["reference_claims"] == "the question"
    with pytest.raises(UsageError, match="no subclaims_output"):
        scoring_identity(BY_NAME["aci_bench"], {"output_claims": str(path)})


NOTES = st.lists(
    st.fixed_dictionaries(dict.fromkeys(SECTIONS, SECTION_VERDICTS)),
    min_size=1,
    max_size=4,
)


def _verdict(section: Section) -> UnitVerdict:
    lists = (
        section.reference_claims,
        section.output_claims,
        *(labels.supports for labels in section.sentences),
    )
    open_ = any(labels is None or None in labels for labels in lists) or any(
        labels.entailed is None for labels in section.sentences
    )
    return UnitVerdict(section=section, reasons=("judge: http 500",) if open_ else ())


def _scores(notes: Sequence[Mapping[str, Section]]) -> list[ItemScore]:
    return [
        item_score(
            str(number), {name: _verdict(section) for name, section in note.items()}
        )
        for number, note in enumerate(notes)
    ]


def _pooled(sections: Iterable[Section]) -> dict[str, Limits]:
    return {
        name: tally.limits
        for name, tally in total(map(section_tallies, sections)).items()
    }


def _agree(entry: Mapping[str, object], limits: Limits) -> None:
    low, high = limits
    if math.isnan(low):
        assert entry["bound_low"] is entry["bound_high"] is entry["value"] is None
        return
    assert entry["bound_low"] == pytest.approx(low, abs=1e-12)
    assert entry["bound_high"] == pytest.approx(high, abs=1e-12)


@given(NOTES)
def test_pooled_notes_equal_pooled_sections(notes: list[dict[str, Section]]) -> None:
    scores = _scores(notes)
    metrics = tuple(
        metric
        for metric in BY_NAME["aci_bench"].metrics
        if metric.name in METRICS or metric.part
    )
    assert len(metrics) == 20
    task = replace(BY_NAME["aci_bench"], metrics=metrics, groups=(), cluster=None)
    items = [
        Item(id=score.id, fields={}, groups={}, cluster=score.id) for score in scores
    ]
    summary = summarise(
        task, items, {score.id: score for score in scores}, {}, recipe={}
    )
    for name, limits in _pooled(
        metric for note in notes for metric in note.values()
    ).items():
        _agree(summary["metrics"][name], limits)
    for section in SECTIONS:
        for name, limits in _pooled(note[section] for note in notes).items():
            _agree(summary["breakdown"]["section"][section][name], limits)


@pytest.mark.parametrize(
    ("side", "records", "units", "expected"),
    [
        # The text decides, whatever the ids are.
        (
            "reference",
            [
                {
                    "id": "1",
                    "claims": {"full": ["of two"]},
                    "texts": {"full": "Two  lines\n here."},
                },
                {
                    "id": "2",
                    "claims": {"full": ["of one"]},
                    "texts": {"full": "One line."},
                },
            ],
            [
                {"id": "1", "reference": "One line."},
                {"id": "2", "reference": "Two lines here. "},
            ],
            {"1": ["of one"], "2": ["of two"]},
        ),
        # Of records with the same text, the one with the unit's own id counts, else the
        # first.
        (
            "reference",
            [
                {"id": "1", "claims": {"full": ["1"]}, "texts": {"full": "Normal."}},
                {"id": "2", "claims": {"full": ["2"]}, "texts": {"full": "Normal."}},
            ],
            [{"id": "2", "reference": "Normal."}, {"id": "3", "reference": "Normal."}],
            {"2": ["2"], "3": ["1"]},
        ),
        # Without texts the id decides, of a section of a note and of an item of its
        # own; an empty list of claims stays empty.
        (
            "reference",
            [{"id": "7", "claims": {"subjective": ["a"], "objective_exam": []}}],
            [
                {
                    "id": "7/subjective",
                    "section": "subjective",
                    "form": "note",
                    "reference": "Cough.",
                    "item": "7",
                },
                {
                    "id": "7/objective_exam",
                    "section": "objective_exam",
                    "form": "note",
                    "reference": "Lungs.",
                    "item": "7/objective_exam",
                },
            ],
            {"7/subjective": ["a"], "7/objective_exam": []},
        ),
        # An output is found by its text with and without citations.
        (
            "output",
            [
                {
                    "id": "1",
                    "claims": {"full": ["a"]},
                    "texts": {"full": "No fever [1]."},
                },
                {"id": "2", "claims": {"full": ["b"]}, "texts": {"full": "Rash gone."}},
            ],
            [
                {"id": "1", "output": "No fever."},
                {"id": "2", "output": "Rash gone [0][4]."},
            ],
            {"1": ["a"], "2": ["b"]},
        ),
        # A blank text has no claims and needs no record.
        (
            "reference",
            [{"id": "1", "claims": {"full": ["a"]}, "texts": {"full": "No fever."}}],
            [{"id": "1", "reference": ""}],
            {"1": []},
        ),
        (
            "reference",
            [{"id": "1", "claims": {"full": ["a"]}, "texts": {"full": "No fever."}}],
            [{"id": "1", "reference": "  \n"}],
            {"1": []},
        ),
        (
            "reference",
            [{"id": "1", "claims": {"full": ["a"]}, "texts": {"full": "No fever."}}],
            [{"id": "1", "reference": "#####EMPTY#####"}],
            {"1": []},
        ),
        # Texts without claims are named by id alone, and a record with another text is
        # not joined by its id.
        (
            "reference",
            [
                {
                    "id": "1",
                    "claims": {"full": ["a"]},
                    "texts": {"full": "Secret: no fever."},
                }
            ],
            [
                {"id": "v0", "reference": "Secret 0."},
                {"id": "v1", "reference": "Secret 1."},
                {"id": "v2", "reference": "Secret 2."},
                {"id": "v3", "reference": "Secret 3."},
                {"id": "v4", "reference": "Secret 4."},
                {"id": "v5", "reference": "Secret 5."},
                {"id": "v6", "reference": "Secret 6."},
            ],
            "claims of the reference of v0, v1, v2, v3, v4 and 2 more:",
        ),
        (
            "output",
            [{"id": "1", "claims": {"full": ["a"]}, "texts": {"full": "No fever."}}],
            [{"id": "1", "output": "Fever."}],
            "no claims of the output of 1",
        ),
        # Claims for a blank text belong to another text.
        (
            "output",
            [{"id": "1", "claims": {"full": ["a"]}}],
            [{"id": "1"}],
            "has claims of the output of 1, which is blank",
        ),
    ],
)
def test_claims_of_a_file_are_joined_with_units(
    side: Any, records: list[dict[str, Any]], units: list[dict[str, Any]], expected: Any
) -> None:
    claim_records = [
        ClaimRecord(
            **{
                **record,
                "claims": {
                    name: tuple(claims) for name, claims in record["claims"].items()
                },
            }
        )
        for record in records
    ]
    joined_units = [
        unit(**{"name": record.pop("id"), **record})
        for record in [dict(fields) for fields in units]
    ]
    if isinstance(expected, dict):
        assert join_claims(claim_records, joined_units, side=side) == {
            name: tuple(claims) for name, claims in expected.items()
        }
    else:
        with pytest.raises(UsageError, match=expected) as caught:
            join_claims(claim_records, joined_units, side=side)
        assert "Secret" not in str(caught.value)


OVERLAP = ("rouge1", "rouge2", "rougeLsum", "rougeL_recall", "rougeL_precision", "bleu")


def test_word_metrics_calculated_by_hand() -> None:
    values = word_metrics("No acute fracture.", "No fracture")
    # 2 of 3 and 2 of 2 words, no bigram, both words in order.
    expected = {
        "rouge1": 0.8,
        "rouge2": 0.0,
        "rougeL_recall": 1.0,
        "rougeL_precision": 2 / 3,
        "words": 3.0,
    }
    assert {name: values[name] for name in expected} == pytest.approx(expected)
    values = word_metrics("a b\nc d", "c d\na b")  # only the sum counts by lines
    assert (values["rougeLsum"], values["rougeL_recall"]) == (1.0, 0.5)
    values = word_metrics("", "No fracture")
    assert math.isnan(values.pop("rougeL_precision"))
    assert set(values.values()) == {0.0}
    for output, reference in itertools.product(
        ("", "Normal."), ("", " \n")
    ):  # no reference
        values = word_metrics(output, reference)
        assert values.pop("words") == len(output.split())
        assert all(map(math.isnan, values.values()))
        assert tuple(values) == OVERLAP


def test_medcon_calculated_by_hand() -> None:
    once, concept = {"heart attack": frozenset({"C1"})}, frozenset({"C1"})
    for reference, output, expected in (
        # Two synonyms of one concept in the reference: by the reference's formula
        # precision 2/1 and recall 2/2, above 1.
        (
            {"heart attack": concept, "myocardial infarction": concept},
            once,
            (1.0, 1.0, 1.0, 4 / 3),
        ),
        ({"a": concept, "b": frozenset({"C2"})}, once, (2 / 3, 0.5, 1.0, None)),
        ({}, {}, (math.nan, math.nan, math.nan, 0.0)),
        (once, {}, (0.0, 0.0, math.nan, 0.0)),
        ({}, once, (0.0, math.nan, 0.0, 0.0)),
    ):
        values = medcon_metrics(reference, output)
        assert list(values) == [
            "medcon",
            "medcon_recall",
            "medcon_precision",
            "medcon_official",
        ]
        for value, expected_value in zip(values.values(), expected, strict=True):
            assert expected_value is None or value == pytest.approx(
                expected_value, nan_ok=True
            )


def test_only_word_metrics_are_computed_without_arguments() -> None:
    rows = text_metrics([("a", "a"), ("", "")], {"style": "json"})
    assert [set(row) for row in rows] == [{*OVERLAP, "words"}] * 2
    assert text_metrics([], {"umls": "nowhere"}) == []
    assert identity_of_models(MODEL_METRICS, {"style": "json"}) == {}


def test_medcon_with_an_index_and_its_identity(tmp_path: Path) -> None:
    source = tmp_path / "umls"
    source.mkdir()
    row = "C0000001|ENG|P|L1|PF|S1|Y|A1||||SNOMEDCT_US|PT|1|{}|0|N|256|"
    (source / "MRCONSO.RRF").write_text(
        row.format("heart attack") + "\n", encoding="utf-8"
    )
    (source / "MRSTY.RRF").write_text(
        "C0000001|T047|B2.2.1.2.1|Disease or Syndrome|AT1|256|\n", encoding="utf-8"
    )
    build_index(source, tmp_path / "index")
    arguments = {"umls": str(tmp_path / "index")}
    pytest.importorskip("spacy")
    (values,) = text_metrics([("a heart attack", "heart attack was seen")], arguments)
    assert (values["medcon"], values["medcon_official"]) == (1.0, 1.0)
    identity = identity_of_models(MODEL_METRICS, arguments)["umls"]
    assert (identity["variant"], identity["terms"]) == ("aci-bench", 1)
    assert len(identity["source_sha256"]) == len(identity["types_sha256"]) == 64
    json.dumps(identity)


def test_layers_of_checkpoints(tmp_path: Path) -> None:
    def folder(name: str, config: str) -> str:
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(config, encoding="utf-8")
        return str(tmp_path / name)

    xlarge = folder("a", '{"model_type": "deberta", "num_hidden_layers": 48}')
    small = folder("b", '{"model_type": "distilbert", "n_layers": 6}')
    named = folder("c@2", '{"model_type": "roberta", "num_hidden_layers": 24}')
    for argument, path, layer in (
        (xlarge, xlarge, 40),
        (small, small, 5),
        (f"{small}@4", small, 4),
        (named, named, 17),
    ):
        assert checkpoint_layer(argument) == (Path(path), layer)
    other = folder("d", '{"model_type": "bert", "num_hidden_layers": 3}')
    for argument, message in (
        (other, r"of the kind bert with 3 layers\. Give FOLDER@LAYER"),
        (f"{other}@last", "a layer's number follows @"),
        (folder("e", "["), "not JSON"),
    ):
        with pytest.raises(UsageError, match=message):
            checkpoint_layer(argument)
    with pytest.raises(MissingError, match="Nothing is downloaded here"):
        checkpoint_layer(str(tmp_path / "nowhere"))


PAIRS = [
    ("No fracture.", "There is no fracture of the hip."),
    ("", "Normal."),
    ("Normal.", ""),
    ("Normal.", "Normal."),
]


def test_bleurt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bleurt").mkdir()
    make_word_bleurt(tmp_path / "bleurt")
    folder = str(tmp_path / "bleurt")
    long = ("Normal. " * 40, "Normal.")
    values = [row["bleurt"] for row in text_metrics([*PAIRS, long], {"bleurt": folder})]
    expected = open_bleurt(folder).score(
        [(reference, output) for output, reference in (*PAIRS, long)]
    )
    expected[2] = math.nan
    assert values == pytest.approx(expected, abs=1e-5, nan_ok=True)
    # Reference and output are not symmetric.
    assert values[0] != pytest.approx(open_bleurt(folder).score([PAIRS[0]])[0])
    assert "note: bleurt: 1 texts were too long" in capsys.readouterr().err
    assert identity_of_models(MODEL_METRICS, {"bleurt": folder})["bleurt"]
