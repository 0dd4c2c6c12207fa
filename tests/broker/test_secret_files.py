"""What is never uploaded, by name, folder and first line."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from broker.secret_files import maybe_secret_content, maybe_secret_name, maybe_secret_place


def place(path: str, root: str) -> str | None:
    return maybe_secret_place(PurePosixPath(path), PurePosixPath(root))


@pytest.mark.parametrize(
    "name",
    [
        "server.pem",
        "SERVER.PEM",
        "tls.key",
        "cert.p12",
        "cert.PFX",
        "putty.ppk",
        "id_rsa",
        "id_rsa.pub",
        "id_ed25519.bak",
        "ssh_host_rsa_key",
        "passwords.kdbx",
        "login.keychain-db",
        "prod.env",
        "Cookies",
        "Login Data",
        "Login Data For Account",
        "cookies.sqlite-wal",
        "logins.json",
        "key4.db",
        "credentials",
        "credentials.json",
        "client_secret_1234.apps.json",
        "my-service-account-key.json",
        "secrets.yaml",
        "secrets.yml",
        "token.json",
        "kubeconfig",
        "main.tfstate",
    ],
)
def test_keys_credentials_and_sessions_are_known_by_name(name: str) -> None:
    assert maybe_secret_name(name) is not None
    assert place(f"/srv/{name}", "/srv") is not None


@pytest.mark.parametrize(
    "name",
    [
        "report.pdf",
        "key.md",
        "monkey.txt",
        "Secrets of the sea.pdf",
        "secrets.pdf",
        "environment.md",
        "tokens.md",
        "cookies and tea.txt",
        "Überblick.txt",
    ],
)
def test_ordinary_names_are_not_mistaken(name: str) -> None:
    assert place(f"/srv/docs/{name}", "/srv") is None


@pytest.mark.parametrize(
    "path", ["/home/ada/.ssh/config", "/home/ada/.env", "/home/ada/x/.git/HEAD", "/home/ada/.x/y.pdf"]
)
def test_what_is_hidden_below_the_root_is_refused(path: str) -> None:
    assert place(path, "/home/ada") is not None


def test_a_hidden_folder_that_the_person_named_as_root_is_meant() -> None:
    assert place("/home/ada/.notes/plan.md", "/home/ada/.notes") is None


@pytest.mark.parametrize(
    ("path", "root"),
    [
        ("/home/ada/.ssh/plan.md", "/home/ada/.ssh"),
        ("/home/ada/.SSH/plan.md", "/home/ada/.SSH"),
        ("/home/ada/.gnupg/notes/plan.md", "/home/ada/.gnupg/notes"),
        ("/Users/ada/Library/Keychains/plan.md", "/Users/ada/Library"),
    ],
)
def test_folders_of_credentials_are_refused_even_as_roots(path: str, root: str) -> None:
    assert place(path, root) is not None


@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/1/root/srv/x.pdf", "/sys/x", "/run/secrets/db"])
def test_places_of_the_system_are_refused_under_any_root(path: str) -> None:
    assert place(path, "/") is not None
    assert place(path, str(PurePosixPath(path).parent)) is not None


@pytest.mark.parametrize(
    "first_bytes",
    [
        b"-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl",
        b"-----BEGIN RSA PRIVATE KEY-----\r\n",
        b"-----BEGIN PGP PRIVATE KEY BLOCK-----\n",
        b"\xef\xbb\xbf\n  -----BEGIN ENCRYPTED PRIVATE KEY-----",
        b"PuTTY-User-Key-File-3: ssh-ed25519",
        b"AGE-SECRET-KEY-1QQQ",
    ],
)
def test_a_private_key_is_one_under_any_name(first_bytes: bytes) -> None:
    assert maybe_secret_content(first_bytes) is not None


@pytest.mark.parametrize(
    "first_bytes",
    [
        b"",
        b"%PDF-1.7",
        b"-----BEGIN CERTIFICATE-----\n",
        b"How to read -----BEGIN RSA PRIVATE KEY-----",
        b"-----BEGIN NOTES-----\nabout a PRIVATE KEY",
    ],
)
def test_other_content_is_none(first_bytes: bytes) -> None:
    assert maybe_secret_content(first_bytes) is None
