"""Decides where an address leads: to this machine, or away from it.

Only the plainest spellings count as this machine. Libraries disagree about odd ones, and
an address that is parsed one way here and another way when connecting is a leak.

Local:

- a model in this process (`hf/`, `vllm/`, `nli/`, `lexical`, baselines)
- `127.0.0.0/8`, `::1`, `0.0.0.0`, `::`, and these in IPv4-mapped form
- `localhost` and `*.localhost`, if every address they resolve to is a loopback address
- a unix socket: `base_url=http+unix://%2Frun%2Fvllm.sock/v1`

Remote:

- any other host, including those on the local network
- names that look local: `localhost.example.org`, `localhost.`
- unusual spellings: `2130706433`, `0x7f.1`, `0177.0.0.1`, `127.1`
- URLs with a user part, a zone (`%eth0`), a backslash or non-ASCII letters
"""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from medical_tasks.errors import UsageError

UNIX_SCHEME = "http+unix"
_DEFAULT_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
_AUTHORITY = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::(?P<port>[0-9]{1,5}))?"
)
_HIGHEST_PORT = 65535


@dataclass(frozen=True, kw_only=True)
class Address:
    """The address in a URL, or a host that a user allows, with the scheme `host`.

    Attributes:
        scheme: of the URL.
        host: lower-case name, or an IP address in its standard form; empty for a unix
            socket.
        port: the port to connect to, even if the URL leaves it out; for a host that a
            user allows, None is any port.
        socket: path of the unix socket.
    """

    scheme: str
    host: str = ""
    port: int | None = None
    socket: str = ""

    def __str__(self) -> str:
        if self.socket:
            return f"unix:{self.socket}"
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return shown if self.port is None else f"{shown}:{self.port}"


def read_address(url: str) -> Address | None:
    """Parses an absolute URL.

    Returns None where parsers could disagree (user part, backslash, blanks, letters
    beyond ASCII).

    Example:
        >>> str(read_address("https://Api.Example.org/v1"))
        'api.example.org:443'
        >>> read_address("http://user:secret@host/v1") is None
        True
    """
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return None

    try:
        parts = urlsplit(url)
    except ValueError:
        return None

    if parts.scheme == UNIX_SCHEME:
        return _socket(parts.netloc)

    match = _AUTHORITY.fullmatch(parts.netloc)
    if match is None or not parts.scheme:
        return None

    port = int(match["port"]) if match["port"] else _DEFAULT_PORTS.get(parts.scheme)
    host = _canonical(match["six"] or match["name"], six=match["six"] is not None)
    if host is None or (port is not None and not 0 < port <= _HIGHEST_PORT):
        return None

    return Address(scheme=parts.scheme, host=host, port=port)


def _socket(quoted: str) -> Address | None:
    path = unquote(quoted)
    plain = "@" not in quoted and path.startswith("/") and path.isprintable()
    return Address(scheme=UNIX_SCHEME, socket=path) if plain else None


def read_host(text: str) -> Address:
    """Parses a host of `--allow-remote`: `name`, `name:port`, an IP address, `[IPv6]:port`."""
    address = read_address(
        f"host://[{text}]"
        if text.count(":") > 1 and "[" not in text
        else f"host://{text}"
    )
    if address is None or "/" in text or "?" in text or "#" in text:
        raise UsageError(
            "--allow-remote expects a host as the endpoint's URL names it, as in api.example.org or "
            f"10.0.0.7:8000, got {text!r}. No scheme, path, user or pattern; give the option once "
            "for each host."
        )

    return address


def _canonical(host: str, *, six: bool) -> str | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None if six else host.lower()
    return str(address) if (address.version == 6) is six else None


def is_loopback_host(url: str) -> bool:
    """Returns whether a URL names this machine and must never use a proxy; resolves nothing.

    `0.0.0.0` and `::`, which servers print as their own address, lead to this machine as
    well.

    Example: 127.1 is this machine for some libraries, and a name for others.
        >>> is_loopback_host("http://127.0.0.1:8000"), is_loopback_host("http://127.1")
        (True, False)
    """
    address = read_address(url)
    if address is None:
        return False
    if address.socket or _is_local_name(address.host):
        return True

    return is_loopback_number(address.host)


def is_local(url: str) -> bool:
    """Returns whether text sent to a URL stays on this machine.

    `localhost` counts only if it resolves to loopback addresses alone.
    """
    address = read_address(url)
    if address is None or not is_loopback_host(url):
        return False
    return not _is_local_name(address.host) or _resolves_to_loopback(
        address.host, address.port
    )


def _is_local_name(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost")


def _resolves_to_loopback(host: str, port: int | None) -> bool:
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return bool(entries) and all(
        is_loopback_number(str(entry[4][0])) for entry in entries
    )


def is_loopback_number(host: str) -> bool:
    """Returns whether a host is a loopback IP address, including IPv4 in IPv6's form."""
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        return False

    plain = (
        number.ipv4_mapped or number
        if isinstance(number, ipaddress.IPv6Address)
        else number
    )
    return plain.is_loopback or plain.is_unspecified
