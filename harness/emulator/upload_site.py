"""``POST /upload/_/``: start, upload, finalize, query and cancel over HTTP (wire reference §7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar
from urllib.parse import urlencode

from attrs import define, frozen
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive

from harness.emulator import faults
from harness.emulator.model import Account
from harness.emulator.refusals import fault_refusal, refusal_page
from harness.emulator.request_log import Entry
from harness.emulator.responses import PacedResponse, SeveredResponse, one_piece
from harness.emulator.service import Service
from harness.emulator.upload_faults import UPLOAD_ID_PLACE, CutRequest, Granularity, QueryAnswer, UploadUrl
from harness.emulator.upload_steps import Refused, cancel_upload, finish_upload, start_upload, upload_for
from harness.emulator.uploads import Upload, UploadStatus
from harness.emulator.write_faults import CommitThenDrop, DropThenCommit

UPLOAD_PATH: Final = "/upload/_/"
STAGES: Final = {
    "start": "upload.start",
    "upload": "upload.slice",
    "upload, finalize": "upload.finalize",
    "finalize": "upload.finalize",
    "query": "upload.query",
    "cancel": "upload.cancel",
}
"""``x-goog-upload-command`` -> the name of the stage in faults and in the request log."""
_DONE_TEXT: Final = "OK: Enqueued blob bytes to spanner queue for processing."
_MAX_START_BYTES: Final = 64 * 1024
_Effect = TypeVar("_Effect", bound=faults.Effect)


@define
class Body:
    """The body of a request, piece by piece."""

    _receive: Receive
    _is_read: bool = False

    async def next(self) -> bytes | None:
        """Return the next piece; None at the end.

        Raises:
            ClientDisconnect: the connection broke before it.
        """
        if self._is_read:
            return None
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        self._is_read = not message.get("more_body", False)
        return bytes(message.get("body", b""))

    async def drain(self) -> None:
        """Read what is left: closing earlier could reset the connection before the answer is read."""
        while await self.next() is not None:
            pass


@frozen
class Arrival:
    """A request that passed the checks of session and origin, with the faults that hit it."""

    service: Service
    request: Request
    body: Body
    account: Account
    stage: str
    effects: list[faults.Effect]

    def effect(self, kind: type[_Effect]) -> _Effect | None:
        """Return the first fault of a kind that hits this request."""
        return next((effect for effect in self.effects if isinstance(effect, kind)), None)


async def upload(service: Service, request: Request) -> Response:
    """Answer one step of an upload; whatever the answer, the body is read to its end first."""
    entry = _log(service, request)
    body = Body(request.receive)
    try:
        try:
            response = await _respond(service, request, body, entry)
        except Refused as refused:
            response = refusal_page(refused.http_status, refused.reason, refused.headers)
        await body.drain()
    except ClientDisconnect:
        return SeveredResponse()
    entry.status = None if isinstance(response, SeveredResponse) else response.status_code
    return response


async def _respond(service: Service, request: Request, body: Body, entry: Entry) -> Response:
    hits = service.faults.take(entry.target, entry.account)
    entry.faults = [fault.kind for fault in hits]
    effects = [fault.effect for fault in hits]
    if refusal := await fault_refusal(effects, request):
        return refusal
    account = _check(service, request, entry)
    service.state.advance()
    arrival = Arrival(service, request, body, account, entry.target, effects)
    response = await (_start(arrival) if arrival.stage == "upload.start" else _continue(arrival))
    if dropped := arrival.effect(CommitThenDrop):
        return SeveredResponse(stall=dropped.stall, bare=dropped.bare)
    if other := arrival.effect(faults.Body):
        return PacedResponse(one_piece(other.body.encode()))
    if cut := arrival.effect(faults.Disconnect):
        return PacedResponse(one_piece(bytes(response.body)), headers=response.headers, cut=cut)
    return response


def _check(service: Service, request: Request, entry: Entry) -> Account:
    """Check the session, where the request comes from, and that both account selectors mean the same account.

    Raises:
        Refused: 401, 403, or 400 for a command that there is not.
    """
    selected = service.state.signed_in(service.session(request), entry.authuser)
    if selected is None:
        raise Refused(401, "no session")
    origin = f"https://{entry.host}"
    if request.headers.get("origin") != origin:
        raise Refused(403, "foreign origin")
    if not request.headers.get("referer", f"{origin}/").startswith(f"{origin}/"):
        raise Refused(403, "foreign referer")
    second = request.headers.get("x-goog-authuser")
    if second is not None and service.state.signed_in(service.session(request), second) != selected:
        raise Refused(403, "x-goog-authuser is another account than authuser")
    if entry.target not in STAGES.values():
        raise Refused(400, f"no command {request.headers.get('x-goog-upload-command')!r}")
    return selected[0]


async def _start(arrival: Arrival) -> Response:
    body = bytearray()
    while (piece := await arrival.body.next()) is not None:
        body += piece[: _MAX_START_BYTES - len(body)]
    begun = start_upload(arrival.service.state, arrival.account, arrival.request.headers, bytes(body))
    begun.authuser = arrival.request.query_params.get("authuser")
    headers = {"x-goog-upload-status": str(begun.status), "content-type": "text/plain; charset=utf-8"}
    announced: str | None = str(begun.granularity_bytes)
    if fault := arrival.effect(Granularity):
        announced = fault.value
        if announced is not None and announced.isascii() and announced.isdigit() and int(announced) > 0:
            begun.granularity_bytes = int(announced)
    if announced is not None:
        headers["x-goog-upload-chunk-granularity"] = announced
    address: str | None = _address(arrival.request, begun)
    if moved := arrival.effect(UploadUrl):
        address = None if moved.url is None else moved.url.replace(UPLOAD_ID_PLACE, begun.id)
    if address is not None:
        headers |= {"x-goog-upload-url": address, "x-goog-upload-control-url": address}
    return Response(headers=headers)


def _address(request: Request, begun: Upload) -> str:
    """Return the session address; the account selector is the one that the start came with."""
    selector = {} if begun.authuser is None else {"authuser": begun.authuser}
    query = urlencode({**selector, "upload_id": begun.id, "upload_protocol": "resumable"})
    return f"https://{request.headers['host']}{UPLOAD_PATH}?{query}"


async def _continue(arrival: Arrival) -> Response:
    found = upload_for(arrival.service.state, arrival.account, arrival.request.query_params)
    if arrival.stage == "upload.query":
        return _query(arrival, found)
    if arrival.stage == "upload.cancel":
        cancel_upload(found)
        return Response(headers=_status(found))
    if cut := arrival.effect(CutRequest):
        await _receive(arrival, found, cut)
        return SeveredResponse(stall=cut.stall)
    await _receive(arrival, found)
    if arrival.stage == "upload.slice":
        return Response(headers=_status(found))
    if dropped := arrival.effect(DropThenCommit):
        arrival.service.state.later(dropped.delay_ms / 1000, lambda: finish_upload(arrival.service.state, found))
        return SeveredResponse()
    finish_upload(arrival.service.state, found)
    return Response(_DONE_TEXT, headers={**_status(found), "content-type": "text/html; charset=UTF-8"})


async def _receive(arrival: Arrival, found: Upload, cut: CutRequest | None = None) -> None:
    """Take the body of an `upload` or `finalize` step; what arrived before a broken connection stays.

    Raises:
        Refused: 400 for a session that is over, another offset than the service's, a part that is no multiple of the
            granularity, more or (at the end) less than the file; nothing of the body is taken then.
        ClientDisconnect: the connection broke.
    """
    headers = arrival.request.headers
    if found.status is not UploadStatus.ACTIVE:
        raise Refused(400, f"the upload is {found.status}", _status(found))
    offset = headers.get("x-goog-upload-offset")
    if headers["x-goog-upload-command"] != "finalize" and offset != str(found.received_bytes):
        raise Refused(400, f"the next byte is {found.received_bytes}", _status(found))
    before = found.copy_position()
    size_bytes = await _write(arrival.body, found, None if cut is None else cut.keep_bytes)
    if cut is not None:
        return
    problem = None
    if size_bytes is None:
        problem = "more bytes than the file has, or another request took over"
    elif arrival.stage == "upload.finalize" and found.received_bytes != found.size_bytes:
        problem = f"{found.size_bytes} bytes were announced"
    elif arrival.stage == "upload.slice" and (size_bytes == 0 or size_bytes % found.granularity_bytes):
        problem = f"a part that is not the last must be a multiple of {found.granularity_bytes}"
    if problem is not None:
        found.go_back(before)
        raise Refused(400, problem, _status(found))


async def _write(body: Body, found: Upload, keep_bytes: int | None) -> int | None:
    """Write a body (or only the beginning of it) into an upload; return its size, None when it was not taken."""
    writer = found.take_over()
    size_bytes = 0
    while (piece := await body.next()) is not None:
        kept = piece if keep_bytes is None else piece[: max(keep_bytes - size_bytes, 0)]
        if not found.write(writer, kept):
            return None
        size_bytes += len(piece)
    return size_bytes


def _query(arrival: Arrival, found: Upload) -> Response:
    """Say how far the upload has come; a request that is still writing is cut off by it."""
    if fault := arrival.effect(QueryAnswer):
        return _query_fault(arrival, found, fault)
    found.take_over()
    headers = _status(found)
    if found.status is UploadStatus.ACTIVE:
        headers["x-goog-upload-size-received"] = str(found.received_bytes)
    return Response(headers=headers)


def _query_fault(arrival: Arrival, found: Upload, fault: QueryAnswer) -> Response:
    if fault.http_status != 200:
        found.status = UploadStatus.EXPIRED if fault.http_status in (404, 410) else found.status
        return refusal_page(fault.http_status, "refused by a fault")
    if isinstance(fault.size_received, int):
        found.pretend(fault.size_received)
    if fault.status == UploadStatus.CANCELLED:
        cancel_upload(found)
    if fault.status == UploadStatus.FINAL:
        finish_upload(arrival.service.state, found)
    said = {"x-goog-upload-status": fault.status, "x-goog-upload-size-received": fault.size_received}
    return Response(headers={name: str(value) for name, value in said.items() if value is not None})


def _status(found: Upload) -> dict[str, str]:
    return {"x-goog-upload-status": str(found.status)}


def _log(service: Service, request: Request) -> Entry:
    command = request.headers.get("x-goog-upload-command", "")
    query = request.query_params
    selected = service.state.signed_in(service.session(request), query.get("authuser"))
    found = service.state.uploads.get(query.get("upload_id", ""))
    return service.log.add(
        Entry(
            target=STAGES.get(command, faults.UPLOAD),
            host=request.headers["host"],
            path=request.url.path,
            query_keys=sorted(query),
            account=None if selected is None else selected[0].email,
            authuser=query.get("authuser"),
            params={
                "command": command,
                "offset": _number(request.headers, "x-goog-upload-offset"),
                "size_bytes": _number(request.headers, "content-length"),
                "source": None if found is None else found.source_id,
            },
        )
    )


def _number(headers: Mapping[str, str], name: str) -> int | str | None:
    text = headers.get(name)
    return int(text) if text is not None and text.isascii() and text.isdigit() else text
