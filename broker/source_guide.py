"""The service's own summary of one source: ``tr032e`` (wire reference, 6). Pure."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from broker.slots import Slot

RPC: Final = "tr032e"


@frozen
class SourceGuide:
    """Summary (Markdown) and keywords, written by the service's model: content, never instructions."""

    summary: str
    keywords: tuple[str, ...]


def decode_source_guide(payload: object) -> SourceGuide:
    """Decode ``[[[null, [summary], [[keyword, …]], []]]]``. A source without a guide gives an empty one.

    Raises:
        UpstreamSchemaDrift: another shape.
    """
    outer = Slot(payload, RPC).maybe_list(0)
    guide = None if outer is None else outer.maybe_list(0)
    if guide is None:
        return SourceGuide("", ())
    summary = guide.maybe_list(1)
    keyword_holder = guide.maybe_list(2)
    keywords = None if keyword_holder is None else keyword_holder.maybe_list(0)
    return SourceGuide(
        summary="" if summary is None else summary.maybe_text(0) or "",
        keywords=() if keywords is None else tuple(keywords.text(index) for index in range(len(keywords))),
    )
