"""A small HTTPS client for tests: h11 over Trio TLS, with the host name of our choice and no redirects followed."""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode, urlsplit

import h11
import trio
from attrs import define, field, frozen

from harness.emulator import DEFAULT_HOST, Emulator
from harness.emulator.app import BATCHEXECUTE_PATH, STREAM_PATH
from harness.emulator.requests import encode_batchexecute, encode_stream

OPTIONS = [2, None, None, [1, *[None] * 9, [1]]]
FORM = "application/x-www-form-urlencoded;charset=UTF-8"
TIMEOUT_S = 10.0


@frozen
class Reply:
    status: int
    headers: list[tuple[str, str]]
    body: bytes
    complete: bool = True
    """False when the connection ended before the body did."""

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")

    def json(self) -> Any:
        return json.loads(self.body)


def page_data(reply: Reply) -> dict[str, Any]:
    """Return what the script of a page says."""
    found = re.search(r"window\.WIZ_global_data = (\{.*?\});</script>", reply.text)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


@asynccontextmanager
async def exchange(
    stream: trio.abc.Stream, method: str, target: str, headers: list[tuple[str, str]], body: bytes
) -> AsyncIterator[tuple[h11.Response, AsyncGenerator[bytes]]]:
    """Send one request and give the response with its body as it arrives; a cut body ends in RemoteProtocolError."""
    connection = h11.Connection(h11.CLIENT)
    fields = [*headers, ("content-length", str(len(body)))]
    request = connection.send(h11.Request(method=method, target=target, headers=fields))
    await stream.send_all(
        b"".join(filter(None, [request, connection.send(h11.Data(body)), connection.send(h11.EndOfMessage())]))
    )

    async def next_event() -> Any:
        while (event := connection.next_event()) is h11.NEED_DATA:
            try:
                data = await stream.receive_some(65536)
            except trio.BrokenResourceError:
                data = b""
            connection.receive_data(bytes(data))
        return event

    async def pieces() -> AsyncGenerator[bytes]:
        while not isinstance(event := await next_event(), h11.EndOfMessage):
            yield bytes(event.data)

    response = await next_event()
    if not isinstance(response, h11.Response):
        raise h11.RemoteProtocolError("the connection closed before any response")
    yield response, pieces()


async def send(
    stream: trio.abc.Stream, method: str, target: str, headers: list[tuple[str, str]], body: bytes = b""
) -> Reply:
    """Send one request and read the whole reply, however it ends."""
    received = bytearray()
    complete = True
    with trio.fail_after(TIMEOUT_S):
        async with stream, exchange(stream, method, target, headers, body) as (response, pieces):
            try:
                async for piece in pieces:
                    received += piece
            except h11.RemoteProtocolError:
                complete = False
    fields = [(name.decode(), value.decode()) for name, value in response.headers]
    return Reply(response.status_code, fields, bytes(received), complete)


async def connect(emulator: Emulator, host: str) -> trio.SSLStream[trio.SocketStream]:
    """Open a TLS connection to the emulator as if ``host`` resolved to it; the certificate is verified."""
    context = ssl.create_default_context(cafile=str(emulator.ca_file))
    tcp = await trio.open_tcp_stream("127.0.0.1", emulator.port)
    return trio.SSLStream(tcp, context, server_hostname=host, https_compatible=True)


@define
class Browser:
    """Cookies and requests of one browser, without any rendering."""

    emulator: Emulator
    cookies: dict[str, str] = field(factory=dict)

    @classmethod
    def signed_in(cls, emulator: Emulator, accounts: tuple[int, ...] = (0, 1)) -> Browser:
        return cls(emulator, {str(cookie["name"]): str(cookie["value"]) for cookie in emulator.cookies_for(accounts)})

    async def request(
        self, method: str, url: str, *, headers: dict[str, str] | None = None, body: bytes = b""
    ) -> Reply:
        parts = urlsplit(url)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        reply = await send(
            await connect(self.emulator, parts.netloc), method, target, self.fields(parts.netloc, headers), body
        )
        for name, value in reply.headers:
            if name == "set-cookie":
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.partition(";")[0]
        return reply

    def fields(self, host: str, headers: dict[str, str] | None) -> list[tuple[str, str]]:
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return [("host", host), *({"cookie": cookie} if cookie else {}).items(), *(headers or {}).items()]

    async def open(self, query: str = "", host: str = DEFAULT_HOST) -> Page:
        """Load the app page and take what its script says."""
        reply = await self.request("GET", f"https://{host}/{query}")
        assert reply.status == 200, reply.status
        authuser = dict(part.split("=", 1) for part in query.lstrip("?").split("&") if part).get("authuser")
        return Page(self, host, page_data(reply), authuser)


