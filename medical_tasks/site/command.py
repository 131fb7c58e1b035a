"""The verb `site` on the command line: runs a step under its guard."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from medical_tasks.errors import UsageError
from medical_tasks.guard import policy
from medical_tasks.io.files import folder_lock
from medical_tasks.options import WithAttestation
from medical_tasks.plugins import load
from medical_tasks.runs.folder import is_main_process
from medical_tasks.site.checking import LEAVING, require_clean
from medical_tasks.site.folder import Site, open_site
from medical_tasks.site.options import InFolder, New, Review
from medical_tasks.site.options import Site as SiteOptions
from medical_tasks.site.steps import RUNS, step_named


def run(options: SiteOptions) -> int:
    """Runs a step, and returns its exit code."""
    if not is_main_process():
        return 0  # other processes have nothing to do

    step = load(RUNS[options.step])
    if not isinstance(options, InFolder) or isinstance(options, New):
        return int(step(options))
    if isinstance(options, Review) and options.open is not None:
        return int(step(options))  # labels a file without a site

    site = open_site(options.folder)
    with guarded(site, options), _alone(site, options.step):
        if options.step in LEAVING:
            require_clean(site)

        return int(step(options))


@contextlib.contextmanager
def guarded(site: Site, options: SiteOptions) -> Iterator[None]:
    """Guards the text of a site's notes for the length of a `with` block.

    In every step, errors that may quote text are not printed verbatim, and models
    elsewhere are not asked.
    """
    attestation = (
        policy.attestation_from(options)
        if isinstance(options, WithAttestation)
        else policy.NOTHING_ATTESTED
    )
    with policy.protect([site.subject], attestation):
        yield


@contextlib.contextmanager
def _alone(site: Site, step: str) -> Iterator[None]:
    """Locks a folder against other steps that write, but not against reading and labelling."""
    definition = step_named(step)
    if definition is None or not definition.alone:
        yield
        return

    with folder_lock(site.path, wait=False) as locked:
        if not locked:
            raise UsageError(
                f"{site.path}: another step is running in this folder. Wait until it has ended, and "
                "give the command again."
            )

        yield
