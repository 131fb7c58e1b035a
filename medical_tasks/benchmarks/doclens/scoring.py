"""Scores generated texts by a judge's verdicts on their claims and citations.

Xie et al. 2024, https://arxiv.org/abs/2311.09581, section 3; reference implementation:
https://github.com/yiqingxyq/DocLens.

    medical-tasks score aci_bench --responses notes.jsonl --judge JUDGE

Claims of a file are joined by the text: the authors' rows have sections of another
visit (docs/doclens.md, "A trap").
"""

from __future__ import annotations

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.doclens.judge_prompts import STYLES
from medical_tasks.benchmarks.doclens.judging import (
    Unit,
    UnitVerdict,
    judge_units,
    judged_text,
)
from medical_tasks.benchmarks.doclens.measures import (
    FULL,
    METRICS,
    ClaimRecord,
    Side,
    Tally,
    read_claim_file,
    section_tallies,
    total,
)
from medical_tasks.benchmarks.doclens.official_prompts import (
    DIALOGUES,
    official_division,
)
from medical_tasks.benchmarks.doclens.official_scoring import (
    OfficialVerdict,
    judge_official,
)
from medical_tasks.benchmarks.doclens.pieces import SECTIONS, divide_note
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.data.task_data import check_lengths, check_scoring_args
from medical_tasks.errors import UsageError, listed
from medical_tasks.judges.base import Judging
from medical_tasks.models.text_metrics import (
    MODEL_METRICS,
    Pairs,
    concept_pairs,
    identity_of_models,
    metrics_of_models,
)
from medical_tasks.scoring.bleu_and_sari import sacrebleu_sentence
from medical_tasks.scoring.content_overlap import Medcon, medcon
from medical_tasks.scoring.reasoning import without_reasoning
from medical_tasks.scoring.rouge import rouge, rouge_tokens
from medical_tasks.scoring.sentences import UNTRAINED, Punkt, read_punkt
from medical_tasks.spec import Item, ItemScore, TaskSpec

NOTE_WORDS = frozenset(
    "recall precision sentences citations to up no list of claims the reference output without "
    "judge reply".split()
) | {*SECTIONS, FULL}
"""The words of `parsed` and `why`, beside numbers and the judge's reasons."""

_CITATIONS = METRICS[2:]


def score_items(
    task: TaskSpec,
    items: Sequence[Item],
    responses: Sequence[str],
    *,
    judging: Judging,
    arguments: Mapping[str, str] | None = None,
) -> list[ItemScore]:
    """Scores the texts generated for a task's items.

    An item's value is its own share of a metric; its weight is the denominator.
    """
    check_lengths(task, items, responses)
    settings = read_settings(task, arguments or {})
    outputs = [without_reasoning(response) for response in responses]
    answers = [output.strip() for output in outputs]
    units = [
        text_units(item, answer) for item, answer in zip(items, answers, strict=True)
    ]
    flattened = list(chain.from_iterable(units))
    joined = _joined(settings, flattened)
    verdicts = judge_units(
        flattened,
        judging,
        style=settings.style,
        citations=settings.citations,
        reference_claims=joined.get("reference"),
        output_claims=joined.get("output"),
    )
    official = _official(settings, items, outputs, judging)
    pairs = [
        (judged_text(answer), judged_text(item.fields["reference"]))
        for item, answer in zip(items, answers, strict=True)
    ]
    texts = text_metrics(pairs, arguments or {})
    judged = iter(verdicts)

    return [
        item_score(
            item.id,
            {unit.section: next(judged) for unit in own_units},
            texts=values,
            official=own_official,
            cites=settings.citations,
        )
        for item, own_units, values, own_official in zip(
            items, units, texts, official, strict=True
        )
    ]


def _official(
    settings: Settings, items: Sequence[Item], outputs: Sequence[str], judging: Judging
) -> list[list[OfficialVerdict]] | list[None]:
    """The verdicts by the authors' scripts on each unchanged output; None for each without their prompts.

    Returns:
        For each item the verdicts on its texts, or sections, by the authors' division.
    """
    prompts = judging.prompts
    if (
        not settings.official
        or prompts.name != "official"
        or judging.judge.reads != "prompt"
    ):
        return [None] * len(items)

    if settings.punkt is UNTRAINED and any(
        item.fields["form"] in DIALOGUES for item in items
    ):
        print(
            "note: the authors' scripts split notes by NLTK's trained Punkt, these official "
            "figures by untrained Punkt. Give "
            "--task-args punkt=FOLDER, the folder punkt_tab/english of NLTK's data.",
            file=sys.stderr,
        )

    divide = official_division(prompts.texts)
    units = [
        text_units(item, output, divide=divide)
        for item, output in zip(items, outputs, strict=True)
    ]
    flattened = list(chain.from_iterable(units))
    verdicts = judge_official(
        flattened,
        judging,
        style=settings.style,
        citations=settings.citations,
        claims=_joined(settings, flattened),
        punkt=settings.punkt,
    )
    judged = iter(verdicts)

    return [list(islice(judged, len(own_units))) for own_units in units]


