"""Is a server that is starting ready to answer? Asked without proxies and without the chat client."""

from __future__ import annotations

import http.client
import json
from urllib.parse import urlsplit

from medical_tasks.errors import UsageError

__all__ = ["answers_chat"]

_SHOWN = 500


def answers_chat(base_url: str, model: str, *, api_key: str = "", timeout: float = 120.0) -> bool:
    """Asks a server for a one-token answer.

    A chat is the only sure sign: some servers list no models, or answer their health check while the model still loads.

    Args:
        base_url: http address on this machine, up to the version.
        model: name under which the server knows the model.
        api_key: bearer token, "" for none.
        timeout: seconds the answer may take; the first one can include compilation.

    Returns:
        True when it answered; False when it is not ready (nothing listens, or 5xx, 404 or 429 while it loads).

    Raises:
        UsageError: The server rejects a plain chat: no chat template, wrong name. It would reject every question.
    """
    parts = urlsplit(base_url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)
    headers = {"Content-Type": "application/json"}
    if api_key:
        headers["Authorization"] = f"Bearer {api_key}"
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1})
    try:
        connection.request("POST", f"{parts.path.rstrip('/')}/chat/completions", body, headers)
        response = connection.getresponse()
        text = response.read().decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    if response.status in (400, 401, 403, 422):
        told = " ".join(text.split())[:_SHOWN]
        raise UsageError(
            f"the server started for {model!r} rejects a plain chat with HTTP {response.status}: {told}. The model "
            "needs a chat template, and its name must be the one the server was started with."
        )
    return response.status == 200
