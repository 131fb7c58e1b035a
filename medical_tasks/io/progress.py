"""Shows progress of long work: a bar on a terminal, plain lines elsewhere (logs, batch systems)."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

from medical_tasks.io.files import readable

_LINE_EVERY_S = 10.0
_MEGABYTE = 1_000_000


class Progress:
    """Counts finished steps towards a total, on standard error.

    `done` steps were finished before (in a resumed run).
    """

    def __init__(
        self, label: str, total: int, *, done: int = 0, quiet: bool = False
    ) -> None:
        self.label = label
        self.total = total
        self.done = done
        self._quiet = quiet
        self._before, self._began = done, time.monotonic()
        self._last_line = self._began
        self._bar = None
        if not quiet and sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(
                total=total,
                initial=done,
                desc=label,
                file=sys.stderr,
                dynamic_ncols=True,
            )

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def step(self) -> None:
        """Counts one more step."""
        self.advance_to(self.done + 1)

    def advance_to(self, done: int) -> None:
        """Sets the number of finished steps; it never decreases."""
        if done <= self.done:
            return

        more, self.done = done - self.done, done
        if self._bar is not None:
            self._bar.update(more)
        elif not self._quiet and (
            self.done == self.total
            or time.monotonic() - self._last_line > _LINE_EVERY_S
        ):
            self._last_line = time.monotonic()
            print(
                f"{self.label}: {self.done}/{self.total}{self._pace()}",
                file=sys.stderr,
                flush=True,
            )

    def _pace(self) -> str:
        """Words the speed and the remaining time, once there is enough to measure."""
        elapsed, finished = time.monotonic() - self._began, self.done - self._before
        if elapsed < 1 or not finished:
            return ""
        left = elapsed / finished * (self.total - self.done)
        return f", {finished / elapsed:.3g} a second" + (
            f", {timedelta(seconds=round(left))} left" if left >= 1 else ""
        )


@contextlib.contextmanager
def reading(path: Path, doing: str = "MB read") -> Iterator[Callable[[int], None]]:
    """Shows how far a file was read; yields a function that takes the number of bytes."""
    with readable(path):
        megabytes = path.stat().st_size // _MEGABYTE + 1
    with Progress(f"{path.name}, {doing}", megabytes) as progress:
        yield lambda read: progress.advance_to(read // _MEGABYTE)
        progress.advance_to(megabytes)
