"""Starting lighteval's own command line with our tasks alone and its answer cache off."""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Sequence
from typing import Any

from medical_tasks.errors import MissingError, UsageError, install_command

__all__ = ["launch", "load_app", "run_app"]

_PROGRAM = "medical-tasks lighteval"


def launch(arguments: Sequence[str], *, custom_tasks: str) -> int:
    """Runs `lighteval ARGUMENTS` in this process.

    Args:
        arguments: lighteval's arguments.
        custom_tasks: import path of the module with the tasks to register.

    Returns:
        Its exit code.

    Raises:
        UsageError: lighteval does not know the arguments.
        MissingError: lighteval is not installed.
    """
    try:
        import lighteval.tasks.registry as registry
    except ModuleNotFoundError as error:
        raise MissingError(
            f"lighteval is not installed ({error.name} is missing). Install it with: {install_command('lighteval')}"
        ) from error
    _register_only(registry.Registry, custom_tasks)
    _switch_cache_off()
    return run_app(load_app(), arguments)


def load_app() -> Any:
    """Imports lighteval's command line and leaves the loggers of this process working.

    Its module sets logging up in the way that silences every logger made before, our own warnings among them.

    Returns:
        Its typer application.
    """
    working = [logger for logger in _all_loggers() if not logger.disabled]
    from lighteval.__main__ import app

    for logger in working:
        logger.disabled = False
    return app


def run_app(app: Any, arguments: Sequence[str]) -> int:
    """Runs a typer application as if it were called with the arguments.

    Args:
        app: the application.
        arguments: its arguments.

    Returns:
        Its exit code.

    Raises:
        UsageError: It does not know the arguments.
    """
    wrong_arguments = _wrong_arguments()
    before = sys.argv
    sys.argv = ["lighteval", *arguments]
    try:
        # Without standalone mode a command's own value is returned, and the exit code where it stopped early.
        code = app(prog_name=_PROGRAM, standalone_mode=False)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except wrong_arguments as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else _PROGRAM
        message = error.format_message().strip().rstrip(".")
        raise UsageError(f"lighteval: {message}. See: {command} --help") from error
    finally:
        sys.argv = before
    return code if isinstance(code, int) else 0


def _all_loggers() -> list[logging.Logger]:
    return [logger for logger in logging.Logger.manager.loggerDict.values() if isinstance(logger, logging.Logger)]


def _wrong_arguments() -> Any:
    """The base of argument errors: click's own, or that of the copy of click which newer versions of typer carry."""
    from typer import BadParameter

    return importlib.import_module(BadParameter.__module__).ClickException


def _register_only(registry: Any, custom_tasks: str) -> None:
    """Replaces the scan of all built-in tasks, which downloads a file when one of them is imported."""

    def load(custom_tasks_given: Any = None, load_multilingual: bool = False, **named: Any) -> Any:
        wanted = named.get("custom_tasks", custom_tasks_given) or custom_tasks
        return registry._extract_configs(registry.create_custom_tasks_module(wanted))

    registry.load_all_task_configs = staticmethod(load)
    named = registry._get_full_task_list_from_input_string

    def in_order(self: Any, tasks: Any) -> list[str]:
        # lighteval takes them out of a set, in another order in each process: ranks would wait for one another for ever.
        return sorted(named(self, tasks))

    registry._get_full_task_list_from_input_string = in_order


def _switch_cache_off() -> None:
    """Its key has the prompt function's name but not its text, and all ranks write one file."""
    from lighteval.pipeline import Pipeline

    original = Pipeline.evaluate

    def evaluate(self: Any) -> Any:
        self.model._cache = None
        return original(self)

    Pipeline.evaluate = evaluate
