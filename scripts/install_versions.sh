#!/bin/sh
# Installs this project with other versions than the tested ones: sh scripts/install_versions.sh PYTHON core|oldest|newest
# core: what `pip install .` brings, pinned; oldest: the lower bounds of setup.cfg; newest: everything, with no pins.
set -eu
python=$1
tools="hypothesis jsonschema lxml pytest pytest-timeout pytest-xdist setuptools>=77"

"$python" -m pip install --quiet --disable-pip-version-check uv
install="$python -m uv pip install --quiet --python $python"

case $2 in
    core) exec $install -c constraints.txt -e . $tools ;;
    # Two steps: the tools themselves need not be old.
    oldest) $install --resolution lowest-direct -e . ; exec $install $tools ;;
    newest) exec $install --upgrade -e '.[dev]' ;;
    *) echo "core, oldest or newest, got $2" >&2; exit 2 ;;
esac
