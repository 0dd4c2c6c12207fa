// The worker as the host sees it: frames in, one result for each call.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { MAX_OPEN_CALLS_PER_CONNECTION, MAX_OPEN_CALLS_PER_WORKER } from "../../extension/lib/protocol.js";
import { ACCOUNT, FOREIGN, FakeHost, NOTEBOOK, OPT, SOURCE, configuredHost, rpcAnswer } from "./fake_host.js";
import { readyExecutor, settled, until } from "./fake_chrome.js";

const NOTE = "4a2b3c4d-0001-4a00-8b00-00000000000a";
const CONVERSATION = "c0ffee00-0001-4a00-8b00-00000000000a";
/** @type {FakeHost} */
let host;

beforeEach(async () => {
  host = await configuredHost();
});

afterEach(() => host.close());

const metadata = (more = {}) => host.rpc("rLM1Ne", [NOTEBOOK, null, OPT, null, 0], more);
const forever = () => new Promise(() => {});

test("a read goes to the page with source path and parameters, and its answer comes back whole", async () => {
  const result = await metadata();
  const { hops, ...rest } = result;
  assert.deepEqual(rest, {
    conn: 1,
    type: "result",
    id: 1,
    ok: true,
    value: { status: 200, body: "body", retry_after_s: null },
  });
  assert.deepEqual(Object.keys(result).slice(0, 3), ["conn", "type", "id"]);
  assert.deepEqual(Object.keys(hops).sort(), ["fetch_ms", "page_ms", "tab_ms", "worker_ms"]);
  const [command] = host.commands;
  assert.equal(command.source_path, `/notebook/${NOTEBOOK}`);
  assert.deepEqual(JSON.parse(command.params_json), [NOTEBOOK, null, OPT, null, 0]);
  assert.equal(command.account, ACCOUNT);
  assert.match(command.key, /^[0-9a-f]{32}$/);
  assert.equal(command.allow, null);
});

test("the list of notebooks goes with the extension's own allowlist", async () => {
  await host.rpc("wXbhsf", [null, 1, null, OPT], { notebook: null });
  assert.deepEqual([host.commands[0].allow, host.commands[0].source_path], [[NOTEBOOK], "/"]);
});

test("forged frames reach no page: foreign notebook, source, conversation, account, op", async () => {
  const other_account = { account: "grace@example.com" };
  const results = await Promise.all([
    host.rpc("rLM1Ne", [FOREIGN, null, OPT, null, 0], { notebook: FOREIGN }),
    host.rpc("rLM1Ne", [FOREIGN, null, OPT, null, 0]),
    host.rpc("hizoJc", [[SOURCE], [2], [2]]),
    host.rpc("khqZz", [OPT, null, null, CONVERSATION, 20]),
    host.ask({ conversation: CONVERSATION }),
    metadata(other_account),
    host.call("identity", {}, { notebook: null, ...other_account }),
    host.call("upload.start", { source: SOURCE, name: "a.txt", size_bytes: 1, mime_type: "text/plain" }),
  ]);
  assert.deepEqual(
    results.map(({ error }) => error.code),
    [
      "ALLOWLIST_DENIED",
      "ALLOWLIST_DENIED",
      "ALLOWLIST_DENIED",
      "ALLOWLIST_DENIED",
      "ALLOWLIST_DENIED",
      "ACCOUNT_MISMATCH",
      "ACCOUNT_MISMATCH",
      "ALLOWLIST_DENIED",
    ],
  );
  assert.ok(results.every(({ ok, error }) => ok === false && error.started === false));
  assert.deepEqual([host.commands.length, host.chrome.tabs.size], [0, 0]);
});

test("no frame changes what only the person changes", async () => {
  for (const type of ["settings", "set", "gatewaySettings", "ready", "welcome"]) {
    host.host({ conn: 1, type, account: "grace@example.com", notebooks: "*" });
  }
  await settled();
  assert.deepEqual(host.settings.current, { account: ACCOUNT, notebooks: [NOTEBOOK] });
});

test("a source can be read once its notebook has been read", async () => {
  host.page({ rpc: ({ rpc }) => rpcAnswer(rpc === "rLM1Ne" ? { owned: { kind: "source", ids: [SOURCE] } } : {}) });
  assert.equal((await host.rpc("hizoJc", [[SOURCE], [2], [2]])).error.detail.reason, "unknown_id");
  assert.equal((await metadata()).ok, true);
  assert.equal((await host.rpc("hizoJc", [[SOURCE], [2], [2]])).ok, true);
});

