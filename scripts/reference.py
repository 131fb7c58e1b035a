"""The pages of `docs/reference/`: what docstrings, options and specs say, as Markdown.

    python scripts/reference.py --write     part of `make manifest`
    python scripts/reference.py --check     part of `make check`; exit status 1 if a page differs

Pages hold what the project itself registers, whatever else is installed.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final

import medical_tasks
import medical_tasks.spec as contract
from medical_tasks import api
from medical_tasks.calculators.index import CALCULATORS
from medical_tasks.catalog import own_benchmarks
from medical_tasks.cli.calc import render_inputs
from medical_tasks.cli.entry import verbs
from medical_tasks.cli.parser import description_of, loaded
from medical_tasks.data.manifest import text_problems, write_texts
from medical_tasks.models.opener import Reader
from medical_tasks.options import Choice, Options, Parameter, parameters
from medical_tasks.plugins import Verb
from medical_tasks.spec import Benchmark

FOLDER: Final = Path(__file__).resolve().parents[1] / "docs" / "reference"

_SECTION: Final = re.compile(
    r"^(Args|Attributes|Returns|Raises|Examples?):\n((?:[ ].*\n|\n)*)",
    re.MULTILINE,
)
"""A section of a Google docstring: its name, and the indented lines after it."""
_SHARED: Final[Mapping[str, str]] = {
    "judge": "Judge options",
    "calibration": "Calibration options",
    "credentialed data": "Options for credentialed data",
    "tables": "Table options",
}
"""Headings of options that several verbs share, with the sections that list them."""


_METHODS: Final[Mapping[str, Sequence[str]]] = {
    "Intervals and tests": (
        "scoring.means",
        "scoring.intervals",
        "scoring.finite",
        "scoring.paired",
        "scoring.place_tests",
        "scoring.reliability",
        "scoring.confidence",
        "scoring.correction",
        "runs.correcting",
        "runs.estimation",
        "lab.meta_evaluation",
    ),
    "Decisions": (
        "comparison.comparing",
        "comparison.policies",
        "comparison.gating",
        "comparison.gate_risk",
        "comparison.planning",
        "comparison.memory_gap",
        "site.deciding",
        "site.looks",
        "site.monitoring",
        "site.history",
    ),
    "Hospitals together": (
        "site.sampling",
        "site.suppression",
        "site.site_effects",
        "site.random_effects",
    ),
    "Reading answers": (
        "scoring.numbers.reading",
        "scoring.numbers.statements",
        "scoring.numbers.rules",
        "scoring.letters",
        "scoring.choice_orders",
        "scoring.sentences",
        "benchmarks.kqa.abstention",
        "benchmarks.doclens.pieces",
        "benchmarks.archehr_qa.parsing",
        "judges.reading",
        "lab.error_types",
        "lab.label_audit",
        "scoring.rouge",
        "scoring.bleu_and_sari",
        "scoring.content_overlap",
        "scoring.umls.matcher",
        "benchmarks.archehr_qa.metric",
        "benchmarks.medcalc_bench.tool_scoring",
        "calculators.units",
    ),
    "The authors' figures": (
        "benchmarks.medcalc_bench.official",
        "benchmarks.kqa.scoring",
        "benchmarks.doclens.official_prompts",
        "benchmarks.doclens.official_scoring",
        "benchmarks.archehr_qa.scoring",
        "benchmarks.archehr_qa.submission",
        "lab.v1_labels",
    ),
    "Judges and models": (
        "judges.lexical",
        "judges.nli",
        "judges.choosing",
        "judges.shuffling",
        "benchmarks.kqa.judge_prompts",
        "benchmarks.ehrnoteqa.judge_prompts",
        "benchmarks.doclens.judge_prompts",
        "benchmarks.doclens.judge_check",
        "benchmarks.archehr_qa.prompts",
        "benchmarks.doclens.prompts",
        "benchmarks.medcalc_bench.protocol",
        "models.opener",
        "models.spending",
        "models.refusals",
        "models.chat_reply",
        "models.call_pool",
        "models.endpoint_choices",
        "models.chat_template",
        "models.local_model",
        "models.embedder",
    ),
    "Making data": (
        "benchmarks.ehrnoteqa.notes",
        "benchmarks.ehrnoteqa.evidence",
        "benchmarks.kqa.data",
        "benchmarks.kqa.prompts",
        "benchmarks.kqa.documents",
        "benchmarks.archehr_qa.release",
        "benchmarks.archehr_qa.evidence",
        "benchmarks.doclens.data",
        "benchmarks.doclens.mimic_report",
        "construct.ehrnoteqa.sample",
        "construct.archehr.align",
        "construct.fresh",
        "construct.fresh.notes",
        "construct.fresh.twins",
        "construct.fresh.fair",
        "construct.swap.texts",
        "importing.matching",
        "report.texts",
    ),
    "Safety": (
        "io.user_folders",
        "guard.addresses",
        "guard.leak_views",
        "sandbox",
    ),
    "The leaderboard": (
        "leaderboard.admission",
        "leaderboard.ranking",
        "leaderboard.door",
        "leaderboard.submission_package.contents",
        "leaderboard.submission_package.submitters",
        "leaderboard.submission_package.zip_file",
    ),
}
"""Modules of `medical_tasks` whose docstrings explain a method, by heading."""


def reference_texts() -> dict[str, str]:
    """Returns the pages by their names in `docs/reference/`."""
    pages = {
        "command_line": _command_line(),
        "python": _python(),
        "tasks": _tasks(),
        "arguments": _arguments(),
        "calculators": _calculators(),
        "methods": _methods_page(),
        "contract": _contract(),
    }
    return {f"{name}.md": _tidy("\n".join(lines)) for name, lines in pages.items()}


def _tidy(text: str) -> str:
    """The text with one blank line where there were several."""
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _page(title: str, source: str) -> str:
    return f"# {title}\n\n<!-- Generated from {source} by `make manifest`. -->\n"


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(_table_line(map(str, cells)) for cells in lines)


def _table_line(cells: Iterable[str]) -> str:
    escaped = (cell.replace("|", r"\|") for cell in cells)
    return f"| {' | '.join(escaped)} |\n"


def _fence(text: str, language: str = "text") -> str:
    body = text.strip("\n")
    return f"```{language}\n{body}\n```\n"


# --- The command line


def _command_line() -> Iterator[str]:
    yield _page("Command line", "the options of the verbs")
    yield (
        "`medical-tasks VERB --help` prints a section of this page (where a verb has many options, "
        "`--help-all`). Every verb but `lighteval` "
        "also takes `--json`, which prints one JSON value instead of text.\n"
    )
    for group in dict.fromkeys(verb.group for verb in _own_verbs()):
        members = [verb for verb in _own_verbs() if verb.group == group]
        yield f"## {group}\n"
        yield _table(
            ("verb", "use"),
            [(f"[{verb.name}](#{verb.name})", verb.summary) for verb in members],
        )
        for verb in members:
            yield from _verb(verb)

    yield "## Shared options\n"
    for heading, title in _SHARED.items():
        yield f"### {title}\n"
        yield _option_table(_shared_options(heading).values())


@cache
def _own_verbs() -> tuple[Verb, ...]:
    own = "medical_tasks."
    return tuple(verb for verb in verbs().values() if verb.run.startswith(own))


def _verb(verb: Verb) -> Iterator[str]:
    """The section of a verb: summary, examples and rules, then its options."""
    yield f"### {verb.name}\n"
    summary, _, rest = description_of(verb).partition("\n")
    yield f"{summary}\n"
    if rest.strip():
        yield _fence(rest)
    if verb.options is None:
        return

    options = loaded(verb)
    if not isinstance(options, Choice):
        yield from _options(parameters(options).values())
        if options.from_file:
            yield (
                "`--config-file FILE` takes options from a `run.yaml`, as every run writes one; "
                "those of the command win.\n"
            )
        return

    common = parameters(options.common)
    yield from _options(common.values())
    for words, form in options.forms.items():
        yield f"#### {' '.join((verb.name, *words))}\n"
        yield f"{_docstring(form)}\n"
        yield from _options(
            parameter
            for name, parameter in parameters(form).items()
            if name not in common
        )


def _docstring(form: type[Options]) -> str:
    return inspect.cleandoc(form.__doc__ or "")


def _options(options: Iterable[Parameter]) -> Iterator[str]:
    """A verb's own options, and links to those that it shares with other verbs."""
    groups: dict[str, list[Parameter]] = {}
    for option in options:
        if not _is_command(option):
            groups.setdefault(option.heading, []).append(option)

    own = [heading for heading in groups if heading not in _SHARED]
    if rows := [option for heading in own for option in groups[heading]]:
        yield _option_table(rows)

    shared = [heading for heading in groups if heading in _SHARED]
    if shared:
        yield f"Also: {'; '.join(_link(name, groups[name]) for name in shared)}.\n"


