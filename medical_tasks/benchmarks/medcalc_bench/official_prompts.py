"""The authors' own questions, read as data from a checkout of their repository: nothing of it is imported or run.

What joins the literals is compared with what is known here: other files are refused.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from medical_tasks.data.dataset_source import repository_file
from medical_tasks.data.upstream_source import (
    Slot,
    Template,
    assigned,
    blob_id,
    fill,
    joined,
    marked,
    parse_python,
    read_file,
    template_of,
)
from medical_tasks.errors import MissingError
from medical_tasks.spec import Example, Item, Message

__all__ = [
    "EXAMPLES",
    "OfficialCode",
    "OfficialQuestions",
    "of_calculator",
    "read_code",
    "read_corrected_question",
    "read_questions",
]

EXAMPLES: Final = "one_shot_finalized_explanation.json"
_REPOSITORY: Final = "ncbi-nlp/MedCalc-Bench"
_READABLE: Final = (
    f"This version reads the files of {_REPOSITORY} from June 2024 (5523b77) to November 2025 "
    "(20b10f9): give --upstream a whole checkout of one of these, or use --prompts own."
)

_LABELS_REPOSITORY: Final = "junzeye/validate-medcalc-labels"
_LABELS_SYSTEM: Final = "data/system_prompt.txt"
_LABELS_QUESTION: Final = "data/user_prompt_template.txt"
_LABELS_SLOTS: Final = {"{patient_note}": Slot("note"), "{question}": Slot("question")}
_LABELS_SPLIT: Final = re.compile(
    "|".join(f"({re.escape(slot)})" for slot in _LABELS_SLOTS)
)

_FUNCTIONS: Final[Mapping[str, str]] = {
    "cot": "zero_shot",
    "direct": "direct_answer",
    "one_shot": "one_shot",
}
_REPLY: Final = "{'step_by_step_thinking': example['Response']['step_by_step_thinking'], 'answer': example['Response']['answer']}"
# What the arguments of their functions are called where they are called; a slot has the
# name of the value that fills it.
_ARGUMENTS: Final[Mapping[str, str]] = {
    "patient_note": "note",
    "question": "question",
    "row['Patient Note']": "note",
    "row['Question']": "question",
    "one_shot_question": "example_question",
    "example['Patient Note']": "example_note",
    _REPLY: "example_reply",
}
_FROM_THE_ROW: Final = (
    "patient_note = row['Patient Note']",
    "question = row['Question']",
    "calculator_id = str(row['Calculator ID'])",
)
_ENDED: Final = "'<answer>' in output and '<\\\\answer>' in output"
_CHECKS: Final = (
    "'```python' not in output",
    "'print' not in message_code",
    "'input(' in message_code",
)
_BLOCKS: Final = r"```python\n(.*?)```"


Shown = TypeVar("Shown")


@dataclass(frozen=True, kw_only=True)
class OfficialQuestions:
    """How `run.py` asks."""

    messages: tuple[tuple[str, Template], ...]  # role and template of each message
    # calculator id to the question over its example, where not the item's
    example_questions: Mapping[str, str]
    # calculator id to note and reply; empty but for one-shot
    examples: Mapping[str, tuple[str, Mapping[str, object]]]
    files: Mapping[str, str]  # path in the checkout to git blob id

    def render(self, item: Item) -> tuple[Message, ...]:
        """Writes an item's chat."""
        values = _values(item)
        if self.examples:
            shown = self.example(item)
            names = ("example_note", "example_question", "example_reply")
            values |= dict(zip(names, (*shown.shown, shown.reply), strict=True))
        return _filled(self.messages, values)

    def example(self, item: Item) -> Example:
        """The example that an item's chat shows.

        It is the item itself when note and question are.
        """
        note, reply = of_calculator(self.examples, item)
        item_texts = (item.fields["patient_note"], item.fields["question"])
        question = self.example_questions.get(
            str(item.fields["calculator_id"]), item_texts[1]
        )
        return Example(
            reply=json.dumps(reply), shown=(note, question), asked=item_texts
        )

    @property
    def texts(self) -> list[str]:
        """Everything that goes into the questions beside the items, for a hash."""
        return [
            *_texts(self.messages),
            json.dumps([self.example_questions, self.examples], sort_keys=True),
        ]


