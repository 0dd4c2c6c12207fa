from pathlib import Path

import pytest

from broker.config import Config, ConfigError, ConfigFile, load_config, parse_config
from broker.errors import AuthRequired


def test_account_and_project_folder_are_read():
    text = 'account = " ada@example.com "\nproject_folder = "/srv/project"\n'
    assert parse_config(text) == Config("ada@example.com", Path("/srv/project"))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('acount = "ada@example.com"', "unknown key 'acount'"),
        ("", "'account' is missing"),
        ("account = 5", "e-mail address"),
        ('account = "ada"', "e-mail address"),
        ('account = "ada @example.com"', "e-mail address"),
        ('account = "a@b"\nproject_folder = "relative"', "project_folder"),
        ('account = "a@b"\nproject_folder = 7', "project_folder"),
        ("account = ", "not valid TOML"),
    ],
)
def test_what_is_wrong_is_named(text: str, named: str):
    with pytest.raises(ConfigError, match=named):
        parse_config(text)


def test_a_missing_file_says_what_to_write_and_where(tmp_path: Path):
    with pytest.raises(AuthRequired) as caught:
        load_config(tmp_path)
    assert "does not exist" in caught.value.message
    assert f"into {tmp_path / 'config.toml'}" in caught.value.hint


@pytest.mark.parametrize("data", [b"\xff\xfe", b"x" * 100_000, b"acount = 1"])
def test_a_broken_file_is_an_error_of_the_call_that_needs_it(tmp_path: Path, data: bytes):
    (tmp_path / "config.toml").write_bytes(data)
    with pytest.raises(AuthRequired, match=r"config\.toml"):
        load_config(tmp_path)


async def test_a_mended_file_is_read_by_the_next_call_and_then_stays(tmp_path: Path):
    path = tmp_path / "config.toml"
    config = ConfigFile(path)
    with pytest.raises(AuthRequired):
        await config.get()
    path.write_text('account = "ada@example.com"')
    assert (await config.get()).account == "ada@example.com"
    path.write_text('account = "grace@example.com"')
    assert (await config.get()).account == "ada@example.com"
