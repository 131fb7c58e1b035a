"""The toy model behind HTTP, in vLLM's forms: log-probabilities of answers and prompts, `/tokenize`, `/v1/models`.

Its numbers are the model's own, by transformers; a plan lets single requests fail.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from medical_tasks.models.chat_client import ChatSettings
from medical_tasks.models.endpoint import EndpointModel
from tests.fault_server import Call, Fault, FaultServer, Plan
from tests.models.local_runs import reference

_torch_lock = threading.Lock()


def model_at(
    server: FaultServer, *, about: Mapping[str, Any] | None = None, **more: Any
) -> EndpointModel:
    """The model of a server; `about`: arguments of `EndpointModel`, `more`: of `ChatSettings`."""
    chat = ChatSettings(
        base_url=server.base_url, model="toy", key_name="HOST_API_KEY",
        **{"concurrency": 4, "max_retries": 3, "timeout": 30.0, **more},
    )  # fmt: skip
    return EndpointModel(
        "openai-api/host/toy",
        chat,
        **{"sampling": {"temperature": 0.0}, **(about or {})},
    )


def program(path: Path, text: str = "#!/bin/sh\nexit 1\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def logprob_rows(folder: Path, ids: list[int]) -> Any:
    """Log-probabilities of the whole vocabulary after each token, as a tensor of (tokens, words)."""
    import torch

    model, _ = reference(folder)
    with _torch_lock, torch.no_grad():
        return torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), dim=-1)


def together(number: int) -> Plan:
    """A plan by which a request is answered only once the next one has arrived."""
    arrived = threading.Event()

    def plan(call: Call) -> None:
        if call.number == number:
            assert arrived.wait(30)
        elif call.number == number + 1:
            arrived.set()

    return plan


class ToyServer(FaultServer):
    """The server, for the length of a `with` block.

    `context`: longest prompt and answer in its list of models, None for a list without
    it. `scores_prompts`: whether it supports `prompt_logprobs`; `ignores` accepts the
    field and returns nothing.
    """

    model = "toy"
    lists_models = True

    def __init__(
        self,
        folder: Path,
        *,
        plan: Plan = lambda call: None,
        most: int = 20,
        context: int | None = 4096,
        scores_prompts: bool | str = True,
        continues: bool = True,
        change: Callable[[dict[str, Any]], object] = lambda reply: None,
        socket_path: Path | None = None,
    ) -> None:
        super().__init__(plan, socket_path=socket_path)
        self.folder = folder
        self._change, self._most, self._context = change, most, context
        self._scores_prompts, self._continues = scores_prompts, continues

    def paths(self, path: str) -> list[Mapping[str, Any]]:
        """Bodies of the requests to one path."""
        return [call.body for call in self.calls if call.path == path]

    def good(self, call: Call) -> Fault:
        body = call.body
        if call.path == "/v1/models":
            more = {} if self._context is None else {"max_model_len": self._context}
            return Fault.json_body(
                {
                    "object": "list",
                    "data": [{"id": "another"}, {"id": self.model, **more}],
                }
            )
        if call.path == "/tokenize":
            ids = self._ids(body)
            return Fault.json_body(
                {"count": len(ids), "max_model_len": self._context, "tokens": ids}
            )
        if call.path != "/v1/chat/completions":
            return Fault.status_code(404, "Not Found")
        if body.get("top_logprobs", 0) > self._most:
            return Fault.status_code(
                400,
                f"Requested {body['top_logprobs']} logprobs, max allowed: {self._most}",
            )
        if "prompt_logprobs" in body and not self._scores_prompts:
            return Fault.status_code(
                400, "Unrecognized request argument supplied: prompt_logprobs"
            )
        if body.get("continue_final_message") and body.get(
            "add_generation_prompt", True
        ):
            return Fault.status_code(400, "Cannot set both")
        try:
            reply = self._scored(body)
        except ValueError as error:
            return Fault.status_code(400, str(error))
        self._change(reply)
        return Fault.json_body(reply)

    def _ids(self, body: Mapping[str, Any]) -> list[int]:
        _, tokenizer = reference(self.folder)
        text = body.get("prompt")
        if text is None:
            text = tokenizer.apply_chat_template(
                body["messages"],
                tokenize=False,
                add_generation_prompt=body.get("add_generation_prompt", True),
                continue_final_message=self._continues
                and body.get("continue_final_message", False),
            )
        ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def _scored(self, body: Mapping[str, Any]) -> dict[str, Any]:
        _, tokenizer = reference(self.folder)
        ids = self._ids(body)
        rows = logprob_rows(self.folder, ids)

        def entry(row: int, token: int) -> dict[str, Any]:
            return {
                "token": tokenizer.decode([token]),
                "logprob": float(rows[row, token]),
                "bytes": None,
            }

        chosen = int(rows[-1].argmax())
        choice: dict[str, Any] = {
            "message": {
                "role": "assistant",
                "content": tokenizer.decode([chosen], skip_special_tokens=True),
            },
            "finish_reason": "length",
            "logprobs": None,
        }
        if body.get("logprobs"):
            top = (
                rows[-1].topk(min(body["top_logprobs"], rows.shape[1])).indices.tolist()
            )
            choice["logprobs"] = {
                "content": [
                    {
                        **entry(-1, chosen),
                        "top_logprobs": [entry(-1, token_id) for token_id in top],
                    }
                ]
            }
        reply: dict[str, Any] = {
            "choices": [choice],
            "usage": {
                "prompt_tokens": len(ids),
                "completion_tokens": 1,
                "total_tokens": len(ids) + 1,
            },
        }
        if "prompt_logprobs" in body and self._scores_prompts is True:
            prompt_entries: list[dict[str, Any] | None] = [None]
            for row, token in enumerate(ids[1:]):
                # The prompt's own token first, then the most probable ones: vLLM's
                # order.
                named = [
                    token,
                    *rows[row].topk(body["prompt_logprobs"]).indices.tolist(),
                ]
                prompt_entries.append(
                    {
                        str(token_id): {
                            "logprob": max(float(rows[row, token_id]), -9999.0),
                            "decoded_token": tokenizer.decode([token_id]),
                        }
                        for token_id in named
                    }
                )
            reply["prompt_logprobs"] = prompt_entries
        return reply
