"""Checksums that a publisher ships beside its files (`SHA256SUMS.txt`, as PhysioNet does), compared with what lies there.

A file that was cut off or changed on its way is told before anything is read from it. Where no list lies beside the files,
or the list does not name them (an unpacked copy, the list of another project), there is nothing to compare with.
"""

from __future__ import annotations

import re
from pathlib import Path

from medical_tasks.errors import UsageError, system_reason
from medical_tasks.io.files import read_text

__all__ = ["SUMS_FILE", "check_published_sum"]

SUMS_FILE = "SHA256SUMS.txt"

_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *]?(\S.*)")


def check_published_sum(path: Path, digest: str) -> bool:
    """Compares a file's hash with the published one.

    The list is looked for beside the file, where it counts for every entry of that file name (people copy the files of a
    project flat into one folder), and in the folder above, where it counts for `<folder>/<file>` alone.

    Args:
        path: the file.
        digest: its SHA-256, 64 lower-case hexadecimal digits.

    Returns:
        Whether there was a published hash; it is the file's then.

    Raises:
        UsageError: The published hash is another one, or a list cannot be read.
    """
    place = path.absolute()
    beside = place.parent / SUMS_FILE
    above = place.parent.parent / SUMS_FILE
    published = {sums: entry for name, sums, entry in _entries(beside) if name.rpartition("/")[2] == place.name}
    from_list = beside
    if not published:
        wanted = f"{place.parent.name}/{place.name}"
        published = {sums: entry for name, sums, entry in _entries(above) if name == wanted}
        from_list = above
    if not published:
        return False
    if digest not in published:
        expected, line = next(iter(published.items()))
        raise UsageError(
            f"{path}: SHA-256 is {digest}, but {from_list}, line {line}, says {expected}. The file is cut off, changed or of "
            "another release than the list. Download both again."
        )
    return True


def _entries(sums: Path) -> list[tuple[str, str, int]]:
    """Names, hashes and line numbers of a list; other lines are comments."""
    if not sums.is_file():
        return []
    try:
        lines = read_text(sums, encoding="utf-8-sig", errors="replace").splitlines()
    except OSError as error:
        raise UsageError(f"{sums}: cannot be read ({system_reason(error)}).") from error
    found = [(number, _LINE.fullmatch(line.strip())) for number, line in enumerate(lines, start=1)]
    return [
        (match[2].removeprefix("./").replace("\\", "/"), match[1].lower(), number) for number, match in found if match
    ]
