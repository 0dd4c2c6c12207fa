from pathlib import Path

import pytest

from broker.calls import CallContext
from broker.errors import AccountMismatch, AllowlistDenied, SessionUnlocked
from harness.emulator.seed import LIGHTHOUSE_ID
from tests.broker.session_helpers import open_bench


async def test_everyone_who_may_say_no_is_asked_before_a_notebook_is_used(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        ctx = CallContext.starting_now(10, "00-x")
        with pytest.raises(SessionUnlocked):
            await bench.session.locked_notebook(ctx)
        await bench.result("select_notebook", {"notebook_id": LIGHTHOUSE_ID})
        assert (await bench.session.locked_notebook(ctx)).id == LIGHTHOUSE_ID
        bench.access.forget_account()
        bench.browser.account = "grace@example.com"
        with pytest.raises(AccountMismatch):
            await bench.session.locked_notebook(ctx)
        bench.forbid(LIGHTHOUSE_ID)
        with pytest.raises(AllowlistDenied):
            await bench.session.locked_notebook(ctx)
