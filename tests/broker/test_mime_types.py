"""C-088 and C-089: which type a file is uploaded under."""

from __future__ import annotations

import json
import mimetypes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.errors import InvalidArgument
from broker.mime_types import BY_ENDING, HTML_ENDINGS, is_mime_type, mime_type_for
from tests.shared import case_input


@pytest.mark.parametrize(
    ("name", "mime_type"),
    [
        ("x.md", "text/markdown"),
        ("x.PDF", "application/pdf"),
        ("x.heic", "image/heic"),
        ("x.m4a", "audio/mp4"),
        ("x.opus", "audio/ogg"),
        ("x.epub", "application/epub+zip"),
        ("/a.pdf/b.c/x.tar.Txt", "text/plain"),
    ],
)
def test_c088_the_ending_gives_the_type_whatever_its_case(name: str, mime_type: str) -> None:
    assert mime_type_for(name, None) == mime_type


def test_c088_the_table_does_not_depend_on_files_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mimetypes, "knownfiles", [])
    monkeypatch.setattr(mimetypes, "guess_type", None)
    assert mime_type_for("x.md", None) == "text/markdown"


@pytest.mark.parametrize(
    "name", ["x", "/folder.pdf/x", ".pdf", "x.", "x.pdf ", "x.unknown", "no extension", "archive.zip"]
)
def test_c088_an_unknown_ending_needs_a_type(name: str) -> None:
    with pytest.raises(InvalidArgument, match=r"source\.file_path") as caught:
        mime_type_for(name, None)
    assert "source.mime_type" in caught.value.hint
    assert caught.value.started is False
    assert mime_type_for(name, "text/plain") == "text/plain"


@pytest.mark.parametrize(
    ("name", "explicit", "mime_type"),
    [
        ("x.pdf", "text/plain", "text/plain"),
        ("x.md", "Application/PDF", "application/pdf"),
        ("x", "application/vnd.foo+xml", "application/vnd.foo+xml"),
        ("x.bin", "image/svg+xml", "image/svg+xml"),
    ],
)
def test_c088_a_well_formed_explicit_type_wins(name: str, explicit: str, mime_type: str) -> None:
    assert mime_type_for(name, explicit) == mime_type


@pytest.mark.parametrize(
    "explicit",
    [
        "not a type",
        "",
        "pdf",
        "text/",
        "/plain",
        "text/plain/more",
        "text/plain; charset=utf-8",
        " text/plain",
        "text/plain\n",
        "text/plain\r\nx-goog-upload-command: cancel",
        "text/pläin",
        "*/*",
        "a" * 128 + "/b",
    ],
)
def test_c088_a_malformed_type_is_refused(explicit: str) -> None:
    with pytest.raises(InvalidArgument, match=r"source\.mime_type") as caught:
        mime_type_for("x.pdf", explicit)
    assert caught.value.started is False


@pytest.mark.parametrize(
    ("name", "explicit"),
    [
        ("page.html", None),
        ("PAGE.HTM", None),
        ("x.xhtml", None),
        ("x.txt", "text/html"),
        ("x.txt", "TEXT/HTML"),
        ("x", "application/xhtml+xml"),
        ("x.html", "text/html"),
    ],
)
def test_c089_html_is_refused_before_registration_with_advice(name: str, explicit: str | None) -> None:
    with pytest.raises(InvalidArgument, match="HTML") as caught:
        mime_type_for(name, explicit)
    assert "url" in caught.value.hint
    assert "convert" in caught.value.hint
    assert caught.value.started is False


def test_c089_html_under_another_type_is_sent_under_it() -> None:
    """Our documented choice."""
    assert mime_type_for("x.html", "text/plain") == "text/plain"


def test_c085_every_name_of_the_field_has_a_type_or_says_that_it_needs_one() -> None:
    names: list[str] = json.loads(case_input("C-085-names.json").read_text(encoding="utf-8"))
    without = []
    for name in names:
        try:
            assert mime_type_for(name, None) in BY_ENDING.values()
        except InvalidArgument:
            without.append(name)
    assert without == ["no extension"]


def test_the_table_is_well_formed() -> None:
    assert all(ending == ending.lower() and ending.startswith(".") for ending in BY_ENDING)
    assert all(is_mime_type(mime_type) and mime_type == mime_type.lower() for mime_type in BY_ENDING.values())
    assert not HTML_ENDINGS & BY_ENDING.keys()


@given(name=st.text(), explicit=st.one_of(st.none(), st.text()))
def test_any_name_gives_a_plain_type_or_a_refusal(name: str, explicit: str | None) -> None:
    try:
        mime_type = mime_type_for(name, explicit)
    except InvalidArgument:
        return
    assert is_mime_type(mime_type)
    assert mime_type == mime_type.lower()
