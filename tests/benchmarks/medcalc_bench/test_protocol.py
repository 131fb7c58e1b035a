"""`medcalc_code`: the program of a reply, the answer that it prints, and further tries."""

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
CODE = "```python\nprint(7)\n```"


@pytest.mark.parametrize(("reply", "program"), TABLES["the_program_of_a_reply"])
def test_the_program_of_a_reply(reply: str, program: str) -> None:
    assert program_of(reply) == program


LINES = ["x = 1", "", "if x:", "    y = '`~'", "# µ", "\tz = 2", "print(x)"]
LANGUAGES = "python Python PY python3 py3 python3.11 {.python} ipython".split()
TITLES = ["", ' title="bmi.py"', " linenums", ":main.py", ",ignore", " # my program"]
# Of the line that opens the block, and of the lines within it: in lists and quotations.
INDENTS = [
    ("", ""),
    ("  ", "  "),
    ("\t", "\t"),
    ("1. ", "   "),
    ("- ", "  "),
    ("   * ", "     "),
    ("> ", "> "),
]
INTRODUCTIONS = [
    "",
    "Here it is:\n\n",
    "I take `x` and ``y``.\n",
    "```\nweight 80\n```\n",
]


@st.composite
def programs_and_replies(draw: st.DrawFn) -> tuple[str, str]:
    """A program, and a reply that has it in a block."""
    lines = draw(st.lists(st.sampled_from(LINES), max_size=5))
    program = "\n".join(["import math", *lines, "print(1)"])
    fence = draw(st.sampled_from(["```", "~~~", "````", "~~~~~"]))
    gap = draw(st.sampled_from(["", " ", "\t"]))
    language = draw(st.sampled_from(LANGUAGES))
    title = draw(st.sampled_from(TITLES))
    first, indent = draw(st.sampled_from(INDENTS))
    body = "\n".join(f"{indent}{line}" for line in program.split("\n"))
    closing = f"\n{indent}{fence}"
    end = draw(st.sampled_from([closing, f"{closing}  \nThat is all.", ""]))
    introduction = draw(st.sampled_from(INTRODUCTIONS))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    reply = f"{introduction}{first}{fence}{gap}{language}{title}\n{body}{end}"
    return program, reply.replace("\n", newline)


@given(programs_and_replies())
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


@pytest.mark.parametrize(("stdout", "answer"), TABLES["the_answer_of_an_output"])
def test_the_answer_of_an_output(stdout: str, answer: str) -> None:
    assert json.loads(answer_of(stdout)) == {"answer": answer}


