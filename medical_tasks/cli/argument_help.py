"""What each argument of `--model-args` and `--judge-args` means, for `docs/reference/arguments.md`.

The readers of the arguments, with the values that they accept, are in `models` and
`judges`; an argument without a meaning here fails the check of generated files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["meaning_of"]

_MEANINGS: Final[Mapping[str, str]] = {
    "adaptive_connections": "the number of calls in flight adapts to the provider, up to this many (default false)",
    "api_key_env": "variable that holds the key (default: that of the alias or provider, such as `OPENAI_API_KEY`)",
    "base_url": "address up to the version, or those of replicas with spaces between (default: the variable of the alias)",
    "batch_poll": "seconds until a batch is first checked; up to 12 times as long later (default 5)",
    "batch_size": "most requests of one batch; fewer where the account may not have so many waiting (default 50000)",
    "cache_prompt": "inspect's caching of prompts (default: the provider's)",
    "chunk_size": "prompts per call of lighteval; a kill loses at most one chunk (default: batch size × processes; `vllm` 1024)",
    "concurrency": "requests in flight, of all replicas (default: 16 per replica; a judge 32; `transformers-server` 4)",
    "context": "length of the model's context, for the length of questions (default: from the server)",
    "cpus_per_worker": "CPUs of each worker",
    "data_parallel_size": "vLLM's data parallelism (in `vllm` all prompts are then one chunk)",
    "device": "`cpu` where this vLLM is built for the CPU; of `transformers-server` any device (default cpu)",
    "dtype": "type of the weights in memory; `4bit` and `8bit` need bitsandbytes (default auto: that of the saved weights)",
    "enable_thinking": "switch of that name in some reasoning models' templates (default: the template's own)",
    "engine": "backend of each worker; its own arguments are accepted too (default hf)",
    "executable": "the program (default: `$MEDICAL_TASKS_VLLM`, `.env-vllm/bin/vllm` or `vllm` on `PATH`)",
    "extra_body": "further JSON fields of the request; in Python a dict (default: not sent)",
    "flags": "other flags of the server's command, except address, key, name, `--config` and request logs",
    "frequency_penalty": "sampling (default: not sent)",
    "gpu_memory_utilization": "as in lighteval's `VLLMModelConfig`",
    "gpus_per_worker": "GPUs of each worker",
    "load_format": "as in lighteval's `VLLMModelConfig`",
    "log_level": "of the libraries (default error)",
    "logprobs": "how probabilities of answers are asked for (default auto: `top` for choices of one character, else `prompt`)",
    "max_completion_tokens": "longest answer with its reasoning, sent by that name (default: the task's limit)",
    "max_length": "longest prompt and answer together, in tokens (default: the model's own)",
    "max_model_length": "as in lighteval's `VLLMModelConfig`",
    "max_num_batched_tokens": "as in lighteval's `VLLMModelConfig`",
    "max_num_seqs": "as in lighteval's `VLLMModelConfig`",
    "max_retries": "attempts after the first; a 429 uses up none, except with inspect (default 6)",
    "max_tokens_field": "the name under which the task's limit is sent (default max_tokens; detected)",
    "min_p": "sampling (default: not sent)",
    "model_args": "what inspect's class of the provider passes on, such as `{\"provider\": {\"order\": [\"Novita\"]}}`",
    "model_parallel": "spread one model over the GPUs of a process (default auto)",
    "n_choices": "a question's votes share one request (`n`), where the server supports it (default false)",
    "pipeline_parallel_size": "vLLM's pipeline parallelism",
    "presence_penalty": "sampling (default: not sent)",
    "price_cached": "price of cached input tokens, for the cost in results (default: unknown)",
    "price_in": "price of input tokens (default: unknown)",
    "price_out": "price of output tokens (default: unknown)",
    "quantization": "as in lighteval's `VLLMModelConfig`",
    "reasoning_effort": "how long the model reasons, in the server's words (default: not sent)",
    "reasoning_summary": "as in inspect's `GenerateConfig` (default: not sent)",
    "reasoning_tokens": "budget for reasoning (Anthropic), on top of the task's limit (default: none)",
    "repetition_penalty": "sampling (default: none)",
    "revision": "branch, tag or commit of a repository (default main)",
    "seed": "seed of sampling (default: not sent; 0 in this process); repeats and votes add one each",
    "served": "names replicas' answers in the store, in place of their addresses (default: the model's name)",
    "start_timeout": "seconds until the server must answer (default 1800)",
    "structured": "the server holds replies to our prompts' JSON form (`response_format`); helps small models (default false)",
    "temperature": "sampling; some reasoning models accept only `none` (default 0; of a judge with several votes 1)",
    "tensor_parallel_size": "vLLM's tensor parallelism",
    "timeout": "seconds for one attempt (default 600)",
    "tokenizer": "folder of the tokenizer that counts the tokens of questions (default: from the server)",
    "top_k": "sampling (default: not sent)",
    "top_logprobs": "how many tokens the server names with their log-probabilities (default 20)",
    "top_p": "sampling (default: not sent)",
    "total_time": "seconds for one question, waits included (default 1800)",
    "varies": "replies differ at temperature 0 too, so that several votes are allowed (default false)",
    "verbosity": "as in inspect's `GenerateConfig` (default: not sent)",
    "workers": "number of workers",
}  # fmt: skip
_OF_KIND: Final[Mapping[tuple[str, str], str]] = {
    ("hf", "batch_size"): "prompts answered together; your own number is often faster (default auto on an NVIDIA GPU, else 8)",
    ("judge nli", "batch_size"): "rows per batch, halved when memory is full (default: by tokens, 2,048 on a CPU, 32,768 on a GPU)",
    ("judge nli", "dtype"): "type of the weights in memory (default auto: bfloat16 on GPUs that support it, else float32)",
    ("judge nli", "labels"): "what a classifier's outputs mean, in their order, where its label names do not say",
    ("judge nli", "max_length"): "tokens read at once, special ones included (default: a classifier's limit; T5: 2048)",
    ("judge nli", "official"): "read the premise and decide as DocLens' authors do (default false)",
    ("ray", "address"): "`local`, `auto` or HOST:PORT (default: `RAY_ADDRESS`, else a local cluster that ends with the run)",
    ("ray", "batch_size"): "prompts given to a worker at once",
    ("transformers-server", "dtype"): "type of the weights in memory (default float32)",
}  # fmt: skip
"""Meanings that hold for one kind alone."""


def meaning_of(kind: str, argument: str) -> str:
    """Returns the meaning of an argument of a kind of model or judge."""
    return _OF_KIND.get((kind, argument)) or _MEANINGS[argument]
