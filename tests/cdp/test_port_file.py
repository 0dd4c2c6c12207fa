"""DevToolsActivePort: half of it is told from the whole (case C-093)."""

import json

from hypothesis import given
from hypothesis import strategies as st

from cdp.port_file import maybe_cdp_url
from tests.shared import case_input

WHOLE = "9222\n/devtools/browser/11111111-1111-4111-8111-111111111111"


def test_c093_the_whole_file_gives_the_browser_endpoint():
    expected = "ws://127.0.0.1:9222/devtools/browser/11111111-1111-4111-8111-111111111111"
    assert maybe_cdp_url(WHOLE) == expected
    assert maybe_cdp_url(WHOLE + "\n") == expected


def test_c093_every_prefix_of_the_file_is_read_again():
    assert [maybe_cdp_url(WHOLE[:length]) for length in range(len(WHOLE))] == [None] * len(WHOLE)


def test_c093_of_the_field_contents_only_the_well_formed_one_names_a_port():
    contents = json.loads(case_input("C-093-devtools-port-files.json").read_text())
    assert [content for content in contents if maybe_cdp_url(content)] == [WHOLE]


@given(st.text(max_size=80))
def test_no_text_makes_it_fail(text):
    url = maybe_cdp_url(text)
    assert url is None or url.startswith("ws://127.0.0.1:")
