"""The logits that a log-likelihood needs, and no others.

lighteval's transformers backend takes logits over the whole vocabulary at every position of every text and computes
log-probabilities of them all, in the model's own type, although it reads those of the continuation alone. For a prompt of 8,000
tokens and a vocabulary of 128,000 that is 4 GB a text in float32, and again as much for the logarithms. Here the model computes
those of the last positions only, and they are made float32 before anything is summed: half-precision log-probabilities are
off in the second or third digit.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

__all__ = ["tail_logits"]


@contextlib.contextmanager
def tail_logits(inner: Any) -> Iterator[None]:
    """Lets lighteval's log-likelihood loop work with the end of each text.

    Args:
        inner: lighteval's `TransformersModel`.
    """
    model = inner.model
    end = _End(model, inner.prepare_batch_logprob)
    names = vars(inner)
    inner.model = end
    names["prepare_batch_logprob"] = end.prepare  # over the class's method
    try:
        yield
    finally:
        inner.model = model
        del names["prepare_batch_logprob"]


class _End:
    """Stands for the model while texts are scored."""

    def __init__(self, model: Any, prepare: Callable[..., Any]) -> None:
        self._model = model
        self._prepare = prepare
        accepted = inspect.signature(model.forward).parameters
        self._settings = {"use_cache": False} if "use_cache" in accepted else {}
        self._can_keep = "logits_to_keep" in accepted
        self._keep: int | None = None

    def prepare(
        self, tokenized_contexts: list[Any], tokenized_continuations: list[Any], max_context: int | None = None
    ) -> Any:
        """Makes lighteval's batch, its lengths counted from the first position that is read of any of its texts."""
        batch = self._prepare(tokenized_contexts, tokenized_continuations, max_context)
        if any(batch.truncated):
            raise RuntimeError("lighteval cut a text that was measured to fit the model's context")
        sizes = [len(continuation) for document in tokenized_continuations for continuation in document]
        first = min(length - size - 1 for length, size in zip(batch.input_lengths, sizes, strict=True))
        self._keep = batch.input_ids.shape[1] - first
        batch.input_lengths = [length - first for length in batch.input_lengths]
        return batch

    def __call__(self, input_ids: Any) -> SimpleNamespace:
        # Without a batch of texts lighteval tries how large a batch may be; then with all logits, which is the careful side.
        keep, self._keep = self._keep, None
        settings: dict[str, Any] = dict(self._settings)
        if keep is not None and self._can_keep:
            settings["logits_to_keep"] = keep
        logits = self._model(input_ids, **settings).logits
        return SimpleNamespace(logits=(logits if keep is None else logits[:, -keep:]).float())
