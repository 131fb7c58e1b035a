"""The zip file of a package: the same content gives the same bytes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import Final

from medical_tasks.submission_package.contents import MEMBERS

__all__ = ["zip_bytes"]

_WHEN: Final = (1980, 1, 1, 0, 0, 0)  # the earliest a zip file knows
_UNIX: Final = 3
_PLAIN_FILE: Final = 0o100644 << 16


def zip_bytes(files: Mapping[str, bytes]) -> bytes:
    """Packs files.

    Args:
        files: name to content; names of `contents.MEMBERS`.

    Returns:
        A zip file: members in the order of `MEMBERS`, no times, no comments, no extra fields.
    """
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, allowZip64=False, compresslevel=9) as package:
        for name in MEMBERS:
            if name in files:
                info = zipfile.ZipInfo(name, _WHEN)
                info.create_system, info.external_attr = _UNIX, _PLAIN_FILE
                info.compress_type = zipfile.ZIP_DEFLATED
                package.writestr(info, files[name])
    return made.getvalue()