def _joined(
    settings: Settings, units: Sequence[Unit]
) -> dict[Side, dict[str, tuple[str, ...]]]:
    """The claims of files, by side and unit; without answers there is nothing to join."""
    if not units:
        return {}

    return {
        side: join_claims(
            read_claim_file(path, side=side), units, side=side, where=str(path)
        )
        for side, path in settings.claims.items()
    }


def unanswered_limits(task: TaskSpec, item: Item) -> Mapping[str, tuple[float, float]]:
    """Limits of `medcon_official`: at most all of the reference's terms are shared, so that F1 stays below 2."""
    return {"medcon_official": (0.0, 2.0)}


def text_units(
    item: Item, answer: str, *, divide: Callable[[str], Mapping[str, str]] | None = None
) -> list[Unit]:
    """Splits a generated text into the units that are judged separately: a note's four sections, or the whole text.

    `divide` replaces `divide_note` for notes.
    """
    form, sources = str(item.fields["form"]), tuple(item.fields["sentences"])
    if form == "note":
        references = (
            divide(item.fields["reference"]) if divide else item.fields["sections"]
        )
        outputs = (divide or divide_note)(answer)
        pieces = [
            (f"{item.id}/{name}", name, text, references[name])
            for name, text in outputs.items()
        ]
    else:
        section = str(item.groups["section"]) if form == "section" else FULL
        pieces = [(item.id, section, answer, item.fields["reference"])]

    return [
        Unit(
            id=name,
            item=item.id,
            section=section,
            form=form,
            output=output,
            reference=reference,
            sources=sources,
        )
        for name, section, output, reference in pieces
    ]


def item_score(
    name: str,
    verdicts: Mapping[str, UnitVerdict],
    *,
    texts: Mapping[str, float] | None = None,
    official: Sequence[OfficialVerdict] | None = None,
    cites: bool = True,
) -> ItemScore:
    """Computes an item's score from the verdicts on its text.

    With a missing verdict, a share has limits. Example: of four claims of the reference
    the output entails two and does not entail one, and one has no verdict: claim recall
    lies between 2/4 and 3/4. A list of claims that could not be made may have up to
    `measures.MAX_CLAIMS`.

    Args:
        name: the item's id.
        verdicts: the verdicts by section.
        texts: the metrics of texts.
        official: the verdicts by the authors' scripts, if these were followed.
        cites: whether the text should cite.
    """
    by_section = {
        section: section_tallies(verdict.section, section)
        for section, verdict in verdicts.items()
    }
    whole = total(by_section.values())
    tallies = dict(whole)
    if len(by_section) > 1:
        for section, own_tallies in by_section.items():
            tallies |= {
                f"{metric}_{section}": tally for metric, tally in own_tallies.items()
            }

    if official is not None:
        official_total = total(verdict.tallies for verdict in official)
        tallies |= {
            f"{metric}_official": tally for metric, tally in official_total.items()
        }

    values, counts, weights = dict(texts or {}), {}, {}
    for metric, tally in tallies.items():
        counted = tally if cites or not metric.startswith(_CITATIONS) else Tally()
        weights[metric] = counted.counts.of
        if weights[metric]:
            counts[metric] = counted.counts
        else:
            values[metric] = counted.limits[0]

    judged: list[UnitVerdict | OfficialVerdict] = [
        *verdicts.values(),
        *(official or ()),
    ]
    reasons = Counter(chain.from_iterable(verdict.reasons for verdict in judged))
    score = ItemScore.counted(
        counts,
        id=name,
        values=values,
        parsed=_parsed(whole, cites=cites),
        why=_why(verdicts, reasons, cites=cites),
        weights=weights,
    )
    reason = (
        min(reasons, key=lambda reason: (-reasons[reason], reason))
        if score.limits
        else None
    )

    return replace(score, unscored=reason)


def _parsed(tallies: Mapping[str, Tally], *, cites: bool) -> str:
    """`recall 3/4, precision 2 to 3/4, sentences 5/6, citations 6/7`: only counts."""
    names = dict(
        zip(METRICS, ("recall", "precision", "sentences", "citations"), strict=True)
    )
    shown = METRICS if cites else METRICS[:2]
    return ", ".join(f"{names[metric]} {_counted(tallies[metric])}" for metric in shown)


