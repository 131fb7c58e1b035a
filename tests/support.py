"""What many tests share: where the upstream files are."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="../shared with the upstream files is not here")
