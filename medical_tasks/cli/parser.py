"""The command line's parser, made from the dataclass of a verb's options.

    read(verb, ["--tasks", "medcalc", "--model", "baseline/empty"])    # Run(tasks="medcalc", ...)

The names, types, defaults and help of options stand in the package
`medical_tasks.options` and in the wings' own `options.py`; nothing about a verb is
known here.
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
_BEHIND = "--"  # what follows it is another verb's


class Read(NamedTuple):
    """What the words behind a verb say.

    Attributes:
        options: makes the verb's options; a UsageError where a text cannot be read.
        json: whether one JSON value is printed in place of text.
    """

    options: Callable[[], Options]
    json: bool


class Parser(argparse.ArgumentParser):
    """Errors in the form of every other error: what was wrong, then the next step."""

    words: Sequence[str] = ()  # what was typed
    first: Sequence[str] = ()  # what `--help` shows, where `--help-all` shows more

    def format_help(self) -> str:
        """Shows the options that most people need, and how to see the others."""
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
        """Ends the program; names the option or choice that was nearly typed."""
        options = [
            name for name in self._option_string_actions if name.startswith("--")
        ]
        typed = [
            word.partition("=")[0]
            for word in self.words
            if word.startswith("-") and word.strip("-")
        ]
        strange = [
            word for word in typed if not any(name.startswith(word) for name in options)
        ]
        answers = [answer(word, options) for word in strange]
        if said := next(filter(None, answers), ""):
            self.exit(2, f"error: {said} See: {self.prog} --help\n")

        first = next((word for word in strange if word.startswith("--")), "")
        hint = did_you_mean(first, options)
        if hint:
            message = f"there is no option {first}"
        if choice := _CHOICE.search(message):
            hint = did_you_mean(choice[1], choice[2].replace("'", "").split(", "))

        self.exit(2, f"error: {message}.{hint} See: {self.prog} --help\n")


def read(verb: Verb, words: Sequence[str]) -> Read:
    """Reads what follows a verb; ends the program with a message where it is wrong."""
    nested = _nested(declared(verb, words))
    behind: list[str] = []
    if nested and _BEHIND in words:
        place = words.index(_BEHIND)
        words, behind = words[:place], [*words[place + 1 :]]

    options = loaded(verb)
    if not isinstance(options, Choice) and options.from_file:
        words = _with_file(options, words)

    # Names, values and options in any order: `calc NAME --convention C key=value`.
    values = vars(parser_of(verb, words).parse_intermixed_args(words))
    json = values.pop("json")
    values.pop(_FILE, None)  # its options are among the others
    typed = {
        name: value
        for name, value in values.items()
        if value is not None and value is not False and value != []
    }

    def made() -> Options:
        options = _form(verb, typed)
        inner = {
            name: _read_behind(verb, kind, behind) for name, kind in nested.items()
        }
        return options(**_values(options, typed), **inner)

    return Read(made, json)


def _with_file(options: type[Options], words: Sequence[str]) -> Sequence[str]:
    """Puts the options of `--config-file` before the others, which win.

    An option that is given here replaces all that the file says of it.
    """
    search = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    search.add_argument(_FILE)
    # An option without its value is left to the parser that knows the verb.
    named = _FILE in words[:-1] or any(w.startswith(f"{_FILE}=") for w in words)
    found, rest = search.parse_known_args(words) if named else (None, words)
    if found is None:
        return words

    from medical_tasks.runs.run_file import read_run_file

    fields = parameters(options)
    typed = {word.partition("=")[0] for word in rest}
    replaced = _named(typed, {name: field.words for name, field in fields.items()})
    said = read_run_file(named_path(found.config_file), fields, without=replaced)

    return [*itertools.chain.from_iterable(said.values()), *rest]


def _named(typed: Collection[str], options: Mapping[str, str]) -> set[str]:
    """The fields whose options were typed, in full or short.

    `--max-s` is short for `--max-samples`. `--model` is no short `--model-args`, since
    there is an option of that name.
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
    """Imports the options of a verb."""
    if verb.options is None:
        raise ValueError(f"{verb.name} passes its words on")
    options = load(verb.options)
    # What depends on what is registered is a function, which finds the forms when it is
    # called.
    made: type[Options] | Choice = options() if inspect.isfunction(options) else options
    return made


