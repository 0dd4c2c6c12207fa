"""One target under atheris, in a process of its own: `python -m fuzz.run_one NAME [options] [corpus folders]`.

Only this module imports atheris. libFuzzer ends the process, so nothing runs after `Fuzz()`.
"""

from __future__ import annotations

import sys

import atheris

from fuzz.target import load


def main() -> None:
    name, *options = sys.argv[1:]
    with atheris.instrument_imports(include=["broker", "cdp", "fuzz.targets", "native_host"]):
        target = load(name)
    atheris.Setup([sys.argv[0], *options], target.one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
