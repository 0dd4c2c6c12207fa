// A file from the host's frames through the worker and a real page executor to the service's side of an upload.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { FakeChrome, settled, until } from "./fake_chrome.js";
import { ACCOUNT, FakeHost, NOTEBOOK, SOURCE, configuredHost } from "./fake_host.js";
import { FakePage, SIGNED_IN } from "./fake_page.js";
import { FakeUploadServer, SECRET } from "./fake_upload_server.js";

const FILE = Buffer.from(Array.from({ length: 1_000_000 }, (_, n) => (n * 31) % 251));
const SLICE_BYTES = 512 * 1024;
const NO_UPLOAD = `up-${"0".repeat(32)}`;
/** @type {FakeHost} */
let host;
/** @type {FakePage} */
let page;
/** @type {FakeUploadServer} */
let server;

/** The tab has a fresh document now. */
function loadPage() {
  page = new FakePage({ wiz: { ...SIGNED_IN, oPEP7c: ACCOUNT } });
  page.now_ms = Date.now();
  page.answer = (sent) => server.answer(sent);
  server.page = page;
  const run = (command) => page.run(command);
  const ops = ["start", "slice", "query", "finish"].map((op) => [`upload.${op}`, run]);
  host.page({ ...Object.fromEntries(ops), abort: run });
  for (const tab of host.chrome.tabs.values()) tab.document_id += "-next";
}

beforeEach(async () => {
  host = await configuredHost();
  server = new FakeUploadServer(new FakePage());
  loadPage();
  await host.ownership.learn(NOTEBOOK, "source", [SOURCE]);
});

afterEach(() => {
  const told = JSON.stringify([host.received, host.chrome.ports.map(({ sent }) => sent), host.chrome.local.items]);
  host.close();
  assert.doesNotMatch(told, new RegExp(`${SECRET}|upload_id`), "C-029: the session address left the browser");
});

const start = (more = {}) =>
  host.call("upload.start", {
    source: SOURCE,
    name: "a.bin",
    size_bytes: FILE.length,
    mime_type: "application/octet-stream",
    ...more,
  });
const data = (offset, size_bytes = SLICE_BYTES) => FILE.subarray(offset, offset + size_bytes).toString("base64");
const slice = (upload, offset, from = host) => from.call("upload.slice", { upload, offset, data: data(offset) });

test("start, slices and finish carry the file over, and the broker sees a handle and numbers only", async () => {
  const { value, hops } = await start();
  const { upload } = value;
  assert.match(upload, /^up-[0-9a-f]{32}$/);
  assert.deepEqual(value, { upload, granularity_bytes: 262_144 });
  assert.deepEqual(Object.keys(hops).sort(), ["fetch_ms", "page_ms", "tab_ms", "worker_ms"]);
  assert.deepEqual((await slice(upload, 0)).value, { next_offset: 524_288, received_bytes: 524_288 });
  assert.deepEqual((await slice(upload, SLICE_BYTES)).value, { next_offset: 1_000_000, received_bytes: 786_432 });
  assert.deepEqual((await host.call("upload.finish", { upload })).value, { status: "final", received_bytes: null });
  assert.deepEqual((await host.call("upload.query", { upload })).value, { status: "final", received_bytes: null });
  assert.ok(server.received.equals(FILE));
});

test("C-029 the address is in chrome.storage.session, and its failures are told without it", async () => {
  const { upload } = (await start()).value;
  assert.equal(host.chrome.session.items.uploads[upload].url, server.address);
  server.fault = () => server.respond({}, 500);
  for (const [op, params] of [
    ["slice", { upload, offset: 0, data: data(0) }],
    ["query", { upload }],
  ]) {
    const { error } = await host.call(`upload.${op}`, params);
    assert.deepEqual(
      [error.code, error.started, error.detail],
      ["UPSTREAM_REJECTED", true, { http_status: 500, stage: op }],
    );
  }
  server.fault = () => {
    throw new Error(`cannot reach ${server.address}`);
  };
  const { error } = await start();
  assert.deepEqual([error.code, error.detail], ["UPSTREAM_REJECTED", { reason: "network", stage: "start" }]);
});

test("C-087 a start that was answered with another address gives no handle", async () => {
  server.address = `https://evil.example/upload/_/?upload_id=${SECRET}`;
  const { error } = await start();
  assert.deepEqual(
    [error.code, error.started, error.detail.path],
    ["UPSTREAM_SCHEMA_DRIFT", true, "x-goog-upload-url"],
  );
  assert.deepEqual(host.chrome.session.items.uploads, {});
});

test("a worker that was stopped in between goes on where it was", async () => {
  const { upload } = (await start()).value;
  await slice(upload, 0);
  const next = await new FakeHost(host.chrome).startWorker();
  assert.deepEqual((await slice(upload, SLICE_BYTES, next)).value, { next_offset: 1_000_000, received_bytes: 786_432 });
  assert.equal((await next.call("upload.finish", { upload })).value.status, "final");
  assert.ok(server.received.equals(FILE));
  next.close();
});

test("a page that was loaded anew asks the service first", async () => {
  const { upload } = (await start()).value;
  await slice(upload, 0);
  loadPage();
  assert.deepEqual((await slice(upload, SLICE_BYTES)).value, { next_offset: null, received_bytes: null });
  assert.equal((await host.call("upload.finish", { upload })).error.detail.reason, "incomplete");
  assert.deepEqual((await host.call("upload.query", { upload })).value, { status: "active", received_bytes: 524_288 });
  await slice(upload, SLICE_BYTES);
  assert.equal((await host.call("upload.finish", { upload })).value.status, "final");
  assert.ok(server.received.equals(FILE));
});

test("a browser that was restarted knows no handle, and says so before anything is sent", async () => {
  const { upload } = (await start()).value;
  const chrome = new FakeChrome();
  const next = await configuredHost(chrome);
  for (const handle of [upload, NO_UPLOAD]) {
    for (const op of ["query", "finish"]) {
      const { error } = await next.call(`upload.${op}`, { upload: handle });
      assert.deepEqual([error.code, error.started, error.detail.reason], ["NOT_FOUND", false, "unknown_upload"]);
    }
  }
  assert.equal(chrome.tabs.size, 0);
  next.close();
});

test("the sessions of an account end with it", async () => {
  const { upload } = (await start()).value;
  await host.settings.set({ account: "grace@example.com" });
  await settled();
  assert.deepEqual(host.chrome.session.items.uploads, {});
  const { error } = await host.call("upload.query", { upload }, { account: "grace@example.com" });
  assert.equal(error.code, "NOT_FOUND");
});

test("a source that no answer for the notebook has named gets no session", async () => {
  await host.ownership.clear();
  const { error } = await start();
  assert.deepEqual([error.code, error.started, error.detail.reason], ["ALLOWLIST_DENIED", false, "unknown_id"]);
  assert.equal(page.sent.length, 0);
});

test("no step is stopped by cancel: its own answer is its result", async () => {
  const { upload } = (await start()).value;
  let finish = () => {};
  page.answer = (sent) => new Promise((resolve) => (finish = () => resolve(server.answer(sent))));
  const id = host.send("upload.slice", { upload, offset: 0, data: data(0) });
  await until(() => page.sent.length === 2);
  host.host({ conn: 1, type: "cancel", id, reason: "deadline" });
  await settled();
  assert.equal(host.results(id).length, 0);
  finish();
  const { value } = await host.next((frame) => frame.type === "result" && frame.id === id);
  assert.equal(value.received_bytes, 524_288);
  assert.ok(host.commands.every(({ op }) => op !== "abort"));
});
