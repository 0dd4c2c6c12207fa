"""Source texts by revision, bounded by size. Pure."""

from __future__ import annotations

import sys
from collections import OrderedDict

from broker.source_text import SourceText


class SourceTextCache:
    """Keeps the most recently used texts, `max_bytes` of them at most.

    A revision names content, so a text under its revision never goes stale; a text too large to keep is not kept.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._texts: OrderedDict[tuple[str, str], SourceText] = OrderedDict()
        # Invariant: _size_bytes == sum of the sizes of all kept texts <= _max_bytes.
        self._size_bytes = 0

    def __repr__(self) -> str:
        return f"<SourceTextCache {len(self._texts)} texts, {self._size_bytes} of {self._max_bytes} bytes>"

    def maybe_get(self, source_id: str, revision: str | None) -> SourceText | None:
        """Return the text of that revision, if it is kept. Without a revision nothing can be known."""
        if revision is None:
            return None
        text = self._texts.get((source_id, revision))
        if text is not None:
            self._texts.move_to_end((source_id, revision))
        return text

    def put(self, text: SourceText) -> None:
        """Keep a text under the revision it states."""
        if text.source.revision is None:
            return
        key = (text.source.id, text.source.revision)
        replaced = self._texts.pop(key, None)
        self._size_bytes += _size_bytes(text) - (0 if replaced is None else _size_bytes(replaced))
        self._texts[key] = text
        while self._size_bytes > self._max_bytes:
            _, oldest = self._texts.popitem(last=False)
            self._size_bytes -= _size_bytes(oldest)


def _size_bytes(text: SourceText) -> int:
    return sys.getsizeof(text.text)
