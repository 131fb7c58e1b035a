"""Scores generated texts by a judge's verdicts on their claims and citations (Xie et al. 2024, section 3).

An item has its own share of each metric as value and its denominator as weight. A missing verdict decides nothing: the metrics it
could change are absent, with limits and the largest denominator. Nothing in `parsed` and `why` quotes a text.

Claims of a file are joined to texts by the text: in the authors' released claims of ACI-BENCH the sections of a row are those of
another visit (docs/doclens.md, "A trap"). Records without texts are joined by id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from medical_tasks.benchmarks.doclens.judge_prompts import STYLES
from medical_tasks.benchmarks.doclens.judging import Unit, UnitVerdict, judge_units, judged_text
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
from medical_tasks.benchmarks.doclens.official_scoring import OfficialVerdict, judge_official
from medical_tasks.benchmarks.doclens.pieces import SECTIONS, divide_note
from medical_tasks.benchmarks.doclens.text_metrics import text_identity, text_metrics
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Judging
from medical_tasks.scoring.reasoning import spoken
from medical_tasks.spec import Counts, Item, ItemScore, TaskSpec

if TYPE_CHECKING:
    from medical_tasks.benchmarks.doclens.judging import Unit


NOTE_WORDS = frozenset(
    "recall precision sentences citations to up no list of claims the reference output without judge reply".split()
) | {*SECTIONS, FULL}
"""What `parsed` and `why` are made of, beside numbers and what went wrong with a judge."""

_CITATIONS = METRICS[2:]
_MOST_MEDCON = 2.0


def score_items(
    task: TaskSpec,
    items: Sequence[Item],
    responses: Sequence[str],
    *,
    judging: Judging,
    arguments: Mapping[str, str] | None = None,
) -> list[ItemScore]:
    """Scores the texts generated for a task's items.

    Returns a score an item. `parsed` counts claims, sentences and citations.
    """
    if len(items) != len(responses):
        raise UsageError(
            f"{task.name}: {len(items)} items but {len(responses)} responses. Give one response for each item."
        )
    if len({item.id for item in items}) != len(items):
        raise UsageError(f"{task.name}: two items have the same id. Give each item one response.")
    settings = read_settings(task, arguments or {})
    answers = [spoken(response).strip() for response in responses]
    parts = [text_units(item, answer) for item, answer in zip(items, answers, strict=True)]
    units = [unit for some in parts for unit in some]
    verdicts = judge_units(
        units,
        judging,
        style=settings.style,
        reference_claims=_joined(settings, units, "reference"),
        output_claims=_joined(settings, units, "output"),
        citations=settings.citations,
    )
    official = (
        judge_official(
            units, verdicts, judging, style=settings.style, citations=settings.citations, given=_given(settings, units)
        )
        if settings.official
        else None
    )
    texts = text_metrics(
        [
            (judged_text(answer), judged_text(str(item.fields["reference"])))
            for item, answer in zip(items, answers, strict=True)
        ],
        arguments or {},
    )
    scores: list[ItemScore] = []
    start = 0
    for item, some, values in zip(items, parts, texts, strict=True):
        end = start + len(some)
        scores.append(
            item_score(
                item.id,
                {unit.section: verdict for unit, verdict in zip(some, verdicts[start:end], strict=True)},
                texts=values,
                official=None if official is None else official[start:end],
                cites=settings.citations,
            )
        )
        start = end
    return scores


def unanswered_limits(task: TaskSpec, item: Item) -> Mapping[str, tuple[float, float]]:
    """What metrics could be on an item without an answer, where that is less than the metric's own limits.

    Returns limits of `medcon_official`: shared terms are at most all of the reference's, so however many synonyms it has,
    F1 stays below 2.
    """
    return {"medcon_official": (0.0, _MOST_MEDCON)}


def text_units(item: Item, answer: str) -> list[Unit]:
    """Takes a generated text apart into what is judged by itself: a note's four sections, or the one text there is."""
    form = str(item.fields["form"])
    sources = tuple(item.fields["sentences"])
    if form == "note":
        references: Mapping[str, str] = item.fields["sections"]
        return [
            Unit(
                id=f"{item.id}/{section}",
                item=item.id,
                section=section,
                form=form,
                output=text,
                reference=references[section],
                sources=sources,
            )
            for section, text in divide_note(answer).items()
        ]
    return [
        Unit(
            id=item.id,
            item=item.id,
            section=str(item.groups["section"]) if form == "section" else FULL,
            form=form,
            output=answer,
            reference=str(item.fields["reference"]),
            sources=sources,
        )
    ]


