"""The authors' decisions on judges' replies in DocLens: their own scripts beside ours, on random and hostile replies.

    python measurements/judge_official.py DOCLENS [--replies 2000]

DOCLENS is a checkout of yiqingxyq/DocLens. Its scripts run as they are, in a folder of
their own, with stand-ins for the services they call (openai, vLLM) that hand out the
replies. Beside them stand our decisions. K-QA's script runs whole in `kqa_official.py`;
EHRNoteQA's stores a reply and decides nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import runpy
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medical_tasks.benchmarks.doclens.official_scoring import (
    gpt_cited,
    gpt_claims,
    gpt_question,
    mistral_cited,
    mistral_claim,
    official_claims,
)
from medical_tasks.judges.base import Unreadable

VALUES = [
    1,
    0,
    1.0,
    0.0,
    True,
    False,
    "1",
    "0",
    None,
    -1,
    2,
    [],
    [1],
    {},
    "true",
    1e400,
    10**30,
]
PROVENANCE = [
    [],
    [0],
    [2],
    [0, 2],
    [9999],
    ["0"],
    [0.0, 2.0],
    [True],
    "0",
    "",
    None,
    0,
    {},
    {"0": 1},
    [[0]],
    [None],
    [0, 9999],
]
BROKEN = [
    "",
    "null",
    "[]",
    "{}",
    '""',
    '"x"',
    "0",
    "NaN",
    "[1]",
    '[""]',
    "[[]]",
    "[null]",
    "```json\n[]\n```",
    "{",
    "[" * 3000,
    "\ud800",
]
LINES = [
    "explanation: it is", "entailment_prediction: 1", "entailment_prediction: 0", "prediction: 10", "prediction: 1 or 0",
    "provenance: 0", "provenance: [0][1]", "provenance: 9999", "provenance: none", "provenance: explanation: 1",
    "1 provenance: ", "[/INST] prediction: 1",
    "prediction:1", "Prediction: 1", "prediction: 0 [/INST] x", "provenance: 1, 0", "",
]  # fmt: skip
MADE = [
    "Claim 1: ",
    "Claim 2: ",
    "claim 3: ",
    "Claim 4:",
    "Claim x: ",
    "Claim 10: ",
    "a rash",
    "\n",
    " ",
    "Claim ",
    "1: ",
    "No fever.",
]


def record(chance: random.Random, keys: Sequence[str]) -> dict[str, Any]:
    """Draws an object with most of the keys, and odd values."""
    values: dict[str, Any] = {}
    for key in keys:
        if chance.random() < 0.9:
            sane = chance.random() < 0.6
            if "prediction" in key:
                values[key] = chance.choice([0, 1]) if sane else chance.choice(VALUES)
            elif key == "provenance":
                values[key] = (
                    chance.choice([[0], [2], [0, 2]])
                    if sane
                    else chance.choice(PROVENANCE)
                )
            else:
                values[key] = "x"
    return values


def claims_reply(chance: random.Random) -> str:
    if chance.random() < 0.3:
        return chance.choice(BROKEN)
    entries: list[Any] = [
        record(chance, ("claim", "explanation", "entailment_prediction"))
        for _ in range(chance.randint(0, 4))
    ]
    if chance.random() < 0.2:
        entries.append(chance.choice(VALUES))
    return json.dumps(entries)


def question_reply(chance: random.Random) -> str:
    return (
        chance.choice(BROKEN)
        if chance.random() < 0.3
        else json.dumps(record(chance, ("prediction", "explanation")))
    )


def citation_reply(chance: random.Random) -> str:
    if chance.random() < 0.2:
        return chance.choice(BROKEN)
    values = record(chance, ("entailment_prediction", "explanation", "provenance"))
    if chance.random() < 0.2:
        values |= {"citations": [7], "output": None}
    return json.dumps(values)


def lines_reply(chance: random.Random) -> str:
    return "\n".join(chance.choices(LINES, k=chance.randint(0, 5)))


def made_reply(chance: random.Random) -> str:
    return "".join(chance.choices(MADE, k=chance.randint(0, 9)))


def distinct(count: int, make: Callable[[random.Random], str]) -> list[str]:
    chance = random.Random(make.__name__)
    return [make(chance) for _ in range(count)]


@contextlib.contextmanager
def their_world(
    folder: Path, tree: Path, modules: Mapping[str, ModuleType]
) -> Iterator[None]:
    """Sets their working folder and imports, with stand-ins for services, and discards what they print."""
    before, argv, path, cwd = (
        {name: sys.modules.get(name) for name in modules},
        sys.argv,
        list(sys.path),
        Path.cwd(),
    )
    sys.modules.update(modules)
    sys.path.insert(0, str(tree))
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        os.chdir(cwd)
        sys.path[:], sys.argv = path, argv
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def run_script(path: Path, *arguments: str) -> dict[str, Any]:
    sys.argv = [str(path), *arguments]
    return runpy.run_path(str(path), run_name="__main__")


def module(name: str, **content: Any) -> ModuleType:
    result = ModuleType(name)
    for key, value in content.items():
        setattr(result, key, value)
    return result


def openai_like(
    replies: Mapping[str, str], key: Callable[[list[Any]], str]
) -> dict[str, ModuleType]:
    def create(**arguments: Any) -> Any:
        return {
            "choices": [{"message": {"content": replies[key(arguments["messages"])]}}]
        }

    errors = {
        name: type(name, (Exception,), {})
        for name in ("RateLimitError", "InvalidRequestError")
    }
    error = module("openai.error", **errors)
    return {
        "openai": module(
            "openai", ChatCompletion=SimpleNamespace(create=create), error=error
        ),
        "openai.error": error,
        "nltk": module("nltk", sent_tokenize=lambda text: [text]),
    }


def vllm_like(replies: Mapping[str, str]) -> dict[str, ModuleType]:
    class Engine:
        def __init__(self, **settings: Any) -> None:
            pass

        def get_tokenizer(self) -> Any:
            return SimpleNamespace(
                apply_chat_template=lambda prompt, tokenize: prompt[-1]["content"]
            )

        def generate(self, prompt: str, *arguments: Any, **settings: Any) -> Any:
            name = next(word for word in prompt.split() if word.startswith("item-"))
            return [SimpleNamespace(outputs=[SimpleNamespace(text=replies[name])])]

    return {
        "torch": module("torch"),
        "transformers": module(
            "transformers", AutoModelForSeq2SeqLM=None, AutoTokenizer=None
        ),
        "vllm": module("vllm", LLM=Engine, SamplingParams=dict),
        "nltk": module("nltk", sent_tokenize=lambda text: [text]),
    }


def their_aggregate(tree: Path, name: str) -> Callable[[Any], Any]:
    function: Callable[[Any], Any] = runpy.run_path(
        str(tree / "aggregate_scores.py"), run_name="theirs"
    )[name]
    return function


def outcome(function: Callable[[], Any]) -> Any:
    """Returns what a function returns, or "fails"."""
    try:
        return function()
    except (TypeError, KeyError, AttributeError, IndexError):
        return "fails"


def compare(
    what: str, replies: Sequence[str], theirs: Sequence[Any], ours: Sequence[Any]
) -> int:
    differ = [
        i
        for i, (their, our) in enumerate(zip(theirs, ours, strict=True))
        if their != our
    ]
    fails = sum(their == "fails" for their in theirs)
    print(
        f"DocLens, {what}: {len(replies)} replies, no figure in theirs for {fails}; different: {len(differ)}"
    )
    for index in differ[:3]:
        print(f"  {replies[index]!r}: theirs {theirs[index]}, ours {ours[index]}")
    return len(differ)


SOURCE = "[0] [doctor] first [1] [doctor] second [2] [doctor] third"


def check_doclens(tree: Path, folder: Path, count: int) -> int:
    prompts = tree / "claim_evaluation" / "prompts"
    cites = tree / "citation_evaluation" / "prompts"
    claim_scores, citation_scores = (
        their_aggregate(tree, f"get_{name}_scores") for name in ("claim", "citation")
    )
    # Letters, since every digit ends a sentence for their scripts.
    names = [
        "item-" + str(number).translate(str.maketrans("0123456789", "abcdefghij"))
        for number in range(count)
    ]

    def score_file(
        items: Sequence[Mapping[str, Any]],
        ending: str,
        script: str,
        *arguments: str,
        world: Mapping[str, ModuleType],
    ) -> Any:
        for old in folder.iterdir():
            old.unlink()
        (folder / "r.json").write_text(json.dumps(items))
        with their_world(folder, tree, world):
            run_script(tree / script, "--result_file", "r.json", *arguments)
        return json.loads((folder / f"r.{ending}").read_text())

    def counted(records: Any) -> Any:
        def count_them() -> tuple[int, int]:
            share = claim_scores({"full": {"x": records}})["total"]
            return round(share * len(records)), len(records)

        return outcome(count_them)

    def our_count(value: Any) -> Any:
        return "fails" if isinstance(value, Unreadable) else (sum(value), len(value))

    items = [
        {
            "example_id": name,
            "output": f"text {name}",
            "subclaims_reference": [name, "b"],
        }
        for name in names
    ]
    differ = 0

    replies = distinct(count, claims_reply)
    by_name = dict(zip(names, replies, strict=True))
    world = openai_like(
        by_name, lambda chat: json.loads(chat[-1]["content"])["claims"][0]
    )
    common = (
        "--dataset_name",
        "general",
        "--prompt_file",
        str(prompts / "general_claim_entail.json"),
    )
    saved = score_file(
        items,
        "claim_scores",
        "claim_evaluation/run_entailment.py",
        *common,
        world=world,
    )["full"]
    theirs = [counted(saved[name]) for name in names]
    differ += compare(
        "claims, GPT",
        replies,
        theirs,
        [our_count(gpt_claims(reply)) for reply in replies],
    )

    replies = distinct(count, question_reply)
    by_name = dict(zip(names, replies, strict=True))
    pairs = [{"example_id": name, "output": "Q?", "reference": name} for name in names]
    world = openai_like(
        by_name, lambda chat: json.loads(chat[-1]["content"])["question B"]
    )
    common = (
        "--dataset_name",
        "meqsum",
        "--prompt_file",
        str(prompts / "meqsum_claim_entail.json"),
    )
    saved = score_file(
        pairs,
        "claim_scores",
        "claim_evaluation/run_entailment.py",
        *common,
        world=world,
    )["full"]

    theirs = [counted(saved[name]) for name in names]
    differ += compare(
        "questions, GPT",
        replies,
        theirs,
        [our_count(gpt_question(reply)) for reply in replies],
    )

    replies = distinct(count, lines_reply)
    by_name = dict(zip(names, replies, strict=True))
    single = [
        {
            "example_id": name,
            "output": f"text {name}",
            "subclaims_reference": [f"{name} it"],
        }
        for name in names
    ]
    common = (
        "--dataset_name",
        "general",
        "--prompt_file",
        str(prompts / "general_claim_entail_Mistral.json"),
    )
    script = "claim_evaluation/run_entailment_model.py"
    saved = score_file(
        single, "claim_scores.Mistral", script, *common, world=vllm_like(by_name)
    )["full"]
    theirs = [counted(saved[name]) for name in names]
    verdicts = map(mistral_claim, replies)
    ours = [
        our_count(verdict if isinstance(verdict, Unreadable) else [verdict])
        for verdict in verdicts
    ]
    differ += compare("claims, Mistral", replies, theirs, ours)

    def their_sentence(records: Sequence[Any]) -> Any:
        def count_them() -> tuple[int, int]:
            scores = citation_scores({"full": {"x": records[:1]}})
            return round(scores["citation_recall"]["total"]), round(
                scores["citation_precision"]["total"] * 2
            )

        return outcome(count_them)

    def our_sentence(value: Any) -> Any:
        return (
            "fails" if isinstance(value, Unreadable) else (int(value[0]), sum(value[1]))
        )

    cited = [
        {"example_id": name, "input": SOURCE, "output": f"{name} it [0][2]. end [1]."}
        for name in names
    ]
    for who, make, ending, script, file in (
        (
            "GPT",
            citation_reply,
            "citations.score",
            "eval_citation.py",
            "general_citation_entail.json",
        ),
        (
            "Mistral",
            lines_reply,
            "citations.score.Mistral",
            "eval_citation_model.py",
            "general_citation_entail_Mistral.json",
        ),
    ):
        replies = distinct(count, make)
        by_name = dict(zip(names, replies, strict=True)) | {"end": "prediction: 0"}

        def key(chat: list[Any]) -> str:
            return str(json.loads(chat[-1]["content"])["generated_sentence"].split()[0])

        # The second sentence is not compared; it is there because their script skips
        # outputs of one segment.
        world = openai_like(by_name, key)
        if who == "Mistral":
            world = vllm_like(by_name)
            for item in cited:
                item["output"] = (
                    f"{item['example_id']} it [0][2]. {item['example_id']} end [1]."
                )
        how = (
            "--dataset_name",
            "general",
            "--split_method",
            "citation",
            "--prompt_file",
            str(cites / file),
        )
        saved = score_file(
            cited, ending, f"citation_evaluation/{script}", *how, world=world
        )["full"]
        theirs = [their_sentence(saved[name]) for name in names]
        read = gpt_cited if who == "GPT" else mistral_cited
        differ += compare(
            f"citations, {who}",
            replies,
            theirs,
            [our_sentence(read(reply, [0, 2])) for reply in replies],
        )

    replies = distinct(count, made_reply)
    by_name = dict(zip(names, replies, strict=True))
    texts = [{"example_id": name, "output": name} for name in names]
    world = openai_like(by_name, lambda chat: chat[-1]["content"])
    mode = (
        "--mode",
        "output_claims",
        "--prompt_file",
        str(prompts / "general_subclaim_generation.json"),
    )
    script = "claim_evaluation/generate_subclaims.py"
    generated = score_file(
        texts, "output_claim_min1max30.json", script, *mode, world=world
    )
    theirs = [item["subclaims_output"] for item in generated]
    return differ + compare(
        "claims made, GPT",
        replies,
        theirs,
        [official_claims(reply) for reply in replies],
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree", type=Path, help="a checkout of DocLens")
    parser.add_argument("--replies", type=int, default=2000, help="replies a decision")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        differ = check_doclens(options.tree.resolve(), Path(folder), options.replies)
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
