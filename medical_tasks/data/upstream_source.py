"""Reads prompts from a benchmark authors' Python files as data.

The files are parsed (`ast`), never imported or run. Only expressions with a certain value are
read (literals, names, their sum, f-strings without formats); anything else is an error.
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
    """Returns git's id of a file's content, which identifies it in its authors' history."""
    return hashlib.sha1(
        b"blob %d\0%s" % (len(content), content), usedforsecurity=False
    ).hexdigest()


def parse_python(path: Path, unknown: Unknown) -> ast.Module:
    """Parses a Python file; raises the error from `unknown` for anything else."""
    try:
        return ast.parse(read_file(path).decode("utf-8"))
    except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
        raise unknown("a Python file in UTF-8") from error


def named_text(path: Path, name: str) -> str:
    r"""Returns the text that a Python file assigns to a name.

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
    """Returns the value that is assigned to a name exactly once, else None."""
    values = [
        node.value
        for node in statements
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    ]
    return values[0] if len(values) == 1 else None


def _unstripped(node: ast.expr) -> ast.expr:
    """Returns the expression before `.strip()`, or the expression itself."""
    match node:
        case ast.Call(func=ast.Attribute(value, "strip"), args=[], keywords=[]):
            return value
    return node


def template_of(
    node: ast.expr, templates: Mapping[str, Template], unknown: Unknown
) -> Template:
    """Makes a template of an expression.

    `templates` holds the templates of names, and of whole expressions as `ast.unparse` writes
    them.

    Example:
        The expression `f"Note: {note}" + end`, where `note` is a slot and `end` is "." in
        `templates`, gives ("Note: ", Slot("note"), "."). A format or a call
        raises `unknown`.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return (node.value,)

    if isinstance(node, ast.JoinedStr):
        return tuple(
            piece
            for value in node.values
            for piece in template_of(value, templates, unknown)
        )

    if (
        isinstance(node, ast.FormattedValue)
        and node.conversion == -1
        and node.format_spec is None
    ):
        return template_of(node.value, templates, unknown)

    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return (
            *template_of(node.left, templates, unknown),
            *template_of(node.right, templates, unknown),
        )

    name = ast.unparse(node)
    if name not in templates:
        raise unknown(f"a text in place of `{name[:80]}` on line {node.lineno}")

    return templates[name]


def joined(
    statements: Sequence[ast.stmt], templates: Mapping[str, Template], unknown: Unknown
) -> dict[str, Template]:
    """Returns the texts that successive assignments make, up to a loop; skips lists and numbers.

    Example:
        The lines `text = "Note: " + note` and `text += "."` give `text` the pieces
        "Note: ", the slot of `note` and ".".
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
                *template_of(node.value, {**templates, **texts}, unknown),
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
                    node.value, {**templates, **texts}, unknown
                )
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            raise unknown(f"texts that are joined, on line {node.lineno}")

    return texts


def fill(template: Template, values: Mapping[str, str]) -> str:
    """Puts values into the slots."""
    return "".join(
        piece if isinstance(piece, str) else values[piece.name] for piece in template
    )


def marked(template: Template) -> str:
    """Writes a template as one text, for a hash, with NUL around the slots, which no text contains."""
    return "".join(
        piece if isinstance(piece, str) else f"\0{piece.name}\0" for piece in template
    )