test("a notebook that is no longer allowed is refused at once", async () => {
  assert.equal((await metadata()).ok, true);
  await host.settings.set({ notebooks: [] });
  assert.equal((await metadata()).error.code, "ALLOWLIST_DENIED");
});

test("status opens no tab and shows account, notebooks and open calls", async () => {
  const { value } = await host.call("status", {}, { notebook: null, account: null });
  assert.deepEqual(
    { ...value, profile: null },
    {
      build: "0.1.0",
      extension_id: host.chrome.extension_id,
      profile: null,
      account: ACCOUNT,
      notebooks: [NOTEBOOK],
      tab: null,
      open_calls: 1,
      paused: false,
    },
  );
  assert.equal(host.chrome.tabs.size, 0);
});

test("identity gives what the page says; refresh loads the page anew", async () => {
  host.page({
    identity: () => ({ ok: true, account: ACCOUNT, origin: "https://notebook.google.com", build_label: "b1" }),
  });
  const first = await host.call("identity", { refresh: false }, { notebook: null });
  assert.deepEqual(first.value, { account: ACCOUNT, origin: "https://notebook.google.com", build_label: "b1" });
  assert.equal((await host.call("identity", { refresh: true }, { notebook: null })).ok, true);
  assert.deepEqual(
    host.chrome.log.map(([what]) => what),
    ["open", "keep", "reload"],
  );
});

test("a refusal of the page keeps its word on started, and a signed-out page is told and loaded anew", async () => {
  const error = { code: "AUTH_REQUIRED", message: "signed out", started: false, detail: {} };
  host.page({ rpc: () => ({ ok: false, error }) });
  assert.deepEqual((await metadata()).error, { ...error, detail: {} });
  assert.equal(host.received.find(({ type }) => type === "event").name, "signed_out");
  host.page({ rpc: () => rpcAnswer() });
  assert.equal((await metadata()).ok, true);
  assert.ok(host.chrome.log.some(([what]) => what === "reload"));
});

test("a stream: chunks in order, then one result with the minted conversation", async () => {
  const pieces = ["a", "", "b"];
  host.page({
    stream: () => ({ ok: true, status: 200, retry_after_s: null, fetch_ms: 2 }),
    pull: () => ({ ok: true, text: pieces.shift() ?? "", done: pieces.length === 0, error: null }),
  });
  const { value, id } = await host.ask();
  const chunks = host.received.filter(({ type }) => type === "chunk");
  assert.deepEqual(chunks, [
    { conn: 1, type: "chunk", id, seq: 0, data: "a" },
    { conn: 1, type: "chunk", id, seq: 1, data: "b" },
  ]);
  assert.equal(value.status, 200);
  assert.equal(JSON.parse(host.commands[0].params_json)[4], value.conversation);
  assert.deepEqual(host.ownership.ownerOf(value.conversation), { notebook: NOTEBOOK, kind: "minted" });

  pieces.push("c");
  const again = await host.ask({ conversation: value.conversation });
  assert.equal(again.value.conversation, value.conversation);
});

test("a stream that breaks ends with the reason after what had arrived", async () => {
  const severed = { code: "STREAM_SEVERED", message: "cut", detail: {}, started: true };
  host.page({
    stream: () => ({ ok: true, status: 200, retry_after_s: null, fetch_ms: 2 }),
    pull: () => ({ ok: true, text: "half", done: true, error: severed }),
  });
  const { error } = await host.ask();
  assert.deepEqual(error, severed);
  assert.equal(host.received[0].data, "half");
});

test("cancel ends the call and stops it in the page; the late answer is nobody's", async () => {
  let answer = () => {};
  host.page({ rpc: () => new Promise((resolve) => (answer = resolve)), abort: () => ({ ok: true }) });
  const result = metadata();
  await until(() => host.commands.length > 0);
  host.host({ conn: 1, type: "cancel", id: 1, reason: "deadline" });
  const { error } = await result;
  assert.deepEqual([error.code, error.started], ["CANCELLED", true]);
  await settled();
  assert.deepEqual(
    host.commands.map(({ op }) => op),
    ["rpc", "abort"],
  );
  assert.equal(host.commands[1].key, host.commands[0].key);
  answer(rpcAnswer());
  await settled();
  assert.equal(host.results(1).length, 1);
});

