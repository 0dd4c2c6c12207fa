#!/bin/sh
# One test counts what the journal synchronises to disk at the system calls; install strace where there is none.
set -eu
here=$(dirname "$0")
if command -v strace >/dev/null 2>&1; then exit 0; fi
if command -v apt-get >/dev/null 2>&1; then
    . "$here/as-root.sh"
    as_root apt-get update -qq
    as_root apt-get install -y -qq strace >/dev/null
else
    echo "No strace found: the test in tests/broker/test_journal.py that counts with it will fail." >&2
fi
