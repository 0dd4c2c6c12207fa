"""C-077 and the addresses that are not added."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.errors import InvalidArgument
from broker.web_address import WebAddress, check_url
from tests.shared import case_input

VIDEO = "abcdefghijk"


def is_video(url: str) -> bool:
    return check_url(url, allow_private=False).is_video


def refusal(url: str, *, allow_private: bool = False) -> InvalidArgument:
    with pytest.raises(InvalidArgument, match=r"^source\.url ") as caught:
        check_url(url, allow_private=allow_private)
    assert caught.value.started is False
    assert caught.value.hint
    return caught.value


def test_c077_videos_are_told_from_pages_by_host_and_path_and_passed_on_unchanged() -> None:
    cases = json.loads(case_input("C-077-youtube.json").read_text(encoding="utf-8"))
    assert len(cases) >= 12
    for case in cases:
        assert check_url(case["url"], allow_private=False) == WebAddress(case["url"], case["slot"] == "video")


@pytest.mark.parametrize(
    "url",
    [
        f"http://youtu.be/{VIDEO}",
        f"https://youtu.be/{VIDEO}/",
        f"https://youtu.be:443/{VIDEO}#t=5",
        f"https://youtube.com./watch?v={VIDEO}",
        f"https://youtube.com/watch?feature=share&v={VIDEO}&list=PL1",
        f"https://music.youtube.com/watch?v={VIDEO}",
        f"https://www.youtube-nocookie.com/embed/{VIDEO}?start=3",
        f"https://www.youtube.com/v/{VIDEO}",
        f"https://www.youtube.com/shorts/{VIDEO}/",
    ],
)
def test_c077_other_forms_of_one_video_are_videos(url: str) -> None:
    assert is_video(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://youtu.be/",
        "https://youtu.be/short",
        f"https://youtu.be/{VIDEO}/more",
        f"https://youtu.be:8443/{VIDEO}",
        "https://www.youtube.com/",
        "https://www.youtube.com/watch",
        "https://www.youtube.com/watch?v=",
        f"https://www.youtube.com/watch?V={VIDEO}",
        f"https://www.youtube.com/watch#v={VIDEO}",
        f"https://www.youtube.com/results?v={VIDEO}",
        f"https://www.youtube.com/redirect?q=https://youtu.be/{VIDEO}",
        "https://www.youtube.com/embed/videoseries?list=PL1",
        "https://www.youtube.com/embed/live_stream?channel=UC1",
        f"https://studio.youtube.com/watch?v={VIDEO}",
        f"https://youtu.be.example/{VIDEO}",
        f"https://example.com/youtu.be/{VIDEO}",
    ],
)
def test_c077_what_is_not_one_video_is_a_page(url: str) -> None:
    assert not is_video(url)


@pytest.mark.parametrize("around", [" {} ", "\n{}\n", "\t{}\r\n", "\x00{}\x1f"])
def test_blanks_and_control_characters_at_the_ends_are_cut_off(around: str) -> None:
    url = "https://example.com/a?b=c d".replace(" ", "%20")
    assert check_url(around.format(url), allow_private=False).url == url


@pytest.mark.parametrize(
    "url",
    [
        "https://bücher.example/straße?q=ü#é",
        "https://xn--bcher-kva.example/",
        "HTTP://EXAMPLE.com:8080/%7Euser/../x?y=[1]|{2}&z=\\",
        "https://example.com",
        "https://example.com?u=http://127.0.0.1/",
        "https://example.com/http://user:pass@localhost/",
        "https://[2606:4700:4700::1111]:443/",
    ],
)
def test_an_address_is_passed_on_as_it_is(url: str) -> None:
    assert check_url(url, allow_private=False) == WebAddress(url, is_video=False)


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("example.com", "does not begin with http:// or https://"),
        ("//example.com/", "does not begin with"),
        ("ftp://example.com/", "begins with ftp:"),
        ("file:///etc/passwd", "begins with file:"),
        ("javascript:alert(1)", "begins with javascript:"),
        ("data:text/html,x", "begins with data:"),
        ("view-source:https://example.com", "begins with view-source:"),
        ("http:127.0.0.1", "has no // after http:"),
        ("https:/example.com", "has no // after https:"),
        ("http:\\\\example.com", "has no // after http:"),
        ("https://", "no host"),
        ("https:///example.com", "no host"),
        ("https://:80/", "no host"),
        ("https://::1/", "no host"),
        ("https://[::1]x/", "no host"),
        ("https://exa mple.com/", r"U\+0020"),
        ("https://example.com/a b", r"U\+0020"),
        ("https://exam\tple.com/", r"U\+0009"),
        ("https://example.com/\r\nx", r"U\+000D"),
        ("https://example.com/\x85", r"U\+0085"),
        ("https://example.com/\u2028", r"U\+2028"),
        ("https://example.com/\ud800", "surrogate"),
        ("https://example.com\\@127.0.0.1/", "backslash"),
        ("https://example.com/a\\b", "backslash"),
        ("https://example.com:0/", "port 0"),
        ("https://example.com:65536/", "port 65536"),
        ("https://example.com:000000080/", "port"),
        ("https://example.com:x/", "no host"),
        ("https://example.com:80:90/", "no host"),
        ("https://%31%32%37.0.0.1/", "'%' in its host"),
        ("https://％31.example/", "in its host"),
        ("https://a<b.example/", "'<' in its host"),
        ("https://evil\u3000.example/", "in its host"),
        ("https://example.com\uff0f.evil.example/", "'/' in its host"),
        ("https://example.com\uff1a80/", "':' in its host"),
        ("https://a\uff20b.example/", "'@' in its host"),
        ("https://[fe80::1%25eth0]/", "'%' in its host"),
        ("https://1.2.3.4.5/", "no IPv4 address"),
        ("https://a..example/", "empty part"),
    ],
)
@pytest.mark.parametrize("allow_private", [False, True])
def test_what_is_no_plain_web_address_is_refused_with_what_is_wrong(url: str, named: str, allow_private: bool) -> None:
    with pytest.raises(InvalidArgument, match=named):
        raise refusal(url, allow_private=allow_private)


@pytest.mark.parametrize(
    "url", ["https://ada:hunter2@example.com/", "http://hunter2@127.0.0.1/", "https://@example.com/"]
)
def test_a_user_name_or_password_is_refused_and_never_repeated(url: str) -> None:
    error = refusal(url, allow_private=True)
    assert "user name or password" in error.message
    assert "hunter2" not in json.dumps(error.as_error())


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1:8080",
        "0x7f.1",
        "2130706433",
        "[::1]",
        "[::ffff:10.0.0.1]",
        "localhost",
        "nas.local.",
        "wiki",
    ],
)
def test_private_hosts_are_refused_unless_the_person_allows_them(host: str) -> None:
    url = f"http://{host}/admin"
    error = refusal(url)
    assert "allow_private_urls = true" in error.hint
    assert check_url(url, allow_private=True) == WebAddress(url, is_video=False)


def test_a_very_long_host_does_not_fill_the_message() -> None:
    assert len(refusal(f"https://{'a' * 5000}/").message) < 300


@given(
    scheme=st.sampled_from(["http", "https", "HtTpS"]),
    name=st.from_regex(r"[a-z]{3,12}\.(example|com|de)", fullmatch=True),
    rest=st.text(
        st.characters(blacklist_categories=("Cc", "Cs", "Zs", "Zl", "Zp"), blacklist_characters="\\?#"), max_size=40
    ),
    tail=st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=40),
)
def test_any_public_address_comes_out_as_it_went_in(scheme: str, name: str, rest: str, tail: str) -> None:
    url = f"{scheme}://{name}/{rest}?{tail}"
    assert check_url(f" {url}\n", allow_private=False).url == url


@given(
    url=st.one_of(st.text(), st.text().map(lambda text: f"https://{text}"), st.text().map(lambda t: f"http://{t}.com/"))
)
def test_any_text_is_an_address_or_refused(url: str) -> None:
    try:
        address = check_url(url, allow_private=False)
    except InvalidArgument:
        return
    assert address.url in url
