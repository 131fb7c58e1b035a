"""Where a chat endpoint is, and how patiently it is asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from medical_tasks.errors import UsageError
from medical_tasks.guard.addresses import UNIX_SCHEME, is_loopback_host, read_address

__all__ = ["ChatSettings", "check_base_url", "is_loopback_host"]

_OPERATION = "/chat/completions"


@dataclass(frozen=True, kw_only=True)
class ChatSettings:
    """An OpenAI-compatible endpoint and the limits of asking it.

    Attributes:
        base_url: address up to and including the version, as `http://127.0.0.1:8000/v1`, or `http+unix://%2Frun%2Fvllm.sock/v1`
            for a server on a unix socket.
        model: name under which the server knows the model.
        api_key: bearer token; servers that ask for none ignore it. Never printed, never part of an identity.
        key_name: environment variable the key was read from, for error messages; "" when there was none.
        concurrency: most requests in flight.
        timeout: seconds a single attempt may take, from first byte sent to last byte received.
        max_retries: attempts after the first one.
        total_time: seconds a call may take with all its attempts and waits.
        first_wait: seconds of the first wait; each further one is twice as long.
        longest_wait: seconds above which waits do not grow.
        token_field: body field that holds the longest answer (newer OpenAI models want `max_completion_tokens`).
        seed: seed of the waits' jitter.
        purpose: what the endpoint is for, told to the data guard: `model` or `judge`.

    Raises:
        UsageError: A limit is out of range, or the address is not one that text may be sent to.
    """

    base_url: str
    model: str
    api_key: str = field(default="none", repr=False)
    key_name: str = ""
    concurrency: int = 16
    timeout: float = 600.0
    max_retries: int = 6
    total_time: float = 1800.0
    first_wait: float = 1.0
    longest_wait: float = 60.0
    token_field: str = "max_tokens"  # noqa: S105 - a field name
    seed: int = 0
    purpose: str = "model"

    def __post_init__(self) -> None:
        check_base_url(self.base_url)
        for name, least in (("concurrency", 1), ("max_retries", 0)):
            if getattr(self, name) < least:
                raise UsageError(f"{name} must be at least {least}, got {getattr(self, name)}.")
        for name in ("timeout", "total_time"):
            if not getattr(self, name) > 0:
                raise UsageError(f"{name} must be above 0 seconds, got {getattr(self, name)}.")


def check_base_url(url: str) -> None:
    """Refuses addresses that cannot work or that carry a secret.

    Args:
        url: base URL of an endpoint.

    Raises:
        UsageError: It is not http(s) or a unix socket, has no host, carries a user, password, query or fragment, or names an
            operation.
    """
    try:
        parts = urlsplit(url)
        host, secret = parts.hostname, parts.username is not None or parts.password is not None
        _ = parts.port  # read for its check: a port that is no number raises
    except ValueError as error:
        raise UsageError(f"the base URL cannot be read ({error}). Give one like http://127.0.0.1:8000/v1") from None
    # The address is named in results and messages, so it must hold no secret; here it is not quoted for that reason.
    if secret or parts.query or parts.fragment:
        raise UsageError(
            f"the base URL for host {host!r} carries a user, password, query or fragment. Give the plain address, and "
            "the key through the endpoint's environment variable."
        )
    if parts.scheme == UNIX_SCHEME:
        if read_address(url) is None:
            raise UsageError(
                f"a unix socket is named by its absolute path with %2F for each /, as in http+unix://%2Frun%2Fvllm.sock/v1, "
                f"got {url!r}."
            )
    elif parts.scheme not in ("http", "https") or not host:
        raise UsageError(f"a base URL starts with http:// or https:// and a host, got {url!r}.")
    if parts.path.rstrip("/").endswith(_OPERATION):
        raise UsageError(f"the base URL ends before {_OPERATION}, got {url!r}. Give {url[: url.rindex(_OPERATION)]!r}.")
