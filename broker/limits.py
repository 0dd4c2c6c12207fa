"""Times and sizes of the broker in one place, each with its reason. Pure data.

Limits that both ends of a socket must agree on stand in `native_host.protocol` instead.
"""

from __future__ import annotations

from typing import Final

STREAM_IDLE_S: Final = 240.0
"""Longest silence inside an answer stream; each piece that arrives starts it anew. Our own ceiling: Chrome was measured
not to stop a worker even after 320 s, so nobody else would end a stalled stream (design, "Decisions", M-03)."""

STREAM_TAIL_S: Final = 5.0
"""How long the rest of a stream is awaited when its answer, or its failure, is already known. The service closes a
finished stream within a second (recorded: 0.2 s)."""

GROUNDING_S: Final = 30.0
"""Time for reading the cited sources' texts after the answer came; what is not read by then has no source span."""

SOURCE_TEXTS_AT_ONCE: Final = 4
"""Source texts read at the same time for one answer; the page shares its connections with the person's own tab."""

SOURCE_TEXT_CACHE_BYTES: Final = 8 * 1024 * 1024
"""Texts kept per process. The largest recorded source text takes 17 kB; a 500,000-word source about 3 MB."""
