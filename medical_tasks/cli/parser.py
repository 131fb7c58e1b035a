"""The parser of the command line, built from the dataclass of a command's options.

    read(verb, ["--tasks", "medcalc", "--model", "baseline/empty"])    # Run(tasks="medcalc", ...)

The names, types, defaults and help texts of options are in the package
`medical_tasks.options` and in the wings' own `options.py`; this module has no knowledge
of single commands.
"""

from __future__ import annotations

import argparse
import inspect
import itertools
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, NoReturn

from medical_tasks.cli.peers import answer
from medical_tasks.errors import UsageError, did_you_mean
from medical_tasks.io.files import named_path
from medical_tasks.options import Choice, Options, Parameter, parameters, read_settings
from medical_tasks.plugins import Verb, load

_CHOICE = re.compile(r"invalid choice: '(.*)' \(choose from (.*)\)")
_FILE = "--config-file"  # names a file with options (`Options.from_file`)
_SEPARATOR = "--"  # precedes the words of another command


class Read(NamedTuple):
    """The parsed arguments of a command.

    Attributes:
        options: Builds the command's options; raises UsageError for an invalid text.
        json: Whether one JSON value is printed instead of text.
    """

    options: Callable[[], Options]
    json: bool


class Parser(argparse.ArgumentParser):
    """A parser whose errors have the form of all others: the problem, then the next step."""

    words: Sequence[str] = ()  # the typed words
    first: Sequence[str] = ()  # the options in `--help` if `--help-all` shows more

    def format_help(self) -> str:
        """Shows the options that most users need, and how to see the others."""
        shown = (*self.first, "help", "help_all", "json")
        more = {
            action: action.help
            for action in self._actions
            if self.first and action.dest not in shown
        }
        if not more or "--help-all" in self.words:
            return super().format_help()

        for action in more:
            action.help = argparse.SUPPRESS

        text = super().format_help()
        for action, help_text in more.items():
            action.help = help_text

        return f"{text}\n{len(more)} more options: {self.prog} --help-all\n"

    def error(self, message: str) -> NoReturn:
        """Exits with a message that suggests the nearest option or choice."""
        options = [
            name for name in self._option_string_actions if name.startswith("--")
        ]
        typed_names = [
            word.partition("=")[0]
            for word in self.words
            if word.startswith("-") and word.strip("-")
        ]
        unknown = [
            word
            for word in typed_names
            if not any(name.startswith(word) for name in options)
        ]
        replies = [answer(word, options) for word in unknown]
        if reply := next(filter(None, replies), ""):
            self.exit(2, f"error: {reply} See: {self.prog} --help\n")

        first = next((word for word in unknown if word.startswith("--")), "")
        hint = did_you_mean(first, options)
        if hint:
            message = f"there is no option {first}"
        if choice := _CHOICE.search(message):
            hint = did_you_mean(choice[1], choice[2].replace("'", "").split(", "))

        self.exit(2, f"error: {message}.{hint} See: {self.prog} --help\n")


def read(verb: Verb, words: Sequence[str]) -> Read:
    """Parses the arguments of a command; exits with a message if they are wrong."""
    nested = _nested(declared(verb, words))
    nested_words: list[str] = []
    if nested and _SEPARATOR in words:
        separator = words.index(_SEPARATOR)
        words, nested_words = words[:separator], [*words[separator + 1 :]]

    options = loaded(verb)
    if not isinstance(options, Choice) and options.from_file:
        words = _with_file(options, words)

    # Positionals and options may be in any order: `calc NAME --convention C key=value`.
    values = vars(parser_of(verb, words).parse_intermixed_args(words))
    json = values.pop("json")
    values.pop(_FILE, None)  # its options were added to the others
    given_values = {
        name: value
        for name, value in values.items()
        if value is not None and value is not False and value != []
    }

    def build_options() -> Options:
        options = _form(verb, given_values)
        inner = {
            name: _read_nested(verb, kind, nested_words)
            for name, kind in nested.items()
        }
        return options(**_values(options, given_values), **inner)

    return Read(build_options, json)


def _with_file(options: type[Options], words: Sequence[str]) -> Sequence[str]:
    """Inserts the options of `--config-file` before the others, which take precedence.

    An option on the command line replaces all values of that option in the file.
    """
    search = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    search.add_argument(_FILE)
    # An option without its value is left to the parser of the command.
    has_file = _FILE in words[:-1] or any(w.startswith(f"{_FILE}=") for w in words)
    namespace, rest = search.parse_known_args(words) if has_file else (None, words)
    if namespace is None:
        return words

    from medical_tasks.runs.run_file import read_run_file

    fields = parameters(options)
    typed = {word.partition("=")[0] for word in rest}
    replaced = _named(typed, {name: field.words for name, field in fields.items()})
    words_from_file = read_run_file(
        named_path(namespace.config_file), fields, without=replaced
    )

    return [*itertools.chain.from_iterable(words_from_file.values()), *rest]


