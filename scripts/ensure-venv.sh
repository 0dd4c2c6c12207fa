#!/bin/sh
# Make a virtual environment in $1. On Debian and Ubuntu the venv module is a package of its own.
set -eu
venv=$1
python=${PYTHON:-python3}

if ! command -v "$python" >/dev/null 2>&1 || ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    for candidate in python3.13 python3.12 python3.11; do
        if command -v "$candidate" >/dev/null 2>&1; then python=$candidate; break; fi
    done
fi
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
    echo "Python 3.11 or newer is needed. Debian/Ubuntu: apt-get install python3 python3-venv; macOS: brew install python" >&2
    exit 1
}
[ -x "$venv/bin/python" ] && exit 0
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    . "$(dirname "$0")/as-root.sh"
    echo "Installing python3-venv from the system's packages …"
    as_root apt-get update -qq
    as_root apt-get install -y -qq python3-venv >/dev/null
fi
"$python" -m venv "$venv"
