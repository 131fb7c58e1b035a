"""The builder class of a Hub folder."""

from __future__ import annotations

import importlib.util
from typing import Any

from tests.support import ROOT


def builder_of(name: str, **arguments: Any) -> Any:
    """Makes the builder, from `build.py` loaded by its path as a user without the package's help would."""
    place = ROOT / "dataset_builders" / name / "build.py"
    location = importlib.util.spec_from_file_location("build", place)
    assert location is not None
    assert location.loader is not None
    module = importlib.util.module_from_spec(location)
    location.loader.exec_module(module)
    (exported,) = module.__all__
    return getattr(module, exported)(**arguments)
