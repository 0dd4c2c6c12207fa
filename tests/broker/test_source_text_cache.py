from __future__ import annotations

import sys

from hypothesis import given
from hypothesis import strategies as st

from broker.notebooks import Source
from broker.source_text import SourceText
from broker.source_text_cache import SourceTextCache

ONE_SIZE = sys.getsizeof("x" * 1000)


def text(source_id: str, revision: str | None = "r1", size: int = 1000) -> SourceText:
    return SourceText(Source(source_id, "T", "text", 4, "ready", 2, revision=revision), "x" * size)


def test_a_text_is_found_under_its_revision_only() -> None:
    cache = SourceTextCache(10 * ONE_SIZE)
    kept = text("a")
    cache.put(kept)
    assert cache.maybe_get("a", "r1") is kept
    assert cache.maybe_get("a", "r2") is None
    assert cache.maybe_get("b", "r1") is None
    assert cache.maybe_get("a", None) is None


def test_a_text_without_revision_is_not_kept() -> None:
    cache = SourceTextCache(10 * ONE_SIZE)
    cache.put(text("a", None))
    assert repr(cache).startswith("<SourceTextCache 0 texts, 0 of")


def test_the_longest_unused_text_goes_first() -> None:
    cache = SourceTextCache(2 * ONE_SIZE)
    for name in ("a", "b"):
        cache.put(text(name))
    cache.maybe_get("a", "r1")
    cache.put(text("c"))
    assert [cache.maybe_get(name, "r1") is not None for name in "abc"] == [True, False, True]


def test_a_text_larger_than_the_cache_is_not_kept() -> None:
    cache = SourceTextCache(ONE_SIZE)
    cache.put(text("a", size=100_000))
    assert cache.maybe_get("a", "r1") is None


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["r1", "r2"]), st.integers(0, 3000)), max_size=30))
def test_the_size_stated_is_the_size_kept(puts: list[tuple[str, str, int]]) -> None:
    cache = SourceTextCache(3 * ONE_SIZE)
    newest: dict[tuple[str, str], SourceText] = {}
    for name, revision, size in puts:
        newest[name, revision] = text(name, revision, size)
        cache.put(newest[name, revision])
    kept = [found for key in newest if (found := cache.maybe_get(*key)) is not None]
    assert all(found in newest.values() for found in kept)
    size_bytes = sum(sys.getsizeof(found.text) for found in kept)
    assert repr(cache) == f"<SourceTextCache {len(kept)} texts, {size_bytes} of {3 * ONE_SIZE} bytes>"
    assert size_bytes <= 3 * ONE_SIZE
