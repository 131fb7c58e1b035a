"""Starting lighteval's own command line with our tasks alone and its answer cache off."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from medical_tasks.errors import MedicalTasksError, MissingError

__all__ = ["launch"]


def launch(arguments: Sequence[str], *, custom_tasks: str) -> int:
    """Runs `lighteval ARGUMENTS` in this process.

    Args:
        arguments: lighteval's arguments.
        custom_tasks: import path of the module with the tasks to register.

    Returns:
        Its exit code.

    Raises:
        MissingError: lighteval is not installed.
    """
    try:
        import lighteval.tasks.registry as registry
    except ModuleNotFoundError as error:
        raise MissingError(
            f"lighteval is not installed ({error.name} is missing). Install it with: pip install 'medical-tasks[lighteval]'"
        ) from error
    _register_only(registry.Registry, custom_tasks)
    _switch_cache_off()
    from lighteval.__main__ import app

    before = sys.argv
    sys.argv = ["lighteval", *arguments]
    try:
        app(standalone_mode=False)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except MedicalTasksError:
        raise
    finally:
        sys.argv = before
    return 0


def _register_only(registry: Any, custom_tasks: str) -> None:
    """Replaces the scan of all built-in tasks, which downloads a file when one of them is imported."""

    def load(custom_tasks_given: Any = None, load_multilingual: bool = False, **named: Any) -> Any:
        wanted = named.get("custom_tasks", custom_tasks_given) or custom_tasks
        return registry._extract_configs(registry.create_custom_tasks_module(wanted))

    registry.load_all_task_configs = staticmethod(load)


def _switch_cache_off() -> None:
    """Its key has the prompt function's name but not its text, and all ranks write one file."""
    from lighteval.pipeline import Pipeline

    original = Pipeline.evaluate

    def evaluate(self: Any) -> Any:
        self.model._cache = None
        return original(self)

    Pipeline.evaluate = evaluate
