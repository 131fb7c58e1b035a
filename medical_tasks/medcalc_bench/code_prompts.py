"""What `medcalc_code` says to the model: the request for a program, and what is said when one did not give an answer.

The protocol is that of the paper's appendix D: the model writes Python instead of computing, sees the error, and has up to
20 tries. The words are ours.
"""

from __future__ import annotations

__all__ = ["PROGRAM", "TEXTS", "follow_up"]

PROGRAM = (
    "Do not compute anything yourself. Write a Python program that sets out the values found in the note, converts units "
    "where needed, and computes the answer. It can use Python's standard library and nothing else: no other packages, no "
    "files, no network, no input. The last thing it prints is the answer, alone on its line. Reply with the whole program "
    "in one block of this form:\n```python\n<the program>\n```\nThe program will be run. What it prints is your answer; if "
    "it fails, you will see the error and can correct it."
)

NO_PROGRAM = "Your reply has no program in it."
NO_OUTPUT = "Your program ran and printed nothing."
FAILED = "Your program was run and failed:\n\n{error}"
AGAIN = "Reply with the whole corrected program, in one block that begins with ```python and ends with ```."
NOTHING_SAID = "(an empty reply)"

TEXTS = (PROGRAM, NO_PROGRAM, NO_OUTPUT, FAILED, AGAIN, NOTHING_SAID)
"""Every text above, for the hash of the prompts."""


def follow_up(problem: str) -> str:
    """Makes the message that asks for another program.

    Args:
        problem: what was wrong with the last one, in a sentence or with the error's text.
    """
    return f"{problem}\n\n{AGAIN}"
