"""What each verb takes: a frozen dataclass a verb, with every option's type, default and one line of help.

The command line's parser and the functions of `medical_tasks` in Python are both made
from them, and what does the work takes one:
`runs.evaluating.evaluate(Run(tasks="medcalc", model="baseline/empty"))`.

    @dataclass(frozen=True, kw_only=True)
    class Purge(Options):
        '''Empty the private store.'''      # what `medical-tasks purge --help` says

        dry_run: Annotated[bool, Option("only list what would be deleted")] = False

The type says how a word is read: `bool` is a flag, `Literal` has choices, `tuple[X,
...]` takes several, a `Mapping` is `K=V,...`. A field without a default must be given.
Options that verbs share are base classes (`WithJudge`, `WithTables`), each under a
heading of its own in `--help`.

`base` is how options are declared, `shared` what verbs share; the other modules have
the verbs. Every name is imported from here, and a verb's module is loaded when its
options are used: making all dataclasses takes longer than reading a command.
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
    given,
    option_name,
    parameters,
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
    "given",
    "option_name",
    "parameters",
    "read_settings",
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
"""The names that each module of verbs has for others."""


def __getattr__(name: str) -> Any:
    """Loads the module of a verb's options when they are used."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