test("a call that is cancelled while the tab loads never starts", async () => {
  host.chrome.onLoad = (tab) => ((tab.status = "loading"), (tab.url = ""));
  const result = metadata();
  await settled();
  host.host({ conn: 1, type: "cancel", id: 1, reason: "caller left" });
  assert.deepEqual([(await result).error.code, (await result).error.started], ["CANCELLED", false]);
  const [tab] = host.chrome.tabs.values();
  Object.assign(tab, { status: "complete", url: "https://notebook.google.com/" });
  await new Promise((resolve) => setTimeout(resolve, 120));
  assert.equal(host.commands.length, 0);
});

test("a closed connection stops its calls in the page and gets no result; others go on", async () => {
  let finish = () => {};
  host.page({
    rpc: () => new Promise((resolve) => (finish = () => resolve(rpcAnswer()))),
    abort: () => ({ ok: true }),
  });
  host.send("rpc", { rpc: "rLM1Ne", params: [NOTEBOOK, null, OPT, null, 0] }, { id: 1 });
  const other = metadata({ conn: 2, id: 1 });
  await until(() => host.commands.length === 2);
  host.host({ conn: 1, type: "conn_close", reason: "eof" });
  await settled();
  assert.deepEqual(
    host.commands.map(({ op }) => op),
    ["rpc", "rpc", "abort"],
  );
  finish();
  assert.equal((await other).conn, 2);
  assert.deepEqual(
    host.received.filter(({ conn }) => conn === 1),
    [],
  );
});

const create = (more = {}) => host.rpc("CYK0Xb", [NOTEBOOK, "", [1], null, "New Note"], more);
/** A page whose writes end when the test says so. */
function slowWrites() {
  const page = { finish: () => {} };
  const rpc = () => new Promise((resolve) => (page.finish = () => resolve(rpcAnswer({ body: "written" }))));
  host.page({ rpc, abort: () => ({ ok: true }) });
  return page;
}
const opsInPage = () => host.commands.map(({ op }) => op);

test("a write is not stopped by cancel: its own answer is its result", async () => {
  const page = slowWrites();
  const result = create();
  await until(() => host.commands.length > 0);
  host.host({ conn: 1, type: "cancel", id: 1, reason: "deadline" });
  await settled();
  assert.deepEqual([host.results(1), opsInPage()], [[], ["rpc"]]);
  page.finish();
  assert.equal((await result).value.body, "written");
  assert.deepEqual([opsInPage(), host.gateway.calls.size], [["rpc"], 0]);
});

test("a write that waits for its page is cancelled like a read: nothing was sent", async () => {
  host.chrome.onLoad = (tab) => ((tab.status = "loading"), (tab.url = ""));
  const result = create();
  await settled();
  host.host({ conn: 1, type: "cancel", id: 1, reason: "caller left" });
  assert.deepEqual([(await result).error.code, (await result).error.started], ["CANCELLED", false]);
  const [tab] = host.chrome.tabs.values();
  Object.assign(tab, { status: "complete", url: "https://notebook.google.com/" });
  await new Promise((resolve) => setTimeout(resolve, 120));
  assert.equal(host.commands.length, 0);
});

test("a write outlives its connection and its port; its answer is nobody's", async () => {
  const closeConnection = () => host.host({ conn: 1, type: "conn_close", reason: "eof" });
  for (const end of [closeConnection, () => host.chrome.ports.at(-1).end()]) {
    const page = slowWrites();
    host.commands.length = 0;
    host.send("rpc", { rpc: "CYK0Xb", params: [NOTEBOOK, "", [1], null, "New Note"] });
    await until(() => host.commands.length > 0);
    end();
    await settled();
    assert.deepEqual([opsInPage(), host.gateway.calls.size], [["rpc"], 1]);
    page.finish();
    await settled();
    assert.deepEqual([host.gateway.calls.size, host.received.filter(({ type }) => type === "result")], [0, []]);
  }
});

test("our own ceiling ends the wait for a write, not the write", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const page = slowWrites();
  const result = create();
  await until(() => host.commands.length > 0);
  t.mock.timers.tick(240_000);
  assert.deepEqual([(await result).error.code, (await result).error.started], ["TIMEOUT", true]);
  const [{ id: tab_id }] = host.chrome.tabs.values();
  assert.deepEqual(host.tabs.countCalls(tab_id), { all: 1, writes: 1 });
  page.finish();
  await settled();
  assert.deepEqual([opsInPage(), host.gateway.calls.size, host.results(1).length], [["rpc"], 0, 1]);
});

