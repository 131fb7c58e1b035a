"""The arguments of `inspect/PROVIDER/MODEL`: inspect's settings, and each provider's own."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from inspect import getclosurevars, signature
from typing import Final, cast

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models.base import Request
from medical_tasks.models.chat_client import check_base_url
from medical_tasks.models.endpoint_choices import ALTERNATIVES, ChoiceSettings
from medical_tasks.models.opener import (
    CHAT_OPTIONS,
    COUNT,
    FLAG,
    TESTED_OPTIONS,
    Reader,
    read_options,
    words,
)

PREFIX: Final = "inspect/"
MOST_ADAPTIVE: Final = 100
"""The most calls in flight when their number adapts to the provider; inspect's own figure."""

_EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def _true_or_count(text: str) -> bool | int:
    return text == "true" if text in ("true", "false") else int(COUNT[0](text))


_SHARED: Final = (
    "base_url",
    "api_key_env",
    "concurrency",
    "timeout",
    "total_time",
    "max_retries",
    "batch_poll",
    "batch_size",
    "max_completion_tokens",
)
_OF_SERVERS: Final = (
    "temperature",
    "top_p",
    "top_k",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "extra_body",
)
_PRICES: Final = tuple(name for name in CHAT_OPTIONS if name.startswith("price_"))
CONFIG_OPTIONS: Final[Mapping[str, Reader]] = {
    **{name: CHAT_OPTIONS[name] for name in _OF_SERVERS},
    "reasoning_effort": words(*_EFFORTS),
    "reasoning_tokens": COUNT,
    "reasoning_summary": words("none", "concise", "detailed", "auto"),
    "verbosity": words("low", "medium", "high"),
    "cache_prompt": (
        lambda text: text if text == "auto" else FLAG[0](text),
        "auto, true or false",
    ),
}
"""Settings of inspect's `GenerateConfig` with the same name."""
INSPECT_OPTIONS: Final[Mapping[str, Reader]] = {
    **{name: CHAT_OPTIONS[name] for name in (*_PRICES, *_SHARED)},
    **CONFIG_OPTIONS,
    "adaptive_connections": (_true_or_count, "true, false or the most calls in flight"),
    **{name: TESTED_OPTIONS[name] for name in ("top_logprobs", "context", "tokenizer")},
    "model_args": (
        CHAT_OPTIONS["extra_body"][0],
        'a JSON object, as in {"service_tier": "flex"}',
    ),
}
"""Arguments of `inspect/...`, besides those of each provider."""
_NEUTRAL_CONFIG: Final = ("cache_prompt",)
_OF_A_CALL: Final = ("temperature", "seed")
_ALL: Final = 50_000
"""Calls in flight when they are collected into batches."""
_A_BATCH_S: Final = 26 * 3600.0
"""How long a question of a batch may take: a day, and the time before and after."""
_NOT_OPTIONS: Final = frozenset(
    {"self", "model_name", "base_url", "api_key", "api_key_var", "api_key_vars", "config",
     "model_args", "service", "service_base_url", "args", "kwargs"}
)  # fmt: skip
"""Parameters of a provider that the user may not set: a key would end up in results."""


_FIELDS: Final[Mapping[str, str]] = {
    **{
        name: name
        for name in ("base_url", "concurrency", "timeout", "total_time", "max_retries")
    },
    "adaptive_connections": "adaptive",
    "top_logprobs": "alternatives",
    "max_completion_tokens": "longest",
    "api_key_env": "key_name",
    "context": "context",
    "tokenizer": "tokenizer",
    "batch_poll": "batch_poll",
    "batch_size": "batch_size",
}
"""Maps an argument to its setting."""