class Records:
    """A store in memory."""

    def __init__(self) -> None:
        self.payloads: dict[tuple[str, str], dict[str, Any]] = {}

    def get_many(self, kind: str, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        return {
            key: self.payloads[kind, key]
            for key in keys
            if (kind, key) in self.payloads
        }

    def put(self, kind: str, key: str, payload: Mapping[str, Any]) -> None:
        assert (kind, key) not in self.payloads
        self.payloads[kind, key] = dict(payload)


@pytest.fixture
def programs_run(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces the sandbox by outcomes that depend on a word in the program; lists the programs."""
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
    protocol = CodeProtocol(**options)
    (next_turn,) = protocol.next_turns([dialogue], records or Records())
    return next_turn


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("```python\nbad\n```", "NameError: bad"),
        ("```python\nslow\n```", "Stopped: it had not ended"),
        ("```python\nmute\n```", TEXTS["no_output"]),
        ("", TEXTS["no_program"]),
        ("Sorry, I cannot.", TEXTS["no_program"]),
    ],
)
def test_after_a_failure_another_program_is_requested(
    programs_run: list[str], reply: str, message: str
) -> None:
    # The request holds the last program alone.
    request = turn("```python\nbad(1)\n```", reply)
    assert isinstance(request, Ask)
    opening, answer, feedback = request.messages
    assert opening == OPENING[0]
    assert answer == {"role": "assistant", "content": reply or TEXTS["nothing_said"]}
    assert feedback["role"] == "user"
    assert message in feedback["content"]
    assert feedback["content"].endswith(TEXTS["again"])
    assert len(feedback["content"]) < 2500


@pytest.mark.parametrize("stdout", ["", "\n\n", "  \t\n"])
def test_an_empty_output_is_no_answer(stdout: str) -> None:
    assert answer_of(stdout) == ""


def test_a_printed_answer_ends_the_dialogue(programs_run: list[str]) -> None:
    assert turn(CODE) == Done('{"answer": "7"}')
    assert programs_run == ["print(7)"]
    assert CodeProtocol().next_turns([], Records()) == []


def test_there_are_at_most_twenty_tries(programs_run: list[str]) -> None:
    replies = [f"```python\nbad({n})\n```" for n in range(20)]
    assert isinstance(turn(*replies[:19]), Ask)
    assert turn(*replies) == Done("")
    assert turn(*replies[:19], CODE) == Done('{"answer": "7"}')
    assert turn(*replies[:2], max_tries=2) == Done("")


def test_a_program_is_run_once(programs_run: list[str]) -> None:
    records = Records()
    dialogues = [Dialogue(item=ITEM, opening=OPENING, answers=(CODE,))] * 3
    protocol = CodeProtocol()
    assert protocol.next_turns(dialogues, records) == [Done('{"answer": "7"}')] * 3
    assert protocol.next_turns(dialogues, records) == [Done('{"answer": "7"}')] * 3
    assert (len(programs_run), len(records.payloads)) == (1, 1)
    # Other limits could give another outcome.
    CodeProtocol(limits=Limits(cpu_seconds=1)).next_turns(dialogues, records)
    assert (len(programs_run), len(records.payloads)) == (2, 2)


def test_a_broken_sandbox_is_no_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(code: str, *, limits: Limits | None = None) -> Outcome:
        raise OSError("no processes left")

    monkeypatch.setattr(module, "run_code", run)
    records = Records()
    with pytest.raises(OSError, match="no processes left"):
        turn(CODE, records=records)
    assert records.payloads == {}


def test_the_recipe_has_what_decides_an_outcome() -> None:
    identity = CodeProtocol().identity
    assert (identity["name"], identity["max_tries"]) == ("code", 20)
    assert identity["limits"]["cpu_seconds"] == 5
    assert identity["python"].count(".") == 2
    json.dumps(identity, allow_nan=False)


@pytest.fixture
def _sandbox() -> None:
    if (missing := probe()) is not None:
        pytest.skip(f"no sandbox on this machine: {missing}")


@pytest.mark.usefixtures("_sandbox")
def test_programs_in_the_real_sandbox() -> None:
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
    assert len(records.payloads) == 2


@pytest.mark.usefixtures("_sandbox")
def test_the_authors_dialogue_shows_output_and_traceback(
    official: OfficialCode,
) -> None:
    program = "import sys\nif __name__ == '__main__':\n    print(1)\nprint('e', file=sys.stderr)\nprint('µ')\n1 / 0"
    request = official_turn(official, f"```python\n{program}\n```")
    assert isinstance(request, Ask)
    feedback = request.messages[-1]["content"]
    assert feedback.startswith(
        "It wrote\n                e\nµ\nTraceback (most recent call last):\n"
    )
    assert feedback.endswith(
        "ZeroDivisionError: division by zero\n\n                and {that} is all."
    )
    assert '  File "<string>", line 6, in <module>\n' in feedback
    assert program not in feedback


@pytest.fixture(scope="module")
def official(tmp_path_factory: pytest.TempPathFactory) -> OfficialCode:
    return read_code(write_tree(tmp_path_factory.mktemp("tree")))


def official_turn(official: OfficialCode, *answers: str) -> Turn:
    dialogue = Dialogue(item=ITEM, opening=OPENING, answers=answers)
    (next_turn,) = OfficialCodeProtocol(official).next_turns([dialogue], Records())
    return next_turn


def test_the_authors_dialogue_keeps_all_messages(
    programs_run: list[str], official: OfficialCode
) -> None:
    request = official_turn(official, "hm", "```python\nx\n```", CODE)
    assert isinstance(request, Ask)
    contents = [message["content"] for message in request.messages]
    assert contents == TABLES["the_authors_dialogue"]
    assert len(programs_run) == 1


@pytest.mark.usefixtures("programs_run")
def test_answers_that_do_not_end_the_authors_dialogue(official: OfficialCode) -> None:
    reply = "<answer>\n1\n<\\answer>"
    request = official_turn(official, CODE, reply)
    assert isinstance(request, Ask)
    assert request.messages[-1] == {"role": "assistant", "content": reply}
    # A tag that closes without the backslash is no tag.
    request = official_turn(official, "<answer>1</answer>")
    assert isinstance(request, Ask)
    assert request.messages[-1]["content"] == "No code in <answer>1</answer>!"


@pytest.mark.usefixtures("programs_run")
def test_the_authors_dialogue_has_at_most_twenty_tries(official: OfficialCode) -> None:
    for reply in (CODE, "hm", "<answer>\n<\\answer>"):
        assert isinstance(official_turn(official, *[reply] * 19), Ask)
        assert official_turn(official, *[reply] * 20) == Done("")
    answer = "<answer>3<\\answer>"
    last_try = official_turn(official, *[CODE] * 19, answer)
    assert last_try == Done('{"answer": "3"}')


@pytest.mark.parametrize(("reply", "text"), TABLES["ends"])
def test_answers_that_end_the_authors_dialogue(
    programs_run: list[str], official: OfficialCode, reply: str, text: str
) -> None:
    assert official_turn(official, "hm", reply) == Done(text)
    assert programs_run == []
