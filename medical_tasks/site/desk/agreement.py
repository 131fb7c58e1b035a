"""The raters' agreement while they label: raw, and Cohen's kappa with its 95 % interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from medical_tasks.construct.annotation import pairs_of_people
from medical_tasks.scoring.agreement import agreement_of
from medical_tasks.scoring.estimates import Estimate
from medical_tasks.site.desk.work import Work


@dataclass(frozen=True, kw_only=True)
class PairAgreement:
    """Two raters on the items that both labelled.

    Attributes:
        raters: the two names in alphabetical order.
        raw: the share of items with the same value, with Wilson's interval.
        kappa: Cohen's kappa, with a bootstrap interval; `nan` if both used the same
            single choice.
        counts: the number of items for each pair of values.
    """

    raters: tuple[str, str]
    raw: Estimate
    kappa: Estimate
    counts: Mapping[tuple[str, str], int]


def agreements(work: Work) -> list[PairAgreement]:
    """Compares each pair of raters, without the adjudicator."""
    marks = {
        name: {
            identifier: value
            for identifier in work.sheet.shares[name]
            if (value := work.label(name, identifier))
        }
        for name in work.sheet.raters
    }
    classes = tuple(work.sheet.by_value)
    pairs = []
    for pair in pairs_of_people(marks):
        figures = agreement_of(pair.first, pair.second, classes=classes)
        first, second = pair.names
        pairs.append(
            PairAgreement(
                raters=(first, second),
                raw=figures.agreement,
                kappa=figures.kappa,
                counts=Counter(zip(pair.first, pair.second, strict=True)),
            )
        )

    return pairs
