"""What the authors of a benchmark say to a model, read out of their Python files as data.

Parsed (`ast`), never imported or run.

Only what can be read with certainty is taken (literals, names, their sum, f-strings
without formats); all else is an error.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from medical_tasks.errors import MedicalTasksError, MissingError, UsageError
from medical_tasks.io.files import read_bytes, readable


@dataclass(frozen=True)
class Slot:
    """A place in a text, with the name of the value that fills it."""

    name: str


Template = tuple[str | Slot, ...]
Unknown = Callable[[str], MedicalTasksError]
"""Makes the error about a file, given what was expected in it."""


def read_file(path: Path) -> bytes:
    """Reads a file, or says that it is missing."""
    with readable(path, error=MissingError):
        return read_bytes(path)


def blob_id(content: bytes) -> str:
    """The id that git gives a file of this content, by which it is found in its authors' history."""
    return hashlib.sha1(
        b"blob %d\0%s" % (len(content), content), usedforsecurity=False
    ).hexdigest()


def parse_python(path: Path, unknown: Unknown) -> ast.Module:
    """Parses a Python file; what is no Python is the error that `unknown` makes."""
    try:
        return ast.parse(read_file(path).decode("utf-8"))
    except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
        raise unknown("a Python file in UTF-8") from error


def named_text(path: Path, name: str) -> str:
    r"""The text that a Python file gives a name.

    Example: a file with `ASK = "\nIs it so?\n".strip()` has for ASK the text "Is it
    so?".
    """

    def unknown(expected: str) -> UsageError:
        return UsageError(f"{path}: expected {expected}. Get the repository again.")

    value = assigned(parse_python(path, unknown).body, name)
    if value is None:
        raise unknown(f"one text named {name}")

    bare = _unstripped(value)
    text = fill(template_of(bare, {}, unknown), {})
    return text if bare is value else text.strip()


def assigned(statements: Sequence[ast.AST], name: str) -> ast.expr | None:
    """What a name is given, where that happens once."""
    found = [
        node.value
        for node in statements
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    ]
    return found[0] if len(found) == 1 else None


def _unstripped(node: ast.expr) -> ast.expr:
    """What stands in front of `.strip()`, or the expression itself."""
    match node:
        case ast.Call(func=ast.Attribute(value, "strip"), args=[], keywords=[]):
            return value
    return node


def template_of(
    node: ast.expr, known: Mapping[str, Template], unknown: Unknown
) -> Template:
    """Makes a template of an expression.

    `known`: what names, and whole expressions as `ast.unparse` writes them, stand for.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return (node.value,)

    if isinstance(node, ast.JoinedStr):
        return tuple(
            part for value in node.values for part in template_of(value, known, unknown)
        )

    if (
        isinstance(node, ast.FormattedValue)
        and node.conversion == -1
        and node.format_spec is None
    ):
        return template_of(node.value, known, unknown)

    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return (
            *template_of(node.left, known, unknown),
            *template_of(node.right, known, unknown),
        )

    name = ast.unparse(node)
    if name not in known:
        raise unknown(f"a text in place of `{name[:80]}` on line {node.lineno}")

    return known[name]


def joined(
    statements: Sequence[ast.stmt], known: Mapping[str, Template], unknown: Unknown
) -> dict[str, Template]:
    """The texts that assignments make one after the other, up to a loop.

    Lists and numbers among them are passed over.
    """
    texts: dict[str, Template] = {}
    for node in statements:
        if isinstance(node, ast.While):
            break

        if (
            isinstance(node, ast.AugAssign)
            and isinstance(node.target, ast.Name)
            and isinstance(node.op, ast.Add)
        ):
            before = template_of(node.target, texts, unknown)
            texts[node.target.id] = (
                *before,
                *template_of(node.value, {**known, **texts}, unknown),
            )
        elif (
            isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and isinstance(node.targets[0], ast.Name)
        ):
            number = isinstance(node.value, ast.Constant) and isinstance(
                node.value.value, int
            )
            if not isinstance(node.value, ast.List) and not number:
                texts[node.targets[0].id] = template_of(
                    node.value, {**known, **texts}, unknown
                )
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            raise unknown(f"texts that are joined, on line {node.lineno}")

    return texts


def fill(template: Template, values: Mapping[str, str]) -> str:
    """Puts values into the slots."""
    return "".join(
        part if isinstance(part, str) else values[part.name] for part in template
    )


def marked(template: Template) -> str:
    """A template as one text, for a hash.

    NUL, which no text of theirs holds, stands around the slots.
    """
    return "".join(
        part if isinstance(part, str) else f"\0{part.name}\0" for part in template
    )
