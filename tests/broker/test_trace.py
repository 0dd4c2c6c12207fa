import re

import pytest

from broker.trace import continue_or_begin_trace

VALID = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
FORM = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


@pytest.mark.parametrize("incoming", [VALID, VALID.replace("-01", "-00"), "cc" + VALID[2:], "01" + VALID[2:] + "-more"])
def test_a_valid_trace_is_continued_in_a_span_of_our_own(incoming: str):
    ours = continue_or_begin_trace(incoming)
    assert FORM.fullmatch(ours)
    assert ours.split("-")[1] == incoming.split("-")[1]
    assert ours.split("-")[2] != incoming.split("-")[2]
    assert ours.split("-")[3] == incoming.split("-")[3]


@pytest.mark.parametrize(
    "incoming",
    [
        None,
        7,
        "",
        "nonsense",
        VALID.upper(),
        "ff" + VALID[2:],
        VALID + "-more",
        VALID + "\n",
        "00-" + "0" * 32 + "-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-" + "0" * 16 + "-01",
    ],
)
def test_anything_else_begins_a_new_trace(incoming: object):
    """W3C trace context, 3.2.2: an invalid header is ignored."""
    ours = continue_or_begin_trace(incoming)
    assert FORM.fullmatch(ours)
    assert "4bf92f3577b34da6a3ce929d0e0e4736" not in ours