def item_score(
    name: str,
    verdicts: Mapping[str, UnitVerdict],
    *,
    texts: Mapping[str, float] | None = None,
    official: Sequence[OfficialVerdict] | None = None,
    cites: bool = True,
) -> ItemScore:
    """Makes an item's score of what is known of its text."""
    tallies = {section: section_tallies(verdict.section, section) for section, verdict in verdicts.items()}
    whole = total(tallies.values())
    named = dict(whole)
    if len(tallies) > 1:
        named |= {f"{metric}_{section}": tally for section, each in tallies.items() for metric, tally in each.items()}
    if official is not None:
        theirs = total(one.tallies for one in official)
        named |= {f"{metric}_official": tally for metric, tally in theirs.items()}
    values = dict(texts or {})
    counts: dict[str, Counts] = {}
    weights: dict[str, float] = {}
    for metric, tally in named.items():
        counted = tally if cites or not metric.startswith(_CITATIONS) else Tally()
        weights[metric] = counted.counts.of
        if weights[metric]:
            counts[metric] = counted.counts
        else:
            values[metric] = counted.limits[0]
    reasons = Counter(reason for verdict in verdicts.values() for reason in verdict.reasons)
    reasons.update(reason for one in official or () for reason in one.reasons)
    score = ItemScore.counted(
        counts,
        id=name,
        values=values,
        parsed=_parsed(whole, cites=cites),
        why=_why(verdicts, reasons, cites=cites),
        weights=weights,
    )
    reason = min(reasons, key=lambda reason: (-reasons[reason], reason)) if score.limits else None
    return replace(score, unscored=reason)


def _joined(settings: Settings, units: Sequence[Unit], side: Side) -> dict[str, tuple[str, ...]] | None:
    path = settings.claims if side == "reference" else settings.output_claims
    # Before anything is answered there is nothing to join.
    return None if path is None or not units else read_joined(path, units, side=side)


def _given(settings: Settings, units: Sequence[Unit]) -> dict[str, dict[str, tuple[str, ...]]]:
    return {side: _joined(settings, units, side) or {} for side in ("reference", "output")}


def _parsed(tallies: Mapping[str, Tally], *, cites: bool) -> str:
    """`recall 3/4, precision 2 to 3/4, sentences 5/6, citations 6/7`; counts alone."""
    names = dict(zip(METRICS, ("recall", "precision", "sentences", "citations"), strict=True))
    shown = METRICS if cites else METRICS[:2]
    return ", ".join(f"{names[metric]} {_counted(tallies[metric])}" for metric in shown)


def _counted(tally: Tally) -> str:
    hits, missing, more = (sum(getattr(one, part) for one in tally.verdicts) for part in ("hits", "missing", "more"))
    of = f"{'up to ' if more else ''}{tally.counts.of:.0f}"
    return f"{hits}{f' to {hits + missing + more}' if missing or more else ''}/{of}"


def _why(verdicts: Mapping[str, UnitVerdict], reasons: Mapping[str, int], *, cites: bool) -> str:
    known = {section: verdict.section for section, verdict in verdicts.items()}
    named = {
        "no list of claims of the reference": [name for name, one in known.items() if one.reference_claims is None],
        "no list of claims of the output": [name for name, one in known.items() if one.output_claims is None],
        "without sentences": [name for name, one in known.items() if cites and not one.sentences],
    }
    parts = [f"{what}: {' '.join(names)}" for what, names in named.items() if names]
    return "; ".join([*parts, *sorted(reasons)])


_MADE: Final = "made by the judge; a judge of entailment takes sentences"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What decides how a task is scored."""

    citations: bool
    style: str
    claims: Path | None
    output_claims: Path | None
    official: bool
    form: str


def read_settings(task: TaskSpec, arguments: Mapping[str, str]) -> Settings:
    """Reads the arguments of a task's scoring, but for those of its metrics of texts."""
    unknown = [name for name in arguments if name not in task.scoring_arguments]
    if unknown:
        known = ", ".join(task.scoring_arguments) or "none"
        raise UsageError(f"{task.name}: its scoring takes no argument {unknown[0]!r}. Arguments: {known}.")
    citations = _one_of(task, arguments, "citations", ("yes", "no"))
    style = _one_of(task, arguments, "style", STYLES)
    # Whatever it were set to, the metrics that need it would be reported.
    official = "official" in arguments and _one_of(task, arguments, "official", ("yes",)) == "yes"
    files = {name: _file(task, arguments, name) for name in ("claims", "output_claims")}
    return Settings(citations=citations == "yes", style=style, official=official, form=task.options["form"], **files)


