"""docs/guarantees.md is true: every item of the owner's list has its row, and what a row names is there.

That each named test runs, and fails without its guard, is what `make guard-check` proves.
"""

from __future__ import annotations

import re

import pytest

from tests.guards.guarantees import BEGIN, PAGE, REQUIRED, ROOT, Guarantee, load, table

GUARANTEES = load()


def test_every_item_of_the_owners_list_is_guarded_or_said_to_be_missing() -> None:
    items = {each.item for each in GUARANTEES.guarantee} | GUARANTEES.not_built.keys()
    assert set(REQUIRED) - items == set()


def test_the_page_is_what_the_file_makes() -> None:
    _, begin, made = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    assert begin + made == table(GUARANTEES), "run: python -m tests.guards --table"


@pytest.mark.parametrize("guarantee", GUARANTEES.guarantee, ids=lambda each: f"{each.item}-{each.module}")
def test_the_change_fits_the_source_once_and_the_test_exists(guarantee: Guarantee) -> None:
    source = (ROOT / guarantee.module).read_text(encoding="utf-8")
    assert source.count(guarantee.old) == 1
    assert guarantee.old != guarantee.new
    text = (ROOT / guarantee.test_file).read_text(encoding="utf-8")
    name = re.escape(guarantee.test_name)
    wanted = rf'^test\("{name}"' if guarantee.is_node else rf"^(?:async )?def {name}\("
    assert not name or re.search(wanted, text, re.MULTILINE), guarantee.test


@pytest.mark.parametrize("guarantee", GUARANTEES.guarantee, ids=lambda each: f"{each.item}-{each.module}")
def test_a_row_stays_one_row(guarantee: Guarantee) -> None:
    assert "|" not in guarantee.promise + guarantee.test
    assert guarantee.promise.endswith(".")
