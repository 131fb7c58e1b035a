"""The command `umls`: builds an index of a UMLS release, and looks up the concepts of a text."""

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

# The files of an index.
_FILES = frozenset({"umls.json", "hashes.u64", "places.u64", "records.bin"})
_STAGE = ".building-"


class TextConcepts(NamedTuple):
    """The concepts of a text, in its order, and the index in which they were looked up."""

    matches: list[Match]
    info: IndexInfo


def build(options: UmlsBuild) -> tuple[IndexInfo, bool]:
    """Builds an index; returns it, and whether an existing one was kept."""
    source, out = options.source.expanduser(), options.out.expanduser()
    folding = Folding(lowercase=options.lowercase, ascii_only=options.ascii_only)
    strings, _ = (find_file(source, name) for name in ("MRCONSO.RRF", "MRSTY.RRF"))
    _check_out(out)
    kept = None if options.again else _same_index(out, strings, folding)
    if kept is not None:
        return kept, True
    return build_index(source, out, folding=folding), False


def find(options: UmlsFind) -> TextConcepts:
    """Looks up the concepts of a text by the rules of a variant of MEDCON."""
    with UmlsIndex(options.index.expanduser()) as index:
        matches = Matcher(index, variant=options.variant).matches(options.text)
        return TextConcepts(sorted(matches, key=lambda match: match.start), index.info)


def _check_out(out: Path) -> None:
    """Checks that the folder holds nothing but an index, so that no other file is overwritten."""
    if not out.exists():
        return
    if not out.is_dir():
        raise UsageError(f"{out}: is a file. Give --out the name of a new folder.")

    others = sorted(
        path.name
        for path in out.iterdir()
        if path.name not in _FILES and not path.name.startswith(_STAGE)
    )
    if others:
        raise UsageError(
            f"{out}: holds files that are not part of an index ({', '.join(others[:3])}). Give "
            "--out another folder."
        )

    left = sorted(path.name for path in out.glob(f"{_STAGE}*"))
    if left:
        print(
            f"note: {out} holds {', '.join(left)} from a build that was killed or is still running; "
            "if none is running, delete it.",
            file=sys.stderr,
        )


def _same_index(out: Path, strings: Path, folding: Folding) -> IndexInfo | None:
    """Returns the contents of an existing index with the same source and settings, if any."""
    try:
        with UmlsIndex(out) as index:
            info = index.info
    except UsageError:
        return None  # missing or incomplete: it is built

    if index.folding != folding:
        return None

    digest = hashlib.sha256()
    for chunk in read_chunks(strings, again="Unpack it from the release again."):
        digest.update(chunk)

    return info if info.source == digest.hexdigest() else None
