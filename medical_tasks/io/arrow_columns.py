"""Makes columns of Arrow tables from Python values without `pyarrow.array`.

`pyarrow.array` imports pandas, if it is installed, only to check for pandas values: that took
longer than scoring a thousand answers.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def text_column(values: Sequence[str | None]) -> pa.Array:
    """Makes a column of texts; None becomes null."""
    import pyarrow as pa

    texts = [b"" if value is None else value.encode() for value in values]
    ends = array("i", accumulate(map(len, texts), initial=0))
    buffers = [_validity(values), pa.py_buffer(ends), pa.py_buffer(b"".join(texts))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def number_column(values: Sequence[float | None]) -> pa.Array:
    """Makes a column of floats; None becomes null, nan does not."""
    import pyarrow as pa

    numbers = array("d", [math.nan if value is None else value for value in values])
    return pa.Array.from_buffers(
        pa.float64(), len(values), [_validity(values), pa.py_buffer(numbers)]
    )


def _validity(values: Sequence[object]) -> pa.Buffer | None:
    """Makes the validity bitmap, with the first value in the lowest bit; None if all are present."""
    import pyarrow as pa

    if None not in values:
        return None
    bits = "".join("0" if value is None else "1" for value in reversed(values))
    return pa.py_buffer(int(bits, 2).to_bytes(len(values) // 8 + 1, "little"))