def scoring_identity(task: TaskSpec, arguments: Mapping[str, str]) -> dict[str, Any]:
    """Says what decides a task's scores beside the judge, for the recipe; reads files and loads no weights.

    Returns JSON values: style, whose claims come from which file (by hash), checkpoints' and index's identities.
    """
    settings = read_settings(task, arguments)
    return {
        "citations": settings.citations,
        "style": settings.style,
        "reference_claims": _claims_identity(settings, settings.claims, side="reference"),
        "output_claims": _claims_identity(settings, settings.output_claims, side="output"),
        "official": settings.official,
        **text_identity(arguments),
    }


def _one_of(task: TaskSpec, arguments: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str:
    value = arguments.get(name, allowed[0])
    if value not in allowed:
        raise UsageError(f"{task.name}: {name} must be {' or '.join(allowed)}; got {value!r}.")
    return value


def _file(task: TaskSpec, arguments: Mapping[str, str], name: str) -> Path | None:
    if name not in arguments:
        return None
    if task.options["form"] == "question":
        raise UsageError(f"{task.name}: each question is one claim, and {name} is not used. Leave it out.")
    return Path(arguments[name]).expanduser()


def _claims_identity(settings: Settings, path: Path | None, *, side: Side) -> Any:
    if path is None:
        return "the question" if settings.form == "question" else _MADE
    read_claim_file(path, side=side)
    return {"file": path.name, "sha256": file_sha256(path)}


_NAMED: Final = 5
"""Most ids an error names."""


def read_joined(path: str | Path, units: Sequence[Unit], *, side: Side) -> dict[str, tuple[str, ...]]:
    """Reads a file of claims for texts to be judged."""
    return join_claims(read_claim_file(path, side=side), units, side=side, where=str(path))


def join_claims(
    records: Sequence[ClaimRecord], units: Sequence[Unit], *, side: Side, where: str = "claims"
) -> dict[str, tuple[str, ...]]:
    """Gives each text its claims.

    `records`: of one side. Of several with the same text that of the unit's own id counts, else the first.

    Raises:
        UsageError: A text that is not blank has no claims in the records (an empty list of claims is one), or a blank one has some.
    """
    by_id: dict[tuple[str, str], tuple[str, ...]] = {}
    by_text: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
    for record in records:
        for section, claims in record.claims.items():
            if section in record.texts:
                by_text.setdefault((section, _key(record.texts[section])), {})[record.id] = claims
            else:
                by_id[record.id, section] = claims
    found: dict[str, tuple[str, ...]] = {}
    missing: list[str] = []
    odd: list[str] = []
    for unit in units:
        text = _key(unit.reference if side == "reference" else unit.output)
        known = _claims(unit, text, by_text=by_text, by_id=by_id)
        if not text:
            odd += [unit.id] if known else []
            found[unit.id] = ()
        elif known is None:
            missing.append(unit.id)
        else:
            found[unit.id] = known
    if missing:
        raise UsageError(
            f"{where}: no claims of the {side} of {_some(missing)}: a record holds the text of that section, or, where it holds "
            "no text, that id and section. Give the file made of these texts, or leave it out and let the judge make claims."
        )
    if odd:
        raise UsageError(
            f"{where}: has claims of the {side} of {_some(odd)}, which is blank. Give the file made of these texts."
        )
    return found


def _claims(
    unit: Unit,
    text: str,
    *,
    by_text: Mapping[tuple[str, str], Mapping[str, tuple[str, ...]]],
    by_id: Mapping[tuple[str, str], tuple[str, ...]],
) -> tuple[str, ...] | None:
    names = _names(unit)
    if same := by_text.get((unit.section, text)):
        return next((same[name] for name in names if name in same), next(iter(same.values())))
    return next((by_id[name, unit.section] for name in names if (name, unit.section) in by_id), None)


def _names(unit: Unit) -> tuple[str, ...]:
    """The ids a file can have for a unit: its item's, or that of the visit whose section it is."""
    whole = unit.id.removesuffix(f"/{unit.section}") if unit.section != FULL else unit.id
    return tuple(dict.fromkeys((unit.item, whole)))


def _key(text: str) -> str:
    return " ".join(judged_text(text).split())


def _some(ids: Sequence[str]) -> str:
    named = ", ".join(ids[:_NAMED])
    return f"{named} and {len(ids) - _NAMED} more" if len(ids) > _NAMED else named
