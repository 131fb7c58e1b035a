"""The HTTP client under a chat client: it goes to the endpoint named, and to nothing else.

No redirects are followed. Requests to this machine never take a proxy. While credentialed text is held (`guard.protect`), a
proxy is a further host that sees the text: it must be allowed like the endpoint itself, and every single request asks the
guard once more by the address that is really connected to.
"""

from __future__ import annotations

import importlib
import logging
import re
import ssl
import urllib.request
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from medical_tasks.errors import RefusedError
from medical_tasks.guard import policy
from medical_tasks.guard.addresses import is_loopback_host, is_loopback_number, read_address

if TYPE_CHECKING:
    from openai import DefaultAsyncHttpxClient

__all__ = ["http_base_url", "http_library", "open_http", "proxy_for"]

_LOGGERS = ("httpcore", "httpcore2", "httpx", "httpx2", "openai")
_USER = re.compile(r"//[^/@]*@")
_SOCKET_HOST = "http://localhost"  # what a server on a unix socket is called in the request's Host line


def http_base_url(base_url: str) -> str:
    """Returns the URL an HTTP library takes: that of a unix socket loses the socket, which `open_http` connects to."""
    address = read_address(base_url)
    if address is None or not address.socket:
        return base_url
    return _SOCKET_HOST + urlsplit(base_url).path


def proxy_for(base_url: str) -> str | None:
    """Returns the proxy that the environment names for an address, None for none."""
    address = read_address(base_url)
    if address is None or not address.host or is_loopback_host(base_url):
        return None
    if urllib.request.proxy_bypass(str(address)) or urllib.request.proxy_bypass(address.host):
        return None
    proxies = urllib.request.getproxies()
    found = proxies.get(address.scheme) or proxies.get("all")
    return found if found is None or "://" in found else f"http://{found}"


def open_http(base_url: str, purpose: str) -> DefaultAsyncHttpxClient:
    """Opens a client for one endpoint.

    Args:
        base_url: the endpoint's.
        purpose: what it is for, for the guard.

    Raises:
        RefusedError: The environment's proxy may not see the text.
    """
    from openai import DEFAULT_CONNECTION_LIMITS, DefaultAsyncHttpxClient

    http = http_library()

    if policy.protecting():
        # A server's status line and headers may repeat what it was sent, and these libraries log both.
        for name in _LOGGERS:
            logging.getLogger(name).setLevel(logging.WARNING)
    address = read_address(base_url)
    settings: dict[str, Any] = {"follow_redirects": False, "trust_env": not is_loopback_host(base_url)}
    settings["event_hooks"] = {"request": [_asks_guard(base_url, purpose)]}
    if address is not None and address.socket:
        settings["transport"] = http.AsyncHTTPTransport(
            uds=address.socket, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), limits=DEFAULT_CONNECTION_LIMITS
        )
    elif base_url.startswith("http://") and is_loopback_host(base_url):
        # Plain http needs no certificates, and reading them takes longer than many a call.
        settings["verify"] = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    elif policy.protecting() and not is_loopback_host(base_url):
        proxy = proxy_for(base_url)
        if proxy is not None:
            # Its user and password are for the proxy alone, not for messages and the audit log.
            policy.require_endpoint(_USER.sub("//", proxy), f"proxy on the way to the {purpose}")
        # The proxy asked about is the one taken; certificates named by the environment count as before.
        settings |= {"trust_env": False, "proxy": proxy, "verify": http.create_ssl_context(trust_env=True)}
    return DefaultAsyncHttpxClient(**settings)


def http_library() -> Any:
    """The HTTP library that the installed version of openai stands on: httpx, or its successor."""
    from openai import DefaultAsyncHttpxClient

    base = next(kind for kind in DefaultAsyncHttpxClient.__mro__ if kind.__name__ == "AsyncClient")
    return importlib.import_module(base.__module__.partition(".")[0])


def _asks_guard(base_url: str, purpose: str) -> Callable[[Any], Awaitable[None]]:
    address = read_address(base_url)
    on_socket = address is not None and bool(address.socket)

    async def ask(request: Any) -> None:
        url = base_url if on_socket else str(request.url)
        policy.require_endpoint(url, purpose)
        if not on_socket and policy.protecting() and is_loopback_host(url):
            request.extensions = {**request.extensions, "trace": check_peer}

    return ask


async def check_peer(event: str, info: Mapping[str, Any]) -> None:
    """Looks at a new connection before a byte is sent: a local name may lead elsewhere since it was last looked up.

    Args:
        event: httpcore's name of what happened.
        info: what it tells of it.

    Raises:
        RefusedError: The connection does not lead to this machine.
    """
    if not event.endswith("connect_tcp.complete"):
        return
    stream = info["return_value"]
    peer = stream.get_extra_info("server_addr")
    if not peer or not is_loopback_number(str(peer[0])):
        await stream.aclose()
        raise RefusedError(
            f"credentialed text was about to be sent to {peer[0] if peer else 'an unknown address'}: the local name of the "
            "endpoint no longer leads to this machine. Nothing was sent. Name the server by its address, 127.0.0.1."
        )
