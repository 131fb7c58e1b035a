"""Honest uploads to a leaderboard while slow ones hang: how many are served within 10 s of their start, and how fast pages answer.

    python measurements/leaderboard_uploads.py [--slow 50] [--tries 20] [--megabytes 8]

Serves an empty store in a process of its own on loopback. Slow uploads send their
headers and then a byte a second each; all come from one address, then each from its
own, then from the honest one's.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.leaderboard.served_pages import Served, served  # noqa: E402

HONEST = "8.8.4.4"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--slow", type=int, default=50)
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--megabytes", type=int, default=8)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        store, folder = Path(scratch) / "store", Path(scratch) / "folder"
        store.mkdir()
        folder.mkdir()
        space = stack.enter_context(served(store, folder=folder))
        measure(space, "no slow uploads", [], options)
        for label, addresses in (
            ("slow ones of one address", ["8.8.8.8"] * options.slow),
            (
                "slow ones of as many addresses",
                [f"8.8.{n // 250}.{n % 250}" for n in range(options.slow)],
            ),
            ("slow ones of the honest address", [HONEST] * options.slow),
        ):
            measure(space, f"{options.slow} {label}", addresses, options)


def measure(
    space: Served, label: str, addresses: list[str], options: argparse.Namespace
) -> None:
    """Prints a line of figures."""
    in_time, uploads, pages = 0, [], []
    content = b"PK\3\4" + bytes(options.megabytes << 20)
    with trickling(space, addresses):
        for _ in range(options.tries):
            began = time.perf_counter()
            with contextlib.suppress(httpx.HTTPError):
                headers = {"X-Forwarded-For": HONEST, "Content-Type": "application/zip"}
                answer = httpx.post(
                    f"{space.address}/submit",
                    content=content,
                    headers=headers,
                    timeout=10,
                )
                uploads.append(time.perf_counter() - began)
                in_time += answer.status_code == 200 and uploads[-1] < 10
            began = time.perf_counter()
            httpx.get(space.address, timeout=60).raise_for_status()
            pages.append(time.perf_counter() - began)
    print(
        f"{label}: {in_time} of {options.tries} uploads of {options.megabytes} MiB within 10 s (median "
        f"{1000 * statistics.median(uploads):.0f} ms, longest {1000 * max(uploads):.0f} ms); page: median "
        f"{1000 * statistics.median(pages):.0f} ms, longest {1000 * max(pages):.0f} ms",
        flush=True,
    )


@contextlib.contextmanager
def trickling(space: Served, addresses: list[str]) -> Iterator[None]:
    """Keeps slow uploads going; one that the server ends begins again."""
    over = threading.Event()

    def trickle(address: str) -> None:
        head = (
            "POST /submit HTTP/1.1\r\nHost: space\r\nContent-Type: application/zip\r\n"
            f"Content-Length: 90000\r\nX-Forwarded-For: {address}\r\n\r\n"
        )
        while not over.is_set():
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", space.port)) as line,
            ):
                line.sendall(head.encode())
                while not over.wait(1.0):
                    line.sendall(b"-")

    threads = [
        threading.Thread(target=trickle, args=(address,), daemon=True)
        for address in addresses
    ]
    for thread in threads:
        thread.start()
    time.sleep(2.0 if threads else 0.0)
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main()
