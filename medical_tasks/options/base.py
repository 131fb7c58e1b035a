"""How a verb's options are declared, and read from a dataclass: `Option`, `Options`, `Choice`, `parameters`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from inspect import get_annotations
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from medical_tasks.options.settings import settings_text


@dataclass(frozen=True)
class Option:
    """How the command line has a field.

    Attributes:
        help: one line of `--help`.
        metavar: what stands for the value there.
        positional: it is a word of its own, not `--name VALUE`.
        name: the option's name, where it is not the field's.
        several: one `--name` takes several words; else it is repeated, `--name A --name
            B`.
        bare: the value of `--name` without a word behind it; None where it needs one.
        read: makes the value of a word, where the type alone does not; ValueError says
            what is wrong.
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
    """The options of a verb.

    Class arguments: heading: the heading under which `--help` lists the fields of this
        class. about: a line under that heading. usage: the first line of `--help`,
        where the one made from the fields is too long. first: the fields that `--help`
        shows where `--help-all` shows the others too; () is all. from_file: the command
        line also takes `--config-file`, whose file gives options (`runs.run_file`).
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
    """The forms of a verb that takes other options with another step or target.

    Attributes:
        fields: whose words choose the form: the step of `umls`, the target of `submit
            --to`.
        common: the options that every form has, those fields among them; its docstring
            is the verb's.
        forms: the options by these words.
        apart: `--help` shows the options of the form that is named and no others,
            because they mean something else elsewhere; else it shows those of all
            forms.
    """

    fields: tuple[str, ...]
    common: type[Options]
    forms: Mapping[tuple[str, ...], type[Options]]
    apart: bool = False


def default_of(field: Field[object]) -> object:
    """Returns a field's default; `dataclasses.MISSING` where it must be given."""
    return (
        field.default_factory()
        if field.default_factory is not MISSING
        else field.default
    )


def given(options: Options) -> dict[str, object]:
    """Returns the values that are not the default ones, by field; what must be given is among them."""
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
    """A field of a verb's options, read from its type.

    Attributes:
        type: of one value: bool, int, float, str, Path, Mapping or another verb's
            options.
        choices: the values there are; () where any will do.
        many: it is a tuple of such values.
        required: it has no default.
        heading: of the class that declares it; with the line under it.
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
        """The name on the command line: `--max-samples`, or what stands for a word of its own."""
        if self.option.positional and self.choices and self.option.metavar is None:
            return f"{{{','.join(map(str, self.choices))}}}"
        if self.option.positional:
            return self.option.metavar or self.name
        return self.option.name or option_name(self.name)


_parameters: dict[type[Options], Mapping[str, Parameter]] = {}


def parameters(options: type[Options]) -> Mapping[str, Parameter]:
    """Returns the fields of a verb's options by name: its own, then those of each base class."""
    if options not in _parameters:
        _parameters[options] = _read_parameters(options)
    return _parameters[options]


def _read_parameters(options: type[Options]) -> Mapping[str, Parameter]:
    hints = get_type_hints(options, include_extras=True)
    declared = {field.name: field for field in fields(options)}
    owners = {
        name: owner
        for owner in reversed(options.__mro__)
        for name in get_annotations(owner)
        if name in declared
    }
    near = {name: options.__mro__.index(owner) for name, owner in owners.items()}
    found = {
        name: _parameter(declared[name], hints[name], owners[name])
        for name in sorted(declared, key=lambda name: near[name])
    }
    # Words of a base class stand before those of the class: `umls STEP TEXT`.
    words = [name for name in found if found[name].option.positional]
    words.sort(key=lambda name: -near[name])

    return {name: found[name] for name in dict.fromkeys([*words, *found])}


def _parameter(field: Field[Any], hint: Any, owner: Any) -> Parameter:
    kind, option = get_args(hint)
    default = default_of(field)
    if get_origin(kind) in (Union, UnionType):  # X | None
        (kind,) = (each for each in get_args(kind) if each is not NoneType)

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
    """Writes options as the words of a command; those with their default value are left out.

    Args:
        options: such as `Run(tasks="kqa", model="hf/path", forecast=True)`, whose words
            are `["--tasks", "kqa", "--model", "hf/path", "--forecast"]`.
        without: fields to leave out.
    """
    positional: list[str] = []
    named: list[str] = []
    for name, value in given(options).items():
        parameter = parameters(type(options))[name]
        values = value if isinstance(value, tuple) else (value,)
        texts = [_word(each) for each in values]
        if name in without:
            continue

        if parameter.option.positional:
            positional += texts
        elif parameter.type is bool:
            named.append(parameter.words)
        else:
            # `--name=text` where the text could be taken for an option itself.
            for text in texts:
                named += (
                    [f"{parameter.words}={text}"]
                    if text.startswith("-")
                    else [parameter.words, text]
                )

    return [*positional, *named]


def _word(value: object) -> str:
    return settings_text(value) if isinstance(value, Mapping) else str(value)
