"""A leaderboard of many results: how long its pages take to make, how large they are, how fast they open and filter, how many read.

    python measurements/leaderboard_page.py [RESULTS] [--chromium /usr/bin/chromium] [--readers 200 --seconds 60]

Makes a store of RESULTS (5,000) accepted submissions of one task, writes its pages
twice (the second time after one more was accepted), serves them, opens them in Chromium
(from the first request until the table stands; filtering by one letter after the
other), downloads the table, and lets READERS load page and data once a second each.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.leaderboard.made_packages import fill  # noqa: E402

SEED = 7
TASKS = ("medcalc", "medcalc_direct", "kqa")
COMMAND = [sys.executable, "-m", "medical_tasks", "leaderboard"]


def timed(command: list[str]) -> str:
    """Returns CPU seconds and peak MB of a program."""
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL);"
        "u = resource.getrusage(resource.RUSAGE_CHILDREN); print(u.ru_utime + u.ru_stime, u.ru_maxrss / 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, peak = map(float, done.stdout.split())
    return f"{seconds:.1f} CPU s, {peak:.0f} MB"


def size(path: Path) -> str:
    """Returns the bytes of a file, and of its packed twin."""
    packed = path.with_name(f"{path.name}.gz")
    return f"{path.stat().st_size / 1e6:.2f} MB" + (
        f" ({packed.stat().st_size / 1e6:.2f} packed)" if packed.exists() else ""
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", nargs="?", type=int, default=5000)
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    parser.add_argument("--readers", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=60)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        store, out = Path(scratch) / "store", Path(scratch) / "site"
        draw = random.Random(SEED)
        fill(store, arguments.results, draw)
        site = [*COMMAND, "site", "--store", str(store), "--out", str(out)]
        print(f"pages made:           {timed(site)}")
        fill(store, 1, draw, first=arguments.results)
        print(f"made again, one more: {timed(site)}")
        for name in (
            "index.html",
            "leaderboard.js",
            "data/board.json",
            "leaderboard.csv",
            "leaderboard.parquet",
        ):
            print(f"{name + ':':<22}{size(out / name)}")
        server = subprocess.Popen(
            [*COMMAND, "serve", "--store", str(store), "--port", "0"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split()[1]
            if arguments.chromium:
                in_browser(arguments.chromium, address)
            with urllib.request.urlopen(f"{address}leaderboard.json") as reply:
                print(f"downloaded:           {len(json.load(reply)):,} rows")
            times, failed = asyncio.run(
                read(address, arguments.readers, arguments.seconds)
            )
            memory = (
                int(
                    Path(f"/proc/{server.pid}/status")
                    .read_text()
                    .split("VmRSS:")[1]
                    .split()[0]
                )
                / 1024
            )
            middle, most = (
                1000 * sorted(times)[int(share * len(times))] for share in (0.5, 0.95)
            )
            print(
                f"{arguments.readers} readers, {arguments.seconds} s:  {len(times):,} replies, {failed} errors"
            )
            print(
                f"                      median {middle:.0f} ms, 95 % under {most:.0f} ms; server {memory:.0f} MB"
            )
        finally:
            server.terminate()
            server.wait()
    print(f"here: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


async def read(address: str, readers: int, seconds: int) -> tuple[list[float], int]:
    """Times loads of the page and its data, as a browser with an empty cache requests them."""
    host, port = address.split("/")[2].split(":")
    times: list[float] = []
    failed = 0
    end = time.monotonic() + seconds

    async def ask(path: str) -> None:
        nonlocal failed
        began = time.perf_counter()
        try:
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(
                f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n".encode()
            )
            await writer.drain()
            content = await reader.read()
            while more := await reader.read():
                content += more
            writer.close()
            failed += not content.startswith(b"HTTP/1.1 200")
        except OSError:
            failed += 1
        times.append(time.perf_counter() - began)

    async def reader(index: int) -> None:
        await asyncio.sleep(index / readers)
        while time.monotonic() < end:
            for path in ("/", "/leaderboard.js", "/data/board.json"):
                await ask(path)
            await asyncio.sleep(1)

    await asyncio.gather(*(reader(index) for index in range(readers)))
    return times, failed


def in_browser(chromium: str, address: str) -> None:
    """Times how fast the table is visible in a browser, and how fast a letter filters it."""
    from playwright.sync_api import sync_playwright

    measure = """letter => { const field = document.getElementById('models-search'); const began = performance.now();
        field.value = letter; field.dispatchEvent(new Event('input', {bubbles: true})); document.body.offsetHeight;
        return performance.now() - began; }"""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        page: Any = browser.new_page(viewport={"width": 1280, "height": 900})
        got = []
        page.on(
            "response",
            lambda reply: got.append(int(reply.headers.get("content-length", 0))),
        )
        began = time.perf_counter()
        page.goto(address)
        page.wait_for_selector("#models tbody tr")
        print(
            f"opened:               {time.perf_counter() - began:.2f} s, {sum(got) / 1e6:.2f} MB"
        )
        spent = [
            page.evaluate(measure, "model 1234"[: count + 1]) for count in range(10)
        ]
        print(
            f"filtered:             {statistics.median(spent):.0f} ms, at most {max(spent):.0f} ms"
        )
        browser.close()


if __name__ == "__main__":
    main()
