"""The two data endpoints over HTTP: checks of session and tokens, faults, then the answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import Final, TypeVar

from attrs import frozen
from starlette.requests import Request
from starlette.responses import Response

from harness.emulator import answer_stream, faults
from harness.emulator.drift import NoSuchSlot, drifted
from harness.emulator.framing import result_row, status_row, whole_body
from harness.emulator.model import Account
from harness.emulator.params import Denied
from harness.emulator.refusals import fault_refusal, refusal_page
from harness.emulator.request_log import Entry
from harness.emulator.requests import BadRequest, DataCall, parse_batchexecute, parse_stream
from harness.emulator.responses import PacedResponse, SeveredResponse, one_piece
from harness.emulator.rpc_table import READS, WRITES, answer
from harness.emulator.service import Service
from harness.emulator.wire_json import Json
from harness.emulator.write_faults import CommitThenDrop, DropThenCommit, reading_of
from harness.emulator.writes import Write

UNKNOWN_RPC_STATUS: Final = 12
_HEADERS: Final = {
    "content-type": "application/json; charset=utf-8",
    "content-disposition": "attachment; filename=\"response.bin\"; filename*=UTF-8''response.bin",
    "cache-control": "no-cache, no-store, max-age=0, must-revalidate",
    "x-content-type-options": "nosniff",
}
_Effect = TypeVar("_Effect", bound=faults.Effect)


@frozen
class Arrival:
    """A data call that passed every check, with the faults that hit it."""

    call: DataCall
    account: Account
    effects: list[faults.Effect]

    def effect(self, kind: type[_Effect]) -> _Effect | None:
        """Return the first fault of a kind that hits this call."""
        return next((effect for effect in self.effects if isinstance(effect, kind)), None)


async def batchexecute(service: Service, request: Request) -> Response:
    """Answer ``POST /_/LabsTailwindUi/data/batchexecute``."""
    arrival = await _arrive(service, request, parse_batchexecute)
    if isinstance(arrival, Response):
        return arrival
    rpc_id = arrival.call.rpc_id
    assert rpc_id is not None  # parse_batchexecute always names it
    if dropped := arrival.effect(DropThenCommit):
        _commit_later(service, arrival, rpc_id, dropped.delay_ms)
        return SeveredResponse()
    try:
        row = await _result_row(service, arrival, rpc_id)
    except NoSuchSlot as error:
        return refusal_page(500, f"drift fault: {error}")
    if dropped := arrival.effect(CommitThenDrop):
        return SeveredResponse(stall=dropped.stall, bare=dropped.bare)
    text = whole_body(
        row,
        duration_ms=40,
        serial=service.next_serial(),
        bare_lengths=arrival.effect(faults.BareLengths) is not None,
    )
    if body := arrival.effect(faults.Body):
        text = body.body
    return _answer(arrival, one_piece(text.encode()))


async def _result_row(service: Service, arrival: Arrival, rpc_id: str) -> list[Json] | None:
    if status := arrival.effect(faults.Status):
        if status.commit_after_ms is not None:
            _commit_later(service, arrival, rpc_id, status.commit_after_ms)
        return status_row(rpc_id, status.as_list())
    if arrival.effect(faults.NoData):
        return None
    if rpc_id not in READS and rpc_id not in WRITES:
        return status_row(rpc_id, [UNKNOWN_RPC_STATUS])
    try:
        result = await _result(service, arrival, rpc_id)
    except Denied as denied:
        return status_row(rpc_id, [denied.status])
    for effect in arrival.effects:
        if isinstance(effect, faults.Drift):
            result = drifted(result, effect)
    other = arrival.effect(faults.OtherId)
    return result_row(rpc_id if other is None else other.rpc_id, result)


async def _result(service: Service, arrival: Arrival, rpc_id: str) -> Json:
    """Read or change the state; an answer that is lost anyway is not waited for.

    Raises:
        Denied: the call is refused by a row.
    """
    if rpc_id in WRITES and arrival.effect(CommitThenDrop):
        WRITES[rpc_id](_write(service, arrival))
        return None
    return await answer(service.state, arrival.account, rpc_id, arrival.call.params, reading_of(arrival.effects))


def _write(service: Service, arrival: Arrival) -> Write:
    return Write(service.state, arrival.account, arrival.call.params, reading_of(arrival.effects))


def _commit_later(service: Service, arrival: Arrival, rpc_id: str, delay_ms: float) -> None:
    """Make the change after the caller was told nothing, or something else. A bad call changes nothing then too."""

    def commit() -> None:
        with suppress(Denied):
            WRITES[rpc_id](_write(service, arrival))

    service.state.later(delay_ms / 1000, commit)


async def generate(service: Service, request: Request) -> Response:
    """Answer ``POST …/GenerateFreeFormStreamed`` chunk by chunk."""
    arrival = await _arrive(service, request, parse_stream)
    if isinstance(arrival, Response):
        return arrival
    if body := arrival.effect(faults.Body):
        return _answer(arrival, one_piece(body.body.encode()))
    try:
        pieces = answer_stream.open_stream(
            service.state, arrival.account, arrival.call.params, arrival.effects, service.next_serial()
        )
    except NoSuchSlot as error:
        return refusal_page(500, f"drift fault: {error}")
    return _answer(arrival, pieces)


def _answer(arrival: Arrival, pieces: AsyncGenerator[bytes]) -> Response:
    return PacedResponse(pieces, headers=_HEADERS, cut=arrival.effect(faults.Disconnect))


async def _arrive(
    service: Service, request: Request, parse: Callable[[str, str, bytes], DataCall]
) -> Arrival | Response:
    """Log the request, take its faults, and check session, origin and tokens, in this order."""
    body = await request.body()
    host = request.headers["host"]
    authuser = request.query_params.get("authuser")
    selected = service.state.signed_in(service.session(request), authuser)
    account = None if selected is None else selected[0]
    entry = service.log.add(
        Entry(
            target=request.query_params.get("rpcids") or "stream",
            host=host,
            path=request.url.path,
            query_keys=sorted(request.query_params),
            account=None if account is None else account.email,
            authuser=authuser,
            source_path=request.query_params.get("source-path"),
        )
    )
    try:
        call = parse(request.url.query, request.headers.get("content-type", ""), body)
    except BadRequest as error:
        entry.status = 400
        return refusal_page(400, str(error))
    entry.params = call.params
    hits = service.faults.take(entry.target, entry.account)
    entry.faults = [fault.kind for fault in hits]
    effects = [fault.effect for fault in hits]
    refusal = await fault_refusal(effects, request)
    if refusal is None and account is not None:
        refusal = _check(service, entry, call, account, request)
    service.state.advance()
    if refusal is None and account is not None:
        entry.status = 200
        return Arrival(call, account, effects)
    committing = next((effect for effect in effects if isinstance(effect, faults.HttpError)), None)
    if committing is not None and committing.commit_after_ms is not None and account is not None:
        arrival = Arrival(call, account, effects)
        _commit_later(service, arrival, entry.target, committing.commit_after_ms)
    refusal = refusal or refusal_page(401, "no session")
    entry.status = refusal.status_code
    return refusal


def _check(service: Service, entry: Entry, call: DataCall, account: Account, request: Request) -> Response | None:
    """Check what a page sends along: its origin, the CSRF value and the session id of its account."""
    state = service.state
    if request.headers.get("origin") != f"https://{entry.host}":
        return refusal_page(403, "foreign origin")
    token, _, stamp = call.at.rpartition(":")
    entry.token = "missing" if not call.at else "stale"
    if token != state.csrf_token(account.email) or not (stamp.isascii() and stamp.isdigit()):
        return refusal_page(400, "stale or wrong at")
    entry.token = "valid"  # noqa: S105  # how it fared, not what it is
    if call.query["f.sid"] != state.session_id(account.email):
        return refusal_page(400, "stale or wrong f.sid")
    return None