test("a note can be deleted once the notes of its notebook have been read", async () => {
  host.page({ rpc: ({ rpc }) => rpcAnswer(rpc === "cFji9" ? { owned: { kind: "note", ids: [NOTE] } } : {}) });
  const remove = () => host.rpc("AH0mwd", [NOTEBOOK, null, [NOTE]]);
  assert.equal((await remove()).error.detail.reason, "unknown_id");
  assert.equal((await host.rpc("cFji9", [NOTEBOOK])).ok, true);
  assert.equal((await remove()).ok, true);
});

test("C-045 closing the tab ends its calls at once, without proof that nothing left", async () => {
  host.page({ rpc: forever });
  const result = metadata();
  await until(() => host.commands.length > 0);
  const [{ id: tab_id }] = host.chrome.tabs.values();
  host.chrome.tabs.delete(tab_id);
  host.tabs.handleRemoved(tab_id);
  assert.deepEqual([(await result).error.code, (await result).error.started], ["TAB_DISCARDED", true]);
  assert.equal(host.received.find(({ type }) => type === "event").name, "tab_gone");
  host.page({ rpc: () => rpcAnswer() });
  assert.equal((await metadata()).ok, true);
});

test("C-044 after a call that a frozen page swallowed, the page is asked, and loaded anew if it does not answer", async (t) => {
  host.page({ rpc: forever, abort: () => ({ ok: true }) });
  const result = metadata();
  await until(() => host.commands.length > 0);
  host.host({ conn: 1, type: "cancel", id: 1, reason: "deadline" });
  assert.equal((await result).error.started, true);
  const [tab] = host.chrome.tabs.values();
  tab.executor = forever;
  host.chrome.executor = readyExecutor({ rpc: () => rpcAnswer() });
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const next = metadata();
  await settled();
  t.mock.timers.tick(3_000); // how long a page may take to say that it is there
  await settled();
  t.mock.timers.tick(50); // the next look at the loading page
  assert.equal((await next).ok, true);
  assert.ok(host.chrome.log.some(([what]) => what === "reload"));
});

test("a document that was gone before the command came costs one more try, not the call", async () => {
  assert.equal((await metadata()).ok, true);
  const [tab] = host.chrome.tabs.values();
  tab.document_id = "reloaded-by-the-person";
  assert.equal((await metadata()).ok, true);
});

test("one more than 32 calls of a connection is RATE_LIMITED, and so is the 129th of the worker", async () => {
  host.page({ rpc: forever });
  const call = (conn, id) => host.send("rpc", { rpc: "rLM1Ne", params: [NOTEBOOK, null, OPT, null, 0] }, { conn, id });
  for (let id = 0; id < MAX_OPEN_CALLS_PER_CONNECTION; id += 1) call(1, id);
  assert.equal((await metadata({ id: 99 })).error.code, "RATE_LIMITED");
  assert.ok((await metadata({ id: 98 })).error.detail.retry_after_ms > 0);
  for (let conn = 2; conn <= MAX_OPEN_CALLS_PER_WORKER / MAX_OPEN_CALLS_PER_CONNECTION; conn += 1) {
    for (let id = 0; id < MAX_OPEN_CALLS_PER_CONNECTION; id += 1) call(conn, id);
  }
  assert.equal((await metadata({ conn: 9, id: 1 })).error.code, "RATE_LIMITED");
  host.host({ conn: 1, type: "conn_close", reason: "eof" });
  await settled();
  host.page({ rpc: () => rpcAnswer() });
  assert.equal((await metadata({ conn: 9, id: 2 })).ok, true);
});

test("a call without a sign of life ends after our own ceiling, moved by each chunk", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let piece = () => {};
  host.page({
    stream: () => ({ ok: true, status: 200, retry_after_s: null, fetch_ms: 2 }),
    pull: () => new Promise((resolve) => (piece = resolve)),
    abort: () => ({ ok: true }),
  });
  const result = host.ask();
  await until(() => host.commands.some(({ op }) => op === "pull"));
  t.mock.timers.tick(239_000);
  piece({ ok: true, text: "a", done: false, error: null });
  await settled();
  t.mock.timers.tick(239_000);
  await settled();
  assert.equal(host.results(1).length, 0);
  t.mock.timers.tick(2_000);
  assert.deepEqual([(await result).error.code, (await result).error.started], ["TIMEOUT", true]);
});

