"""Checks by connecting whether a server runs at all, before anything is sent.

Requests to a server that has gone are retried for a minute, since it may be restarting. A
server that was never there, because the address is wrong or nobody started it, is
reported within seconds.
"""

from __future__ import annotations

import asyncio
import re
import sys
import urllib.request
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from medical_tasks.guard.addresses import is_loopback_host, read_address

TRIES: Final = 3
PATIENCE_S = 4.5
"""Seconds for all attempts together; a refused connection takes almost none."""
WAIT_S = 1.0
"""Seconds after the first attempt, and twice as many after the second."""
_PORTS: Final = {"http": 80, "https": 443}
_USER: Final = re.compile(r"//[^/@]*@")


async def unreachable(urls: Sequence[str], tries: int = TRIES) -> dict[str, str]:
    """Returns why each of some servers accepts no connection; empty as soon as one does.

    Args:
        urls: base URLs, or those of the proxies in front of them.
        tries: attempts at each; repeated attempts are reported on standard error.
    """
    knocks = {asyncio.create_task(_knocks(url, tries)): url for url in urls}
    troubles: dict[str, str] = {}
    waiting = set(knocks)
    try:
        while waiting:
            ended, waiting = await asyncio.wait(
                waiting, return_when=asyncio.FIRST_COMPLETED
            )
            for knock in ended:
                troubles[knocks[knock]] = trouble = knock.result()
                if not trouble:
                    return {}
    finally:
        for knock in waiting:
            knock.cancel()

    return {url: troubles[url] for url in urls}


async def _knocks(url: str, tries: int) -> str:
    """Returns why a server accepts no connection; "" when it does."""
    trouble = ""
    try:
        async with asyncio.timeout(PATIENCE_S):
            for number in range(1, tries + 1):
                trouble = await _knock(url)
                if not trouble or number == tries:
                    break

                await asyncio.sleep(WAIT_S * number)
                say_waiting(url, trouble, number + 1, tries)
    except TimeoutError:
        return trouble or f"no connection within {PATIENCE_S:g} s"

    return trouble


async def _knock(url: str) -> str:
    """Returns why one connection is not accepted; "" when it is."""
    import anyio
    import anyio.abc

    address, parts = read_address(url), urlsplit(url)
    stream: anyio.abc.SocketStream
    try:
        if address is not None and address.socket:
            stream = await anyio.connect_unix(address.socket)
        else:
            port = parts.port or _PORTS.get(parts.scheme, 80)
            stream = await anyio.connect_tcp(parts.hostname or "", port)
    except OSError as error:
        return _words(error)

    await stream.aclose()
    return ""


def _words(error: OSError) -> str:
    """Returns the system's message, of the first attempt where there are several.

    It names addresses only.
    """
    cause = error.__cause__
    if isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    error = cause if isinstance(cause, OSError) else error
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    return (error.strerror or type(error).__name__).lower()


def without_user(url: str) -> str:
    """Removes user and password from a proxy's address, for messages and the audit log."""
    return _USER.sub("//", url)


def proxy_for(base_url: str, *, even_loopback: bool = False) -> str | None:
    """Returns the proxy that the environment names for an address; None for none.

    Args:
        base_url: the address.
        even_loopback: whether the client itself chooses the proxy, and also uses one to
            reach this machine.
    """
    address = read_address(base_url)
    if address is None or not address.host:
        return None
    if is_loopback_host(base_url) and not even_loopback:
        return None

    bypassed = urllib.request.proxy_bypass(address.host)
    # a client that chooses for itself may read a port in NO_PROXY differently
    if not bypassed and not even_loopback:
        bypassed = urllib.request.proxy_bypass(str(address))
    if bypassed:
        return None

    proxies = urllib.request.getproxies()
    proxy = proxies.get(address.scheme) or proxies.get("all")
    return proxy if proxy is None or "://" in proxy else f"http://{proxy}"


def say_waiting(url: str, trouble: str, attempt: int, tries: int) -> None:
    """Prints that a server is tried again."""
    print(
        f"waiting for {url}: {trouble}, attempt {attempt} of {tries}",
        file=sys.stderr,
        flush=True,
    )
