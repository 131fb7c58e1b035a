"""`medcalc_code`: programs out of replies, answers out of prints, and the tries in between."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.medcalc_bench import protocol as module
from medical_tasks.benchmarks.medcalc_bench.official_prompts import (
    OfficialCode,
    read_code,
)
from medical_tasks.benchmarks.medcalc_bench.prompts import TEXTS
from medical_tasks.benchmarks.medcalc_bench.protocol import (
    MAX_TRIES,
    CodeProtocol,
    OfficialCodeProtocol,
    answer_of,
    program_of,
)
from medical_tasks.sandbox import Limits, Outcome
from medical_tasks.sandbox.probe import probe
from medical_tasks.spec import Ask, Dialogue, Done, Item, Message, Turn
from tests.benchmarks.medcalc_bench.official_tree import write_tree
from tests.case_tables import tables

TABLES: dict[str, Any] = tables(__file__)

ITEM = Item(id="1", fields={}, groups={}, cluster="1")
OPENING: tuple[Message, ...] = ({"role": "user", "content": "question"},)


@pytest.mark.parametrize(("reply", "program"), TABLES["the_program_of_a_reply"])
def test_the_program_of_a_reply(reply: str, program: str) -> None:
    assert program_of(reply) == program


@st.composite
def written(draw: st.DrawFn) -> tuple[str, str]:
    """A program, and a reply that has it in a block."""
    lines = draw(
        st.lists(
            st.sampled_from(
                ["x = 1", "", "if x:", "    y = '`~'", "# µ", "\tz = 2", "print(x)"]
            ),
            max_size=5,
        )
    )
    program = "\n".join(["import math", *lines, "print(1)"])
    fence = draw(st.sampled_from(["```", "~~~", "````", "~~~~~"]))
    word = draw(
        st.sampled_from(
            [
                "python",
                "Python",
                "PY",
                "python3",
                "py3",
                "python3.11",
                "{.python}",
                "ipython",
            ]
        )
    )
    title = draw(
        st.sampled_from(
            ["", ' title="bmi.py"', " linenums", ":main.py", ",ignore", " # my program"]
        )
    )
    gap = draw(st.sampled_from(["", " ", "\t"]))
    lead, inner = draw(
        st.sampled_from(
            [
                ("", ""),
                ("  ", "  "),
                ("\t", "\t"),
                ("1. ", "   "),
                ("- ", "  "),
                ("   * ", "     "),
                ("> ", "> "),
            ]
        )
    )
    body = "\n".join(f"{inner}{line}" for line in program.split("\n"))
    end = draw(
        st.sampled_from([f"\n{inner}{fence}", f"\n{inner}{fence}  \nThat is all.", ""])
    )
    before = draw(
        st.sampled_from(
            ["", "Here it is:\n\n", "I take `x` and ``y``.\n", "```\nweight 80\n```\n"]
        )
    )
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    reply = f"{before}{lead}{fence}{gap}{word}{title}\n{body}{end}"
    return program, reply.replace("\n", newline)


@given(written())
def test_a_block_marked_as_python_is_the_program_however_it_is_fenced(
    case: tuple[str, str],
) -> None:
    program, reply = case
    assert program_of(reply) == program


@given(
    st.lists(
        st.sampled_from(
            "I cannot weight 80 kg , . print (x) the = answer is 3 sorry ``` def".split()
        ),
        max_size=12,
    )
)
def test_prose_is_no_program(words: list[str]) -> None:
    assert program_of("I am sorry: " + " ".join(words)) == ""


@pytest.mark.parametrize(("stdout", "answer"), TABLES["the_answer_of_a_print"])
def test_the_answer_of_a_print(stdout: str, answer: str) -> None:
    assert json.loads(answer_of(stdout)) == {"answer": answer}


class Records:
    """A store in memory."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], dict[str, Any]] = {}

    def get_many(self, kind: str, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        return {key: self.kept[kind, key] for key in keys if (kind, key) in self.kept}

    def put(self, kind: str, key: str, payload: Mapping[str, Any]) -> None:
        assert (kind, key) not in self.kept
        self.kept[kind, key] = dict(payload)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stands in for the sandbox: programs are told apart by what is in them."""
    programs: list[str] = []

    def run(code: str, *, limits: Limits | None = None) -> Outcome:
        programs.append(code)
        if "bad" in code:
            return Outcome(
                stdout="",
                stderr_tail="x" * 3000 + "NameError: bad\n",
                exit="error",
                seconds=0.1,
            )
        if "slow" in code:
            return Outcome(
                stdout="1\n",
                stderr_tail="Stopped: it had not ended",
                exit="timeout",
                seconds=20,
            )
        return Outcome(
            stdout="" if "mute" in code else "7\n",
            stderr_tail="a warning",
            exit="ok",
            seconds=0.1,
        )

    monkeypatch.setattr(module, "run_code", run)
    return programs


def turn(*answers: str, records: Records | None = None, **options: Any) -> Turn:
    dialogue = Dialogue(item=ITEM, opening=OPENING, answers=answers)
    (made,) = CodeProtocol(**options).next_turns([dialogue], records or Records())
    return made


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("```python\nbad\n```", "NameError: bad"),
        ("```python\nslow\n```", "Stopped: it had not ended"),
        ("```python\nmute\n```", TEXTS["no_output"]),
        ("", TEXTS["no_program"]),
        ("Sorry, I cannot.", TEXTS["no_program"]),
    ],
)
def test_a_failure_is_shown_and_another_program_asked_for(
    ran: list[str], reply: str, told: str
) -> None:
    # a new try sees the last program alone
    made = turn("```python\nbad(1)\n```", reply)
    assert isinstance(made, Ask)
    opening, said, feedback = made.messages
    assert opening == OPENING[0]
    assert said == {"role": "assistant", "content": reply or TEXTS["nothing_said"]}
    assert feedback["role"] == "user"
    assert told in feedback["content"]
    assert feedback["content"].endswith(TEXTS["again"])
    assert len(feedback["content"]) < 2500


def test_twenty_tries_and_no_more(ran: list[str]) -> None:
    assert turn("```python\nprint(7)\n```") == Done('{"answer": "7"}')
    assert ran == ["print(7)"]
    assert CodeProtocol().next_turns([], Records()) == []
    assert [answer_of(stdout) for stdout in ("", "\n\n", "  \t\n")] == [""] * 3
    assert MAX_TRIES == 20
    replies = [f"```python\nbad({n})\n```" for n in range(20)]
    assert isinstance(turn(*replies[:19]), Ask)
    assert turn(*replies) == Done("")
    assert turn(*replies[:19], "```python\nprint(7)\n```") == Done('{"answer": "7"}')
    assert turn(*replies[:2], max_tries=2) == Done("")


def test_a_program_is_run_once(ran: list[str]) -> None:
    records = Records()
    dialogues = [
        Dialogue(item=ITEM, opening=OPENING, answers=("```python\nprint(7)\n```",))
    ] * 3
    protocol = CodeProtocol()
    assert protocol.next_turns(dialogues, records) == [Done('{"answer": "7"}')] * 3
    assert protocol.next_turns(dialogues, records) == [Done('{"answer": "7"}')] * 3
    assert (len(ran), len(records.kept)) == (1, 1)
    # Other limits could give another outcome.
    CodeProtocol(limits=Limits(cpu_seconds=1)).next_turns(dialogues, records)
    assert (len(ran), len(records.kept)) == (2, 2)


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


def test_real_programs(official: OfficialCode) -> None:
    if (missing := probe()) is not None:
        pytest.skip(f"no sandbox on this machine: {missing}")
    records = Records()
    replies = [
        "```python\nprint(80 / 1.8 ** 2)\n```",
        "```python\nimport numpy\n```",
        "Sorry, I cannot.",
    ]
    dialogues = [
        Dialogue(item=ITEM, opening=OPENING, answers=(reply,)) for reply in replies
    ]
    done, failed, prose = CodeProtocol().next_turns(dialogues, records)
    assert done == Done('{"answer": "24.691358024691358"}')
    assert isinstance(failed, Ask)
    assert "No module named 'numpy'" in failed.messages[-1]["content"]
    assert isinstance(prose, Ask)
    assert prose.messages[-1]["content"].startswith(TEXTS["no_program"])
    assert len(records.kept) == 2
    program = "import sys\nif __name__ == '__main__':\n    print(1)\nprint('e', file=sys.stderr)\nprint('µ')\n1 / 0"
    made = official_turn(official, f"```python\n{program}\n```")
    assert isinstance(made, Ask)
    said = made.messages[-1]["content"]
    assert said.startswith(
        "It wrote\n                e\nµ\nTraceback (most recent call last):\n"
    )
    assert said.endswith(
        "ZeroDivisionError: division by zero\n\n                and {that} is all."
    )
    assert '  File "<string>", line 6, in <module>\n' in said
    assert program not in said


@pytest.fixture(scope="module")
def official(tmp_path_factory: pytest.TempPathFactory) -> OfficialCode:
    return read_code(write_tree(tmp_path_factory.mktemp("tree")))


def official_turn(official: OfficialCode, *answers: str) -> Turn:
    dialogue = Dialogue(item=ITEM, opening=OPENING, answers=answers)
    (made,) = OfficialCodeProtocol(official).next_turns([dialogue], Records())
    return made


CODE = "```python\nprint(7)\n```"


def test_the_authors_dialogue_keeps_all_that_was_said(
    ran: list[str], official: OfficialCode
) -> None:
    made = official_turn(official, "hm", "```python\nx\n```", CODE)
    assert isinstance(made, Ask)
    assert [message["content"] for message in made.messages] == TABLES[
        "the_authors_dialogue"
    ]
    assert len(ran) == 1
    reply = "<answer>\n1\n<\\answer>"
    made = official_turn(official, CODE, reply)
    assert isinstance(made, Ask)
    assert made.messages[-1] == {"role": "assistant", "content": reply}
    # A tag that closes without the backslash is no tag.
    made = official_turn(official, "<answer>1</answer>")
    assert isinstance(made, Ask)
    assert made.messages[-1]["content"] == "No code in <answer>1</answer>!"
    for reply in (CODE, "hm", "<answer>\n<\\answer>"):
        assert isinstance(official_turn(official, *[reply] * 19), Ask)
        assert official_turn(official, *[reply] * 20) == Done("")
    assert official_turn(official, *[CODE] * 19, "<answer>3<\\answer>") == Done(
        '{"answer": "3"}'
    )


@pytest.mark.parametrize(("reply", "text"), TABLES["ends"])
def test_what_ends_the_authors_dialogue(
    ran: list[str], official: OfficialCode, reply: str, text: str
) -> None:
    assert official_turn(official, "hm", reply) == Done(text)
    assert ran == []