def _link(heading: str, options: Iterable[Parameter]) -> str:
    """A link to shared options, and which of them the verb does not have."""
    title = _SHARED[heading].lower()
    names = {option.name for option in options}
    absent = [
        f"`{option.words}`"
        for name, option in _shared_options(heading).items()
        if name not in names
    ]
    without = f", without {', '.join(absent)}" if absent else ""
    return f"[{title}](#{title.replace(' ', '-')}){without}"


def _is_command(option: Parameter) -> bool:
    """Whether a field holds another verb's options, which follow `--`."""
    return isinstance(option.type, type) and issubclass(option.type, Options)


def _option_table(options: Iterable[Parameter]) -> str:
    return _table(
        ("option", "meaning"),
        [(f"`{_usage(option)}`", _meaning(option)) for option in options],
    )


def _usage(option: Parameter) -> str:
    """An option as a command has it: `--max-samples N`, `--by NAME ...`, `TASK`."""
    many = " ..." if option.many else ""
    if option.option.positional:
        return f"{option.words}{many}"
    if option.type is bool:
        return option.words

    choices = f"{{{','.join(map(str, option.choices))}}}" if option.choices else ""
    value = option.option.metavar or choices or option.name.upper()
    if option.type is Mapping:
        value = "K=V,..."
    return f"{option.words} {value}{many}"


