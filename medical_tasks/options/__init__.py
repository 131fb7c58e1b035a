"""The options of every command: a frozen dataclass with each option's type, default and help.

The parser of the command line and the Python functions of `medical_tasks` are derived
from them, and the code that does the work takes an instance:
`runs.evaluating.evaluate(Run(tasks="medcalc", model="baseline/empty"))`.

    @dataclass(frozen=True, kw_only=True)
    class Purge(Options):
        '''Empty the private store.'''      # the text of `medical-tasks purge --help`

        dry_run: Annotated[bool, Option("only list the runs to delete")] = False

The type determines how an argument is parsed: `bool` is a flag, `Literal` has choices,
`tuple[X, ...]` accepts several values, a `Mapping` is `K=V,...`. A field without a
default is required. Options of several commands are base classes (`WithJudge`,
`WithTables`), each with its own heading in `--help`.

`base` declares options, `shared` has common ones; the other modules have the commands.
Import every name from here: the module of a command is loaded when its options are used,
because building all dataclasses takes longer than parsing a command.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from medical_tasks.options.base import (
    Choice,
    Option,
    Options,
    Parameter,
    default_of,
    option_name,
    parameters,
    set_values,
    words_of,
)
from medical_tasks.options.settings import read_settings, setting_text, settings_text
from medical_tasks.options.shared import (
    JUDGE,
    Adjudicated,
    BootstrapSeed,
    BuiltData,
    BuiltDatasets,
    Config,
    FiguresFile,
    RunFolder,
    Upstream,
    WithAttestation,
    WithCalibration,
    WithCeilings,
    WithEvaluations,
    WithJudge,
    WithJudges,
    WithJudging,
    WithModel,
    WithRunData,
    WithSubset,
    WithTables,
)

if TYPE_CHECKING:
    from medical_tasks.options.datasets import Build, List
    from medical_tasks.options.judging import Adjudicate, JudgeCheck
    from medical_tasks.options.looking import Compare, Gate, Plan, Report
    from medical_tasks.options.running import (
        Launch,
        Merge,
        Run,
        WithDataAndPrompts,
        WithModelSettings,
    )
    from medical_tasks.options.scoring import Score, Sheet
    from medical_tasks.options.sharing import Leakcheck, Purge
    from medical_tasks.options.text_scoring import ScoreText
    from medical_tasks.options.tools import (
        UMLS,
        Calc,
        Doctor,
        Manifest,
        Umls,
        UmlsBuild,
        UmlsFind,
    )

__all__ = [
    "JUDGE",
    "UMLS",
    "Adjudicate",
    "Adjudicated",
    "BootstrapSeed",
    "Build",
    "BuiltData",
    "BuiltDatasets",
    "Calc",
    "Choice",
    "Compare",
    "Config",
    "Doctor",
    "FiguresFile",
    "Gate",
    "JudgeCheck",
    "Launch",
    "Leakcheck",
    "List",
    "Manifest",
    "Merge",
    "Option",
    "Options",
    "Parameter",
    "Plan",
    "Purge",
    "Report",
    "Run",
    "RunFolder",
    "Score",
    "ScoreText",
    "Sheet",
    "Umls",
    "UmlsBuild",
    "UmlsFind",
    "Upstream",
    "WithAttestation",
    "WithCalibration",
    "WithCeilings",
    "WithDataAndPrompts",
    "WithEvaluations",
    "WithJudge",
    "WithJudges",
    "WithJudging",
    "WithModel",
    "WithModelSettings",
    "WithRunData",
    "WithSubset",
    "WithTables",
    "default_of",
    "option_name",
    "parameters",
    "read_settings",
    "set_values",
    "setting_text",
    "settings_text",
    "words_of",
]  # fmt: skip

_MODULES: Final = {
    "datasets": ("Build", "List"),
    "judging": ("Adjudicate", "JudgeCheck"),
    "looking": ("Compare", "Gate", "Plan", "Report"),
    "running": (
        "Launch",
        "Merge",
        "Run",
        "WithCeilings",
        "WithDataAndPrompts",
        "WithModelSettings",
    ),
    "scoring": ("Score", "Sheet"),
    "sharing": ("Leakcheck", "Purge"),
    "text_scoring": ("ScoreText",),
    "tools": ("UMLS", "Calc", "Doctor", "Manifest", "Umls", "UmlsBuild", "UmlsFind"),
}
"""The public names of each module of commands."""


def __getattr__(name: str) -> Any:
    """Loads the module of a command's options when they are used."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
