#!/bin/sh
# Installs the pinned torch into the environment of the given Python: the small CPU build where there is no GPU.
# Most of its thousands of modules are never imported; Python compiles those that are, once.
set -eu
python=$1
version=$(sed -n 's/^torch==//p' constraints.txt)
pip="$python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt"

if "$python" -c "import importlib.metadata as m, sys; sys.exit(m.version('torch').split('+')[0] != '$version')" 2>/dev/null; then
    exit 0
fi
if command -v nvidia-smi >/dev/null 2>&1; then
    exec $pip "torch==$version"
fi
# A local mirror or wheel folder may have the CPU build; else PyTorch's own index has it; else the default build works too.
$pip "torch==$version+cpu" 2>/dev/null && exit 0
$pip --retries 1 --timeout 15 --index-url https://download.pytorch.org/whl/cpu "torch==$version" 2>/dev/null && exit 0
exec $pip "torch==$version"
