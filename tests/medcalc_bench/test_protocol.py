"""`medcalc_code`: programs out of replies, answers out of prints, and the tries in between."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from medical_tasks.medcalc_bench import protocol as module
from medical_tasks.medcalc_bench.code_prompts import AGAIN, NO_OUTPUT, NO_PROGRAM, NOTHING_SAID
from medical_tasks.medcalc_bench.protocol import MAX_TRIES, CodeProtocol, answer_of, program_of
from medical_tasks.protocol import Ask, Dialogue, Done, Turn
from medical_tasks.sandbox import Limits, Outcome
from medical_tasks.sandbox.probe import probe
from medical_tasks.spec import Item, Message

ITEM = Item(id="1", fields={}, groups={}, cluster="1")
OPENING: tuple[Message, ...] = ({"role": "user", "content": "question"},)


@pytest.mark.parametrize(
    ("reply", "program"),
    [
        ("```python\nprint(1)\n```", "print(1)"),
        ("Here it is:\n\n```python\nprint(1)\n```\nDone.", "print(1)"),
        ("```Python\r\nprint(1)\r\n```", "print(1)"),
        ("```py\nprint(1)\n```", "print(1)"),
        ("``` python3 \nprint(1)\n```", "print(1)"),
        ("```python\nx = 1\n```\nand\n```python\nprint(x)\n```", "x = 1\nprint(x)"),
        ("```python\nprint(1)\n```\nIt prints:\n```\n1\n```", "print(1)"),
        ("```\nprint(1)\n```", "print(1)"),
        ("```python\nprint(1)", "print(1)"),
        ("```python\ns = '```'\nprint(s)\n```", "s = '```'\nprint(s)"),
        ("  ```python\n  print(1)\n  ```", "  print(1)"),
        ("print(1)", "print(1)"),
        ("The answer is 3.", "The answer is 3."),
        ("<think>```python\nprint(0)\n```</think>```python\nprint(1)\n```", "print(1)"),
        ("<think>hm</think>\n```python\nif 1:\n    print(1)\n```", "if 1:\n    print(1)"),
        ("```python\n```", ""),
        ("", ""),
        (" \n ", ""),
        ("<think>only thoughts</think>", ""),
    ],
)
def test_the_program_of_a_reply(reply: str, program: str) -> None:
    assert program_of(reply) == program


@pytest.mark.parametrize(
    ("stdout", "answer"),
    [
        ("42\n", "42"),
        ("weight 80\nheight 180\n24.7\n\n", "24.7"),
        ("  24.7  ", "24.7"),
        ("(12 weeks, 3 days)\n", "(12 weeks, 3 days)"),
        ("('12 weeks', '3 days')\n", "('12 weeks', '3 days')"),
        ('say "x"\n', 'say "x"'),
        ("µ\n", "µ"),
        ("x" * 1000 + "7", "x" * 299 + "7"),
    ],
)
def test_the_answer_of_a_print(stdout: str, answer: str) -> None:
    assert json.loads(answer_of(stdout)) == {"answer": answer}


@pytest.mark.parametrize("stdout", ["", "\n\n", "  \t\n"])
def test_nothing_printed_is_no_answer(stdout: str) -> None:
    assert answer_of(stdout) == ""


class Records:
    """A store in memory that counts."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], dict[str, Any]] = {}
        self.puts = 0

    def get_many(self, kind: str, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        return {key: self.kept[kind, key] for key in keys if (kind, key) in self.kept}

    def put(self, kind: str, key: str, payload: Mapping[str, Any]) -> None:
        self.puts += 1
        self.kept[kind, key] = dict(payload)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stands in for the sandbox: programs are told apart by what is in them."""
    programs: list[str] = []

    def run(code: str, *, limits: Limits | None = None) -> Outcome:
        programs.append(code)
        if "bad" in code:
            return Outcome(stdout="", stderr_tail="x" * 3000 + "NameError: bad\n", exit="error", seconds=0.1)
        if "slow" in code:
            return Outcome(stdout="1\n", stderr_tail="Stopped: it had not ended", exit="timeout", seconds=20)
        return Outcome(stdout="" if "mute" in code else "7\n", stderr_tail="a warning", exit="ok", seconds=0.1)

    monkeypatch.setattr(module, "run_code", run)
    return programs


def turn(*answers: str, records: Records | None = None, **options: Any) -> Turn:
    dialogue = Dialogue(item=ITEM, opening=OPENING, answers=answers)
    (made,) = CodeProtocol(**options).next_turns([dialogue], records or Records())
    return made


def test_what_a_program_prints_is_the_answer(ran: list[str]) -> None:
    assert turn("```python\nprint(7)\n```") == Done('{"answer": "7"}')
    assert ran == ["print(7)"]


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("```python\nbad\n```", "NameError: bad"),
        ("```python\nslow\n```", "Stopped: it had not ended"),
        ("```python\nmute\n```", NO_OUTPUT),
        ("", NO_PROGRAM),
    ],
)
def test_a_failure_is_shown_and_another_program_asked_for(ran: list[str], reply: str, told: str) -> None:
    made = turn(reply)
    assert isinstance(made, Ask)
    opening, said, feedback = made.messages
    assert opening == OPENING[0]
    assert said == {"role": "assistant", "content": reply or NOTHING_SAID}
    assert feedback["role"] == "user"
    assert told in feedback["content"]
    assert feedback["content"].endswith(AGAIN)
    assert len(feedback["content"]) < 2500


def test_a_new_try_sees_the_last_program_alone(ran: list[str]) -> None:
    made = turn("```python\nbad(1)\n```", "```python\nbad(2)\n```")
    assert isinstance(made, Ask)
    assert len(made.messages) == 3
    assert "bad(2)" in made.messages[1]["content"]


def test_twenty_tries_and_no_more(ran: list[str]) -> None:
    assert MAX_TRIES == 20
    replies = [f"```python\nbad({n})\n```" for n in range(20)]
    assert isinstance(turn(*replies[:19]), Ask)
    assert turn(*replies) == Done("")
    assert turn(*replies[:19], "```python\nprint(7)\n```") == Done('{"answer": "7"}')
    assert turn(*replies[:2], max_tries=2) == Done("")


def test_a_program_is_run_once(ran: list[str]) -> None:
    records = Records()
    dialogues = [Dialogue(item=ITEM, opening=OPENING, answers=("```python\nprint(7)\n```",))] * 3
    protocol = CodeProtocol()
    assert protocol.next_turns(dialogues, records) == [Done('{"answer": "7"}')] * 3
    assert protocol.next_turns(dialogues, records) == [Done('{"answer": "7"}')] * 3
    assert (len(ran), records.puts) == (1, 1)
    # Other limits could give another outcome.
    CodeProtocol(limits=Limits(cpu_seconds=1)).next_turns(dialogues, records)
    assert (len(ran), records.puts) == (2, 2)


def test_no_dialogue_runs_nothing(ran: list[str]) -> None:
    assert CodeProtocol().next_turns([], Records()) == []
    assert ran == []


def test_broken_machinery_is_no_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(code: str, *, limits: Limits | None = None) -> Outcome:
        raise OSError("no processes left")

    monkeypatch.setattr(module, "run_code", run)
    records = Records()
    with pytest.raises(OSError, match="no processes left"):
        turn("```python\nprint(7)\n```", records=records)
    assert records.kept == {}


def test_the_recipe_says_what_decides_an_outcome() -> None:
    identity = CodeProtocol().identity
    assert (identity["name"], identity["max_tries"]) == ("code", 20)
    assert identity["limits"]["cpu_seconds"] == 5
    assert identity["python"].count(".") == 2
    json.dumps(identity, allow_nan=False)


def test_real_programs() -> None:
    if (missing := probe()) is not None:
        pytest.skip(f"no sandbox on this machine: {missing}")
    records = Records()
    replies = ["```python\nprint(80 / 1.8 ** 2)\n```", "```python\nimport numpy\n```", "Sorry, I cannot."]
    dialogues = [Dialogue(item=ITEM, opening=OPENING, answers=(reply,)) for reply in replies]
    done, failed, prose = CodeProtocol().next_turns(dialogues, records)
    assert done == Done('{"answer": "24.691358024691358"}')
    assert isinstance(failed, Ask)
    assert "No module named 'numpy'" in failed.messages[-1]["content"]
    assert isinstance(prose, Ask)
    assert "SyntaxError" in prose.messages[-1]["content"]
    assert records.puts == 3