def _meaning(option: Parameter) -> str:
    text = option.option.help.replace("<", "&lt;")
    return f"{text} (required)" if option.required else text


@cache
def _shared_options(heading: str) -> Mapping[str, Parameter]:
    """The options under a heading, of all verbs and their forms, by name."""
    return {
        option.name: option
        for verb in _own_verbs()
        if verb.options is not None
        for form in _forms(loaded(verb))
        for option in parameters(form).values()
        if option.heading == heading
    }


def _forms(options: type[Options] | Choice) -> tuple[type[Options], ...]:
    return (*options.forms.values(),) if isinstance(options, Choice) else (options,)


# --- Python


def _python() -> Iterator[str]:
    """What `medical_tasks` offers, and the classes that its functions return."""
    names = {name: getattr(medical_tasks, name) for name in medical_tasks.__all__}
    names |= {
        name: value
        for name, value in inspect.getmembers(api, inspect.isclass)
        if value.__module__ == "medical_tasks.api.results"
    }
    yield _page("Python", "the docstrings of `medical_tasks.api`")
    yield f"{inspect.cleandoc(api.__doc__ or '')}\n"
    for name, value in names.items():
        if not name.startswith("_"):
            yield f"## {name}\n"
            yield _fence(f"{name}{_signature(value)}", "python")
            yield _prose(value.__doc__)


