"""The command `umls`."""

from __future__ import annotations

import sys
from dataclasses import replace

from medical_tasks.io.output import tell
from medical_tasks.io.table import align
from medical_tasks.options import UmlsBuild, UmlsFind
from medical_tasks.scoring.umls.index import IndexInfo
from medical_tasks.scoring.umls.using import build, find

_STDIN = "-"


def run(arguments: UmlsBuild | UmlsFind) -> int:
    """Builds an index, or looks up the concepts of a text."""
    return _build(arguments) if isinstance(arguments, UmlsBuild) else _find(arguments)


def _build(arguments: UmlsBuild) -> int:
    """Builds the index, or reports that an index of the same file exists."""
    out = arguments.out.expanduser()
    info, kept = build(arguments)
    if kept:
        tell(
            f"{out}: an index of this MRCONSO.RRF exists and is kept (--again builds it again). "
            f"{_summary(info)}",
            info,
        )
        return 0

    tell(f"{out}: {_summary(info)}", info)
    if info.without_type:
        tell(
            f"{info.without_type:,} strings are left out because their concept is not in "
            "MRSTY.RRF."
        )

    tell(f'Try it: medical-tasks umls find --index {out} "a text"')
    return 0


def _find(arguments: UmlsFind) -> int:
    """Prints the concepts of a text with their positions; `-` reads standard input."""
    text, variant = arguments.text, arguments.variant
    if text == _STDIN:
        text = sys.stdin.buffer.read().decode(errors="replace")

    matches, info = find(replace(arguments, text=text))
    summary = _summary(info)
    records = [
        {**match._asdict(), "text": text[match.start : match.end]} for match in matches
    ]
    tell(None, variant=variant, index=info.source, matches=records)
    if not matches:
        tell(f"No concept by the rules of {variant}. The index: {summary}")
        return 0

    stretches = (" ".join(record["text"].split()) for record in records)
    rows = [
        (
            str(match.start),
            str(match.end),
            stretch,
            match.term,
            " ".join(match.concepts),
        )
        for match, stretch in zip(matches, stretches, strict=True)
    ]
    tell("\n".join(align(("from", "to", "text", "term", "concepts"), rows)))
    concepts = {concept for match in matches for concept in match.concepts}
    tell(
        f"\n{len(matches)} stretches, {len(concepts)} concepts by the rules of {variant}. The index: {summary}"
    )

    return 0


def _summary(info: IndexInfo) -> str:
    folded = [
        name
        for name, on in (
            ("case folded", info.lowercase),
            ("ASCII only", info.ascii_only),
        )
        if on
    ]
    return (
        f"{info.terms:,} terms of {info.strings:,} English strings, {len(info.types)} semantic types, "
        f"{', '.join(folded) or 'as written'}; MRCONSO.RRF is {info.source[:16]}..."
    )
