from __future__ import annotations

from pathlib import Path

import pytest
import trio

from broker.access import Permission
from broker.allowlist import Allowed
from broker.calls import CallContext
from broker.errors import AuthRequired, CompanionOffline
from tests.broker.session_helpers import open_bench

A, B, C = (f"1a2b3c4d-000{n}-4a00-8b00-00000000000a" for n in (1, 2, 3))


def context() -> CallContext:
    return CallContext.starting_now(10, "00-x")


def test_both_sides_must_allow():
    permission = Permission(Allowed(frozenset({A, B})), Allowed(frozenset({B, C})))
    assert permission.effective == Allowed(frozenset({B}))
    assert permission.denied_by_extension == {A}


async def test_the_account_is_asked_for_once_even_by_calls_at_the_same_time(tmp_path: Path):
    async with open_bench(tmp_path) as bench:
        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(bench.access.check_account, context())
        assert bench.browser.calls == ["identity"]
        assert repr(bench.access) == "<Access account checked>"


async def test_a_failed_check_is_made_again(tmp_path: Path):
    async with open_bench(tmp_path) as bench:
        bench.browser.error = AuthRequired("signed out")
        with pytest.raises(AuthRequired):
            await bench.access.check_account(context())
        bench.browser.error = None
        await bench.access.check_account(context())
        assert bench.browser.calls == ["identity", "identity"]


async def test_addresses_are_compared_without_case(tmp_path: Path):
    async with open_bench(tmp_path) as bench:
        bench.browser.account = "Ada@Example.com"
        await bench.access.check_account(context())


@pytest.mark.parametrize("copy", ["all", [5], {"x": 1}, None])
async def test_an_extension_that_states_its_copy_in_another_form_allows_nothing(tmp_path: Path, copy: object):
    async with open_bench(tmp_path) as bench:
        bench.browser.notebooks = copy
        with pytest.raises(CompanionOffline, match="allowlist"):
            await bench.access.permission(context())
