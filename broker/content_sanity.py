"""Is a ready web page the page that was meant? A warning for dead links, soft 404s and empty pages. Pure.

Such pages are answered with status 200 and become ready sources with next to no text. Rules and wording are those that
other clients of the service have proven: the text alone is looked at, never the title, and only a short one is searched
for phrases, so that an article about broken links is not taken for one.
"""

from __future__ import annotations

from typing import Final

from broker.notebooks import Source

THIN_BELOW_CHARS: Final = 100
SEARCHED_BELOW_CHARS: Final = 2000
PHRASES: Final = (
    "broken link",
    "page not found",
    "page isn't available",
    "page does not exist",
    "page no longer available",
    "no longer available",
    "error 404",
    "404 not found",
    "whoops!",
)


def warning_for(source: Source, text: str) -> str | None:
    """Return a warning about the indexed text of a ready source, or None. Sources other than web pages have none."""
    if source.kind != "web_page" or source.state != "ready":
        return None
    if len(text) < THIN_BELOW_CHARS:
        problem = f"little/no text extracted ({len(text)} chars): the page may be empty, dead or behind a paywall"
    elif len(text) < SEARCHED_BELOW_CHARS and (phrase := _maybe_phrase(text)) is not None:
        problem = (
            f"ingested as ready ({len(text)} chars) but the body matches a dead-link / error-page pattern ({phrase!r})"
        )
    else:
        return None
    return f'{problem}; verify with query_notebook and source_ids ["{source.id}"].'


def _maybe_phrase(text: str) -> str | None:
    folded = text.casefold().replace("\u2019", "'")  # pages write the typographic apostrophe
    return next((phrase for phrase in PHRASES if phrase in folded), None)
