#!/bin/sh
# The type checkers run on Node (20 or newer); install it from the system's packages when there is none.
set -eu
here=$(dirname "$0")
if command -v npm >/dev/null 2>&1; then exit 0; fi
if command -v apt-get >/dev/null 2>&1; then
    . "$here/as-root.sh"
    as_root apt-get update -qq
    as_root apt-get install -y -qq nodejs npm >/dev/null
else
    echo "Node 20 or newer is needed for the checks of the extension." >&2
    exit 1
fi
