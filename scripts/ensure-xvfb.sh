#!/bin/sh
# The sign-in run is a normal window, and its tests need a display; install Xvfb where there is none.
set -eu
here=$(dirname "$0")
if command -v Xvfb >/dev/null 2>&1; then exit 0; fi
if command -v apt-get >/dev/null 2>&1; then
    . "$here/as-root.sh"
    as_root apt-get update -qq
    as_root apt-get install -y -qq xvfb >/dev/null
else
    echo "No Xvfb found: the tests of the sign-in window will fail." >&2
fi
