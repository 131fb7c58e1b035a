"""Finished runs as tables, pages and Markdown.

The package can be called: `medical_tasks.report(runs, out=...)` is
`medical_tasks.api.report`, also once the package was imported.
"""

import sys
from types import ModuleType


class _Called(ModuleType):
    def __call__(self, *runs: object, **options: object) -> object:
        from importlib import import_module

        return import_module("medical_tasks.api").report(*runs, **options)


sys.modules[__name__].__class__ = _Called
