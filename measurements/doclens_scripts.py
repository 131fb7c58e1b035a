"""The requests that the DocLens authors' scripts send to a server, compared with those of this package.

    python -m measurements.doclens_scripts FOLDER [--nltk DATA --python PYTHON] [--only NAME ...]

FOLDER has checkouts of yiqingxyq/DocLens, wyim/aci-bench, abachaa/MeQSum and
abachaa/MEDIQA2021, by these names. A server on this machine writes down each request
and answers by the request's text alone, with claims and verdicts sound and odd. Its
clients are:

- the authors' scripts as they are, by the commands of their `scripts/eval_*.sh`, each in a process of its own. What they import
  to reach a model (openai, transformers, vllm, torch) is replaced by a module that sends the same request to the server.
- `medical-tasks score TASK --prompts official --upstream FOLDER --task-args official=yes`, on the same outputs.

Outputs are references, cited and made untidy: citations in the middle, `[1, 2]`,
`[1-3]`, out of range, more than ten, none; blank, long, Unicode, headings twice or in
another order. Their scripts read visits and questions in their own data files, this
package in aci-bench and MEDIQA 2021; of two questions that are split elsewhere
(docs/doclens.md) both have our sentences. Radiology reports are synthetic, since the
checkout's are text of MIMIC-III, and lie in their file's form: on one line, in small
letters.

Three things are compared: the messages of each request, byte for byte (their example
messages of the system, with names, are ours of user and assistant), with its
`max_tokens`; the four shares of each example of their score files; and the totals that
they print. Requests that this package also sends without `official=yes` are for its own
figures, and are left out.

With `--nltk`, a data folder of NLTK (`tokenizers/punkt_tab/english`), and `--python`,
an interpreter that has nltk, their scripts split notes by NLTK and this package is
given that folder; otherwise both use untrained Punkt, which shows nothing about NLTK's.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from measurements.mimic_twin import NOTES_FILE, write_twin
from medical_tasks.benchmarks.doclens.data import load_items
from medical_tasks.benchmarks.doclens.declarations import DATASETS
from medical_tasks.benchmarks.doclens.judge_prompts import load_judge_prompts
from medical_tasks.benchmarks.doclens.official_prompts import official_division
from medical_tasks.benchmarks.doclens.official_scoring import official_segments
from medical_tasks.benchmarks.doclens.pieces import SECTIONS, numbered_question
from medical_tasks.benchmarks.doclens.prompts import gold_response, load_prompts
from medical_tasks.benchmarks.doclens.spec import TASKS
from medical_tasks.data.dataset_store import read_rows
from medical_tasks.data.fetching import build_dataset
from medical_tasks.scoring.sentences import UNTRAINED, read_punkt
from medical_tasks.spec import Item
from tests.fault_server import Call, FaultServer

Rows = list[dict[str, Any]]
Request = tuple[tuple[tuple[str, str], ...], int | None]
"""Role and content of each message, and `max_tokens`."""

ROOT = Path(__file__).resolve().parents[1]
BY_NAME = {task.name: task for task in TASKS}
ROLES = {"example_user": "user", "example_assistant": "assistant"}
METRICS = ("claim_recall", "claim_precision", "citation_recall", "citation_precision")
GENERATION = "run.py"
CLAIMS = "claim_evaluation/generate_subclaims.py"
ENTAIL = "claim_evaluation/run_entailment{}.py"
CITE = "citation_evaluation/eval_citation{}.py"
DIVIDE = "data_processing/divide_section.py"
TOTALS = "aggregate_scores.py"
SCRIPTS = (
    GENERATION,
    DIVIDE,
    CLAIMS,
    *(script.format(ending) for script in (ENTAIL, CITE) for ending in ("", "_model")),
    TOTALS,
)
SHOTS = {"": 0, "_one_shot": 1, "_two_shot": 2, "_six_shot": 6, "_twelve_shot": 12}
OTHER_SENTENCES = ("173", "313")
"""Questions of MeQSum that the authors' Punkt splits elsewhere: docs/doclens.md."""
FINISHED = (0, 5)
"""Exit codes of commands that did all, and of a run in which some verdicts are missing."""
NOTES = 5_000
HEADINGS = (
    "cc|hpi|history|interval hx|reason for visit|ros|review of system|exam|physical exam|results|"
    "findings|a|p|plan|ap|a / p|a/p|summary plan|plan of care"
)
"""What notes made at random have headings of."""
LONG = 12
"""How often a long output repeats its reference."""

