from pathlib import Path

import pytest

from broker.config import Config, ConfigError, ConfigFile, load_config, parse_config
from broker.errors import AuthRequired


def test_account_and_project_folder_are_read():
    text = 'account = " ada@example.com "\nproject_folder = "/srv/project"\n'
    assert parse_config(text) == Config("ada@example.com", Path("/srv/project"))


def test_what_the_person_may_loosen_or_tighten_is_read():
    text = """
        account = "ada@example.com"
        file_roots = ["/srv/papers", "/home/ada/reports"]
        max_file_bytes = 1000
        allow_private_urls = true
        confirm_deletes = false
        requests_per_minute = 30
    """
    assert parse_config(text) == Config(
        "ada@example.com",
        file_roots=(Path("/srv/papers"), Path("/home/ada/reports")),
        max_file_bytes=1000,
        allow_private_urls=True,
        confirm_deletes=False,
        requests_per_minute=30,
    )


def test_without_these_keys_the_careful_choice_holds():
    config = parse_config('account = "ada@example.com"')
    assert config.file_roots == ()
    assert config.max_file_bytes == 200 * 1024 * 1024
    assert not config.allow_private_urls
    assert config.confirm_deletes
    assert config.requests_per_minute == 240


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
        ('account = "a@b"\nfile_roots = "/srv"', "'file_roots' must be a list"),
        ('account = "a@b"\nfile_roots = ["papers"]', "'file_roots' must be an absolute path, not 'papers'"),
        ('account = "a@b"\nfile_roots = ["~/papers"]', "~ is not expanded"),
        ('account = "a@b"\nfile_roots = [7]', "'file_roots'"),
        ('account = "a@b"\nfile_roots = ["/srv\\u0000"]', "'file_roots'"),
        ('account = "a@b"\nfile_roots = ["/"]', "whole disk"),
        ('account = "a@b"\nfile_roots = ["//"]', "whole disk"),
        ('account = "a@b"\nfile_roots = ["/srv/.."]', "whole disk"),
        ('account = "a@b"\nmax_file_bytes = 0', "whole number above 0, not 0"),
        ('account = "a@b"\nmax_file_bytes = true', "'max_file_bytes'"),
        ('account = "a@b"\nmax_file_bytes = 1.5', "'max_file_bytes'"),
        ('account = "a@b"\nbrowser = "mine"', "'browser' must be \"managed\" or \"daily\", not 'mine'"),
        ('account = "a@b"\nbrowser_headless = 1', "'browser_headless' must be true or false"),
        ('account = "a@b"\nbrowser_idle_stop_min = -1', "'browser_idle_stop_min' must be minutes"),
        ('account = "a@b"\nallow_private_urls = 1', "'allow_private_urls' must be true or false, not 1"),
        ('account = "a@b"\nrequests_per_minute = -1', "or 0 for no limit, not -1"),
        ('account = "a@b"\nrequests_per_minute = true', "or 0 for no limit, not True"),
        ('account = "a@b"\nconfirm_deletes = "no"', "'confirm_deletes' must be true or false"),
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
