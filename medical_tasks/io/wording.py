"""The words that each kind of reader uses, in one place for all messages.

| | with a sheet | with JSON | in Python | on the command line |
|---|---|---|---|---|
| a position | row, column | line, field | argument | option |
| a question | the question, quoted | id | id | id |
| a choice | column's name | field's name | `max_samples` | `--max-samples` |

Messages are written in the words of the command line; `in_python` translates them for the caller
of a function.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from medical_tasks.io.files import one_line

ANSWER_COLUMNS: Final = "question (or id) and answer"
"""The columns of a table of answers, as in the documentation."""
_LONGEST: Final = 60
_OPTION: Final = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)")
# A command ends with its line, its sentence, a semicolon or a bracket.
_COMMAND: Final = re.compile(
    r"(?:medical-tasks|torchrun|vllm|hf) (?:(?!\. [A-Z]|[;`)\n]).)*"
)


@dataclass(frozen=True, kw_only=True)
class Words:
    """A reader's words for the parts of a file.

    Attributes:
        row: a row of a sheet, a line of JSON.
        cell: a column of a sheet, a field of JSON.
        names: the reader's names of fields, if they differ from ours.
    """

    row: str
    cell: str
    names: Mapping[str, str] = field(default_factory=dict)

    def name(self, field_name: str) -> str:
        """Returns the reader's name of a field."""
        return self.names.get(field_name, field_name)


RECORDS: Final = Words(row="line", cell="field")


def sheet_words(names: Mapping[str, str]) -> Words:
    """Makes the words for a sheet, whose columns have names of their own."""
    return Words(row="row", cell="column", names=names)


def quoted_question(text: str) -> str:
    """Quotes a question in a message.

    >>> quoted_question("Is it safe?")
    "'Is it safe?'"
    """
    line = one_line(text)
    return repr(line if len(line) <= _LONGEST else f"{line[:_LONGEST].rstrip()}...")


def in_python(message: str, parameters: Collection[str]) -> str:
    """Translates a message for Python: parameters instead of options.

    Commands inside the message stay unchanged.

    Args:
        message: the message in the words of the command line.
        parameters: the names of Python parameters.

    >>> in_python("--max-samples must be 1 or more, got 0.", ["max_samples"])
    'max_samples must be 1 or more, got 0.'
    """

    def parameter(match: re.Match[str]) -> str:
        name = match[1].replace("-", "_")
        return name if name in parameters else match[0]

    parts: list[str] = []
    end = 0
    for command in _COMMAND.finditer(message):
        parts += [_OPTION.sub(parameter, message[end : command.start()]), command[0]]
        end = command.end()

    return "".join([*parts, _OPTION.sub(parameter, message[end:])])