def _counted(tally: Tally) -> str:
    """Writes a tally.

    Example: 2 hits, 1 missing and 1 miss are `2 to 3/4`; a list of claims that could
    not be made is `0 to 30/up to 30`.
    """
    hits = sum(verdict.hits for verdict in tally.verdicts)
    missing = sum(verdict.missing for verdict in tally.verdicts)
    more = sum(verdict.more for verdict in tally.verdicts)
    of = f"{'up to ' if more else ''}{tally.counts.of:.0f}"

    return f"{hits}{f' to {hits + missing + more}' if missing or more else ''}/{of}"


def _why(
    verdicts: Mapping[str, UnitVerdict], reasons: Mapping[str, int], *, cites: bool
) -> str:
    """What an item lacks: lists of claims, sentences, verdicts; "" if nothing."""
    lacking: dict[str, list[str]] = {
        "no list of claims of the reference": [],
        "no list of claims of the output": [],
        "without sentences": [],
    }
    for name, verdict in verdicts.items():
        if verdict.section.reference_claims is None:
            lacking["no list of claims of the reference"].append(name)
        if verdict.section.output_claims is None:
            lacking["no list of claims of the output"].append(name)
        if cites and not verdict.section.sentences:
            lacking["without sentences"].append(name)

    remarks = [f"{what}: {' '.join(names)}" for what, names in lacking.items() if names]
    return "; ".join([*remarks, *sorted(reasons)])


_MADE: Final = "made by the judge; a judge of entailment takes sentences"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a task's scoring.

    Attributes:
        citations: whether to judge citations.
        style: the style of the judge's prompts.
        claims: files of claims, by side.
        official: whether to compute the authors' figures.
        punkt: the splitter of notes for the authors' figures.
    """

    citations: bool
    style: str
    claims: Mapping[Side, Path]
    official: bool
    punkt: Punkt


def read_settings(task: TaskSpec, arguments: Mapping[str, str]) -> Settings:
    """Reads the arguments of a task's scoring, without those of its metrics of texts."""
    check_scoring_args(task, arguments)
    citations = _one_of(task, arguments, "citations", ("yes", "no"))
    style = _one_of(task, arguments, "style", STYLES)
    # Only `yes` is valid: metrics that need the argument are reported whatever its value.
    official = (
        "official" in arguments
        and _one_of(task, arguments, "official", ("yes",)) == "yes"
    )
    names: tuple[tuple[Side, str], ...] = (
        ("reference", "claims"),
        ("output", "output_claims"),
    )
    files: dict[Side, Path] = {
        side: Path(arguments[name]).expanduser()
        for side, name in names
        if name in arguments
    }
    if files and task.options["form"] == "question":
        name = next(name for _, name in names if name in arguments)
        raise UsageError(
            f"{task.name}: each question is one claim, and {name} is not used. Leave it out."
        )

    if "punkt" in arguments and not official:
        raise UsageError(
            f"{task.name}: punkt splits notes for the authors' figures alone. Give official=yes "
            "too, or leave punkt out."
        )

    return Settings(
        citations=citations == "yes",
        style=style,
        official=official,
        claims=files,
        punkt=read_punkt(arguments["punkt"]) if "punkt" in arguments else UNTRAINED,
    )


def scoring_identity(task: TaskSpec, arguments: Mapping[str, str]) -> dict[str, Any]:
    """Everything beside the judge that determines a task's scores, for the recipe; reads files, loads no weights."""
    settings = read_settings(task, arguments)
    by_punkt = settings.official and task.options["form"] in DIALOGUES
    claims: dict[Side, object] = dict.fromkeys(
        ("reference", "output"),
        "the question" if task.options["form"] == "question" else _MADE,
    )
    for side, path in settings.claims.items():
        read_claim_file(path, side=side)
        claims[side] = {"file": path.name, "sha256": file_sha256(path)}

    return {
        "citations": settings.citations,
        "style": settings.style,
        "reference_claims": claims["reference"],
        "output_claims": claims["output"],
        "official": settings.official,
        **({"punkt": settings.punkt.name} if by_punkt else {}),
        **identity_of_models(MODEL_METRICS, arguments),
    }


def _one_of(
    task: TaskSpec, arguments: Mapping[str, str], name: str, allowed: tuple[str, ...]
) -> str:
    value = arguments.get(name, allowed[0])
    if value not in allowed:
        raise UsageError(
            f"{task.name}: {name} must be {' or '.join(allowed)}; got {value!r}."
        )
    return value


