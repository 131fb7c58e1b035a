"""Declares the options of commands as dataclasses: `Option`, `Options`, `Choice`, `parameters`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from inspect import get_annotations
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from medical_tasks.options.settings import settings_text


@dataclass(frozen=True)
class Option:
    """The command-line form of a field.

    Attributes:
        help: The line in `--help`.
        metavar: The placeholder for the value in `--help`.
        positional: Whether it is a positional argument, not `--name VALUE`.
        name: The name of the option if it differs from the field's.
        several: Whether one `--name` accepts several values; otherwise it is repeated:
            `--name A --name B`.
        bare: The value of `--name` without an argument; None if it needs one.
        read: Parses the argument if the type alone is not enough; raises ValueError with
            the reason.
    """

    help: str
    metavar: str | None = None
    positional: bool = False
    name: str | None = None
    several: bool = False
    bare: object = None
    read: Callable[[str], object] | None = None


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a command.

    Class arguments:
        heading: The heading of this class's fields in `--help`.
        about: A line under that heading.
        usage: The first line of `--help`, if the generated one is too long.
        first: The fields shown by `--help`; `--help-all` shows all. () is all fields.
        from_file: Whether the command line also accepts `--config-file`, a file with
            options (`runs.run_file`).
    """

    heading: ClassVar[str] = ""
    about: ClassVar[str] = ""
    usage: ClassVar[str | None] = None
    first: ClassVar[Sequence[str]] = ()
    from_file: ClassVar[bool] = False

    def __init_subclass__(
        cls,
        heading: str = "",
        about: str = "",
        usage: str | None = None,
        first: Sequence[str] = (),
        from_file: bool = False,
    ) -> None:
        cls.from_file = from_file
        cls.heading, cls.about, cls.usage, cls.first = heading, about, usage, first


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The forms of a command whose options depend on a step or target.

    Attributes:
        fields: The fields that select the form: the step of `umls`, the target of
            `submit --to`.
        common: The options of every form, including those fields; its docstring is that
            of the command.
        forms: The options by the values of the fields.
        apart: Whether `--help` shows only the options of the selected form, because they
            have another meaning elsewhere; otherwise it shows those of all forms.
    """

    fields: tuple[str, ...]
    common: type[Options]
    forms: Mapping[tuple[str, ...], type[Options]]
    apart: bool = False


def default_of(field: Field[object]) -> object:
    """Returns a field's default; `dataclasses.MISSING` if it is required."""
    return (
        field.default_factory()
        if field.default_factory is not MISSING
        else field.default
    )


def set_values(options: Options) -> dict[str, object]:
    """Returns the values that differ from their defaults, by field, including required ones."""
    values = {name: getattr(options, name) for name in parameters(type(options))}
    return {
        name: value
        for name, value in values.items()
        if value != parameters(type(options))[name].default
    }


def option_name(field: str) -> str:
    """Returns the command line's name of a field: `--max-samples` for `max_samples`."""
    return f"--{field.replace('_', '-')}"


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A field of a command's options, read from its type annotation.

    Attributes:
        type: The type of one value: bool, int, float, str, Path, Mapping or the options
            of another command.
        choices: The possible values; () if any is allowed.
        many: Whether it is a tuple of such values.
        required: Whether it has no default.
        heading: The heading of the class that declares it.
        about: The line under the heading.
    """

    name: str
    option: Option
    type: Any
    choices: tuple[str | int, ...]
    many: bool
    required: bool
    default: object
    heading: str
    about: str

    @property
    def words(self) -> str:
        """The name on the command line: `--max-samples`, or the placeholder of a positional."""
        if self.option.positional and self.choices and self.option.metavar is None:
            return f"{{{','.join(map(str, self.choices))}}}"
        if self.option.positional:
            return self.option.metavar or self.name
        return self.option.name or option_name(self.name)


_parameters: dict[type[Options], Mapping[str, Parameter]] = {}


def parameters(options: type[Options]) -> Mapping[str, Parameter]:
    """Returns the fields of a command's options by name: its own, then those of each base class."""
    if options not in _parameters:
        _parameters[options] = _read_parameters(options)
    return _parameters[options]


def _read_parameters(options: type[Options]) -> Mapping[str, Parameter]:
    hints = get_type_hints(options, include_extras=True)
    class_fields = {field.name: field for field in fields(options)}
    owners = {
        name: owner
        for owner in reversed(options.__mro__)
        for name in get_annotations(owner)
        if name in class_fields
    }
    distance = {name: options.__mro__.index(owner) for name, owner in owners.items()}
    by_name = {
        name: _parameter(class_fields[name], hints[name], owners[name])
        for name in sorted(class_fields, key=lambda name: distance[name])
    }
    # Positionals of a base class precede those of the class: `umls STEP TEXT`.
    positional = [name for name in by_name if by_name[name].option.positional]
    positional.sort(key=lambda name: -distance[name])

    return {name: by_name[name] for name in dict.fromkeys([*positional, *by_name])}


def _parameter(field: Field[Any], hint: Any, owner: Any) -> Parameter:
    kind, option = get_args(hint)
    default = default_of(field)
    if get_origin(kind) in (Union, UnionType):  # X | None
        (kind,) = (member for member in get_args(kind) if member is not NoneType)

    many = get_origin(kind) is tuple
    if many:
        kind = get_args(kind)[0]

    choices = get_args(kind) if get_origin(kind) is Literal else ()
    if choices:
        kind = type(choices[0])

    return Parameter(
        name=field.name,
        option=option,
        type=get_origin(kind) or kind,
        choices=choices,
        many=many,
        required=default is MISSING,
        default=default,
        heading=owner.heading,
        about=owner.about,
    )


def words_of(options: Options, *, without: Collection[str] = ()) -> list[str]:
    """Writes options as the words of a command, without those at their default.

    Args:
        options: Such as `Run(tasks="kqa", model="hf/path", forecast=True)`, whose words
            are `["--tasks", "kqa", "--model", "hf/path", "--forecast"]`.
        without: The fields to leave out.
    """
    positional: list[str] = []
    named: list[str] = []
    for name, value in set_values(options).items():
        parameter = parameters(type(options))[name]
        values = value if isinstance(value, tuple) else (value,)
        texts = [_word(element) for element in values]
        if name in without:
            continue

        if parameter.option.positional:
            positional += texts
        elif parameter.type is bool:
            named.append(parameter.words)
        else:
            # `--name=text` if the text looks like an option itself.
            for text in texts:
                named += (
                    [f"{parameter.words}={text}"]
                    if text.startswith("-")
                    else [parameter.words, text]
                )

    return [*positional, *named]


def _word(value: object) -> str:
    return settings_text(value) if isinstance(value, Mapping) else str(value)
