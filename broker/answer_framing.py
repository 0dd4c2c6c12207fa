"""The outer framing of every answer: ``)]}'`` and then chunks of ``DIGITS LF payload LF`` (wire section 2.2).

DIGITS counts UTF-16 units of the payload and of both line breaks around it: payload + 2 (measured on 299 recorded
chunks, C-054). Some edited public recordings give the bare payload length; both are accepted, nothing else is (C-060).
Pure and incremental: text comes in pieces cut anywhere, complete payload texts come out.
"""

from __future__ import annotations

from typing import Final

from broker.errors import AuthRequired, UpstreamRejected, UpstreamSchemaDrift
from broker.utf16 import utf16_length

PREFIX: Final = ")]}'"
"""Guards against inclusion as a script. Nothing else: an answer without it is read all the same (C-060)."""
MAX_CHUNK_UTF16: Final = 64 * 1024 * 1024
"""No frame of ours can carry more (`native_host.protocol.MAX_BROKER_FRAME_BYTES`)."""


class IncompleteAnswer(UpstreamRejected):
    """The body ended before its closing row: nothing in it is a definite answer (C-058).

    A class of its own because a write whose answer broke off is *unknown*, while other rejections are definite.
    """

    retryable = True
    hint = "The answer was cut on its way. Call again."


class SignInPage(AuthRequired):
    """A web page came where data was expected: the browser was sent to sign in, or to a consent page."""


class ChunkReader:
    """Cuts an answer into its payload texts.

    `feed_untrusted` takes the next piece of text; `end` says that there is no more. Work is linear in the text however
    it is cut: pieces wait unjoined until their line is complete.

    Raises (both): UpstreamSchemaDrift for text that is not framed like this, SignInPage for a web page; `end` also
        IncompleteAnswer when the text stops inside a chunk.
    """

    def __init__(self, rpc_id: str) -> None:
        self._rpc_id = rpc_id
        self._chunk_count = 0
        self._at_start = True
        # Invariant: the joined pieces hold no line feed.
        self._pieces: list[str] = []
        # A payload is open while _declared is not None; it holds raw line breaks only if JSON were pretty-printed.
        self._declared: int | None = None
        self._lines: list[str] = []
        self._lines_utf16 = 0

    def __repr__(self) -> str:
        inside = "between chunks" if self._declared is None else f"inside a chunk of {self._declared}"
        return f"<ChunkReader {self._rpc_id} {self._chunk_count} chunks, {inside}>"

    def feed_untrusted(self, text: str) -> list[str]:
        """Take the next piece; return the payloads it completed."""
        if "\n" not in text:
            self._pieces.append(text)
            return []
        *lines, rest = text.split("\n")
        lines[0] = "".join((*self._pieces, lines[0]))
        self._pieces = [rest] if rest else []
        payloads: list[str] = []
        for line in lines:
            payload = self._take_line(line)
            if payload is not None:
                payloads.append(payload)
        return payloads

    def end(self) -> list[str]:
        """Say that the text is over; return a last payload whose closing line break was trimmed off."""
        rest = "".join(self._pieces)
        self._pieces = []
        cut_prefix = self._at_start and PREFIX.startswith(rest.strip())
        payload = self._take_line(rest) if rest and not cut_prefix else None
        if self._declared is not None:
            raise IncompleteAnswer(
                f"{self._rpc_id}: the answer ended inside chunk {self._chunk_count + 1}: "
                f"{self._lines_utf16} of {self._declared} units had arrived"
            )
        return [] if payload is None else [payload]

    def _take_line(self, line: str) -> str | None:
        if self._declared is not None:
            return self._take_payload_line(line, self._declared)
        digits = line.strip()
        if self._at_start and digits:
            if digits.startswith("<"):
                raise SignInPage(
                    "the service answered with a web page instead of data: the browser is probably signed out"
                )
            self._at_start = False
            digits = digits.removeprefix(PREFIX)
        if not digits:
            return None
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 9 and int(digits) <= MAX_CHUNK_UTF16):
            raise UpstreamSchemaDrift(self._rpc_id, f"chunk[{self._chunk_count}]", "a chunk length", "other text")
        self._declared = int(digits)
        return None

    def _take_payload_line(self, line: str, declared: int) -> str | None:
        # A line feed inside the payload counts as one unit, like any other character.
        line = line.removesuffix("\r")
        self._lines_utf16 += utf16_length(line) + (1 if self._lines else 0)
        self._lines.append(line)
        if declared not in (self._lines_utf16, self._lines_utf16 + 2):
            if self._lines_utf16 > declared:
                raise UpstreamSchemaDrift(
                    self._rpc_id,
                    f"chunk[{self._chunk_count}]",
                    f"{declared} UTF-16 units with both line breaks",
                    f"{self._lines_utf16 + 2}",
                )
            return None
        payload = "\n".join(self._lines)
        self._declared = None
        self._lines = []
        self._lines_utf16 = 0
        self._chunk_count += 1
        return payload
