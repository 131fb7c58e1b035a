"""Whether `--prompts official` sends what MedCalc-Bench's own scripts send, and `accuracy_official` decides as they do.

    python benchmarks/medcalc_official_prompts.py CHECKOUT --source test_data.csv

CHECKOUT is a checkout of ncbi-nlp/MedCalc-Bench, test_data.csv the file of version 1.0. On all 1,047 rows the authors' `run.py`
(zero_shot, direct_answer, one_shot) and `generate_code_prompt.py` are run as they are, each in a process of its own with stand-ins
for what they import and do not need here (torch, transformers, openai ...); every list of messages they hand to their client is
kept. Then `medical-tasks run` asks a server on this machine, which keeps every request. Both sides get the same replies: golds
and other answers in several forms, and for code one of eight dialogues. Equal means: the messages of a request are the same text,
and the decision about an item is the same. (Rows that ask the same question share a request here.) Of a traceback the line is left
out that names the file which ran the program. Their code script runs programs in its own process, so that these are harmless ones.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

Chat = Sequence[Mapping[str, str]]

TASKS = {
    "medcalc": "zero_shot",
    "medcalc_direct": "direct_answer",
    "medcalc_one_shot": "one_shot",
    "medcalc_code": "code",
}
FORMS: tuple[Callable[[str], str], ...] = (
    lambda gold: json.dumps({"step_by_step_thinking": "so", "answer": gold}),
    lambda gold: json.dumps({"step_by_step_thinking": "so", "answer": gold}, indent=2),
    lambda gold: f'```json\n{{"answer":\n  "{gold}"\n}}\n```',
    lambda gold: f"The answer is {gold}.",
    lambda gold: json.dumps({"answer": f"{gold} units"}),
    lambda gold: json.dumps({"answer": "7"}),
    lambda gold: "",
)
GOOD = "Here:\n```python\nimport math\nprint('x =', math.sqrt(2))\nprint('µ', 7)\n```"
TAGGED = "<answer> {gold} <\\answer>"
DIALOGUES: tuple[tuple[str, ...], ...] = (
    (GOOD, TAGGED),
    (
        "I compute it.",
        "```python\nx = 1\n```",
        GOOD,
        "It is <answer>{gold}<\\answer>, or <answer>3<\\answer>.",
    ),
    (
        "```python\nprint('a')\n1/0\n```",
        "```python\nprint(\n```",
        "```python\nimport nowhere\nprint(1)\n```",
        TAGGED,
    ),
    ("```python\nx = input('weight? ')\nprint(x)\n```",),
    ("<answer> {gold} mg <\\answer>",),
    (
        "```python\nx = 3\n```\nand\n```python\nprint(x)\n```",
        "<answer>\n{gold}\n<\\answer>",
        TAGGED,
    ),
    (GOOD,) * 25,
    (
        "```python\nimport sys\nif __name__ == '__main__':\n    print(1)\nprint('e', file=sys.stderr)\nprint(2)\n```",
        TAGGED,
    ),
)

AUTHORS = """
import json, os, runpy, sys
from unittest.mock import MagicMock

script, style = sys.argv[1:]
replies, script_of = json.load(open("replies.json", encoding="utf-8")), {}
for name in ("torch", "transformers", "openai", "tiktoken", "huggingface_hub", "tqdm"):
    sys.modules[name] = MagicMock()
sys.modules["transformers"].StoppingCriteria = object
sys.modules["tqdm"].tqdm = lambda rows: rows
out = open("sent.jsonl", "w", encoding="utf-8")


def create(model, messages):
    out.write(json.dumps(messages) + "\\n")
    said, opening = sum(message["role"] == "assistant" for message in messages), json.dumps(messages[:2])
    if not said:  # rows come in their order; one that asks the same as another is told the same
        script_of.setdefault(opening, replies.pop(0))
    reply = MagicMock()
    reply.choices[0].message.content = script_of[opening][said]
    return reply


