"""Whatever stands in a project file, it proposes one well-formed id and one short, printable line, or is ignored for a
reason that is our own text.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator

from broker.allowlist import NOTEBOOK_ID
from broker.project_file import MAX_TITLE_CHARS, Ignored, parse_project_file_untrusted
from fuzz.corpus import case_inputs

REASONS = frozenset(
    {"it is not JSON", "it is not an object", "it has no well-formed notebook_id", "its title is not a text"}
)


def one_input(data: bytes) -> None:
    read = parse_project_file_untrusted(data)
    if isinstance(read, Ignored):
        assert read.reason in REASONS
        return
    assert NOTEBOOK_ID.fullmatch(read.notebook_id)
    assert len(read.title) <= MAX_TITLE_CHARS
    assert len(read.title.splitlines()) <= 1
    assert not any(unicodedata.category(character).startswith("C") for character in read.title)
    read.title.encode()


def seeds() -> Iterator[bytes]:
    for file in case_inputs("C-020*"):
        for case in json.loads(file):
            if "raw" in case:
                yield case["raw"].encode()
            elif "raw_hex" in case:
                yield bytes.fromhex(case["raw_hex"])
    yield b"[" * 100_000  # the recipe that the cases name "deep nesting"
