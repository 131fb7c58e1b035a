"""Keeping the libraries under a model silent, for as long as they work for us."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from types import ModuleType
from typing import Any

__all__ = ["quiet_libraries", "without_cache_and_bars"]

_LOGGERS = ("lighteval", "accelerate", "vllm", "ray")


@contextlib.contextmanager
def quiet_libraries(level: int) -> Iterator[None]:
    """Lets lighteval, transformers, accelerate and vLLM log from `level` on, and draw no bars of their own.

    Args:
        level: of `logging`.
    """
    from transformers.utils import logging as transformers_logging

    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [logger.level for logger in loggers]
    verbosity, bars = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    for logger in loggers:
        logger.setLevel(level)
    transformers_logging.set_verbosity(level)
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        for logger, old in zip(loggers, before, strict=True):
            logger.setLevel(old)
        transformers_logging.set_verbosity(verbosity)
        if bars:
            transformers_logging.enable_progress_bar()


@contextlib.contextmanager
def without_cache_and_bars(module: ModuleType) -> Iterator[None]:
    """Takes the response cache and the progress bars out of one of lighteval's model modules.

    lighteval's cache has no switch. Its mere creation makes a folder inside the model's own, it re-uses answers after a
    prompt has changed, and the processes of a distributed run overwrite each other's. Here every finished answer is in the
    store already. The bars have no switch either.

    Args:
        module: with the names `SampleCache` and `tqdm` in it.
    """
    cache, bars = module.SampleCache, module.tqdm

    def no_bar(*args: Any, **settings: Any) -> Any:
        return bars(*args, **{**settings, "disable": True})

    names = vars(module)
    names["SampleCache"], names["tqdm"] = _no_cache, no_bar
    try:
        yield
    finally:
        names["SampleCache"], names["tqdm"] = cache, bars


def _no_cache(_: Any) -> None:
    """Stands where the cache is made; a model without one asks no cache."""