def join_claims(
    records: Sequence[ClaimRecord],
    units: Sequence[Unit],
    *,
    side: Side,
    where: str = "claims",
) -> dict[str, tuple[str, ...]]:
    """Assigns claims to texts.

    Of several records with the same text, the one with the unit's own id counts, else
    the first.
    """
    files = _ClaimFiles(records)
    joined: dict[str, tuple[str, ...]] = {}
    missing: list[str] = []
    blank: list[str] = []
    for unit in units:
        text = _key(unit.reference if side == "reference" else unit.output)
        claims = files.find(unit, text)
        joined[unit.id] = claims or () if text else ()
        if text and claims is None:
            missing.append(unit.id)
        if claims and not text:
            blank.append(unit.id)

    if missing:
        raise UsageError(
            f"{where}: no claims of the {side} of {listed(missing, 5)}: a record holds the text of "
            "that section, or, where it holds no text, that id and section. Give the file made from "
            "these texts, or leave it out and let the judge make claims."
        )

    if blank:
        raise UsageError(
            f"{where}: has claims of the {side} of {listed(blank, 5)}, which is blank. Give the "
            "file made from these texts."
        )

    return joined


class _ClaimFiles:
    """Claims by their text, or by id and section if the file has no texts.

    Example: a file has claims of the text "He bled." under the id 7, and of an output without
    a text under the id 8. A unit with the text "He bled." gets the first, whatever its id. A
    unit 7 with another text gets none, and unit 8 gets the second whatever its text is.
    """

    def __init__(self, records: Sequence[ClaimRecord]) -> None:
        """Indexes claims by text if the record has it, since a changed text must not get old claims; else by id."""
        self._by_id: dict[tuple[str, str], tuple[str, ...]] = {}
        self._by_text: dict[tuple[str, str], dict[str, tuple[str, ...]]] = defaultdict(
            dict
        )
        for record in records:
            for section, claims in record.claims.items():
                if section in record.texts:
                    self._by_text[section, _key(record.texts[section])][record.id] = (
                        claims
                    )
                else:
                    self._by_id[record.id, section] = claims

    def find(self, unit: Unit, text: str) -> tuple[str, ...] | None:
        """The claims of a unit whose text has this key; None if there are none."""
        # A file can have the id of the unit's item, or of the visit of its section.
        ending = f"/{unit.section}" if unit.section != FULL else ""
        names = (unit.item, unit.id.removesuffix(ending))
        same_text = self._by_text.get((unit.section, text), {})
        for name in names:
            if name in same_text:
                return same_text[name]

        if same_text:
            return next(iter(same_text.values()))

        for name in names:
            if (name, unit.section) in self._by_id:
                return self._by_id[name, unit.section]

        return None


def _key(text: str) -> str:
    return " ".join(judged_text(text).split())


_MEDCON_VARIANT: Final = "aci-bench"


def text_metrics(pairs: Pairs, arguments: Mapping[str, str]) -> list[dict[str, float]]:
    """Computes the metrics of texts: of words, of models, and of concepts."""
    metrics = [word_metrics(output, reference) for output, reference in pairs]
    models = {name: model for name, model in MODEL_METRICS.items() if name != "umls"}
    model_values = metrics_of_models(models, arguments, pairs)
    for row, (_, reference), values in zip(metrics, pairs, model_values, strict=True):
        row |= values if reference.strip() else dict.fromkeys(values, math.nan)

    if "umls" in arguments and pairs:
        concepts = concept_pairs(arguments["umls"], _MEDCON_VARIANT, pairs)
        for row, (first, second) in zip(metrics, concepts, strict=True):
            row |= medcon_metrics(first, second)

    return metrics


def word_metrics(output: str, reference: str) -> dict[str, float]:
    """Compares two texts by words: ROUGE without stemming, BLEU, and the number of `words` between white space."""
    scores = rouge(
        output, reference, variants=("rouge1", "rouge2", "rougeL", "rougeLsum")
    )
    values = {name: scores[name].f1 for name in ("rouge1", "rouge2", "rougeLsum")}
    values["rougeL_recall"] = scores["rougeL"].recall
    values["rougeL_precision"] = (
        scores["rougeL"].precision if rouge_tokens(output) else math.nan
    )
    if not rouge_tokens(reference):
        values = dict.fromkeys(values, math.nan)

    values["bleu"] = (
        sacrebleu_sentence(output, reference).score if reference.strip() else math.nan
    )
    return values | {"words": float(len(output.split()))}


def medcon_metrics(
    reference: Mapping[str, frozenset[str]], output: Mapping[str, frozenset[str]]
) -> dict[str, float]:
    """Compares the concepts of two texts; nan for a denominator of 0, except `medcon_official`, which is 0 then."""
    scores: Medcon = medcon(reference, output)
    return {
        "medcon": scores.concept_f1 if reference or output else math.nan,
        "medcon_recall": scores.concept_recall if reference else math.nan,
        "medcon_precision": scores.concept_precision if output else math.nan,
        "medcon_official": scores.f1,
    }