def _signature(value: Callable[..., object]) -> str:
    """The signature of a function or class, without quotes around types."""
    text = str(inspect.signature(value))
    return re.sub(r"""(: |-> )(["'])(.*?)\2(?=[,)= ]|$)""", r"\1\3", text)


def _prose(docstring: str | None) -> str:
    r"""A Google docstring as Markdown.

    >>> print(_prose("Adds.\n\nArgs:\n    a: a number.").strip())
    Adds.
    <BLANKLINE>
    **Args**
    <BLANKLINE>
    - `a`: a number.
    """
    text = f"{inspect.cleandoc(docstring or '')}\n"
    return _SECTION.sub(lambda match: _section(match[1], match[2]), text)


def _section(name: str, lines: str) -> str:
    body = textwrap.dedent(lines).strip("\n")
    if name.startswith("Example"):
        is_prose = re.match(r"[A-Z][a-z]+ ", body)
        body = body if is_prose else _fence(body, "python").rstrip()
    elif name != "Returns":
        body = re.sub(r"(?m)^(\w+): ", r"- `\1`: ", body)
    return f"**{name}**\n\n{body}\n\n"


# --- Tasks, arguments, calculators


def _tasks() -> Iterator[str]:
    """Every task, the settings that tasks take, and the metrics that they report."""
    yield _page("Tasks and metrics", "the specs of the benchmarks")
    yield "`medical-tasks list` shows which of their datasets are built here.\n"
    for benchmark in own_benchmarks():
        yield f"## {benchmark.title}\n"
        yield _table(
            ("task", "asked", "dataset", "split", "version", "longest answer"),
            [
                (
                    f"`{task.name}`",
                    task.title,
                    task.dataset,
                    task.split,
                    task.version,
                    task.generation_size,
                )
                for task in benchmark.tasks
            ],
        )
        if settings := _settings(benchmark):
            yield _table(("`--task-args`", "meaning", "tasks"), settings)
        yield _table(
            ("metric", "meaning", "range", "needs", "tasks"), _metrics(benchmark)
        )


def _settings(benchmark: Benchmark) -> list[tuple[str, ...]]:
    users: dict[tuple[str, ...], list[str]] = {}
    for task in benchmark.tasks:
        for name, meaning in {**task.arguments, **task.scoring_arguments}.items():
            users.setdefault((f"`{name}`", meaning), []).append(task.name)
    return _with_tasks(users, benchmark)


def _metrics(benchmark: Benchmark) -> list[tuple[str, ...]]:
    users: dict[tuple[str, ...], list[str]] = {}
    for task in benchmark.tasks:
        for metric in task.metrics:
            low, high = metric.limits
            span = f"{low:g} to {high:g} {metric.unit}".rstrip()
            row = (f"`{metric.name}`", metric.description, span, metric.needs)
            users.setdefault(row, []).append(task.name)
    return _with_tasks(users, benchmark)


def _with_tasks(
    users: Mapping[tuple[str, ...], Sequence[str]], benchmark: Benchmark
) -> list[tuple[str, ...]]:
    """Rows with a last cell that names the tasks they hold for."""
    every = len(benchmark.tasks)
    return [
        (*row, "all" if len(tasks) == every else ", ".join(tasks))
        for row, tasks in users.items()
    ]