test("a malformed call gets a result, any other breach ends its connection only", async () => {
  const { error } = await host.call("rpc", [], {});
  assert.deepEqual([error.code, error.started], ["INVALID_ARGUMENT", false]);
  host.host({ conn: 4, type: "cancel", id: "x", reason: "r" });
  assert.deepEqual(host.received.at(-1), {
    conn: 4,
    type: "error",
    code: "INVALID_ARGUMENT",
    message: 'cancel: field "id" has the wrong type',
  });
  host.host({ conn: 5, type: "fragment", id: 1, seq: 3, last: true, data: "" });
  assert.deepEqual([host.received.at(-1).conn, host.received.at(-1).type], [5, "error"]);
  assert.equal(host.port.is_open, true);
  assert.equal((await metadata()).ok, true);
});

test("an id that is open already ends the connection: its result could not be told apart", async () => {
  host.page({ rpc: forever });
  for (let i = 0; i < 2; i += 1) host.send("rpc", { rpc: "rLM1Ne", params: [NOTEBOOK, null, OPT, null, 0] }, { id: 7 });
  assert.deepEqual([host.received.at(-1).type, host.received.at(-1).conn], ["error", 1]);
});

test("a large call that came in fragments is a call like any other", async () => {
  const frame = {
    conn: 1,
    type: "call",
    id: 5,
    op: "rpc",
    params: { rpc: "rLM1Ne", params: [NOTEBOOK, null, OPT, null, 0] },
    notebook: NOTEBOOK,
    account: ACCOUNT,
    not_after_ms: Date.now() + 5_000,
    trace: {},
  };
  const bytes = Buffer.from(JSON.stringify(frame));
  for (const [seq, data] of [bytes.subarray(0, 100), bytes.subarray(100)].entries()) {
    host.host({ conn: 1, type: "fragment", id: 5, seq, last: seq === 1, data: data.toString("base64") });
  }
  assert.equal((await host.next(({ type, id }) => type === "result" && id === 5)).ok, true);
});

test("a joined message for another connection is refused", () => {
  const data = Buffer.from(JSON.stringify({ conn: 2, type: "conn_close", reason: "forged" })).toString("base64");
  host.host({ conn: 1, type: "fragment", id: 5, seq: 0, last: true, data });
  assert.deepEqual([host.received.at(-1).type, host.received.at(-1).conn], ["error", 1]);
});

test("another account: ready again, event to all, ids and tab forgotten", async () => {
  host.page({ rpc: () => rpcAnswer({ owned: { kind: "source", ids: [SOURCE] } }) });
  await metadata();
  await host.settings.set({ account: "grace@example.com" });
  await settled();
  assert.equal(
    host.chrome.ports
      .at(-1)
      .sent.filter(({ type }) => type === "ready")
      .at(-1).account,
    "grace@example.com",
  );
  assert.deepEqual(host.received.find(({ type, name }) => type === "event" && name === "account_changed").conn, 0);
  assert.equal(host.ownership.ownerOf(SOURCE), undefined);
  assert.equal(host.chrome.tabs.size, 0);
});

test("a body that would not fit in one frame is refused with its size", async () => {
  host.page({ rpc: () => rpcAnswer({ body: "\u0001".repeat(12 * 1024 * 1024) }) });
  const { error } = await metadata();
  assert.deepEqual([error.code, error.started], ["UPSTREAM_REJECTED", true]);
  assert.match(error.message, /limit is 64 MiB/);
});

test("C-043 a worker that is killed during a call leaves all that the next one needs", async () => {
  host.page({ rpc: () => rpcAnswer({ owned: { kind: "source", ids: [SOURCE] } }) });
  await metadata();
  host.page({ rpc: forever });
  host.send("rpc", { rpc: "rLM1Ne", params: [NOTEBOOK, null, OPT, null, 0] });
  await settled();

  const next = await new FakeHost(host.chrome).startWorker();
  next.page({ rpc: () => rpcAnswer() });
  assert.equal(host.chrome.ports.length, 2);
  assert.equal((await next.rpc("hizoJc", [[SOURCE], [2], [2]])).ok, true);
  assert.equal(host.chrome.tabs.size, 1);
  next.close();
});
