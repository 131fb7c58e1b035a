"""The verb `umls` on the command line; `Umls` in `options` says what it takes."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from medical_tasks.errors import UsageError
from medical_tasks.io.files import read_chunks
from medical_tasks.io.output import tell
from medical_tasks.io.table import align
from medical_tasks.options import UmlsBuild, UmlsFind
from medical_tasks.scoring.umls.index import Folding, IndexInfo, UmlsIndex, build_index, find_file
from medical_tasks.scoring.umls.matcher import Matcher

_FILES = frozenset({"umls.json", "hashes.u64", "places.u64", "records.bin"})  # of an index
_STAGE = ".building-"
_STDIN = "-"


def run(arguments: UmlsBuild | UmlsFind) -> int:
    """Builds an index, or looks a text up."""
    return _build(arguments) if isinstance(arguments, UmlsBuild) else _find(arguments)


def _build(arguments: UmlsBuild) -> int:
    source, out = arguments.source.expanduser(), arguments.out.expanduser()
    folding = Folding(lowercase=arguments.lowercase, ascii_only=arguments.ascii_only)
    strings, _ = (find_file(source, name) for name in ("MRCONSO.RRF", "MRSTY.RRF"))
    _check_out(out)
    kept = None if arguments.again else _same_index(out, strings, folding)
    if kept is not None:
        tell(
            f"{out}: is built already from this MRCONSO.RRF, and kept (--again builds it anew). {_summary(kept)}",
            kept,
        )
        return 0
    info = build_index(source, out, folding=folding)
    tell(f"{out}: {_summary(info)}", info)
    if info.without_type:
        tell(
            f"{info.without_type:,} strings are left out, because their concept is not in MRSTY.RRF."
        )
    tell(f'Try it: medical-tasks umls find --index {out} "a text"')
    return 0


def _check_out(out: Path) -> None:
    """An index is a folder of its own: nothing else is written over, or lies among its files."""
    if not out.exists():
        return
    if not out.is_dir():
        raise UsageError(f"{out}: is a file. Give --out the name of a folder to make.")
    others = sorted(
        path.name
        for path in out.iterdir()
        if path.name not in _FILES and not path.name.startswith(_STAGE)
    )
    if others:
        raise UsageError(
            f"{out}: holds something else than an index ({', '.join(others[:3])}). Give --out another folder."
        )
    left = sorted(path.name for path in out.glob(f"{_STAGE}*"))
    if left:
        print(
            f"note: {out} holds {', '.join(left)} of a build that was killed or still runs; where none runs, delete it.",
            file=sys.stderr,
        )


def _same_index(out: Path, strings: Path, folding: Folding) -> IndexInfo | None:
    """What an index holds that this command would build the same again; None where there is none."""
    try:
        with UmlsIndex(out) as index:
            found = index.info
    except UsageError:
        return None  # none, or not whole: it is built
    if index.folding != folding:
        return None
    digest = hashlib.sha256()
    for chunk in read_chunks(strings, again="Unpack it from the release again."):
        digest.update(chunk)
    return found if found.source == digest.hexdigest() else None


def _summary(info: IndexInfo) -> str:
    folded = [
        name
        for name, on in (("case folded", info.lowercase), ("ASCII only", info.ascii_only))
        if on
    ]
    return (
        f"{info.terms:,} terms of {info.strings:,} English strings, {len(info.types)} semantic types, "
        f"{', '.join(folded) or 'as written'}; MRCONSO.RRF is {info.source[:16]}..."
    )


def _find(arguments: UmlsFind) -> int:
    variant = arguments.variant
    text = (
        sys.stdin.buffer.read().decode(errors="replace")
        if arguments.text == _STDIN
        else arguments.text
    )
    with UmlsIndex(arguments.index.expanduser()) as index:
        matches = sorted(
            Matcher(index, variant=variant).matches(text), key=lambda match: match.start
        )
        summary = _summary(index.info)
    found = [{**match._asdict(), "text": text[match.start : match.end]} for match in matches]
    tell(None, variant=variant, index=index.info.source, matches=found)
    if not matches:
        tell(f"No concept by the rules of {variant}. The index: {summary}")
        return 0
    stretches = (" ".join(each["text"].split()) for each in found)
    rows = [
        (str(match.start), str(match.end), stretch, match.term, " ".join(match.concepts))
        for match, stretch in zip(matches, stretches, strict=True)
    ]
    tell("\n".join(align(("from", "to", "text", "term", "concepts"), rows)))
    concepts = {concept for match in matches for concept in match.concepts}
    tell(
        f"\n{len(matches)} stretches, {len(concepts)} concepts by the rules of {variant}. The index: {summary}"
    )
    return 0