@dataclass(frozen=True, kw_only=True)
class OfficialCode:
    """How `generate_code_prompt.py` asks, and continues."""

    opening: tuple[tuple[str, Template], ...]  # role and template of the first messages
    no_code: Template  # what is said to a reply without a Python block
    no_print: Template  # what is said to a program without `print`
    console: Template  # what is said when a program was run
    tries: int  # how many replies there are at most
    files: Mapping[str, str]  # path in the checkout to git blob id

    def render(self, item: Item) -> tuple[Message, ...]:
        """Writes an item's first messages."""
        return _filled(self.opening, _values(item))

    def say(self, text: Template, *, output: str = "", console: str = "") -> Message:
        """Fills one of the three texts with the model's reply and what its program wrote."""
        return {
            "role": "user",
            "content": fill(text, {"output": output, "console": console}),
        }

    @property
    def texts(self) -> list[str]:
        """Everything that is said beside the items, for a hash."""
        messages = (self.no_code, self.no_print, self.console)
        return _texts((*self.opening, *(("user", text) for text in messages)))


def read_questions(style: str, upstream: Path | None) -> OfficialQuestions:
    """Reads the questions of one style.

    A missing file, or one in another form, is a `MissingError`.
    """
    path = _find(upstream, "run.py")
    source, name, shows = _Source(path), _FUNCTIONS[style], style == "one_shot"
    for statement in _FROM_THE_ROW:
        source.expect(statement in source.statements, f"the statement `{statement}`")

    system, user = source.returned(name, source.arguments_of(name))
    examples = [_find(upstream, EXAMPLES)] if shows else []
    return OfficialQuestions(
        messages=source.messages(source.tree, {"system": system, "user": user}),
        example_questions=source.example_questions() if shows else {},
        examples=_read_examples(examples[0]) if shows else {},
        files={
            f"evaluation/{script.name}": blob_id(read_file(script))
            for script in (path, *examples)
        },
    )


def read_code(upstream: Path | None) -> OfficialCode:
    """Reads the dialogue about code.

    A missing file, or one in another form, is a `MissingError`.
    """
    path = _find(upstream, "generate_code_prompt.py")
    source = _Source(path)
    function = source.function("apply_calc")
    blocks = any(
        isinstance(node, ast.Constant) and node.value == _BLOCKS
        for node in ast.walk(source.tree)
    )
    source.expect(blocks, f"the pattern {_BLOCKS} for blocks of code")
    texts = joined(function.body, source.arguments_of("apply_calc"), source.unknown)
    no_code, no_print, console = source.follow_ups(function)

    return OfficialCode(
        opening=source.messages(function, texts),
        no_code=no_code,
        no_print=no_print,
        console=console,
        tries=source.tries(function),
        files={f"evaluation/{path.name}": blob_id(read_file(path))},
    )


def read_corrected_question(upstream: Path | None) -> OfficialQuestions:
    """Reads the question of the corrected labels' authors; errors as `read_questions`."""
    system, question = (
        repository_file(upstream, path, repository=_LABELS_REPOSITORY)
        for path in (_LABELS_SYSTEM, _LABELS_QUESTION)
    )
    rules = _text_of(system)
    if "N/A" not in rules or _LABELS_SPLIT.search(rules):
        raise _odd_question(system, "it must be a text that says when to answer N/A")

    pieces = [piece for piece in _LABELS_SPLIT.split(_text_of(question)) if piece]
    template = tuple(_LABELS_SLOTS.get(piece, piece) for piece in pieces)
    if [segment for segment in template if isinstance(segment, Slot)] != list(
        _LABELS_SLOTS.values()
    ):
        raise _odd_question(
            question, f"it must have {' and '.join(_LABELS_SLOTS)} once each"
        )

    return OfficialQuestions(
        messages=(("system", (rules,)), ("user", template)),
        example_questions={},
        examples={},
        files={
            path: blob_id(read_file(file))
            for path, file in ((_LABELS_SYSTEM, system), (_LABELS_QUESTION, question))
        },
    )