@define
class Page:
    """A loaded app page: makes the data calls that its script would make."""

    browser: Browser
    host: str
    data: dict[str, Any]
    authuser: str | None = None

    def call_headers(self) -> dict[str, str]:
        return {"origin": f"https://{self.host}", "content-type": FORM}

    def url(self, path: str, **query: str) -> str:
        fields = {**query, "f.sid": self.data["FdrFJe"], "rt": "c", "hl": "en"}
        if self.authuser is not None:
            fields["authuser"] = self.authuser
        return f"https://{self.host}{path}?{urlencode(fields)}"

    async def call(self, rpc_id: str, params: list[Any], source_path: str = "/") -> Reply:
        url = self.url(BATCHEXECUTE_PATH, rpcids=rpc_id, **{"source-path": source_path})
        body = encode_batchexecute(rpc_id, params, self.data["SNlM0e"])
        return await self.browser.request("POST", url, headers=self.call_headers(), body=body)

    async def result(self, rpc_id: str, params: list[Any], source_path: str = "/") -> Any:
        """Make a call that has to succeed and return its result."""
        reply = await self.call(rpc_id, params, source_path)
        assert reply.status == 200, reply.text
        (row,) = [row for row in body_rows(reply.text) if row[0] == "wrb.fr"]
        assert row[1] == rpc_id
        assert row[2] is not None, row
        return json.loads(row[2])

    async def status(self, rpc_id: str, params: list[Any], source_path: str = "/") -> Any:
        """Make a call that has to be refused by a row and return the row's status."""
        reply = await self.call(rpc_id, params, source_path)
        (row,) = [row for row in body_rows(reply.text) if row[0] == "wrb.fr"]
        assert row[2] is None
        return row[5]

    def stream_request(self, params: list[Any]) -> tuple[str, bytes]:
        url = self.url(STREAM_PATH, bl=self.data["cfb2h"], _reqid="200000")
        return url, encode_stream(params, self.data["SNlM0e"])

    async def ask_raw(self, params: list[Any]) -> Reply:
        url, body = self.stream_request(params)
        return await self.browser.request("POST", url, headers=self.call_headers(), body=body)

    async def ask(
        self, question: str, notebook_id: str, source_ids: list[str], conversation: str | None = None
    ) -> list[Any]:
        """Ask and return the inner value of every chunk."""
        reply = await self.ask_raw(question_params(question, notebook_id, source_ids, conversation))
        assert reply.status == 200, reply.text
        return [json.loads(row[2]) for row in body_rows(reply.text) if row[0] == "wrb.fr"]

    async def source_ids(self, notebook_id: str) -> list[str]:
        (row,) = await self.result("rLM1Ne", [notebook_id, None, OPTIONS, None, 0], f"/notebook/{notebook_id}")
        return [source[0][0] for source in row[1] or []]


def question_params(question: str, notebook_id: str, source_ids: list[str], conversation: str | None) -> list[Any]:
    scope = [[[source_id]] for source_id in source_ids]
    return [scope, question, None, [2, None, [1], [1]], conversation, None, None, notebook_id, 1]


def body_rows(text: str, *, bare_lengths: bool = False) -> list[Any]:
    """Decode a body strictly by the framing rule, and check the counts of its closing row."""
    assert text.startswith(")]}'\n\n")
    units = text.encode("utf-16-le")
    position = 2 * len(")]}'\n\n")
    rows: list[Any] = []
    while position < len(units):
        end = units.index("\n".encode("utf-16-le"), position)
        length = int(units[position:end].decode("utf-16-le")) + (2 if bare_lengths else 0)
        chunk = units[end : end + 2 * length].decode("utf-16-le")
        assert chunk.startswith("\n")
        assert chunk.endswith("\n")
        rows += json.loads(chunk)
        position = end + 2 * length
    assert rows[-1] == ["e", len(rows), None, None, len(text.encode("utf-8"))]
    return rows


@define
class Control:
    """The control endpoint, spoken to as its owner."""

    emulator: Emulator

    async def request(
        self,
        method: str,
        path: str,
        value: object = None,
        *,
        headers: dict[str, str] | None = None,
        raw: bytes | None = None,
    ) -> Reply:
        parts = urlsplit(self.emulator.control_url)
        assert parts.port is not None
        token = {"authorization": f"Bearer {self.emulator.control_token}"}
        fields = [("host", parts.netloc), *(token if headers is None else headers).items()]
        body = raw if raw is not None else b"" if value is None else json.dumps(value).encode()
        return await send(await trio.open_tcp_stream("127.0.0.1", parts.port), method, path, fields, body)

    async def fault(self, rpc: str, fault: str, **parameters: object) -> None:
        reply = await self.request("POST", "/faults", {"rpc": rpc, "fault": fault, **parameters})
        assert reply.status == 201, reply.text

    async def change(self, **changes: object) -> None:
        reply = await self.request("POST", "/state", changes)
        assert reply.status == 200, reply.text

    async def requests(self) -> list[dict[str, Any]]:
        return (await self.request("GET", "/requests")).json()["requests"]
