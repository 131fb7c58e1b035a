"""Feeds both MedCalc-Bench scorers with random and hostile replies: no crash, no code run, and the slowest decision.

    python measurements/medcalc_fuzz.py                    100,000 random replies and every hostile one
    python measurements/medcalc_fuzz.py --replies 1000000 --seed 7

Times are CPU time of one decision; the slowest ones are timed three times more and the
fastest counts, so that other work on the machine does not. An audit hook ends the run
when scoring compiles or runs code, imports, opens a file or starts a process.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator

from medical_tasks.benchmarks.medcalc_bench.gold import Decision
from medical_tasks.benchmarks.medcalc_bench.official import official_decision
from medical_tasks.benchmarks.medcalc_bench.scoring import decide

ROWS: tuple[tuple[int, str, str, str], ...] = (
    (2, "25.238", "23.9761", "26.4999"),
    (4, "3", "3", "3"),
    (13, "03/07/2021", "03/07/2021", "03/07/2021"),
    (20, "-1", "-1", "-1"),
    (40, "0.842", "0.7999", "0.8841"),
    (46, "0", "0", "0"),
    (63, "-5.5", "-5.775", "-5.225"),
    (69, "('4 weeks', '3 days')", "('4 weeks', '3 days')", "('4 weeks', '3 days')"),
)

FRAMES = (
    "{}",
    '{{"answer": "{}"}}',
    '{{"answer": {}}}',
    '{{"answer": str({})}}',
    '{{"answer": ["{}"]}}',
    '{{"step_by_step_thinking": "{}", "answer": "3"}}',
    "{{'answer': '{}'}}",
    '```json\n{{"Answer": "{}"}}\n```',
    '{{"answer": "{}',
    "The final answer is {}.",
    "\\boxed{{{}}}",
    "<think>{}</think> 3",
    "Answer:\n{}\n",
    "{}\n\nSo it is {}",
)

PIECES = (
    *(
        "0",
        "1",
        "3",
        "4",
        "12",
        "25",
        "03",
        "007",
        "25.238",
        "2.5",
        ".5",
        "5.",
        "-1",
        "−1",
        "–",
        "1,234.5",
        "1{,}234",
        "1e3",
    ),
    *(
        "1e999",
        "1E-4",
        "10^-4",
        "×10⁻⁴",
        "0x19",
        "1_000",
        "٣",
        "３",
        "½",
        "∞",
        "nan",
        "%",
        " mg",
        " mL/min/1.73",
        "kg/m²",
    ),
    *(
        " weeks",
        " days",
        " week",
        "day",
        "w",
        "d",
        "+3",
        "3/7",
        "03/07/2021",
        "2021-03-07",
        "March",
        " 7, ",
        "7th",
        " of ",
    ),
    *(
        " to ",
        " or ",
        " and ",
        "-",
        " is ",
        "=",
        "≈",
        ":",
        ";",
        ",",
        ".",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "<",
        ">",
        "≤",
        "≥",
    ),
    *(
        '"',
        "'",
        "\\",
        "$",
        "**",
        "__",
        "`",
        "#",
        "^",
        "//",
        "~",
        "|",
        "&",
        "!",
        "?",
        "@",
        "answer",
        "Answer",
        "answer:",
    ),
    *(
        '"answer":',
        "'answer':",
        'nswer":',
        "final",
        "Final answer",
        "\\boxed{",
        "\\text{",
        "\\frac{",
        "\\times",
        "<answer>",
    ),
    *(
        "str(",
        "round(",
        "sqrt(",
        "math.sqrt(",
        "np.sqrt(",
        "min(",
        "max(",
        "pow(",
        "log(",
        "int(",
        "float(",
        "abs(",
    ),
    *(" if ", " else ", " not ", " in ", " is odd", " is even", "None", "True"),
    "__import__('os').system('false')",
    "().__class__.__bases__[0].__subclasses__()",
    "open('/dev/null')",
    "exec('1')",
    "lambda: 0",
    "[x for x in (1,2)]",
    "9**9**9**9",
    "1<<99999999",
    "'a'*10**9",
    "'%999999999d'%1",
    "math.factorial(10**6)",
    "round(1,-10**9)",
    "pow(3,10**9,7)",
    "int('9'*10**7)",
    "cannot be determined",
    "N/A",
    "step 4",
    "stage 4",
    "out of 9",
    " ",
    "   ",
    "\n",
    "\t",
    "\x00",
    "\ud800",
    "\u202e",
    "\\u0033",
    "\\n",
    "🙂",
)


def random_replies(seed: int, count: int) -> Iterator[str]:
    """Replies made of pieces that mean something to a reader, and of random characters, in the frames models use."""
    source = random.Random(seed)
    for _ in range(count):
        frame = source.choice(FRAMES)
        filling = [_filling(source) for _ in range(frame.count("{}"))]
        yield frame.format(*filling)


def _filling(source: random.Random) -> str:
    kind = source.random()
    if kind < 0.85:
        pieces = [source.choice(PIECES) for _ in range(source.randint(0, 12))]
        return source.choice(("", " ")).join(pieces)
    if kind < 0.95:
        return "".join(
            chr(source.choice((source.randrange(32, 127), source.randrange(0x3000))))
            for _ in range(30)
        )
    return source.choice(PIECES) * source.randint(1, 200)


def hostile_replies(size: int = 1_000_000) -> Iterator[tuple[str, str]]:
    """Named replies built to break a reader: deep, long, unbalanced, or slow for backtracking patterns.

    Args:
        size: length in characters of the longest ones.

    Yields:
        A name and a reply.
    """
    units = (
        *(
            'answer": ',
            'nswer":',
            '{"answer": "',
            '"answer": 3,',
            '{"answer": "3"}',
            "'answer': ",
            "answer: ",
            "answer is ",
            "answer",
        ),
        *(
            "{",
            "}",
            "{}",
            '"',
            '\\"',
            "'",
            "(",
            ")",
            "()",
            "[",
            "]",
            "[[3]]",
            "str(",
            "str(3)",
            "\\boxed{",
            "\\boxed{3}",
            "\\text{",
        ),
        *(
            "\\",
            "$",
            "*",
            "**",
            "**3**",
            "__",
            "`",
            "<",
            "<b>",
            "</think>",
            "<think>",
            "<answer>",
            "####",
            "#### 3\n",
            "final answer ",
        ),
        *(
            "1",
            "12 ",
            "1.",
            "1,",
            "1, ",
            "1,234,",
            "1 234 ",
            "1.1.",
            "-",
            "-1",
            "- 1",
            "+",
            "+1",
            "1+",
            "1*",
            "1^",
            "1e",
            "1e5",
            "1/",
        ),
        *(
            "1 or ",
            "1 to ",
            "1;",
            "1 and ",
            "1%",
            "1 ",
            "1  ",
            "1\n",
            "a1",
            "1a",
            "is 1 ",
            "= 1",
            "=",
            "≈",
            ": 1",
            "stage 1 ",
            "x10^",
        ),
        *(
            "3/7/2021",
            "3/7/2021 ",
            "3/7/",
            "2021-",
            "2021-03-07 ",
            "May 7 2021 ",
            "May ",
            "7 May ",
            "3/7/2021 or ",
            "on 3/7/2021, ",
        ),
        *(
            "4 weeks ",
            "4 weeks, 3 days ",
            "4 weeks",
            "4 ",
            "days ",
            "4w3d",
            "4+3 ",
            "four ",
            "4 weeks or ",
            "weeks: 4, days: 3 ",
        ),
        *(
            "1 mL/min/1.73",
            "mL/min/1.73",
            "1% ",
            "1 out of ",
            "out of ",
            " ",
            "\t",
            "\n",
            "\n ",
            "\u00a0",
            "\x00",
            "٣",
            "²",
            "🙂",
            "\ud800",
        ),
    )
    for unit in units:
        long = unit * (size // len(unit))
        yield f"{unit!r} × {size}", long
        for frame in (
            '{{"answer": "{}"}}',
            '{{"answer": {}}}',
            '{{"answer": "3"}} {}',
            "The final answer is {}",
            '{{"answer": str({})}}',
        ):
            for length in (250, 1_900, 30_000):
                yield (
                    f"{unit!r} × {length} in {frame}",
                    frame.format(unit * max(1, length // len(unit))),
                )
    for unit in (
        "x{} y ",
        "1 + y{} ",
        "is {} ",
        "{} or ",
        "<{} ",
        "{} weeks ",
        "3/7/{} ",
        "({}) ",
        "a{}, B ",
        "= {} ",
    ):
        lines = "\n".join(
            unit.format(line) * (300 // len(unit)) for line in range(1, 60)
        )
        for frame in ("{}", '{{"answer": "{}"}}', "Answer: {}"):
            yield f"59 different lines of {unit!r} in {frame}", frame.format(lines)
    for name, expression in (
        ("sum", "1+" * 900 + "1"),
        ("powers", "2**" * 600 + "2"),
        ("large numbers", "+".join(["9**1200"] * 220)),
        ("products of large numbers", "*".join(["9**600//7"] * 180)),
        ("brackets", "(" * 900 + "1" + ")" * 900),
        ("signs", "-" * 1_900 + "1"),
        ("nots", "not " * 450 + "1"),
        ("calls", "round(" * 300 + "1" + ")" * 300),
        ("lists", "[" * 900 + "]" * 900),
        ("strings", "'a'+" * 480 + "'a'"),
        ("comparisons", "1<" * 900 + "1"),
        ("conditions", "1 if 0 else " * 160 + "1"),
        ("mixed operators", "1 or 1 and not 1<1|1^1&1<<1+1*(" * 40),
        ("long number", "9" * 1_990),
        ("factorials", "+".join(["math.factorial(300)"] * 90)),
        ("roots", "sqrt(" * 300 + "2"),
    ):
        yield f"expression: {name}", f'{{"answer": str({expression})}}'


def decisions(
    reply: str, row: tuple[int, str, str, str]
) -> Iterator[tuple[str, Decision, float]]:
    """Name, decision and CPU seconds of each scorer."""
    calculator_id, gold, lower, upper = row
    for name, scorer in (
        ("accuracy", decide),
        ("accuracy_official", official_decision),
    ):
        start = time.process_time()
        decision = scorer(
            reply, calculator_id=calculator_id, gold=gold, lower=lower, upper=upper
        )
        yield name, decision, time.process_time() - start


class Guard:
    """An audit hook that raises while scoring when code is compiled or run, or anything outside is touched.

    Arithmetic is parsed alone, which counts as compiling; to run it would be an `exec`.
    """

    FORBIDDEN = (
        "compile",
        "exec",
        "import",
        "open",
        "os.",
        "subprocess.",
        "socket.",
        "shutil.",
        "ctypes.",
        "code.",
    )

    def __init__(self) -> None:
        self.armed = False
        sys.addaudithook(self._audit)

    def _audit(self, event: str, arguments: tuple[object, ...]) -> None:
        if (
            self.armed
            and event.startswith(self.FORBIDDEN)
            and "<arithmetic>" not in arguments
        ):
            self.armed = False
            raise AssertionError(f"scoring caused {event} {str(arguments)[:200]}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument("--replies", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=20240610)
    parser.add_argument(
        "--size",
        type=int,
        default=1_000_000,
        help="length of the longest hostile replies",
    )
    options = parser.parse_args()
    for row in ROWS:  # the standard library loads its date parser on first use
        list(decisions('{"answer": "03/07/2021"}', row))
    guard = Guard()
    worst: dict[str, tuple[float, str]] = {}
    count = correct = 0
    source = random.Random(options.seed)
    named = [(None, reply) for reply in random_replies(options.seed, options.replies)]
    for rows, replies in (
        (1, iter(named)),
        (len(ROWS), hostile_replies(options.size)),
    ):
        for name, reply in replies:
            for row in source.sample(ROWS, rows):
                guard.armed = True
                for scorer, decision, seconds in decisions(reply, row):
                    count += 1
                    correct += decision.correct
                    if seconds > worst.get(scorer, (0.0, ""))[0]:
                        again = [
                            taken
                            for _ in range(3)
                            for other, _, taken in decisions(reply, row)
                            if other == scorer
                        ]
                        worst[scorer] = max(
                            worst.get(scorer, (0.0, "")),
                            (
                                min(seconds, *again),
                                f"calculator {row[0]}: {name or repr(reply)[:150]}",
                            ),
                        )
                guard.armed = False
    print(f"{count} decisions, {correct} of them correct, no crash, no code run")
    for scorer, (seconds, where) in worst.items():
        print(f"slowest {scorer}: {seconds * 1000:.2f} ms on {where}")


if __name__ == "__main__":
    main()