def _text_of(path: Path) -> str:
    try:
        return read_file(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise _odd_question(path, "it must be UTF-8 text") from error


def _odd_question(path: Path, rule: str) -> MissingError:
    return MissingError(
        f"{path}: not the file of the corrected labels' authors: {rule}. Give --upstream a "
        f"checkout of {_LABELS_REPOSITORY} at b6f0416, or use --prompts own."
    )


def of_calculator(examples: Mapping[str, Shown], item: Item) -> Shown:
    """Takes the worked example of an item's calculator; none is a `MissingError`."""
    key = str(item.fields["calculator_id"])
    if key not in examples:
        raise MissingError(
            f"item {item.id}: no worked example for calculator {key} "
            f"({item.fields['calculator_name']}); there is one for each of "
            f"{', '.join(sorted(examples, key=int))}. Leave such items out, or use the task "
            "medcalc."
        )
    return examples[key]


class _Source:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.tree = parse_python(path, self.unknown)
        self.statements = {
            ast.unparse(node)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Assign)
        }

    def unknown(self, expected: str) -> MissingError:
        return MissingError(
            f"{self.path}: not the authors' file as it is known here; expected {expected}. "
            f"{_READABLE}"
        )

    def expect(self, there: bool, expected: str) -> None:
        if not there:
            raise self.unknown(expected)

    def function(self, name: str) -> ast.FunctionDef:
        functions = [
            node
            for node in self.tree.body
            if isinstance(node, ast.FunctionDef) and node.name == name
        ]
        self.expect(len(functions) == 1, f"one function {name}, found {len(functions)}")
        return functions[0]

    def arguments_of(self, name: str) -> dict[str, Template]:
        """Which value each parameter of a function is given, by the one place that calls it."""
        calls = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == name
        ]
        parameters = [argument.arg for argument in self.function(name).args.args]
        fits = (
            len(calls) == 1
            and not calls[0].keywords
            and len(calls[0].args) == len(parameters)
        )
        self.expect(
            fits, f"one call of {name} with {len(parameters)} arguments by position"
        )
        argument_texts = [ast.unparse(argument) for argument in calls[0].args]

        # A model's name goes into no text and stays unknown; of the example's reply
        # only the dump is a text.
        return {
            f"json.dumps({parameter})" if text == _REPLY else parameter: (
                Slot(_ARGUMENTS[text]),
            )
            for parameter, text in zip(parameters, argument_texts, strict=True)
            if text in _ARGUMENTS
        }

    def returned(
        self, name: str, templates: Mapping[str, Template]
    ) -> tuple[Template, Template]:
        *before, last = self.function(name).body
        if not (
            isinstance(last, ast.Return)
            and isinstance(last.value, ast.Tuple)
            and len(last.value.elts) == 2
        ):
            raise self.unknown(f"that {name} ends by returning two texts")

        texts = {**templates, **joined(before, templates, self.unknown)}
        system, user = (
            template_of(node, texts, self.unknown) for node in last.value.elts
        )
        return system, user

    def messages(
        self, tree: ast.AST, texts: Mapping[str, Template]
    ) -> tuple[tuple[str, Template], ...]:
        """The list that is assigned to `messages`, its texts by their names."""
        listed = assigned(list(ast.walk(tree)), "messages")
        if not isinstance(listed, ast.List):
            raise self.unknown("one list `messages`")

        read: list[tuple[str, Template]] = []
        for node in listed.elts:
            parts = node if isinstance(node, ast.Dict) else ast.Dict(keys=[], values=[])
            keys = [key.value for key in parts.keys if isinstance(key, ast.Constant)]
            role = (
                parts.values[0].value
                if parts.values and isinstance(parts.values[0], ast.Constant)
                else None
            )
            if keys != ["role", "content"] or role not in ("system", "user"):
                raise self.unknown("messages with role and content, of system or user")

            read.append((role, template_of(parts.values[1], texts, self.unknown)))

        return tuple(read)

    def example_questions(self) -> dict[str, str]:
        """The questions over the examples of single calculators.

        `if calculator_id == "N": one_shot_question = "..."`.
        """
        name, questions, assignments = "one_shot_question", dict[str, str](), 0
        for node in ast.walk(self.tree):
            if not (isinstance(node, ast.If) and isinstance(node.test, ast.Compare)):
                continue

            question = assigned(node.body, name)
            if question is None:
                continue

            key, by = (
                node.test.comparators[0],
                ast.unparse(node.test).partition(" == ")[0],
            )
            if by != "calculator_id" or not (
                isinstance(key, ast.Constant) and isinstance(key.value, str)
            ):
                raise self.unknown(f"that {name} goes by calculator_id")

            if not (
                isinstance(question, ast.Constant) and isinstance(question.value, str)
            ):
                raise self.unknown(f"a literal {name} for calculator {key.value}")

            questions[key.value] = question.value
            other = assigned(node.orelse, name)
            assignments += 1 + (other is not None)
            own = other is None or ast.unparse(other) == "question"
            self.expect(
                own, f"that {name} is the item's question for all other calculators"
            )

        nowhere_else = (
            sum(text.startswith(f"{name} = ") for text in self.statements)
            == assignments
        )
        self.expect(nowhere_else, f"{name} by calculator_id, and nowhere else")
        return questions

    def follow_ups(
        self, function: ast.FunctionDef
    ) -> tuple[Template, Template, Template]:
        """What is said about a reply without code, without `print`, and about a program that was run."""
        templates: dict[str, Template] = {
            "output": (Slot("output"),),
            "console_output": (Slot("console"),),
            "capture_exec_output_and_errors(message_code)": (Slot("console"),),
        }
        branches: list[Sequence[ast.stmt]] = []
        for node in ast.walk(function):
            if isinstance(node, ast.If) and ast.unparse(node.test) == _ENDED:
                rest: Sequence[ast.stmt] = node.orelse
                for check in _CHECKS:
                    step = next(
                        (
                            statement
                            for statement in rest
                            if isinstance(statement, ast.If)
                        ),
                        None,
                    )
                    if step is None or ast.unparse(step.test) != check:
                        raise self.unknown(
                            f"`{check}` as the next check of a reply without an answer"
                        )

                    branches.append(step.body)
                    rest = step.orelse

                branches.append(rest)

        self.expect(len(branches) == len(_CHECKS) + 1, f"one check `{_ENDED}`")
        texts: list[Template] = []
        for branch in (branches[0], branches[1], branches[3]):
            follow_up = assigned(branch, "new_output")
            sent = "messages.append({'role': 'user', 'content': new_output})"
            if follow_up is None or sent not in {
                ast.unparse(statement) for statement in branch
            }:
                raise self.unknown("a text new_output that is sent after each reply")

            texts.append(template_of(follow_up, templates, self.unknown))

        return texts[0], texts[1], texts[2]

    def tries(self, function: ast.FunctionDef) -> int:
        """How many replies end a dialogue: `if n >= N`."""
        for node in ast.walk(function):
            if isinstance(node, ast.If) and isinstance(node.test, ast.Compare):
                text, _, number = ast.unparse(node.test).partition(" >= ")
                if text == "n" and number.isdecimal():
                    return int(number)
        raise self.unknown("the number of tries, as `n >= NUMBER`")


