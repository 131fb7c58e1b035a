"""What each kind of reader calls a thing, in one place for all messages.

| | with a sheet | with JSON | in Python | on the command line |
|---|---|---|---|---|
| where something stands | row, column | line, field | argument | option |
| what is asked | the question, quoted | id | id | id |
| a choice to make | column's name | field's name | `max_samples` | `--max-samples` |

Messages are written in the words of the command line; `in_python` puts them into those
of a function's caller.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from medical_tasks.io.files import one_line

ANSWER_COLUMNS: Final = "question (or id) and answer"
"""The columns of a table of answers, as the pages have them."""
_LONGEST: Final = 60
_OPTION: Final = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)")
# A command ends with its line, its sentence, a semicolon or a bracket.
_COMMAND: Final = re.compile(
    r"(?:medical-tasks|torchrun|vllm|hf) (?:(?!\. [A-Z]|[;`)\n]).)*"
)


@dataclass(frozen=True, kw_only=True)
class Words:
    """What a reader calls the parts of the file they gave.

    Attributes:
        row: a row of a sheet, a line of JSON.
        cell: a column of a sheet, a field of JSON.
        names: the reader's names of fields, where they are not ours.
    """

    row: str
    cell: str
    names: Mapping[str, str] = field(default_factory=dict)

    def name(self, field_name: str) -> str:
        """The reader's name of a field."""
        return self.names.get(field_name, field_name)


RECORDS: Final = Words(row="line", cell="field")


def sheet_words(names: Mapping[str, str]) -> Words:
    """The words for a sheet, whose columns have names of their own."""
    return Words(row="row", cell="column", names=names)


def quoted_question(text: str) -> str:
    """A question as a message quotes it.

    >>> quoted_question("Is it safe?")
    "'Is it safe?'"
    """
    line = one_line(text)
    return repr(line if len(line) <= _LONGEST else f"{line[:_LONGEST].rstrip()}...")


def in_python(message: str, parameters: Collection[str]) -> str:
    """Puts a message into the words of Python: parameters in place of options.

    Commands that it says to give stay as they are.

    Args:
        message: in the words of the command line.
        parameters: the names that Python knows.

    >>> in_python("--max-samples must be 1 or more, got 0.", ["max_samples"])
    'max_samples must be 1 or more, got 0.'
    """

    def named(found: re.Match[str]) -> str:
        name = found[1].replace("-", "_")
        return name if name in parameters else found[0]

    parts: list[str] = []
    end = 0
    for command in _COMMAND.finditer(message):
        parts += [_OPTION.sub(named, message[end : command.start()]), command[0]]
        end = command.end()

    return "".join([*parts, _OPTION.sub(named, message[end:])])