def declared(verb: Verb, words: Sequence[str] = ()) -> dict[str, Parameter]:
    """Returns the fields that may follow a verb, of the forms that `words` leave open."""
    options = loaded(verb)
    if not isinstance(options, Choice):
        return dict(parameters(options))

    forms = [*options.forms.values()]
    if options.apart:
        search = argparse.ArgumentParser(add_help=False, exit_on_error=False)
        for name in options.fields:
            search.add_argument(f"--{name}", nargs="?")

        named = search.parse_known_args(list(words))[0]
        chosen = options.forms.get(
            tuple(getattr(named, name) for name in options.fields)
        )
        forms = [] if chosen is None else [chosen]

    fields = dict(parameters(options.common))
    for place, name in enumerate(options.fields):
        choices = tuple(dict.fromkeys(words[place] for words in options.forms))
        fields[name] = replace(fields[name], choices=choices)

    for form in forms:
        # What a form needs is known when all words are read: another form may do
        # without.
        fields |= {
            name: replace(parameter, required=False)
            for name, parameter in parameters(form).items()
            if name not in fields
        }

    return fields


def forms_apart(verb: Verb) -> list[list[str]]:
    """Returns the words after which `--help` shows other options: of each form that is apart."""
    options = loaded(verb)
    if not isinstance(options, Choice) or not options.apart:
        return [[]]
    return [[f"--{options.fields[0]}", *words] for words in options.forms]


def _form(verb: Verb, typed: Mapping[str, Any]) -> type[Options]:
    """Returns the options of the form that the words chose, and refuses those of other forms."""
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
    fields, known = parameters(form), declared(verb, [f"--{options.fields[0]}", *words])
    if missing := [
        each.words
        for each in fields.values()
        if each.required and each.name not in typed
    ]:
        shown = command if options.apart else verb.name
        raise UsageError(
            f"{command} needs {', '.join(missing)}. See: medical-tasks {shown} --help"
        )

    if stray := [known[name].words for name in typed if name not in fields]:
        raise UsageError(f"{command} takes no {', '.join(stray)}. Leave it out.")

    return form


def parser_of(verb: Verb, words: Sequence[str] = ()) -> Parser:
    """Makes the parser of what may follow a verb."""
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
            help="take options from a run.yaml, as every run writes one; those given here win",
        )

    if common.first:
        parser.add_argument("--help-all", action="help", help="show every option")

    return parser


def description_of(verb: Verb) -> str:
    """Returns what `--help` says of a verb: the docstring of its options."""
    if verb.options is None:
        return inspect.cleandoc(sys.modules[load(verb.run).__module__].__doc__ or "")
    options = loaded(verb)
    documented = options.common if isinstance(options, Choice) else options
    return inspect.cleandoc(documented.__doc__ or "")


def declare(parser: argparse.ArgumentParser, fields: Mapping[str, Parameter]) -> None:
    """Declares fields, each under its heading; those that are another verb's options stand behind `--`."""
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
    """Declares one option to the parser, by its type and what `Option` says of it.

    Whether it is a switch, takes one value or several, may stand without a value
    (`bare`), or is a word in its position.
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
    """What makes a value of a word; settings are read later, so that --json tells what is wrong."""
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
    """The values by field, in their types."""
    values: dict[str, Any] = {}
    for name, value in typed.items():
        parameter = parameters(options)[name]
        if parameter.type is Mapping:
            read_one = partial(read_settings, option=parameter.words)
            value = (
                [read_one(each) for each in value]
                if parameter.many
                else read_one(value)
            )

        values[name] = tuple(value) if parameter.many else value

    return values


def _nested(fields: Mapping[str, Parameter]) -> dict[str, type[Options]]:
    """The fields that are the options of another verb, whose command stands behind `--`."""
    return {
        name: parameter.type
        for name, parameter in fields.items()
        if isinstance(parameter.type, type) and issubclass(parameter.type, Options)
    }


def _read_behind(verb: Verb, kind: type[Options], words: Sequence[str]) -> Options:
    """Reads the command of another verb."""
    name = kind.__name__.lower()
    if words[:1] != [name]:
        example = f"{verb.name} ... {_BEHIND} {name} --tasks T --model M --out DIR"
        raise UsageError(
            f"{verb.name} takes the command of {name} behind {_BEHIND}, got "
            f"{' '.join(words[:1]) or 'none'}: medical-tasks {example}"
        )

    reference = f"{kind.__module__}:{kind.__name__}"
    other = Verb(name=name, group="", summary="", options=reference, run="")
    return read(other, words[1:]).options()