STUBS = {
    "loopback.py": """
import json, os, urllib.request
def ask(**body):
    request = urllib.request.Request(
        os.environ["LOOPBACK"] + "/chat/completions",
        data=json.dumps(body).encode(), headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)
""",
    "openai/__init__.py": """
from loopback import ask
class ChatCompletion:
    create = staticmethod(ask)
""",
    "openai/error.py": """
class RateLimitError(Exception): pass
class InvalidRequestError(Exception): pass
""",
    "transformers.py": """
class GPT2TokenizerFast:
    @classmethod
    def from_pretrained(cls, name): return cls()
    def tokenize(self, text): return []
AutoModelForSeq2SeqLM = AutoTokenizer = GPT2TokenizerFast
""",
    "torch.py": "",
    "vllm.py": """
from loopback import ask
class _Output:
    def __init__(self, text): self.outputs, self.text = [self], text
class SamplingParams:
    def __init__(self, **settings): self.__dict__ |= settings
class LLM:
    def __init__(self, **settings): pass
    def get_tokenizer(self): return self
    def apply_chat_template(self, prompt, tokenize): return prompt
    def generate(self, prompt, params, use_tqdm):
        sampling = {name: getattr(params, name) for name in ("max_tokens", "temperature", "top_p")}
        made = ask(model="Mistral", messages=prompt, **sampling)
        return [_Output(made["choices"][0]["message"]["content"])]
""",
}
NLTK = """
from medical_tasks.scoring.sentences import split_sentences
def sent_tokenize(text): return split_sentences(text, rules="punkt")
"""


# Replies


def reply(call: Call) -> str:
    """Replies to the last message alone, so that both sides get the same reply to the same question."""
    content = call.prompt
    chance = random.Random(hashlib.sha256(content.encode()).digest())
    try:
        payload = json.loads(content)
    except ValueError:
        payload = None
    if isinstance(payload, dict) and "claims" in payload:
        return _on_claims(payload["claims"], chance)
    if isinstance(payload, dict) and "question A" in payload:
        verdict: dict[str, Any] = {
            "explanation": "x",
            "prediction": chance.choice([0, 1, 1, "1"]),
        }
        return chance.choice(
            [json.dumps(verdict)] * 6 + [f"```json\n{json.dumps(verdict)}\n```", "[]"]
        )
    if isinstance(payload, dict):
        cited = next(value for value in payload.values() if isinstance(value, list))
        return _on_citations([int(sentence["idx"]) for sentence in cited], chance)
    if re.search(r"(?:prediction|provenance)", content):
        # Mistral's: every reply can be read, since their script asks fifteen times for
        # one that can.
        lines = [
            "explanation: x",
            "provenance: 0, 1, 9",
            f"prediction: {chance.randint(0, 1)}",
        ]
        return "\n".join(
            chance.choice([lines, [*lines, "prediction: 0"], ["Sure.", *lines]])
        )
    return _claims_of(content, chance)


