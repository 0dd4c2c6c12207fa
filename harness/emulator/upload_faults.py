"""Faults of the upload endpoint that no other request has. Part of the table in ``faults``."""

from __future__ import annotations

from typing import Final

import attrs
from attrs import field, frozen

from harness.emulator.fault_checks import integer, number_or_text, one_of, text

UPLOAD_ID_PLACE: Final = "{upload_id}"


@frozen(kw_only=True)
class UploadUrl:
    """The session address in the answer to a start (case C-087); null leaves both headers out.

    ``{upload_id}`` in it becomes the real one, so that an address on another host can still be a good one.
    """

    url: str | None = field(validator=attrs.validators.optional(text))


@frozen(kw_only=True)
class Granularity:
    """The chunk granularity that a start announces (case C-082); null leaves the header out.

    A positive number is also enforced; with anything else 262144 stays in force.
    """

    value: str | None = field(validator=attrs.validators.optional(text))


@frozen(kw_only=True)
class QueryAnswer:
    """What a query says (case C-083), header by header; null leaves one out.

    A whole ``size_received`` is made true as far as it can be: less than there is loses the rest, more than there is
    (up to the file's size) counts as received, but then nobody knows the hash. ``status`` is made true as well.
    """

    status: str | None = field(default="active", validator=attrs.validators.optional(text))
    size_received: int | str | None = field(default=None, validator=attrs.validators.optional(number_or_text))
    http_status: int = field(default=200, validator=integer(200, 599))


@frozen(kw_only=True)
class CutRequest:
    """The connection ends without an answer, and only ``keep_bytes`` of the body (null: all of it) have arrived.

    Cut so, a finalize has not finalised anything. ``stall`` goes silent instead of ending.
    """

    keep_bytes: int | None = field(default=None, validator=attrs.validators.optional(integer(0, 1 << 40)))
    stall: bool = field(default=False, validator=one_of(True, False))