def _named(typed: Collection[str], options: Mapping[str, str]) -> set[str]:
    """Returns the fields whose options were typed, in full or abbreviated.

    `--max-s` abbreviates `--max-samples`. `--model` does not abbreviate `--model-args`,
    since there is an option of that name.

    Example:
        >>> names = ("max-samples", "model", "model-args")
        >>> options = {name.replace("-", "_"): f"--{name}" for name in names}
        >>> sorted(_named(["--max-s", "--model"], options))
        ['max_samples', 'model']
    """
    whole = set(options.values())
    return {
        name
        for name, option in options.items()
        for word in typed
        if word == option
        or (len(word) > len("--") and word not in whole and option.startswith(word))
    }


def loaded(verb: Verb) -> type[Options] | Choice:
    """Imports the options of a command."""
    if verb.options is None:
        raise ValueError(f"{verb.name} has no options of its own")
    options = load(verb.options)
    # Options that depend on registered plugins are a function, which builds the forms.
    resolved: type[Options] | Choice = (
        options() if inspect.isfunction(options) else options
    )
    return resolved


def declared(verb: Verb, words: Sequence[str] = ()) -> dict[str, Parameter]:
    """Returns the fields of a command, for the forms that `words` leave open.

    A command with one set of options has one form. A `Choice` has several, selected by its
    `fields` (of `construct` the benchmark and the step). What only some forms have is
    optional here, and `_form` checks it when the form is known.

    Args:
        verb: the command.
        words: the words typed; without them, the fields of all forms.
    """
    options = loaded(verb)
    if not isinstance(options, Choice):
        return dict(parameters(options))

    forms = [*options.forms.values()]
    if options.apart:
        search = argparse.ArgumentParser(add_help=False, exit_on_error=False)
        for name in options.fields:
            search.add_argument(f"--{name}", nargs="?")

        selected = search.parse_known_args(list(words))[0]
        form = options.forms.get(
            tuple(getattr(selected, name) for name in options.fields)
        )
        forms = [] if form is None else [form]

    fields = dict(parameters(options.common))
    for position, name in enumerate(options.fields):
        choices = tuple(dict.fromkeys(words[position] for words in options.forms))
        fields[name] = replace(fields[name], choices=choices)

    for form in forms:
        # A form's required fields are checked after parsing: another form may not need
        # them.
        fields |= {
            name: replace(parameter, required=False)
            for name, parameter in parameters(form).items()
            if name not in fields
        }

    return fields


def forms_apart(verb: Verb) -> list[list[str]]:
    """Returns the words that select each form with a `--help` of its own."""
    options = loaded(verb)
    if not isinstance(options, Choice) or not options.apart:
        return [[]]
    return [[f"--{options.fields[0]}", *words] for words in options.forms]


def _form(verb: Verb, typed: Mapping[str, Any]) -> type[Options]:
    """Returns the options of the selected form, and refuses those of other forms.

    Example:
        `construct medcalc extract` takes the options of that step. An option of
        `construct archehr sheet` typed with it is refused by name, not ignored.
    """
    options = loaded(verb)
    if not isinstance(options, Choice):
        return options

    words = tuple(typed[name] for name in options.fields)
    command = " ".join(
        [verb.name, *([f"--{options.fields[0]}"] if options.apart else []), *words]
    )
    if words not in options.forms:
        steps = [last for *first, last in options.forms if (*first,) == words[:-1]]
        raise UsageError(
            f"{verb.name} {' '.join(words[:-1])} has the {options.fields[-1]}s "
            f"{', '.join(steps)}, got {words[-1]}."
        )

    form = options.forms[words]
    fields, all_fields = (
        parameters(form),
        declared(verb, [f"--{options.fields[0]}", *words]),
    )
    if missing := [
        parameter.words
        for parameter in fields.values()
        if parameter.required and parameter.name not in typed
    ]:
        help_of = command if options.apart else verb.name
        raise UsageError(
            f"{command} needs {', '.join(missing)}. See: medical-tasks {help_of} --help"
        )

    if foreign := [all_fields[name].words for name in typed if name not in fields]:
        raise UsageError(f"{command} has no option {', '.join(foreign)}. Omit it.")

    return form


