"""The command `correlate`; its options are `Correlate` in `lab.options`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, TypedDict

from medical_tasks._version import __version__
from medical_tasks.errors import IncompleteError, UsageError, check_least, listed
from medical_tasks.io.output import check_out, tell
from medical_tasks.io.table import align, figure
from medical_tasks.io.tables import column_names
from medical_tasks.lab.options import Correlate
from medical_tasks.lab.score_table import ScoreTable, quoted, read_scores
from medical_tasks.scoring.estimates import Figure, as_json

SCHEMA_VERSION = 1
RESAMPLES = 2000
_CONFIDENCE = 0.95
_SHOWN = 5
_HEADER = ("score", "against", "rows", "rho", "95 % interval", "tau-b", "95 % interval")
_OUT_HEADER = (
    "score", "against", "spearman", "spearman_low", "spearman_high",
    "kendall", "kendall_low", "kendall_high", "n", "missing",
)  # fmt: skip
_COEFFICIENTS: Final[tuple[Literal["spearman", "kendall"], ...]] = (
    "spearman",
    "kendall",
)


class PairFigures(TypedDict):
    """The figures of two columns of scores.

    Attributes:
        n: The number of rows with both scores.
        undefined: The reason for a missing coefficient.
    """

    score: str
    against: str
    n: int
    missing: int
    undefined: str | None
    spearman: Figure
    kendall: Figure


class Intervals(TypedDict):
    """The method of the intervals."""

    method: str
    confidence: float
    resamples: int
    seed: int


class Correlated(TypedDict):
    """The output of `medical-tasks correlate --json`.

    Attributes:
        files: Path to SHA-256.
    """

    schema_version: int
    suite_version: str
    files: Mapping[str, str]
    rows: int
    against: list[str]
    intervals: Intervals
    pairs: list[PairFigures]
    text_columns: list[str]
    rows_not_in_all_files: list[str]


def run(arguments: Correlate) -> int:
    """Prints the coefficients; exit code 5 if a pair has none."""
    against = column_names("--against", arguments.against) or ()
    columns = column_names("--columns", arguments.columns)
    check_least({"--seed": arguments.seed}, 0)
    out: Path | None = arguments.out
    check_out(out, arguments.scores, "one of the tables of scores itself")
    table = read_scores(
        arguments.scores,
        names=column_names("--names", arguments.names) or (),
        required=(*against, *(columns or ())),
        others=columns is None,
    )
    correlated = _correlate(
        table, against, columns or tuple(table.scores), arguments.seed
    )
    if out is not None:
        _write(out, correlated["pairs"])

    tell(_render(correlated) + (f"\n\n{out}" if out is not None else ""), correlated)
    return _finish(correlated["pairs"])


def _correlate(
    table: ScoreTable, against: Sequence[str], columns: Sequence[str], seed: int
) -> Correlated:
    """Correlates every column of `columns` with every other one of `against`.

    Args:
        table: The scores.
        against: The columns to compare with.
        columns: The columns to compare.
        seed: The seed of the bootstrap.

    Returns:
        The output of `--json`.

    Raises:
        UsageError: There is nothing to compare, or too few rows have both scores.
    """
    from medical_tasks.lab.correlation import FEWEST_ROWS

    pairs = [
        _pair(table, score, other, seed)
        for score in columns
        for other in against
        if score != other
    ]
    if not pairs:
        raise UsageError(
            f"nothing to compare with {', '.join(map(quoted, against))}: there is no other column "
            "of scores."
        )

    most = max(pairs, key=lambda pair: pair["n"])
    if most["n"] < FEWEST_ROWS:
        raise UsageError(
            f"fewer than {FEWEST_ROWS} rows have both scores; at most {most['n']} do "
            f"({quoted(most['score'])} against {quoted(most['against'])}, {len(table.names)} rows in "
            f"all). A coefficient needs {FEWEST_ROWS}, and a useful interval ten or more."
        )

    return {
        "schema_version": SCHEMA_VERSION,
        "suite_version": __version__,
        "files": table.files,
        "rows": len(table.names),
        "against": list(against),
        "intervals": {
            "method": "bootstrap of rows",
            "confidence": _CONFIDENCE,
            "resamples": RESAMPLES,
            "seed": seed,
        },
        "pairs": pairs,
        "text_columns": list(table.texts),
        "rows_not_in_all_files": list(table.partial),
    }


def _pair(table: ScoreTable, score: str, against: str, seed: int) -> PairFigures:
    """Computes the coefficients of two columns; `undefined` has the reason for missing ones."""
    from medical_tasks.lab.correlation import FEWEST_ROWS, rank_correlation

    correlation = rank_correlation(
        table.scores[score],
        table.scores[against],
        seed=seed,
        resamples=RESAMPLES,
        confidence=_CONFIDENCE,
    )
    n, reason = correlation.spearman.n, None
    if n < FEWEST_ROWS:
        # Two rows are always in the same or in opposite order, which means nothing.
        reason = f"{n} rows with both scores, {FEWEST_ROWS} are needed"
    elif math.isnan(correlation.spearman.value):
        reason = "one of the two is the same in all rows"

    return {
        "score": score,
        "against": against,
        "n": n,
        "missing": correlation.missing,
        "undefined": reason,
        "spearman": as_json(correlation.spearman),
        "kendall": as_json(correlation.kendall),
    }


def _render(correlated: Correlated) -> str:
    """Writes the table and the meaning of its intervals."""
    rows = []
    for pair in correlated["pairs"]:
        counted = (
            f"{pair['n']} of {pair['n'] + pair['missing']}"
            if pair["missing"]
            else str(pair["n"])
        )
        cells = [cell for name in _COEFFICIENTS for cell in figure(pair[name])[:2]]
        rows.append((pair["score"], pair["against"], counted, *cells))

    settings = correlated["intervals"]
    lines = [
        *align(_HEADER, rows),
        "",
        "rho: Spearman, ranks averaged over ties. tau-b: Kendall. rows: those with both scores.",
        f"Intervals (95 %): bootstrap of the rows, {settings['resamples']:,} draws, seed "
        f"{settings['seed']}, for the coefficient over many more rows like",
        "these. They do not include the uncertainty of each score, and similar rows (models with "
        "the same base) make them too narrow.",
    ]
    if correlated["text_columns"]:
        lines.append(
            "note: not compared, because they hold text: "
            f"{', '.join(map(quoted, correlated['text_columns']))}."
        )

    partial = correlated["rows_not_in_all_files"]
    if partial:
        lines.append(
            f"note: {len(partial)} of {correlated['rows']} rows are not in all files: "
            f"{listed([*map(quoted, partial)], _SHOWN)}."
        )

    return "\n".join(lines)


def _write(out: Path, pairs: Sequence[PairFigures]) -> None:
    """Writes the table as CSV; undefined values are empty cells."""
    from medical_tasks.io.tables import write_table

    rows: list[Sequence[object]] = [_OUT_HEADER]
    for pair in pairs:
        figures = [
            pair[name][end]
            for name in _COEFFICIENTS
            for end in ("value", "ci_low", "ci_high")
        ]
        rows.append(
            (pair["score"], pair["against"], *figures, pair["n"], pair["missing"])
        )

    write_table(out, rows)


def _finish(pairs: Sequence[PairFigures]) -> int:
    without = [pair for pair in pairs if pair["undefined"]]
    if without:
        undefined = [
            f"{quoted(pair['score'])} against {quoted(pair['against'])} ({pair['undefined']})"
            for pair in without
        ]
        raise IncompleteError(
            f"{len(without)} of {len(pairs)} pairs have no coefficient: "
            f"{listed(undefined, _SHOWN, between='; ')}. Select the others with --columns, or fill "
            "in the scores."
        )

    return 0
