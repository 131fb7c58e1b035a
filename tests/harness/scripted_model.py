"""A lighteval model that reads its answers from a file, for `lighteval custom`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from lighteval.models.abstract_model import LightevalModel
from lighteval.models.model_output import ModelResponse


class _NoCache:
    """The pipeline registers the tasks in every model's cache."""

    def _init_registry(self, registry: Any) -> None:
        pass


class ScriptedModel(LightevalModel):  # type: ignore[misc]
    def __init__(self, config: Any) -> None:
        self.config = config
        self._cache = _NoCache()
        self.answers = json.loads(
            Path(os.environ["SCRIPTED_ANSWERS"]).read_text(encoding="utf-8")
        )

    @property
    def tokenizer(self) -> None:
        return None

    @property
    def max_length(self) -> int:
        return 100_000

    @property
    def add_special_tokens(self) -> bool:
        return False

    def tok_encode(self, text: str) -> str:
        return text

    def cleanup(self) -> None:
        pass

    def greedy_until(self, docs: list[Any]) -> list[ModelResponse]:
        return [
            ModelResponse(input=doc.query, text=[self.answers[doc.query]])
            for doc in docs
        ]

    def loglikelihood(self, docs: list[Any]) -> list[ModelResponse]:
        raise NotImplementedError

    def loglikelihood_rolling(self, docs: list[Any]) -> list[ModelResponse]:
        raise NotImplementedError
