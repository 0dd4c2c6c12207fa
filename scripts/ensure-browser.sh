#!/bin/sh
# Make sure a Chrome or Chromium is there; install Chromium from the system's packages when none is.
set -eu
here=$(dirname "$0")
bin=${VENV_BIN:-.venv/bin}

if "$bin/python" -m cdp.finder >/dev/null 2>&1; then exit 0; fi
case $(uname -s) in
Linux)
    if command -v apt-get >/dev/null 2>&1; then
        . "$here/as-root.sh"
        echo "No Chrome or Chromium found: installing Chromium from the system's packages …"
        as_root apt-get update -qq
        as_root apt-get install -y -qq chromium >/dev/null
    else
        echo "No Chrome or Chromium found. Install one with your package manager, or set NOTEBOOK_GATEWAY_BROWSER." >&2
        exit 1
    fi
    ;;
*)
    echo "No Chrome or Chromium found. Install Google Chrome, or set NOTEBOOK_GATEWAY_BROWSER to its executable." >&2
    exit 1
    ;;
esac
"$bin/python" -m cdp.finder
