from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
import trio

from broker.companion import Companion
from broker.errors import AuthRequired
from broker.fake_companion import FakeCompanion, StreamScript, reply_body
from broker.late_companion import LateCompanion

WHEN = {"deadline_s": float("inf"), "traceparent": "00-x"}


class Opener:
    def __init__(self) -> None:
        self.fake = FakeCompanion(streams=[StreamScript(["a", "b"])])
        self.fake.answer("rLM1Ne", reply_body("rLM1Ne", [1]))
        self.error: AuthRequired | None = None
        self.opened = self.closed = 0

    async def __call__(self) -> AbstractAsyncContextManager[Companion]:
        await trio.lowlevel.checkpoint()
        if self.error is not None:
            raise self.error
        return self._open()

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[Companion]:
        self.opened += 1
        try:
            yield self.fake
        finally:
            self.closed += 1


async def test_nothing_is_opened_before_the_first_call_and_then_once():
    opener = Opener()
    async with trio.open_nursery() as nursery:
        companion = LateCompanion(nursery, opener)
        assert opener.opened == 0
        async with trio.open_nursery() as callers:
            for _ in range(5):
                callers.start_soon(lambda: companion.status(**WHEN))  # the nursery awaits it
        assert opener.opened == 1
        assert (await companion.identity(**WHEN)).account == "ada@example.com"
        assert (await companion.rpc("rLM1Ne", [], notebook="nb", **WHEN)).status == 200
        async with companion.stream([], notebook="nb", **WHEN) as chunks:
            assert [piece async for piece in chunks] == ["a", "b"]
        upload = await companion.upload_start(
            notebook="nb", source_id="s", name="a.pdf", size_bytes=3, mime_type="application/pdf", **WHEN
        )
        session = opener.fake.uploads[upload.upload]
        assert (session.source_id, session.name, session.mime_type) == ("s", "a.pdf", "application/pdf")
        of_it = {"notebook": "nb", "upload": upload.upload, **WHEN}
        assert (await companion.upload_slice(offset=0, data=b"abc", **of_it)).next_offset == 3
        assert (await companion.upload_finish(**of_it)).status == "final"
        assert (await companion.upload_query(**of_it)).received_bytes == 3
        assert opener.closed == 0
        nursery.cancel_scope.cancel()
    assert opener.closed == 1


async def test_what_cannot_be_opened_is_tried_again_by_the_next_call():
    """A person may mend the configuration while the session runs."""
    opener = Opener()
    opener.error = AuthRequired("no account is configured")
    async with trio.open_nursery() as nursery:
        companion = LateCompanion(nursery, opener)
        with pytest.raises(AuthRequired):
            await companion.status(**WHEN)
        opener.error = None
        await companion.status(**WHEN)
        assert opener.opened == 1
        nursery.cancel_scope.cancel()
