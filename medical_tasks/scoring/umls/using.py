"""Building an index of a UMLS release, and looking a text's concepts up, as `umls` is asked to."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import NamedTuple

from medical_tasks.errors import UsageError
from medical_tasks.io.files import read_chunks
from medical_tasks.options import UmlsBuild, UmlsFind
from medical_tasks.scoring.umls.index import (
    Folding,
    IndexInfo,
    UmlsIndex,
    build_index,
    find_file,
)
from medical_tasks.scoring.umls.matcher import Match, Matcher

# of an index
_FILES = frozenset({"umls.json", "hashes.u64", "places.u64", "records.bin"})
_STAGE = ".building-"


class Found(NamedTuple):
    """The concepts of a text, in its order, and the index in which they were looked up."""

    matches: list[Match]
    info: IndexInfo


def build(options: UmlsBuild) -> tuple[IndexInfo, bool]:
    """Builds an index; returns it, and whether it was there already and is kept."""
    source, out = options.source.expanduser(), options.out.expanduser()
    folding = Folding(lowercase=options.lowercase, ascii_only=options.ascii_only)
    strings, _ = (find_file(source, name) for name in ("MRCONSO.RRF", "MRSTY.RRF"))
    _check_out(out)
    kept = None if options.again else _same_index(out, strings, folding)
    if kept is not None:
        return kept, True
    return build_index(source, out, folding=folding), False


def find(options: UmlsFind) -> Found:
    """Looks up which concepts a text has, by the rules of a variant of MEDCON."""
    with UmlsIndex(options.index.expanduser()) as index:
        found = Matcher(index, variant=options.variant).matches(options.text)
        return Found(sorted(found, key=lambda match: match.start), index.info)


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
            f"{out}: holds something else than an index ({', '.join(others[:3])}). Give --out "
            "another folder."
        )

    left = sorted(path.name for path in out.glob(f"{_STAGE}*"))
    if left:
        print(
            f"note: {out} holds {', '.join(left)} of a build that was killed or still runs; where "
            "none runs, delete it.",
            file=sys.stderr,
        )


def _same_index(out: Path, strings: Path, folding: Folding) -> IndexInfo | None:
    """What an index holds that this command would build the same again.

    None where there is none.
    """
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