def parser_of(verb: Verb, words: Sequence[str] = ()) -> Parser:
    """Builds the parser of a command's arguments."""
    options = loaded(verb)
    common = options.common if isinstance(options, Choice) else options
    parser = Parser(
        f"medical-tasks {verb.name}",
        description=description_of(verb),
        usage=common.usage,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.words, parser.first = words, common.first
    declare(parser, declared(verb, words))
    parser.add_argument(
        "--json", action="store_true", help="print one JSON value instead of text"
    )
    if common.from_file:
        parser.add_argument(
            _FILE,
            metavar="FILE",
            dest=_FILE,
            help="read options from the run.yaml of a run; options of the command line take "
            "precedence",
        )

    if common.first:
        parser.add_argument("--help-all", action="help", help="show every option")

    return parser


def description_of(verb: Verb) -> str:
    """Returns the description of a command in `--help`: the docstring of its options."""
    if verb.options is None:
        return inspect.cleandoc(sys.modules[load(verb.run).__module__].__doc__ or "")
    options = loaded(verb)
    documented = options.common if isinstance(options, Choice) else options
    return inspect.cleandoc(documented.__doc__ or "")


def declare(parser: argparse.ArgumentParser, fields: Mapping[str, Parameter]) -> None:
    """Adds fields to a parser under their headings, except those with another command's options."""
    groups: dict[str, argparse._ActionsContainer] = {"": parser}
    for name, parameter in fields.items():
        heading = parameter.heading
        if name in _nested(fields):
            continue

        if heading not in groups:
            groups[heading] = parser.add_argument_group(
                heading, parameter.about or None
            )

        _declare_one(groups[heading], parameter)


def _declare_one(group: argparse._ActionsContainer, parameter: Parameter) -> None:
    """Adds one option to the parser, by its type and its `Option`.

    It may be a flag, have one value or several, be allowed without a value (`bare`), or
    be positional.
    """
    option, about = parameter.option, dict[str, Any]()
    about["help"] = option.help.replace("%", "%%")
    if parameter.type is bool:
        group.add_argument(
            parameter.words, dest=parameter.name, action="store_true", **about
        )
        return

    about["metavar"] = "K=V,..." if parameter.type is Mapping else option.metavar
    about["choices"] = parameter.choices or None
    about["type"] = _reader(parameter)
    if option.positional:
        if parameter.many:
            about["nargs"] = "+" if parameter.required else "*"
        elif not parameter.required:
            about["nargs"] = "?"

        group.add_argument(parameter.name, **about)
        return

    about |= {"dest": parameter.name, "required": parameter.required}
    if parameter.many:
        about["action"] = "extend" if option.several else "append"
        about["nargs"] = "+" if option.several else None

    if option.bare is not None:
        about |= {"nargs": "?", "const": option.bare}

    group.add_argument(parameter.words, **about)


def _reader(parameter: Parameter) -> Callable[[str], object] | None:
    """Returns the parser of a value; settings are parsed later, so that --json includes errors."""
    read_word = parameter.option.read
    if read_word is None:
        return None if parameter.type is Mapping else parameter.type

    def read_or_say(text: str) -> object:
        try:
            return read_word(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return read_or_say


def _values(options: type[Options], typed: Mapping[str, Any]) -> dict[str, Any]:
    """Converts the values to the types of their fields."""
    values: dict[str, Any] = {}
    for name, value in typed.items():
        parameter = parameters(options)[name]
        if parameter.type is Mapping:
            read_one = partial(read_settings, option=parameter.words)
            value = (
                [read_one(text) for text in value]
                if parameter.many
                else read_one(value)
            )

        values[name] = tuple(value) if parameter.many else value

    return values


def _nested(fields: Mapping[str, Parameter]) -> dict[str, type[Options]]:
    """Returns the fields that are another command's options, whose words follow `--`."""
    return {
        name: parameter.type
        for name, parameter in fields.items()
        if isinstance(parameter.type, type) and issubclass(parameter.type, Options)
    }


def _read_nested(verb: Verb, kind: type[Options], words: Sequence[str]) -> Options:
    """Parses the words of another command."""
    name = kind.__name__.lower()
    if words[:1] != [name]:
        example = f"{verb.name} ... {_SEPARATOR} {name} --tasks T --model M --out DIR"
        raise UsageError(
            f"{verb.name} needs the command of {name} after {_SEPARATOR}, got "
            f"{' '.join(words[:1]) or 'none'}: medical-tasks {example}"
        )

    reference = f"{kind.__module__}:{kind.__name__}"
    other = Verb(name=name, group="", summary="", options=reference, run="")
    return read(other, words[1:]).options()
