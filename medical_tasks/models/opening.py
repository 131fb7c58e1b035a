"""Opens models by name and arguments.

Back ends are imported when one of their models is opened.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from medical_tasks.errors import UsageError, did_you_mean
from medical_tasks.models.base import Model
from medical_tasks.models.opener import KINDS, read_prices


def open_model(name: str, options: Mapping[str, str], *, log_dir: Path) -> Model:
    """Opens the model under test."""
    kind = _kind(name)
    read_prices(options, model=name)
    if kind in ("hf", "vllm"):
        if os.environ.get("RANK", "0") == "0":
            print(f"loading {name}", file=sys.stderr, flush=True)

        from medical_tasks.models import lighteval_models as local

        return (local.open_hf if kind == "hf" else local.open_vllm)(
            name, options=options
        )

    if kind == "ray":
        from medical_tasks.models.ray_model import open_ray

        return open_ray(name, options=options, log_dir=log_dir)

    if kind == "openai-api":
        from medical_tasks.models.endpoint import open_endpoint

        return open_endpoint(name, options=options)

    if kind == "inspect":
        from medical_tasks.models.inspect_model import open_inspect

        return open_inspect(name, options=options)

    if kind in ("vllm-server", "transformers-server"):
        from medical_tasks.models.server import open_served

        return open_served(name, options=options, log_dir=log_dir)

    raise UsageError(f"{name!r} is a baseline; it is asked without opening a model.")


def open_unloaded(name: str, options: Mapping[str, str], *, log_dir: Path) -> Model:
    """Opens the model under test without its weights, to count what it would be asked."""
    kind = _kind(name)
    if kind not in ("hf", "vllm", "ray"):
        return open_model(name, options, log_dir=log_dir)
    read_prices(options, model=name)
    from medical_tasks.models import lighteval_models as local

    return local.open_unloaded(name, options=options)


def _kind(name: str) -> str:
    """Returns the kind of a model's name; raises UsageError for a name without one."""
    kind, slash, rest = name.partition("/")
    if kind not in KINDS or not slash or not rest:
        kinds = "\n".join(f"  {line}" for line in KINDS.values())
        hint = f" Did you mean 'hf/{name}'?" if slash else did_you_mean(kind, KINDS)
        raise UsageError(
            f"unknown model {name!r}.{hint} A model is named by its kind, a slash and its own "
            f"name:\n{kinds}"
        )
    return kind
