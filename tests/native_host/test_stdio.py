"""The claim is seen from outside only, so each test is a child process whose pipes stand for Chrome's."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.native_host.fakes import MAIN_FILE

CLAIM = f"""
import os, sys, types
package = types.ModuleType("native_host")
package.__path__ = [{str(MAIN_FILE.parent)!r}]
sys.modules["native_host"] = package
from pathlib import Path
from native_host import stdio
claimed = stdio.claim(Path(sys.argv[1]))
"""


def run(code: str, log: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", CLAIM + code, str(log)],
        input=b"from chrome",
        capture_output=True,
        check=False,
        timeout=20,
    )


@pytest.mark.parametrize(
    "stray",
    [
        "print('stray', flush=True)",
        "print('stray')",
        "print('stray', file=sys.stderr)",
        "os.write(1, b'stray')",
        "os.write(2, b'stray')",
        "import ctypes; ctypes.CDLL(None).puts(b'stray'); ctypes.CDLL(None).fflush(None)",
        "import subprocess; subprocess.run(['/bin/sh', '-c', 'echo stray; echo stray >&2'])",
        "raise RuntimeError('stray')",
    ],
)
def test_c034_stray_output_ends_in_the_log_and_only_claimed_writes_reach_chrome(stray: str, tmp_path: Path) -> None:
    done = run(f"os.write(claimed.to_chrome, b'frame')\n{stray}", tmp_path / "log")
    assert (done.stdout, done.stderr) == (b"frame", b"")
    assert b"stray" in (tmp_path / "log").read_bytes()


def test_standard_input_is_empty_and_chromes_bytes_are_on_the_claimed_descriptor(tmp_path: Path) -> None:
    code = "os.write(claimed.to_chrome, repr((os.read(0, 99), os.read(claimed.from_chrome, 99))).encode())"
    assert run(code, tmp_path / "log").stdout == b"(b'', b'from chrome')"


def test_children_do_not_inherit_the_claimed_descriptors(tmp_path: Path) -> None:
    code = "os.write(claimed.to_chrome, repr([os.get_inheritable(fd) for fd in claimed]).encode())"
    assert run(code, tmp_path / "log").stdout == b"[False, False]"


def test_no_other_descriptor_stays_open(tmp_path: Path) -> None:
    """A second holder of the pipe would keep Chrome from seeing its end."""
    code = "os.write(claimed.to_chrome, repr(sorted(map(int, os.listdir('/dev/fd')))).encode())"
    open_descriptors = eval(run(code, tmp_path / "log").stdout)
    assert open_descriptors[:5] == [0, 1, 2, *open_descriptors[3:5]]
    assert len(open_descriptors) == 6, "the sixth reads the folder"


def test_a_closed_standard_error_is_no_obstacle(tmp_path: Path) -> None:
    """The first file opened then gets the number 2, which must not be mistaken for a spare copy."""
    code = "os.write(claimed.to_chrome, repr(min(claimed) > 2).encode()); os.write(2, b'line')"
    script = f'exec 2>&-; exec {sys.executable} -I -S -c "$1" "$2"'
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", CLAIM + code, str(tmp_path / "log")],
        input=b"",
        stdout=subprocess.PIPE,
        check=False,
        timeout=20,
    )
    assert done.stdout == b"True"
    assert (tmp_path / "log").read_bytes() == b"line"


@pytest.mark.parametrize("closed", ["0<&-", "1>&-"])
def test_a_closed_standard_descriptor_is_an_error_and_no_other_file_takes_its_place(
    closed: str, tmp_path: Path
) -> None:
    script = f'exec {closed}; exec {sys.executable} -I -S -c "$1" "$2"'
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", CLAIM, str(tmp_path / "log")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=20,
    )
    assert b"Bad file descriptor" in done.stderr
    assert not (tmp_path / "log").exists()
