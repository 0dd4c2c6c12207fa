"""Coming up, going down, certificates, and what the object says about itself."""

import base64
import hashlib
import ssl
import stat
import time
from contextlib import aclosing
from pathlib import Path

import h11
import pytest
import trio
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from harness.emulator import DEFAULT_ALLOWED, DEMO_NOTEBOOK_ID, HOSTS, Emulator, serve
from harness.emulator.model import Account, Notebook
from harness.emulator.seed import LIGHTHOUSE_ID, World
from tests.harness.client import OPTIONS, Browser, Control, Page, connect, exchange, question_params

SHUTDOWN_S = 2.0


async def test_the_emulator_comes_up_and_goes_down_quickly() -> None:
    start = time.monotonic()
    async with serve() as emulator:
        up = time.monotonic()
        ca_file = emulator.ca_file
        assert (emulator.url, emulator.address) == (f"https://127.0.0.1:{emulator.port}", f"127.0.0.1:{emulator.port}")
        assert emulator.default_account == "ada@example.com"
        assert emulator.hosts == HOSTS
        down = time.monotonic()
    assert up - start < 1.5  # 0.1 s on an idle machine
    assert time.monotonic() - down < 1.5
    assert not ca_file.exists()


async def test_two_emulators_live_side_by_side_with_states_of_their_own() -> None:
    async with serve() as one, serve() as other:
        assert len({one.port, other.port, one.control_url, other.control_url}) == 4
        assert one.control_token != other.control_token
        await Control(one).change(titles={LIGHTHOUSE_ID: "Changed"})
        page = await Browser.signed_in(other).open()
        (row,) = await page.result("rLM1Ne", [LIGHTHOUSE_ID, None, OPTIONS, None, 0])
        assert row[0] != "Changed"


async def test_another_world_can_be_served(tmp_path: Path) -> None:
    account = Account("solo@example.com", "1" * 21)
    notebook = Notebook("1a9e7e00-0009-4a00-8b00-000000000009", "Only", "", account.email, (1, 0), (2, 0))
    async with serve(folder=tmp_path, make_world=lambda: World([account], [notebook])) as emulator:
        page = await Browser.signed_in(emulator, (0,)).open()
        assert page.data["oPEP7c"] == "solo@example.com"
        assert [row[0] for row in (await page.result("wXbhsf", [None, 1, None, OPTIONS]))[0]] == ["Only"]
    assert (tmp_path / "ca.pem").exists()  # a folder that was given is the caller's


@pytest.mark.parametrize("host", HOSTS)
async def test_the_certificate_is_good_for_every_host_and_has_the_announced_pin(emulator: Emulator, host: str) -> None:
    async with await connect(emulator, host) as stream:
        await stream.do_handshake()
        certificate = stream.getpeercert(binary_form=True)
    key = x509.load_der_x509_certificate(certificate).public_key()
    digest = hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()
    assert base64.b64encode(digest).decode() == emulator.spki_sha256_b64


async def test_the_certificate_is_bad_for_any_other_host(emulator: Emulator) -> None:
    with pytest.raises(trio.BrokenResourceError) as caught:
        async with await connect(emulator, "www.google.com") as stream:
            await stream.do_handshake()
    assert isinstance(caught.value.__cause__, ssl.SSLCertVerificationError)


async def test_the_private_key_is_for_this_user_only(emulator: Emulator) -> None:
    mode = emulator.certificates.key_file.stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


async def test_cookies_are_what_storage_set_cookies_takes(emulator: Emulator) -> None:
    (cookie,) = emulator.cookies_for([1])
    assert {key: cookie[key] for key in ("domain", "path", "secure", "httpOnly")} == {
        "domain": ".google.com",
        "path": "/",
        "secure": True,
        "httpOnly": True,
    }
    assert str(cookie["value"]) in emulator.secrets()


async def test_cookies_decide_who_is_signed_in_and_in_which_order(emulator: Emulator) -> None:
    assert (await Browser.signed_in(emulator, (1, 0)).open()).data["oPEP7c"] == "grace@example.com"
    assert (await Browser.signed_in(emulator, (1,)).open("?authuser=1")).data["oPEP7c"] == "grace@example.com"


def test_the_demo_notebook_is_allowed_by_default() -> None:
    assert DEMO_NOTEBOOK_ID in DEFAULT_ALLOWED


async def test_open_answers_do_not_hold_up_the_end() -> None:
    """A delayed call, a stalled body and a slow stream are all open when the end comes."""
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            async with serve() as emulator:
                page = await Browser.signed_in(emulator).open()
                control = Control(emulator)
                await control.fault("wXbhsf", "delay", delay_ms=3_600_000)
                await control.fault("rLM1Ne", "disconnect", bytes=10, stall=True)
                nursery.start_soon(_abandoned, page, "wXbhsf", [None, 1, None, OPTIONS])
                nursery.start_soon(_abandoned, page, "rLM1Ne", [LIGHTHOUSE_ID, None, OPTIONS, None, 0])
                while len(await control.requests()) < 3:
                    await trio.lowlevel.checkpoint()
                start = time.monotonic()
            assert time.monotonic() - start < SHUTDOWN_S


async def _abandoned(page: Page, rpc_id: str, params: list[object]) -> None:
    """Make a call whose server goes away under it: no response at all, or one without its end."""
    try:
        reply = await page.call(rpc_id, params)
    except h11.RemoteProtocolError:
        return
    assert not reply.complete


async def test_c064_a_stalled_body_stays_open_until_the_client_leaves(page: Page, emulator: Emulator) -> None:
    await Control(emulator).fault("stream", "disconnect", bytes=3_000, stall=True)
    params = question_params("fog", LIGHTHOUSE_ID, await page.source_ids(LIGHTHOUSE_ID), None)
    url, body = page.stream_request(params)
    target = url.removeprefix(f"https://{page.host}")
    stream = await connect(emulator, page.host)
    fields = page.browser.fields(page.host, page.call_headers())
    async with stream, exchange(stream, "POST", target, fields, body) as (_, pieces), aclosing(pieces):
        received = bytearray()
        with trio.fail_after(5):
            while len(received) < 3_000:
                received += await anext(pieces)
        assert len(received) == 3_000
        with trio.move_on_after(0.05) as waiting:
            await anext(pieces)
        assert waiting.cancelled_caught
    assert len(await page.ask("fog", LIGHTHOUSE_ID, await page.source_ids(LIGHTHOUSE_ID))) > 3


async def test_an_error_in_the_block_comes_out_as_it_is() -> None:
    """The nursery inside does not wrap it, so callers can catch it by name."""
    with pytest.raises(LookupError, match="mine"):
        async with serve():
            raise LookupError("mine")


async def test_a_cancelled_block_still_takes_the_emulator_down() -> None:
    with trio.move_on_after(10) as scope:
        async with serve() as emulator:
            scope.cancel()
            await trio.sleep_forever()
    assert scope.cancelled_caught
    with pytest.raises(OSError, match="all attempts to connect"):
        await trio.open_tcp_stream("127.0.0.1", emulator.port)