sys.modules["openai"].ChatCompletion.create = create
sys.path.insert(0, os.getcwd())
os.makedirs("outputs")
sys.argv = [script, "--gpt", "4"] if style == "code" else [script, "--model", "OpenAI/gpt-4", "--prompt", style]
runpy.run_path(script, run_name="__main__")
out.close()
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--source", type=Path, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        shutil.copy(options.source, place / "test_data.csv")
        with options.source.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        build = [sys.executable, "-m", "medical_tasks", "build", "medcalc_bench"]
        subprocess.run(
            [
                *build,
                "--config",
                "v1.0",
                "--source",
                options.source,
                "--out",
                place / "data" / "medcalc_bench",
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        wrong = [
            task for task in TASKS if not compare(task, options.checkout.resolve(), place, rows)
        ]
    if wrong:
        raise SystemExit(f"not equal: {', '.join(wrong)}")


def replies_of(task: str, rows: Sequence[Mapping[str, str]]) -> list[list[str]]:
    """What the model says about each row, turn by turn."""
    found = []
    for number, row in enumerate(rows):
        gold = row["Ground Truth Answer"]
        if task == "medcalc_code":
            found.append(
                [reply.replace("{gold}", gold) for reply in DIALOGUES[number % len(DIALOGUES)]]
            )
        else:
            found.append([FORMS[number % len(FORMS)](gold)])
    return found


def compare(task: str, checkout: Path, place: Path, rows: Sequence[Mapping[str, str]]) -> bool:
    replies = replies_of(task, rows)
    theirs, decided = run_authors(
        TASKS[task], checkout, place / task, place / "test_data.csv", replies
    )
    ours, scored = run_ours(task, checkout, place, replies, openings(theirs))
    known = set(map(text_of, ours))
    equal = sum(text_of(chat) in known for chat in theirs)
    beside = len(known - set(map(text_of, theirs)))
    first = [chat for chat in theirs if len(chat) == 2]
    begun = sum(text_of(chat) in known for chat in first)
    same = sum(decided[name] == scored[name] for name in decided)
    print(
        f"{task}: {begun} of the authors' {len(first)} first requests, {equal} of all their {len(theirs)} requests were sent, "
        f"{beside} others; {same} of {len(decided)} decisions equal, {sum(decided.values())} of them right"
    )
    return (
        begun == len(first) == same == len(decided) == len(rows)
        and equal == len(theirs)
        and not beside
    )


def openings(chats: Sequence[Chat]) -> dict[str, int]:
    """The first request of each row to the row's place."""
    numbers: dict[str, int] = {}
    for number, chat in enumerate(chat for chat in chats if len(chat) == 2):
        numbers.setdefault(json.dumps(chat), number)
    return numbers


def text_of(chat: Chat) -> str:
    """A request to compare: without the line of a traceback that names the file which ran the program."""
    runs = ", in capture_exec_output_and_errors"
    return json.dumps(
        [
            (
                message["role"],
                [line for line in message["content"].split("\n") if not line.endswith(runs)],
            )
            for message in chat
        ]
    )


def run_authors(
    style: str, checkout: Path, work: Path, source: Path, replies: Sequence[Sequence[str]]
) -> tuple[list[Chat], dict[str, bool]]:
    """Runs one of the authors' scripts, and returns what it sent and decided."""
    here = work / "evaluation"
    shutil.copytree(checkout / "evaluation", here)
    (work / "dataset").mkdir()
    shutil.copy(source, work / "dataset" / "test_data.csv")
    (here / "replies.json").write_text(json.dumps(replies), encoding="utf-8")
    script = "generate_code_prompt.py" if style == "code" else "run.py"
    environment = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ} | {
        "PYTHONUTF8": "1"
    }
    subprocess.run(
        [sys.executable, "-c", AUTHORS, script, style],
        cwd=here,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=None if os.environ.get("VERBOSE") else subprocess.DEVNULL,
    )
    sent = [
        json.loads(line) for line in (here / "sent.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    decided = {}
    for path in (here / "outputs").glob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            decided[str(entry["Row Number"])] = entry["Result"] == "Correct"
    return sent, decided


def run_ours(
    task: str,
    checkout: Path,
    place: Path,
    replies: Sequence[Sequence[str]],
    numbers: Mapping[str, int],
) -> tuple[list[Chat], dict[str, bool]]:
    """Runs `medical-tasks run` against a server on this machine, and returns what it sent and decided."""
    from tests.fault_server import Call, FaultServer

    def answer(call: Call) -> str:
        messages = call.body["messages"]
        number = numbers.get(json.dumps(messages[:2]))
        said = sum(message["role"] == "assistant" for message in messages)
        return (
            replies[number][said]
            if number is not None
            else "an opening that the authors did not send"
        )

    with FaultServer((), answer=answer) as server:
        run = [
            sys.executable,
            "-m",
            "medical_tasks",
            "run",
            "--tasks",
            task,
            "--model",
            "openai-api/local/m",
        ]
        run += ["--prompts", "official"]
        subprocess.run(
            [
                *run,
                "--upstream",
                checkout,
                "--data",
                place / "data",
                "--config",
                "v1.0",
                "--out",
                place / f"run_{task}",
            ],
            env=os.environ | {"LOCAL_BASE_URL": server.base_url, "LOCAL_API_KEY": "none"},
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=None if os.environ.get("VERBOSE") else subprocess.DEVNULL,
        )
        sent = [call.body["messages"] for call in server.calls]
    return sent, dict(decisions(place / f"run_{task}"))


def decisions(folder: Path) -> Iterator[tuple[str, bool]]:
    from medical_tasks.runs.results import read_items

    for row in read_items(folder):
        yield row["id"], bool(row["accuracy_official"])


if __name__ == "__main__":
    main()
