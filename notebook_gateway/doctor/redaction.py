"""Text that strangers may read: no address, no id of a notebook, no path of the person's, nothing like a secret. Pure.

The same thing gets the same stand-in throughout one archive, so that a reader can still follow it from file to file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, cast

from broker.scrubber import scrub_text

_ADDRESS: Final = re.compile(r"[A-Za-z0-9._%+*-]+(?:@|%40)[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")
_ID: Final = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")


class Redactor:
    """Replaces what is private. `folders` are replaced by name, the longest first: ``{"/home/ada": "~"}``."""

    def __init__(self, folders: Mapping[Path, str], words: Mapping[str, str] | None = None) -> None:
        self._folders = sorted(((str(path), name) for path, name in folders.items()), key=lambda row: -len(row[0]))
        self._words = dict(words or {})
        self._stand_ins: dict[str, str] = {}

    def text(self, text: str) -> str:
        """Return `text` without what is private."""
        text = scrub_text(text)
        for path, name in self._folders:
            text = text.replace(path, name)
        text = _ADDRESS.sub(lambda found: self._stand_in("address", found[0].replace("%40", "@").lower()), text)
        text = _ID.sub(lambda found: self._stand_in("id", found[0]), text)
        for word, name in self._words.items():
            text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", name, text)
        return text

    def json(self, value: object) -> object:
        """Return a JSON value with every text in it, names too, made public."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            pairs = cast("dict[object, object]", value).items()
            return {self.text(str(name)): self.json(each) for name, each in pairs}
        if isinstance(value, list | tuple):
            return [self.json(each) for each in cast("Sequence[object]", value)]
        return value

    def _stand_in(self, what: str, private: str) -> str:
        if private not in self._stand_ins:
            number = sum(each.startswith(f"<{what}-") for each in self._stand_ins.values()) + 1
            self._stand_ins[private] = f"<{what}-{number}>"
        return self._stand_ins[private]