@dataclass(frozen=True, kw_only=True)
class InspectSettings:
    """Settings of a model behind inspect; times are in seconds.

    Attributes:
        config: fields of inspect's `GenerateConfig`.
        provider_args: further arguments of the provider.
        base_url: replaces the provider's address.
        api_key: the key, if a variable was named.
        key_name: the environment variable of the key, if one was named.
        own: the suite's own settings, which may be left out if a model refuses them.
        concurrency: calls in flight.
        adaptive: whether their number adapts to the provider, or its maximum.
        timeout: of one attempt.
        total_time: of a call with all its attempts and waits.
        max_retries: attempts after the first.
        longest: tokens of an answer and its reasoning, instead of the task's limit.
        context: the longest prompt and answer, in tokens.
        tokenizer: the folder of a tokenizer that counts the tokens of a question.
        alternatives: how many alternatives to request for an answer's first token.
        batch: whether inspect asks in batches.
        batch_poll: time between two polls of a batch.
        batch_size: the most requests of a batch; None for the provider's limit.
    """

    config: Mapping[str, object] = field(default_factory=dict)
    provider_args: Mapping[str, object] = field(default_factory=dict)
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    key_name: str = ""
    own: frozenset[str] = frozenset({"stop", "temperature"})
    concurrency: int = 16
    adaptive: bool | int = False
    timeout: float = 600.0
    total_time: float = 1800.0
    max_retries: int = 6
    longest: int | None = None
    context: int | None = None
    tokenizer: str = ""
    alternatives: int = ALTERNATIVES
    batch: bool = False
    batch_poll: float = 15.0
    batch_size: int | None = None

    def in_batches(self) -> InspectSettings:
        """Returns the settings for batches: all questions at once, with enough time."""
        return replace(
            self,
            batch=True,
            adaptive=False,
            concurrency=_ALL,
            timeout=_A_BATCH_S,
            total_time=_A_BATCH_S,
        )

    @property
    def at_once(self) -> int:
        """The most calls in flight."""
        if not self.adaptive:
            return self.concurrency
        return MOST_ADAPTIVE if self.adaptive is True else self.adaptive

    @property
    def lasting(self) -> dict[str, object]:
        """The part of `config` that is the same in all calls."""
        return {
            name: value for name, value in self.config.items() if name not in _OF_A_CALL
        }

    @property
    def budget(self) -> int:
        """Tokens for reasoning, in addition to the task's limit, which is the answer's."""
        budget = self.config.get("reasoning_tokens")
        return budget if isinstance(budget, int) else 0

    def longest_of(self, request: Request) -> int:
        """Returns the most tokens of an answer and its reasoning."""
        return self.longest or request.max_new_tokens + self.budget

    def sent_settings(self, request: Request) -> dict[str, object]:
        """Returns the settings that are sent with a question, under the suite's names."""
        seed = self.config.get("seed")
        sent = dict(self.config)
        sent["max_tokens"] = self.longest_of(request)
        if request.stop:
            sent["stop"] = list(request.stop)
        if isinstance(seed, int):
            sent["seed"] = seed + request.repeat - 1
        return sent

    @property
    def identity(self) -> dict[str, str]:
        """The settings that can change answers."""
        config = {
            name: value
            for name, value in self.config.items()
            if name not in _NEUTRAL_CONFIG
        }
        shown = {} if self.base_url is None else {"base_url": self.base_url}
        shown |= (
            {} if self.longest is None else {"max_completion_tokens": str(self.longest)}
        )
        shown |= {
            name: value if isinstance(value, str) else _written(value)
            for name, value in {**config, **self.provider_args}.items()
        }

        return shown | ChoiceSettings(alternatives=self.alternatives).identity


def _written(value: object) -> str:
    return str(value) if isinstance(value, float) else json.dumps(value, sort_keys=True)


def read_settings(
    name: str, options: Mapping[str, str], *, what: str
) -> InspectSettings:
    """Parses the arguments of a model, including those that its provider's class declares."""
    own = dict.fromkeys(
        _provider_options(name) - set(INSPECT_OPTIONS), (_plain, "any text")
    )
    values = read_options(options, {**INSPECT_OPTIONS, **own}, model=name, what=what)
    if "adaptive_connections" in values and "concurrency" in values:
        raise UsageError(
            f"{name}: concurrency fixes how many calls are in flight, and adaptive_connections "
            "lets their number change. Give one of them."
        )

    if "base_url" in values:
        check_base_url(values["base_url"])

    key_name = values.get("api_key_env")
    key = os.environ.get(str(key_name), "") if key_name else None
    if key == "":
        raise MissingError(
            f"{name}: api_key_env={key_name} names a variable that is not set. "
            f"export {key_name}=..."
        )

    config = {"temperature": 0.0} | {
        option: values[option] for option in CONFIG_OPTIONS if option in values
    }
    extra = cast("Mapping[str, object]", values.get("model_args", {}))
    settings = InspectSettings(
        config={option: value for option, value in config.items() if value is not None},
        provider_args={option: values[option] for option in own if option in values}
        | dict(extra),
        api_key=key,
        own=InspectSettings.own - set(values),
    )

    return replace(
        settings,
        **{
            name: values[option] for option, name in _FIELDS.items() if option in values
        },
    )


def _plain(text: str) -> object:
    """Parses a provider's own argument as JSON (true, a number, an object), else as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _provider_options(name: str) -> set[str]:
    """Returns the names of a provider's own arguments, as its class declares them."""
    from inspect_ai._util.error import PrerequisiteError
    from inspect_ai._util.registry import registry_find, registry_unqualified_name

    provider = name.removeprefix(PREFIX).partition("/")[0]
    factories = registry_find(
        lambda info: (
            info.type == "modelapi" and registry_unqualified_name(info) == provider
        )
    )
    if not factories:
        raise UsageError(
            f"{name} is no model for inspect: it has no provider {provider!r}. Its documentation "
            "lists them: https://inspect.aisi.org.uk/providers.html"
        )

    wrapped = getclosurevars(cast("Callable[..., object]", factories[0])).nonlocals.get(
        "wrapped"
    )
    try:
        kind = (
            wrapped
            if isinstance(wrapped, type)
            else wrapped()
            if callable(wrapped)
            else object
        )
    except (PrerequisiteError, ImportError) as error:
        raise MissingError(unopened(name, error)) from error

    classes = [
        class_
        for class_ in kind.__mro__
        if "__init__" in vars(class_) and class_ is not object
    ]
    return {
        parameter
        for class_ in classes
        for parameter in signature(vars(class_)["__init__"]).parameters
    } - _NOT_OPTIONS


def unopened(name: str, error: Exception) -> str:
    """Says why inspect cannot open a model, in its own words without colours."""
    words = re.sub(r"\[/?[a-z ]+\]", "", str(error)).strip().removeprefix("ERROR:")
    return f"{name} cannot be opened by inspect: {' '.join(words.split())}"
