"""The archive for public reports: what is private in the chain must not be in any byte of it."""

from __future__ import annotations

import getpass
import json
import socket
import zipfile
from pathlib import Path

import pytest

from native_host.paths import ensure_private_folder, logs_folder
from notebook_gateway.doctor.bundle import LOG_BYTES, write_bundle
from notebook_gateway.doctor.redaction import Redactor
from onboarding.clients import ServerEntry
from onboarding.doctor.findings import Hop
from onboarding.doctor.look import Look
from onboarding.doctor.report import Finding, HopReport, Report

ADDRESS = "ada.lovelace@example.com"
NOTEBOOK = "1a2b3c4d-0001-4a00-8b00-00000000000a"
TOKEN = "ABCDefghIJKLmnopQRST_x:1760000000000"  # made up, in the shape of a form token
PRIVATE = (ADDRESS, NOTEBOOK, TOKEN, "ada%2Elovelace")


@pytest.fixture
def look(tmp_path: Path) -> Look:
    home = tmp_path / "ada" / ".notebook-gateway"
    ensure_private_folder(logs_folder(home))
    (home / "config.toml").write_text(f'account = "{ADDRESS}"\nfile_roots = ["{tmp_path}/ada/papers"]\n')
    line = f"account {ADDRESS} notebook {NOTEBOOK} at={TOKEN} https://accounts.google.com/x?u=ada%2Elovelace\n"
    (logs_folder(home) / "broker.log").write_text(line * 3)
    (logs_folder(home) / "keeper.log").write_text("old\n" * LOG_BYTES + f"{home}/run is fine\n")
    return Look(home, {"HOME": str(tmp_path / "ada"), "NOTEBOOK_GATEWAY_HOME": str(home)}, ServerEntry("p", ()))


def report_of(look: Look) -> Report:
    finding = Finding("extension.other-account", f"it is set to {ADDRESS}, not {NOTEBOOK}")
    return Report("1", str(look.home), (HopReport(Hop.EXTENSION, f"in {look.places.home}/x", (finding,)),))


def members(path: Path) -> dict[str, str]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_nothing_private_is_in_any_file(look: Look, tmp_path: Path) -> None:
    names = write_bundle(tmp_path / "b.zip", report_of(look), look)
    files = members(tmp_path / "b.zip")
    assert list(files) == names == ["README.txt", "doctor.json", "system.json", "logs/broker.log", "logs/keeper.log"]
    whole = "".join(files.values())
    for private in (*PRIVATE, str(tmp_path), socket.gethostname()):
        assert private not in whole
    assert getpass.getuser() == "root" or f"/{getpass.getuser()}/" not in whole


def test_the_same_thing_has_the_same_name_in_every_file(look: Look, tmp_path: Path) -> None:
    write_bundle(tmp_path / "b.zip", report_of(look), look)
    files = members(tmp_path / "b.zip")
    said = json.loads(files["doctor.json"])["hops"][0]["findings"][0]["detail"]
    assert said == "it is set to <address-1>, not <id-1>"
    assert files["logs/broker.log"].startswith("account <address-1> notebook <id-1> ")
    assert json.loads(files["system.json"])["variables"] == {"NOTEBOOK_GATEWAY_HOME": "<home>"}


def test_of_a_long_log_the_end_is_kept_in_whole_lines(look: Look, tmp_path: Path) -> None:
    write_bundle(tmp_path / "b.zip", report_of(look), look)
    log = members(tmp_path / "b.zip")["logs/keeper.log"]
    assert log.endswith("<home>/run is fine\n")
    assert log.startswith("old\n")
    assert len(log) <= LOG_BYTES


def test_an_existing_file_is_never_replaced(look: Look, tmp_path: Path) -> None:
    (tmp_path / "b.zip").write_text("mine")
    with pytest.raises(FileExistsError):
        write_bundle(tmp_path / "b.zip", report_of(look), look)
    assert (tmp_path / "b.zip").read_text() == "mine"


def test_settings_are_told_by_kind_and_not_by_value(look: Look, tmp_path: Path) -> None:
    write_bundle(tmp_path / "b.zip", report_of(look), look)
    config = json.loads(members(tmp_path / "b.zip")["system.json"])["config"]
    assert (config["file_roots"], config["confirm_deletes"]) == (1, True)
    assert "papers" not in json.dumps(config)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ada@Example.com and ada@example.com", "<address-1> and <address-1>"),
        ("authuser=ada%40example.com", "authuser=<address-1>"),
        ("ada@example.com, bob@example.org, ada@example.com", "<address-1>, <address-2>, <address-1>"),
        (f"/notebook/{NOTEBOOK}", "/notebook/<id-1>"),
        ("/home/ada/.notebook-gateway/run and /home/ada/x", "<home>/run and ~/x"),
        ("host turing said, tur is a word", "host <machine> said, tur is a word"),
        ("a***@example.com", "<address-1>"),
        ("wXbhsf: $[0][2]", "wXbhsf: $[0][2]"),
    ],
)
def test_redaction(text: str, expected: str) -> None:
    folders = {Path("/home/ada"): "~", Path("/home/ada/.notebook-gateway"): "<home>"}
    assert Redactor(folders, {"turing": "<machine>"}).text(text) == expected


def test_redaction_of_json_takes_names_and_nested_texts() -> None:
    value = {"ada@example.com": [{"x": "ada@example.com"}, 5, None, True]}
    assert Redactor({}).json(value) == {"<address-1>": [{"x": "<address-1>"}, 5, None, True]}
