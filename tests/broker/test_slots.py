from __future__ import annotations

import pytest
from hypothesis import given

from broker.errors import UpstreamSchemaDrift
from broker.slots import Slot, as_list, kind_of, texts_inside
from tests.broker.wire_values import json_values


def test_a_missing_index_reads_as_null() -> None:
    slot = Slot(["title"], "rLM1Ne")
    assert slot.maybe_text(7) is None
    assert slot.maybe_list(7) is None
    assert slot.int_or_zero(7) == 0


def test_drift_names_the_rpc_the_path_and_both_types_but_never_the_value() -> None:
    slot = Slot([[None, [["private words"]]]], "rLM1Ne").list_at(0).list_at(1).list_at(0)
    with pytest.raises(UpstreamSchemaDrift) as caught:
        slot.maybe_int(0)
    assert caught.value.rpc_id == "rLM1Ne"
    assert caught.value.path == "$[0][1][0][0]"
    assert "a whole number or null" in caught.value.message
    assert "saw text" in caught.value.message
    assert "private" not in str(caught.value.as_error())


def test_true_is_no_number_and_one_is_no_flag() -> None:
    slot = Slot([True, 1], "x")
    for read in (slot.maybe_int, slot.maybe_number, slot.int_or_zero):
        with pytest.raises(UpstreamSchemaDrift):
            read(0)
    with pytest.raises(UpstreamSchemaDrift):
        slot.maybe_flag(1)


def test_required_values_refuse_null() -> None:
    slot = Slot([None], "x")
    for read in (slot.text, slot.list_at):
        with pytest.raises(UpstreamSchemaDrift):
            read(0)


def test_a_payload_that_is_no_list_is_drift_at_the_root() -> None:
    with pytest.raises(UpstreamSchemaDrift) as caught:
        Slot({"a": 1}, "x")
    assert caught.value.path == "$"


@given(json_values)
def test_readers_return_their_type_or_drift(value: object) -> None:
    slot = Slot([value], "x")
    for read, type_, accepted in (
        (slot.maybe_text, str, {"text"}),
        (slot.maybe_int, int, {"a whole number"}),
        (slot.maybe_number, float, {"a whole number", "a number"}),
        (slot.maybe_flag, bool, {"true or false"}),
        (slot.maybe_list, Slot, {"a list"}),
    ):
        if value is None:
            assert read(0) is None
        elif kind_of(value) in accepted:
            assert isinstance(read(0), type_)
        else:
            with pytest.raises(UpstreamSchemaDrift, match=kind_of(value)):
                read(0)


def test_texts_are_found_at_any_depth_without_recursion() -> None:
    deep: list[object] = ["bottom"]
    for _ in range(100_000):
        deep = [deep]
    assert list(texts_inside(deep)) == ["bottom"]
    while (inner := as_list(deep[0])) is not None:  # taken apart by hand: a deep list overflows the collector
        deep = inner
