#!/bin/sh
# Installs this project with an extra into the environment of the given Python: sh scripts/install.sh PYTHON EXTRA
# uv does in seconds what takes pip minutes; where it cannot be had, or cannot reach the packages, pip does it.
set -eu
python=$1
extra=$2
pip="$python -m pip install --quiet --disable-pip-version-check"

if $pip uv -c constraints.txt 2>/dev/null && "$python" -m uv pip install --quiet --python "$python" -c constraints.txt -e ".[$extra]"; then
    exit 0
fi
echo "uv could not install; pip does" >&2
exec $pip -e ".[$extra]" -c constraints.txt