def _values(item: Item) -> dict[str, str]:
    return {"note": item.fields["patient_note"], "question": item.fields["question"]}


def _filled(
    messages: Sequence[tuple[str, Template]], values: Mapping[str, str]
) -> tuple[Message, ...]:
    return tuple(
        {
            "role": "system" if role == "system" else "user",
            "content": fill(template, values),
        }
        for role, template in messages
    )


def _texts(messages: Sequence[tuple[str, Template]]) -> list[str]:
    return [f"{role}\n{marked(template)}" for role, template in messages]


def _find(upstream: Path | None, name: str) -> Path:
    return repository_file(upstream, f"evaluation/{name}", repository=_REPOSITORY)


def _read_examples(path: Path) -> dict[str, tuple[str, Mapping[str, object]]]:
    """Reads the authors' worked examples: calculator id to note and reply."""
    try:
        content = json.loads(read_file(path))
        examples: dict[str, tuple[str, Mapping[str, object]]] = {}
        for key, entry in content.items():
            note, reply = entry["Patient Note"], entry["Response"]
            examples[key] = (
                note,
                {name: reply[name] for name in ("step_by_step_thinking", "answer")},
            )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _odd_examples(path, f"{type(error).__name__} {error}") from error

    if not examples:
        raise _odd_examples(path, "it holds no example")

    for key, (note, _) in examples.items():
        if not key.isdecimal():
            raise _odd_examples(path, f"the key {key!r} is no calculator id")
        if not isinstance(note, str):
            raise _odd_examples(path, f"the note of calculator {key} is no text")

    return examples


def _odd_examples(path: Path, reason: str) -> MissingError:
    return MissingError(
        f"{path}: not the authors' file of worked examples (calculator id to 'Patient Note' and "
        f"'Response', which has 'step_by_step_thinking' and 'answer'): {reason}. {_READABLE}"
    )
