#!/bin/sh
# Builds dist/notebook-gateway-VERSION.mcpb with the public tool (@anthropic-ai/mcpb), which also validates it.
# Usage: scripts/build-mcpb.sh PYTHON [OUTPUT FOLDER]
set -eu
python=$1
out=${2:-dist}
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$work/wheel" "$here/.."
wheel=$(ls "$work"/wheel/notebook_gateway-*.whl)
"$python" "$here/mcpb/stage.py" "$work/bundle" "$wheel"
npx --no-install mcpb validate "$work/bundle/manifest.json"
version=$("$python" -c 'from native_host.build import BUILD; print(BUILD)')
mkdir -p "$out"
npx --no-install mcpb pack "$work/bundle" "$out/notebook-gateway-$version.mcpb"
