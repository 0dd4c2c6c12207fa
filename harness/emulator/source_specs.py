"""What a source may be made from, as ``izAoDd`` says it: both recorded generations of each form (wire reference §6).

| kind    | January                              | now                                   |
|---------|--------------------------------------|---------------------------------------|
| text    | ``[null,[title,text],null*6]``       | ``[null,[title,text],null,2,null*6,1]`` |
| page    | ``[null,null,[url],null*5]``         | ``[null,null,[url],null*7,1]``        |
| video   |                                      | ``[null*7,[url],null,null,1]``        |
| Drive   | ``[[id,mime,1,title],null*9,1]``     | the same                              |

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from attrs import frozen

from harness.emulator.params import (
    CLIENT_BLOCK,
    INVALID_ARGUMENT,
    OPTIONS_NEW,
    OPTIONS_OLD,
    Denied,
    any_text,
    expect,
    only_text,
    text,
)
from harness.emulator.wire_json import Json

TAIL_OLD: Final[list[Json]] = [OPTIONS_OLD, None, None]
TAIL_NEW: Final[list[Json]] = [OPTIONS_NEW]
TAIL_CLIENT: Final[list[Json]] = [OPTIONS_OLD, CLIENT_BLOCK]
"""Of Drive documents, and of registered files in January."""
_OLD_LENGTH: Final = 8
_NEW_LENGTH: Final = 11


@frozen
class TextSpec:
    title: str
    text: str


@frozen
class PageSpec:
    url: str


@frozen
class VideoSpec:
    url: str


@frozen
class DriveSpec:
    """The given title is sent, and ignored: the service takes the file's own name."""

    file_id: str
    mime_type: str
    title: str


Spec: TypeAlias = TextSpec | PageSpec | VideoSpec | DriveSpec


def read_spec(value: Json, tail: list[Json]) -> Spec:
    """Read one spec; its form has to fit the ``tail`` that follows the notebook id.

    Raises:
        Denied: 3, it is none of the forms in the table.
    """
    if not isinstance(value, list):
        raise Denied(INVALID_ARGUMENT)
    filled = {index: slot for index, slot in enumerate(value) if slot is not None}
    match filled:
        case {1: [title, body], **rest} if _is_form(value, rest, {3: 2}, tail):
            return TextSpec(any_text(title), text(body))
        case {2: url, **rest} if _is_form(value, rest, {}, tail):
            return PageSpec(only_text(url))
        case {7: url, **rest} if len(value) == _NEW_LENGTH and _is_form(value, rest, {}, tail):
            return VideoSpec(only_text(url))
        case {0: [file_id, mime_type, 1, title], 10: 1, **rest}:
            expect(not rest and len(value) == _NEW_LENGTH and tail == TAIL_CLIENT)
            return DriveSpec(text(file_id), text(mime_type), any_text(title))
        case _:
            raise Denied(INVALID_ARGUMENT)


def _is_form(value: list[Json], rest: Mapping[int, Json], marks: Mapping[int, Json], tail: list[Json]) -> bool:
    """Tell whether the other slots, the length and the tail belong together."""
    if tail == TAIL_OLD:
        return len(value) == _OLD_LENGTH and not rest
    return tail == TAIL_NEW and len(value) == _NEW_LENGTH and rest == {**marks, 10: 1}