def _claims_of(text: str, chance: random.Random) -> str:
    words = text.split() or ["nothing"]
    size = max(1, len(words) // 6)
    parts = [
        " ".join(words[start : start + size]) for start in range(0, len(words), size)
    ][:8]
    claims = [
        f"Claim {number}: {statement}"
        for number, statement in enumerate(parts, start=1)
    ]
    odd = [
        "Sure.\n" + "\n".join(claims),
        "\n\n".join(claims) + "\n",
        "".join(claims),
        "\n".join(claims).replace(" ", "  ", 3),
        "There is nothing to say.",
    ]
    return chance.choice([*["\n".join(claims)] * 6, *odd])


def _on_claims(claims: Sequence[str], chance: random.Random) -> str:
    verdicts: list[dict[str, Any]] = [
        {
            "claim": claim,
            "explanation": "x",
            "entailment_prediction": chance.choice([0, 1, 1, True, 2]),
        }
        for claim in claims
    ]
    text = json.dumps(verdicts)
    odd = [
        json.dumps(verdicts[:-1]),
        json.dumps([*verdicts, verdicts[0]]),
        f"```json\n{text}\n```",
        "Yes.",
        "",
    ]
    return chance.choice([*[text] * 8, *odd])


def _on_citations(numbers: Sequence[int], chance: random.Random) -> str:
    verdict = {
        "explanation": "x",
        "provenance": chance.choice(
            [
                [*numbers],
                [*numbers[:1]],
                [],
                [*numbers, 9999],
                [str(numbers[0])],
                {"0": 1},
            ]
        ),
        "entailment_prediction": chance.choice([0, 1, 1, 1, "1"]),
    }
    return json.dumps(verdict | chance.choice([{}, {"output": None, "citations": [7]}]))


# Outputs


def untidy(output: str, index: int, sources: int) -> str:
    """Makes a cited text untidy, as outputs of models are; its index among all texts decides how."""
    chance = random.Random(index)
    bare = re.sub(r" ?\[\d+\]", "", output)
    cite = re.compile(r"((?: ?\[\d+\])+)")

    def cited_as(form: str) -> str:
        return cite.sub(lambda _: form, output)

    last = max(sources - 1, 0)
    numbers = [chance.randrange(max(sources, 1)) for _ in range(14)]
    ways = (
        output,
        "",
        " \n",
        bare,
        re.sub(r"(\w+) ", lambda word: f"{word[1]} [{last}] ", output, count=5),
        cited_as(f" [{numbers[0]}, {numbers[1]}]"),
        cited_as(f" [0-2][{last}]"),
        cited_as(f"[{sources + 7}]"),
        cited_as("".join(f"[{number}]" for number in numbers)),
        f"\n  {output}\n\n",
        output.replace(".", " . ").replace("[", "[ ").replace(" and ", " | and ] "),
        f"\u00c4rztin: 37,5\u00a0\u00b0C \u2265 5 \u00b5g \ud83e\ude7a caf\u00e9\u2028{output} \u0663 [\u0661]",
        "\n".join([output] * LONG),
        output.replace("\n", "\r\n"),
        "#####EMPTY#####",
        f"[{last}]",
        f"PLAN:\n{output}\nHPI: twice. [0]\nresults\nIMPRESSION: none [1]\n a: {bare}",
        " ".join(chance.sample(output.split(" "), len(output.split(" ")))),
        output[: len(output) // 2],
        f"1. 5 mg + 3 {output} 2",
    )
    return ways[index % len(ways)]


# What is compared


@dataclass(frozen=True, kw_only=True)
class Compared:
    """What one script sends with one set of prompts, or the figures that it computes.

    Attributes:
        name: the label of the comparison.
        theirs: their requests or figures.
        ours: our requests for the official figures, or our figures.
        other: how many are known to differ.
    """

    name: str
    theirs: Sequence[Any]
    ours: Sequence[Any]
    other: int = 0

    @property
    def equal(self) -> int:
        """How many are equal."""
        return (Counter(self.theirs) & Counter(self.ours)).total()

    @property
    def holds(self) -> bool:
        """Whether all but those known to differ are equal, and we have no others."""
        return 0 < len(self.theirs) == self.equal + self.other == len(self.ours)

    def first_difference(self) -> str:
        """Shows one of theirs and one of ours that the other side lacks, from their first difference."""
        theirs, ours = Counter(self.theirs), Counter(self.ours)
        lacking, more = (
            list((left - right).keys())
            for left, right in ((theirs, ours), (ours, theirs))
        )
        first = _end(lacking[0]) if lacking else "nothing"
        # Of ours the most similar one: that with the longest common beginning.
        second = max(
            map(_end, more),
            key=lambda text: len(_shared(first, text)),
            default="nothing",
        )
        start = max(len(_shared(first, second)) - 60, 0)
        return f"theirs {first[start : start + 300]!r}\n  ours   {second[start : start + 300]!r}"


def _end(compared: Any) -> str:
    """Returns the last message of a request, or a figure."""
    return str(compared[0][-1] if isinstance(compared[0], tuple) else compared)


def _shared(first: str, second: str) -> str:
    pairs = itertools.takewhile(
        lambda pair: pair[0] == pair[1], zip(first, second, strict=False)
    )
    return "".join(char for char, _ in pairs)


def request(call: Call) -> Request:
    """Returns the compared parts of a request."""
    messages = tuple(
        (ROLES.get(message.get("name"), message["role"]), message["content"])
        for message in call.body["messages"]
    )
    return messages, call.body.get("max_tokens")


@dataclass(kw_only=True)
class Desk:
    """The server, the checkouts, and a folder for the files that are written.

    Attributes:
        parameters: sampling parameters, by their sender.
    """

    server: FaultServer
    trees: Path
    out: Path
    python: str
    nltk: Path | None
    count: int = 0
    parameters: dict[str, set[str]] = field(default_factory=dict)

    @property
    def punkt(self) -> Path:
        """The folder with NLTK's Punkt parameters for English."""
        return (self.nltk or Path()) / "tokenizers/punkt_tab/english"

    @property
    def checkout(self) -> Path:
        """The authors' repository."""
        return self.trees / "DocLens"

    def folder(self) -> Path:
        """Creates a new, empty folder."""
        self.count += 1
        path = self.out / str(self.count)
        path.mkdir()
        return path

    def run(
        self, who: str, command: Sequence[str], **environment: str
    ) -> tuple[str, list[Call]]:
        """Runs a command in the checkout; returns what it prints, and the requests that it sends."""
        before = len(self.server.calls)
        done = subprocess.run(
            command,
            cwd=self.checkout,
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"} | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in FINISHED:
            raise RuntimeError(f"{who}: {' '.join(done.stderr.split())[-600:]}")
        calls = self.server.calls[before:]
        for call in calls:
            left = {
                key: value
                for key, value in call.body.items()
                if key not in ("messages", "model", "max_tokens")
            }
            self.parameters.setdefault(who, set()).add(json.dumps(left, sort_keys=True))
        return done.stdout, calls

    def script(self, script: str, *arguments: str) -> tuple[str, list[Request]]:
        """Runs a script of theirs; returns what it prints and its requests."""
        path = [str(self.out / "stubs")] + ([] if self.nltk else [str(ROOT)])
        printed, calls = self.run(
            script,
            [self.python, str(self.checkout / script), *arguments],
            PYTHONPATH=os.pathsep.join(path),
            LOOPBACK=self.server.base_url,
            **({"NLTK_DATA": str(self.nltk)} if self.nltk else {}),
        )
        return printed, list(map(request, calls))

    def score(
        self, arguments: Sequence[str], *, official: bool, style: str
    ) -> tuple[Path, set[Request]]:
        """Runs `medical-tasks score`; returns the folder of its results, and its requests."""
        out = self.folder() / "run"
        settings = {"style": style} | ({"official": "yes"} if official else {})
        if official and self.nltk and arguments[0].startswith("aci_bench"):
            settings["punkt"] = str(self.punkt)
        _, calls = self.run(
            "medical-tasks score",
            [
                *(
                    sys.executable,
                    "-m",
                    "medical_tasks",
                    "score",
                    *arguments,
                    "--out",
                    str(out),
                ),
                *("--prompts", "official", "--upstream", str(self.checkout)),
                *("--judging", "batched" if style == "json_cot" else "single"),
                *(
                    "--task-args",
                    ",".join(f"{name}={value}" for name, value in settings.items()),
                ),
                *("--judge", "openai-api/local/judge"),
                *("--judge-args", f"base_url={self.server.base_url}"),
            ],
            PYTHONPATH=str(ROOT),
        )
        return out, set(map(request, calls))


# Generation


def generation(desk: Desk, rows: Mapping[str, Rows]) -> Iterator[Compared]:
    """Compares what `run.py` sends for every file of prompts with our prompts."""
    reports = [
        {"example_id": row["id"], "input": one_line(row["sentences"]), "reference": ""}
        for row in rows["mimic_rrs"]
    ]
    for family, stem, source_rows in (
        ("aci_bench", "acibench", data_file(desk, "ACI-Bench-TestSet-1_clean.json")),
        (
            "aci_bench_section",
            "acibench_SECTION",
            data_file(desk, "ACI-Bench-TestSet-1_clean.json"),
        ),
        ("mimic_rrs", "mimic", reports),
        ("meqsum", "meqsum", data_file(desk, "meqsum-test_clean.json")),
    ):
        for name, count in SHOTS.items():
            spec = BY_NAME.get(f"{family}{name}")
            if spec is None:
                continue
            prompts = load_prompts(spec, "official", desk.checkout)
            items = load_items(spec, rows[spec.dataset])
            for section in SECTIONS if "SECTION" in stem else ("",):
                ending = "" if count else "_dummy"
                stemmed = stem.replace("SECTION", section)
                file = f"prompts/{stemmed}_annotated-citation{ending}.json"
                folder = desk.folder()
                write(folder / "rows.json", source_rows)
                _, theirs = desk.script(
                    GENERATION,
                    *("--prompt_file", file, "--eval_file", str(folder / "rows.json")),
                    *("--shot", str(count), "--model", "gpt-4-preview"),
                    *("--result_dir", str(folder), "--dataset_and_tag", "x"),
                )
                ours = [
                    tuple(
                        (str(message["role"]), str(message["content"]))
                        for message in prompts.render(item)
                    )
                    for item in items
                    if not section or item.groups["section"] == section
                ]
                yield Compared(
                    name=f"{GENERATION} {file}, {count} examples",
                    theirs=[messages for messages, _ in theirs],
                    ours=ours,
                    other=len(OTHER_SENTENCES) if family == "meqsum" else 0,
                )


# Division


def division(desk: Desk) -> Compared:
    """Compares the division of random headings and lines by their `divide_section.py` with ours."""
    chance = random.Random(1)
    lines = [
        *HEADINGS.split("|"),
        *(
            "",
            " ",
            "\r",
            "\x0b",
            "\u2028exam",
            "[0] plan:",
            "It is p: 5.",
            "IMPRESSION",
            "impression",
        ),
    ]
    ways = (
        str,
        str.upper,
        str.title,
        "  {}".format,
        "{} more".format,
        "{}:".format,
        "{} :".format,
    )
    notes = [
        "\n".join(
            chance.choice(ways)(chance.choice(lines))
            for _ in range(chance.randrange(9))
        )
        for _ in range(NOTES)
    ]
    file = desk.folder() / "notes.json"
    write(file, [{"output": note} for note in notes])
    desk.script(DIVIDE, "--result_file", str(file))
    divide = official_division(
        load_judge_prompts(BY_NAME["aci_bench"], "official", desk.checkout).texts
    )
    assert divide is not None
    return Compared(
        name=f"{DIVIDE} random notes",
        theirs=[
            tuple(row[f"output_{section}"] for section in SECTIONS)
            for row in read(file)
        ],
        ours=[tuple(divide(note)[section] for section in SECTIONS) for note in notes],
    )


# Judging


@dataclass(frozen=True, kw_only=True)
class Family:
    """A task with its names in their commands."""

    task: str
    dataset: str  # of their commands
    stem: str  # of their files of prompts
    split: str = "citation"

    @property
    def by_section(self) -> bool:
        """Whether their commands divide notes into sections."""
        return self.stem == "acibench"


FAMILIES = (
    Family(task="aci_bench", dataset="acibench", stem="acibench", split="sent"),
    Family(task="aci_bench_section", dataset="acibench", stem="acibench", split="sent"),
    Family(task="mimic_rrs", dataset="mimic", stem="mimic"),
    Family(task="meqsum", dataset="meqsum", stem="meqsum", split="sent"),
    Family(task="doclens_own", dataset="user_dataset", stem="general"),
)


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """The outputs that both sides evaluate.

    Attributes:
        items: of our task.
        outputs: by item's id.
        example: of each item, their `example_id` and section.
        rows: their file of sources and references.
        arguments: the options with which `score` finds the data.
    """

    items: list[Item]
    outputs: dict[str, str]
    example: dict[str, tuple[str, str]]
    rows: Rows
    arguments: list[str]


def judging(
    desk: Desk, family: Family, inputs: Inputs, style: str
) -> Iterator[Compared]:
    """Compares everything that a family's commands send and compute with `score`."""
    sent, scores, totals, result = theirs(desk, family, inputs, style)
    responses = desk.folder() / "responses.jsonl"
    lines = [
        json.dumps({"id": name, "response": text})
        for name, text in inputs.outputs.items()
    ]
    responses.write_text("\n".join(lines), encoding="utf-8")
    arguments = [family.task, "--responses", str(responses), *inputs.arguments]
    _, own = desk.score(arguments, official=False, style=style)
    out, with_official = desk.score(arguments, official=True, style=style)
    title = f"{family.task} {style}"
    their_requests: set[Request] = set()
    for script, requests in sent.items():
        # We ask the same question about two texts once.
        distinct = set(requests)
        their_requests |= distinct
        yield Compared(
            name=f"{script} {title}, distinct of {len(requests)} requests",
            theirs=sorted(distinct),
            ours=sorted(distinct & with_official),
        )
    alone = with_official - own
    yield Compared(
        name=f"{title}, requests that official=yes adds",
        theirs=sorted(alone & their_requests),
        ours=sorted(alone),
    )
    yield from _figures(family, inputs, title, out, scores, totals)
    if desk.nltk and family.by_section:
        yield from _sentences(desk.punkt, title, scores["citationrecall"], read(result))


def _sentences(punkt: Path, title: str, scores: Any, rows: Rows) -> Iterator[Compared]:
    """Compares the sentences of their score file with ours, by the same parameters and without any."""
    theirs = [
        record["output"]
        for by_example in scores.values()
        for records in by_example.values()
        for record in records
    ]
    texts = [row[f"output_{section}"] for row in rows for section in SECTIONS]
    trained, untrained = (
        [
            " ".join(sentence.split())
            for text in texts
            for sentence in official_segments(text, method="sent", punkt=rules)
        ]
        for rules in (read_punkt(punkt), UNTRAINED)
    )
    without = (Counter(theirs) & Counter(untrained)).total()
    script = CITE.format("" if title.endswith("json_cot") else "_model")
    name = f"{script} {title}, sentences by trained Punkt (untrained Punkt makes {without} of them)"
    yield Compared(name=name, theirs=theirs, ours=trained)


def _figures(
    family: Family,
    inputs: Inputs,
    title: str,
    out: Path,
    scores: Any,
    totals: Mapping[str, float],
) -> Iterator[Compared]:
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    metrics = results["tasks"][family.task]["metrics"]
    yield Compared(
        name=f"{TOTALS} {title}, totals",
        theirs=[(name, round(value, 12)) for name, value in totals.items()],
        ours=[
            (name, None if value is None else round(value, 12))
            for name in totals
            for value in [metrics[f"{name}_official"]["value"]]
        ],
    )
    item_rows = {
        row["id"]: row for row in pq.read_table(out / "items.parquet").to_pylist()
    }
    ours = [
        (
            name,
            metric,
            round(row[f"{metric}_official"] or 0.0, 12),
            row[f"{metric}_official_of"],
        )
        for name, row in item_rows.items()
        for metric in METRICS
    ]
    their_shares = [
        (name, metric, *_share(scores, metric, *inputs.example[name]))
        for name in item_rows
        for metric in METRICS
    ]
    yield Compared(
        name=f"{TOTALS} {title}, shares of examples", theirs=their_shares, ours=ours
    )


def _share(
    scores: Mapping[str, Any], metric: str, example: str, section: str
) -> tuple[float, int]:
    """Computes the share of one example by their rules, over all sections if none is named."""
    hits = of = 0
    for name, by_example in scores[
        metric.partition("_")[0] + metric.rpartition("_")[2]
    ].items():
        for record in by_example.get(example, ()) if section in ("", name) else ():
            entailed = record["entailment_prediction"] == 1
            if metric == "citation_precision":
                cited = record["citations"]
                of += len(cited)
                hits += sum(
                    entailed and number in record["provenance"] for number in cited
                )
            else:
                of += 1
                hits += entailed
    return round(hits / of, 12) if of else 0.0, of


def theirs(
    desk: Desk, family: Family, inputs: Inputs, style: str
) -> tuple[dict[str, list[Request]], dict[str, Any], dict[str, float], Path]:
    """Runs the commands of their `eval_*.sh`; returns requests by script, score files, printed totals and divided outputs."""
    persection = family.task.endswith("_section")
    folder = desk.folder()
    eval_file = folder / "data.json"
    result = folder / ("results-persection.json" if persection else "results.json")
    write(eval_file, inputs.rows)
    for section in SECTIONS if persection else ("",):
        file = folder / f"results-{section}.json" if section else result
        rows = [
            row
            | {"output": inputs.outputs[f"{row['example_id']}/{section}".rstrip("/")]}
            for row in inputs.rows
        ]
        write(file, rows)
    sent: dict[str, list[Request]] = {}

    def run(script: str, *arguments: str) -> str:
        printed, requests = desk.script(script, *arguments)
        sent.setdefault(script, []).extend(requests)
        return printed

    model = [] if style == "json_cot" else ["--eval_model", "Mistral"]
    ending, mistral = ("_model", "_Mistral") if model else ("", "")
    whose = ["--dataset_name", family.dataset]
    if family.by_section:
        for file in (eval_file, result):
            run(DIVIDE, "--result_file", str(file))
    claim_files = {"reference": result, "output": result}
    if family.stem != "meqsum":
        making = f"{family.stem}{'_persection' if family.by_section else ''}_subclaim_generation"
        for side in ("reference", "output"):
            run(
                CLAIMS,
                *("--eval_file", str(eval_file), "--result_file", str(result)),
                *("--mode", f"{side}_claims"),
                *("--prompt_file", f"claim_evaluation/prompts/{making}.json"),
                *(["--use_persection_claims"] if family.by_section else []),
            )
            infix = "output_claim" if side == "output" else "claim"
            claim_files[side] = result.with_suffix(f".{infix}_min1max30.json")
    judged = f"claim_evaluation/prompts/{family.stem}_claim_entail"
    ways = [("claim_recall", "reference", ""), ("claim_precision", "output", "")]
    if family.stem == "meqsum":
        ways.append(("same", "output", "_same"))
    for mode, side, same in ways:
        run(
            ENTAIL.format(ending),
            *("--result_file", str(claim_files[side]), *whose, "--mode", mode),
            *("--prompt_file", f"{judged}{same}{mistral}.json", *model),
            *(["--use_persection_claims"] if family.by_section else []),
        )
    infix = "_persection" if family.by_section and not mistral else ""
    run(
        CITE.format(ending),
        *("--result_file", str(result), *whose, "--split_method", family.split),
        *(
            "--prompt_file",
            f"citation_evaluation/prompts/{family.stem}{infix}_citation_entail{mistral}.json",
        ),
        *model,
        *(["--get_persection_score"] if family.by_section else []),
    )
    printed = run(
        TOTALS,
        *(
            "--result_file",
            str(result),
            *whose,
            "--eval_model",
            "Mistral" if model else "GPT",
        ),
        *("--eval_claim_recall", "--eval_claim_precision", "--eval_citations"),
    )
    tail = ".Mistral" if model else ""
    files = {
        "claimrecall": claim_files["reference"].with_suffix(f".claim_scores{tail}"),
        "claimprecision": claim_files["output"].with_suffix(
            f".output_claim_scores{tail}"
        ),
        "citationrecall": result.with_suffix(f".citations.score{tail}"),
    }
    files["citationprecision"] = files["citationrecall"]
    scores = {name: read(path) for name, path in files.items()}
    if family.stem == "meqsum":
        _either(scores, read(result.with_suffix(f".same_scores{tail}")))
    totals = {name: shares["total"] for name, shares in json.loads(printed).items()}
    return (
        {script: requests for script, requests in sent.items() if requests},
        scores,
        totals,
        result,
    )


def _either(scores: Mapping[str, Any], same: Any) -> None:
    """Adds, as their `aggregate_scores.py` does, that two equal questions entail each other."""
    for name in ("claimrecall", "claimprecision"):
        for section, by_example in scores[name].items():
            for example, records in by_example.items():
                for record, other in zip(records, same[section][example], strict=False):
                    if other["entailment_prediction"] == 1:
                        record["entailment_prediction"] = 1


def outputs_of(task: str, items: Sequence[Item]) -> dict[str, str]:
    """Returns each item's cited reference, made untidy."""
    return {
        item.id: untidy(
            gold_response(BY_NAME[task], item), index, len(item.fields["sentences"])
        )
        for index, item in enumerate(items)
    }


def inputs_of(
    desk: Desk, family: Family, rows: Rows, data: Path, config: str
) -> Inputs:
    """Returns the inputs of both sides from a built dataset."""
    items = load_items(BY_NAME[family.task], rows)
    example = {
        item.id: (item.cluster, str(item.groups["section"]))
        if family.task.endswith("_section")
        else (item.id, "")
        for item in items
    }
    return Inputs(
        items=items,
        outputs=outputs_of(family.task, items),
        example=example,
        rows=[their_row(desk, family, row) for row in rows],
        arguments=["--data", str(data), "--config", config],
    )


def their_row(desk: Desk, family: Family, row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the row of their file that belongs to a built row."""
    name = str(row["id"])
    if family.dataset == "mimic":
        reference = " ".join(row["impression"].split()).lower()
        return {
            "example_id": name,
            "input": one_line(row["sentences"]),
            "reference": reference,
        }
    file = (
        "meqsum-test_clean.json"
        if family.dataset == "meqsum"
        else "ACI-Bench-TestSet-1_clean.json"
    )
    their_record = next(
        record for record in data_file(desk, file) if str(record["example_id"]) == name
    )
    other = (
        {"input": one_line(row["sentences"])}
        if name in OTHER_SENTENCES and family.dataset == "meqsum"
        else {}
    )
    return {
        "example_id": name,
        "input": their_record["input"],
        "reference": their_record["reference"],
    } | other


def one_line(sentences: Sequence[str]) -> str:
    """Writes a source on one line, as their files of reports and questions do."""
    return f"{numbered_question(sentences).lower()} "


def data_file(desk: Desk, name: str) -> Rows:
    """Reads a file of the checkout's data."""
    rows: Rows = read(desk.checkout / "data" / name)
    return rows


def read(path: Path) -> Any:
    """Reads a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def write(path: Path, content: Any) -> None:
    """Writes a JSON file."""
    path.write_text(json.dumps(content), encoding="utf-8")


def compare(
    trees: Path,
    *,
    only: Sequence[str] = (),
    nltk: Path | None = None,
    python: str = sys.executable,
    parameters: dict[str, set[str]] | None = None,
) -> Iterator[Compared]:
    """Runs their scripts and this package on everything, or on those parts that `only` names."""
    with tempfile.TemporaryDirectory() as scratch, FaultServer(answer=reply) as server:
        out = Path(scratch)
        stubs = STUBS if nltk else STUBS | {"nltk.py": NLTK}
        for name, text in stubs.items():
            path = out / "stubs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        desk = Desk(
            server=server,
            trees=trees.resolve(),
            out=out,
            python=python,
            nltk=nltk and nltk.resolve(),
            parameters={} if parameters is None else parameters,
        )
        built = _built(desk)
        rows = {name: rows for name, (rows, _, _) in built.items()}
        if not only or "generation" in only:
            yield from generation(desk, rows)
            yield division(desk)
        for family in FAMILIES:
            if only and family.task not in only:
                continue
            inputs = inputs_of(desk, family, *built[BY_NAME[family.task].dataset])
            for style in ("json_cot", "cot"):
                yield from judging(desk, family, inputs, style)


def _built(desk: Desk) -> dict[str, tuple[Rows, Path, str]]:
    """Builds the datasets; returns rows, folder and configuration of each."""
    specs = {spec.name: spec for spec in DATASETS}
    visits = data_file(desk, "ACI-Bench-TestSet-1_clean.json")
    write(desk.out / "own.json", visits)
    twin = write_twin(desk.out / "twin", seed=1, notes=2_000, ct_mr=0.5)
    datasets: dict[str, tuple[Rows, Path, str]] = {}
    for name, config, split, source in (
        ("aci_bench", "doclens", "test1", desk.trees),
        ("meqsum", "full", "test", desk.trees),
        ("mimic_rrs", "notes", "test", twin / NOTES_FILE),
        ("doclens_own", "own", "test", desk.out / "own.json"),
    ):
        built = build_dataset(name, source=source, config=config, out=desk.out / name)
        rows = [
            dict(row)
            for row in read_rows(built.folder, config, split, spec=specs[name])
        ]
        datasets[name] = rows, desk.out / name, config
    return datasets


def main() -> int:
    """Prints one line for each comparison; 1 if something differs that must not."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nltk", type=Path, help="data folder of NLTK")
    parser.add_argument("--python", default=sys.executable, help="runs their scripts")
    parser.add_argument(
        "--only", nargs="+", default=(), help="generation, or names of tasks"
    )
    options = parser.parse_args()
    wrong = 0
    parameters: dict[str, set[str]] = {}
    for comparison in compare(
        options.folder,
        only=options.only,
        nltk=options.nltk,
        python=options.python,
        parameters=parameters,
    ):
        wrong += not comparison.holds
        note = f", {comparison.other} known to differ" if comparison.other else ""
        verdict = "same" if comparison.holds else "DIFFERENT"
        print(
            f"{verdict}: {comparison.equal} of {len(comparison.theirs)} of theirs, "
            f"{len(comparison.ours)} ours{note}: {comparison.name}",
            flush=True,
        )
        if not comparison.holds:
            print(f"  {comparison.first_difference()}", flush=True)
    for who, kinds in parameters.items():
        print(f"other parameters of {who}: {' or '.join(sorted(kinds))}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