def _arguments() -> Iterator[str]:
    """What `--model-args` and `--judge-args` take, by kind."""
    from medical_tasks.judges.chat import CHAT_JUDGE_OPTIONS
    from medical_tasks.judges.nli import NLI_OPTIONS
    from medical_tasks.models.inspect_options import INSPECT_OPTIONS
    from medical_tasks.models.opener import (
        CHAT_OPTIONS,
        HF_OPTIONS,
        RAY_OPTIONS,
        TESTED_OPTIONS,
        VLLM_OPTIONS,
    )
    from medical_tasks.models.server import SERVED_OPTIONS

    yield _page("Arguments of models and judges", "the readers of `--model-args`")
    yield "`medical-tasks run --tasks T --model M --model-args K=V,... --judge J --judge-args K=V,...`\n"
    tested = {
        name: reader
        for name, reader in TESTED_OPTIONS.items()
        if name not in CHAT_OPTIONS
    }
    servers = {"openai-api": CHAT_OPTIONS, **SERVED_OPTIONS}
    kinds = {
        "hf": HF_OPTIONS,
        "vllm": VLLM_OPTIONS,
        "ray": RAY_OPTIONS,
        **{kind: {**readers, **tested} for kind, readers in servers.items()},
        "inspect": INSPECT_OPTIONS,
        "judge nli": NLI_OPTIONS,
    }
    for kind, readers in kinds.items():
        yield f"## {kind}\n\n{_argument_table(kind, readers)}"

    yield "## Chat judges\n"
    absent = ", ".join(f"`{name}`" for name in tested)
    yield f"The arguments of the kind of model (of a server without {absent}), and:\n"
    yield _argument_table("judge", CHAT_JUDGE_OPTIONS)


def _argument_table(kind: str, readers: Mapping[str, Reader]) -> str:
    rows = [
        (f"`{name}`", rule, meaning_of(kind, name))
        for name, (_, rule) in sorted(readers.items())
    ]
    return _table(("argument", "value", "meaning"), rows)


def _calculators() -> Iterator[str]:
    """Inputs, units, published ranges and sources of the calculators."""
    yield _page("Inputs of the calculators", "the calculators")
    yield "`medical-tasks calc NAME --inputs` prints a section of this page.\n"
    for calculator in CALCULATORS:
        yield f"## {calculator.name}\n\n{_fence(render_inputs(calculator))}"


# --- Methods


def _methods_page() -> Iterator[str]:
    """What the modules of `_METHODS` say of themselves."""
    yield _page("Methods", "the docstrings of modules")
    yield "How figures are computed, with sources, in the words of the code.\n"
    for heading, modules in _METHODS.items():
        yield f"## {heading}\n"
        for name in modules:
            module = import_module(f"medical_tasks.{name}")
            yield f"### {name}\n"
            yield _prose(module.__doc__)


# --- The contract


def _contract() -> Iterator[str]:
    """The classes of `spec.py`, in its order: fields, methods, docstrings."""
    yield _page("The contract of a benchmark", "the docstrings of `medical_tasks.spec`")
    yield f"{inspect.cleandoc(contract.__doc__ or '')}\n"
    for node in ast.parse(inspect.getsource(contract)).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield f"## {node.name}\n"
            yield _prose(ast.get_docstring(node))
            if fields := _fields(node):
                yield _fence(fields, "python")
            yield from _methods(node)


def _fields(node: ast.ClassDef) -> str:
    """The lines that declare a class's fields, with their comments."""
    lines = inspect.getsource(contract).splitlines()
    fields = [member for member in node.body if isinstance(member, ast.AnnAssign)]
    if not fields:
        return ""

    first = fields[0].lineno - 1
    while lines[first - 1].strip().startswith("#"):
        first -= 1
    last = fields[-1].end_lineno
    return textwrap.dedent("\n".join(lines[first:last]))


def _methods(node: ast.ClassDef) -> Iterator[str]:
    for member in node.body:
        if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
            returns = f" -> {ast.unparse(member.returns)}" if member.returns else ""
            yield f"### {node.name}.{member.name}\n"
            yield _fence(
                f"{member.name}({ast.unparse(member.args)}){returns}", "python"
            )
            yield _prose(ast.get_docstring(member))


# --- What arguments of models and judges mean

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
"""What each argument of `--model-args` and `--judge-args` means; one without a meaning fails the check."""
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


# --- The command


def main() -> int:
    """Writes or checks the pages."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true")
    action.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    pages = {FOLDER / name: text for name, text in reference_texts().items()}

    if arguments.write:
        print(*(f"wrote {path}" for path in write_texts(pages)), sep="\n")
        return 0

    problems = text_problems(pages)
    print(*problems, sep="\n", file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
