"""Models' names and their arguments, `--model-args k=v,...`.

Arguments of local models have lighteval's names. Names without a kind:

| name | read as |
|---|---|
| `gpt-...`, `o3...`, `openai/...` | `openai-api/openai/...` |
| `mistral/`, `openrouter/`, `together/`, `groq/`, `deepseek/`, `fireworks/` | `openai-api/...` |
| `claude-...`, `anthropic/...` | `inspect/anthropic/...` |
| `gemini-...`, `google/gemini-...` | `inspect/google/...` |
| `hf-inference-providers/...`, `grok/`, `bedrock/`, `azureai/` | `inspect/...` |

OpenAI's models are asked for chat completions, which needs no further package;
`inspect/openai/...` asks Responses. The providers of the second row have APIs of OpenAI's
form, with the key in `MISTRAL_API_KEY` and so on. The OpenAI form of Anthropic and Google
lacks caching and the text of reasoning. Those of the last row have APIs of their own; the
key of Hugging Face's providers is in `HF_TOKEN`.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from medical_tasks.errors import UsageError, check_least
from medical_tasks.models.usage import Prices

KINDS: dict[str, str] = {
    "hf": "hf/PATH_OR_REPO: a local model through lighteval's transformers backend",
    "vllm": "vllm/PATH_OR_REPO: a local model through lighteval's vLLM backend (second environment)",
    "ray": "ray/PATH_OR_REPO: hf/ or vllm/ on each worker of a Ray cluster",
    "vllm-server": "vllm-server/NAME: a vLLM server started and stopped for the run",
    "transformers-server": "transformers-server/PATH: a `transformers serve` started and stopped for the run",
    "openai-api": "openai-api/HOST_ALIAS/MODEL: any OpenAI-compatible server",
    "inspect": "inspect/PROVIDER/MODEL: any model provider of inspect_ai (anthropic, google, openai and others)",
    "baseline": "baseline/NAME: no model (reference, empty, random, copy-example)",
}

# Batch sizes, time limits, devices, logging: these should change no answer, so that a
# run can resume with other values. Arguments that change answers are part of the model's
# identity, and so of every answer's key.
NEUTRAL_ARGS = frozenset(
    {
        "adaptive_connections", "address", "api_key_env", "batch_poll", "batch_size", "cache_prompt", "chunk_size", "concurrency",
        "context", "cpus_per_worker",
        "gpu_memory_utilization", "gpus_per_worker", "log_level", "max_num_batched_tokens", "max_num_seqs", "max_retries",
        "model_parallel", "price_cached", "price_in", "price_out", "start_timeout", "timeout", "tokenizer", "total_time", "workers",
    }
)  # fmt: skip


_SERVER_CONTEXT = "--model-args context=N says that the server has more than it tells"
_LONGER: dict[str, str] = {
    "hf": "--model-args max_length=N",
    "vllm": "--model-args max_model_length=N",
    "ray": "--model-args max_length=N, or max_model_length=N with engine=vllm",
    "vllm-server": '--model-args flags="--max-model-len N"',
    "openai-api": _SERVER_CONTEXT,
    "transformers-server": _SERVER_CONTEXT,
    "inspect": _SERVER_CONTEXT,
}
"""How to give a model of each kind a longer context."""


def longer_context(name: str) -> str:
    """Returns how to give a model a longer context; "" where no way is known."""
    return _LONGER.get(name.partition("/")[0], "")


BATCHED: tuple[str, ...] = ("openai-api/", "inspect/")
"""Prefixes of models that may be asked in batches."""


def is_local(name: str) -> bool:
    """Returns whether a model runs in this process or in workers of its own."""
    return name.startswith(("hf/", "vllm/", "ray/"))


def check_batch(name: str, option: str) -> None:
    """Rejects an option for batches where the model's kind has none.

    Kinds that other packages register check this themselves.
    """
    kind, slash, _ = name.partition("/")
    if not name.startswith(BATCHED) and (
        not slash or kind in (*KINDS, "nli", "recorded")
    ):
        raise UsageError(
            f"{option}: {name} is not asked in batches, which providers answer later for less "
            f"(openai-api/HOST/NAME, inspect/PROVIDER/NAME). Leave it out."
        )


def check_repeats(name: str, args: Mapping[str, str], repeats: int) -> None:
    """Rejects repeats of a model that answers the same each time.

    A server's greedy answers depend on what else it is asked, so it may be repeated.
    """
    check_least({"--repeats": repeats})
    sampling = {"temperature": args.get("temperature", "0")}
    greedy = (
        is_local(name)
        and not read_options(sampling, SAMPLING, model=name)["temperature"]
    )
    if repeats > 1 and (greedy or name.startswith("baseline/")):
        more = ", or let it sample: --model-args temperature=0.7" if greedy else ""
        raise UsageError(
            f"--repeats {repeats}: {name} answers the same each time. Leave it out{more}."
        )


def deciding_args(
    name: str, args: Mapping[str, str], *, neutral: frozenset[str] = NEUTRAL_ARGS
) -> dict[str, str]:
    """Returns the arguments that can change answers.

    The addresses of replicas, or of a model with a name in `served`, do not.
    """
    deciding = {option: text for option, text in args.items() if option not in neutral}
    if "served" in deciding or len(read_addresses(deciding.get("base_url", ""))) > 1:
        deciding.pop("base_url", None)
        # `served` is the model's own name by default
        if name.endswith(f"/{deciding.get('served')}"):
            del deciding["served"]

    return deciding


def read_addresses(text: str) -> list[str]:
    """Splits base URLs at white space or commas."""
    return [
        url.rstrip("/")
        for url in re.split(r"[\s,]+(?=[^\s,]*://)", text.strip(" \t\r\n,"))
        if url
    ]


HOSTED: dict[str, str] = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com/v1",
    "deepseek": "https://api.deepseek.com/v1",
    "fireworks": "https://api.fireworks.ai/inference/v1",
    "groq": "https://api.groq.com/openai/v1",
    "mistral": "https://api.mistral.ai/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "together": "https://api.together.xyz/v1",
}
"""Addresses of APIs that need only a key, in OPENAI_API_KEY and the like."""

# The kind of a name that states none. Providers whose own API reports more than their
# OpenAI-compatible one (Anthropic's and Google's reasoning and caches), or that have no
# such API, are asked through inspect. Names that may also be repositories on the Hub are
# not listed.
_IMPLIED_KINDS: tuple[tuple[str, str], ...] = (
    (
        r"anthropic/.+|bedrock/.+|azureai/.+|grok/.+|hf-inference-providers/.+|google/gemini-.+",
        "inspect/",
    ),
    (r"claude-.+", "inspect/anthropic/"),
    (r"gemini-.+", "inspect/google/"),
    (rf"(?:{'|'.join(HOSTED)})/.+", "openai-api/"),
    (r"(?:gpt-|chatgpt-|o[1-9](?:-|$)).*", "openai-api/openai/"),
)
"""The pattern of a name, and the prefix it gets."""


def full_name(name: str) -> str:
    """Returns a model's name with its kind.

    `gpt-4o`, `openai/gpt-4o`, `claude-opus-4-5` and the folder of a checkpoint imply one.
    """
    if name.partition("/")[0] in KINDS:
        return name

    if (Path(name).expanduser() / "config.json").is_file():
        prefix = "hf/"
    else:
        prefix = next(
            (kind for form, kind in _IMPLIED_KINDS if re.fullmatch(form, name)), ""
        )

    if prefix:
        print(f"note: {name} is taken as {prefix}{name}", file=sys.stderr)

    return prefix + name


Reader = tuple[Callable[[str], Any], str]
"""A function that parses a text or raises ValueError, and its rule in words."""


def numbers(
    kind: Callable[[str], Any],
    low: float,
    high: float = math.inf,
    *,
    above: bool = False,
) -> Callable[[str], Any]:
    """Makes a function that parses a finite number from `low` to `high`.

    Args:
        kind: `int` or `float`.
        low: the smallest number allowed.
        high: the largest number allowed.
        above: whether `low` itself is excluded.
    """

    def read(text: str) -> Any:
        value = kind(text)
        if value == math.inf or not low <= value <= high or (above and value == low):
            raise ValueError(text)

        return value

    return read


def words(*allowed: str) -> Reader:
    """Makes a reader that accepts only some words."""
    return _one_of({word: word for word in allowed})


def _one_of(values: Mapping[str, object], rule: str = "") -> Reader:
    def read(text: str) -> Any:
        if text not in values:
            raise ValueError(text)
        return values[text]

    return read, rule or f"one of {', '.join(values)}"


def _word(text: str) -> str:
    if not text.strip():
        raise ValueError(text)
    return text.strip()


_TEMPERATURE = numbers(float, 0, 2)
COUNT: Reader = (numbers(int, 1), "a whole number from 1")
WHOLE: Reader = (numbers(int, 0), "a whole number from 0")
SECONDS: Reader = (numbers(float, 0, above=True), "seconds above 0")
SHARE: Reader = (numbers(float, 0, 1, above=True), "a number above 0, up to 1")
FLAG: Reader = _one_of({"true": True, "false": False}, "true or false")
WORD: Reader = (_word, "some text")


def _object(text: str) -> dict[str, object]:
    """Reads a JSON object whose fields go into the body of each request."""
    try:
        fields = json.loads(text)
    except RecursionError:
        raise ValueError(text) from None
    if not isinstance(fields, dict) or _RESERVED & set(fields):
        raise ValueError(text)
    return fields


_RESERVED = frozenset({"model", "messages", "stream", "n"})
"""Fields of a request that only the suite sets."""
_PENALTY: Reader = (numbers(float, -2, 2), "a number from -2 to 2")

_PRICE: Reader = (
    numbers(float, 0, 1e6),
    "USD for a million tokens, from 0 to 1,000,000",
)
_PRICES: Mapping[str, Reader] = {
    "price_in": _PRICE,
    "price_out": _PRICE,
    "price_cached": _PRICE,
}

SENT_AS_GIVEN: Mapping[str, Reader] = {
    "reasoning_effort": WORD,
    "max_completion_tokens": COUNT,
    "top_p": SHARE,
    "top_k": COUNT,
    "min_p": (numbers(float, 0, 1), "a number from 0 to 1"),
    "presence_penalty": _PENALTY,
    "frequency_penalty": _PENALTY,
    "repetition_penalty": (
        numbers(float, 0, 10, above=True),
        "a number above 0, up to 10",
    ),
    "seed": (int, "a whole number"),
    "extra_body": (
        _object,
        'a JSON object of further fields, such as {"verbosity": "low"}, without '
        f"{', '.join(sorted(_RESERVED))}",
    ),
}
"""Settings that are sent to a server unchanged, and decide the answer."""

CHAT_OPTIONS: Mapping[str, Reader] = {
    **_PRICES,
    "base_url": WORD,
    "served": WORD,
    "api_key_env": WORD,
    "concurrency": COUNT,
    "timeout": SECONDS,
    "total_time": SECONDS,
    "max_retries": WHOLE,
    "batch_poll": SECONDS,
    "batch_size": (numbers(int, 1, 50_000), "a whole number from 1 to 50000"),
    "temperature": (
        lambda text: None if text == "none" else _TEMPERATURE(text),
        "a number from 0 to 2, or none to leave it to the server",
    ),
    "max_tokens_field": (
        words("max_tokens", "max_completion_tokens")[0],
        "max_tokens or max_completion_tokens",
    ),
    **SENT_AS_GIVEN,
}
"""Arguments of every model behind HTTP, judges included."""

TESTED_OPTIONS: Mapping[str, Reader] = {
    **CHAT_OPTIONS,
    "logprobs": (words("auto", "top", "prompt")[0], "auto, top or prompt"),
    "top_logprobs": COUNT,
    "context": COUNT,
    "tokenizer": WORD,
}
"""Arguments of a model under test: those above, and how probabilities and lengths are determined."""


def read_options(
    options: Mapping[str, str],
    readers: Mapping[str, Reader],
    *,
    model: str,
    what: str = "model",
) -> dict[str, Any]:
    """Parses model arguments."""
    unknown = [name for name in options if name not in readers]
    if unknown:
        raise UsageError(
            f"unknown {what} argument {', '.join(map(repr, unknown))} for {model}. "
            f"Accepted: {', '.join(sorted(readers))}."
        )

    values: dict[str, Any] = {}
    for name, text in options.items():
        read, rule = readers[name]
        try:
            values[name] = read(text)
        except ValueError:
            raise UsageError(
                f"{what} argument {name} must be {rule}, got {text!r}."
            ) from None

    return values


def read_prices(
    options: Mapping[str, str], *, model: str, what: str = "model"
) -> Prices | None:
    """Parses the prices among the arguments; None where there are none."""
    texts = {name: text for name, text in options.items() if name in _PRICES}
    values = read_options(texts, _PRICES, model=model, what=what)
    if values and not {"price_in", "price_out"} <= set(values):
        raise UsageError(
            f"{model}: a cost needs both price_in and price_out (USD for a million tokens), got "
            f"{' and '.join(values)} alone."
        )
    return Prices(**values) if values else None


LOG_LEVELS: Final = {"error": 40, "warning": 30, "info": 20, "debug": 10}
"""The levels of the module `logging`, which takes longer to import than many commands run."""

DTYPES = ("auto", "float32", "float16", "bfloat16")


SAMPLING: Mapping[str, Reader] = {
    "temperature": (_TEMPERATURE, "a number from 0 (greedy) to 2"),
    "top_p": SHARE,
    "top_k": COUNT,
    "repetition_penalty": (
        numbers(float, 0, 10, above=True),
        "a number above 0, up to 10",
    ),
    "seed": WHOLE,
}
"""How the next token is chosen; greedily by default."""

_LOCAL_OPTIONS: Mapping[str, Reader] = {
    **_PRICES,
    **SAMPLING,
    "revision": WORD,
    "chunk_size": COUNT,
    "enable_thinking": FLAG,
    "log_level": _one_of(LOG_LEVELS),
}

HF_OPTIONS: Mapping[str, Reader] = {
    **_LOCAL_OPTIONS,
    "dtype": words(*DTYPES, "4bit", "8bit"),
    "batch_size": (
        lambda text: None if text == "auto" else COUNT[0](text),
        "a whole number from 1, or auto",
    ),
    "max_length": COUNT,
    "model_parallel": _one_of({"auto": None, "true": True, "false": False}),
}
"""Arguments of `hf/...`."""

VLLM_OPTIONS: Mapping[str, Reader] = {
    **_LOCAL_OPTIONS,
    "dtype": words(*DTYPES),
    "tensor_parallel_size": COUNT,
    "pipeline_parallel_size": COUNT,
    "data_parallel_size": COUNT,
    "gpu_memory_utilization": SHARE,
    "max_model_length": COUNT,
    "max_num_seqs": COUNT,
    "max_num_batched_tokens": COUNT,
    "quantization": WORD,
    "load_format": WORD,
}
"""Arguments of `vllm/...`."""

RAY_OPTIONS: Mapping[str, Reader] = {
    "engine": words("hf", "vllm"),
    "address": WORD,
    "workers": COUNT,
    "cpus_per_worker": COUNT,
    "gpus_per_worker": (numbers(float, 0), "a number from 0"),
    "batch_size": COUNT,
}
"""Arguments of `ray/...`, in addition to those of its engine."""


def decoding(values: Mapping[str, object]) -> str:
    """Describes in one line how the next token is chosen, for the model's identity."""
    if not values.get("temperature"):
        penalty = values.get("repetition_penalty")
        return (
            "greedy" if penalty is None else f"greedy, repetition_penalty={penalty:g}"
        )
    settings = {
        "seed": 0,
        **{name: values[name] for name in SAMPLING if name in values},
    }
    return ", ".join(
        f"{name}={settings[name]:g}" for name in SAMPLING if name in settings
    )
