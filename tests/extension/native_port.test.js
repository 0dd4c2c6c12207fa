// The port's life: ready, heartbeat both ways, growing pauses, never two hosts (C-037, C-038).
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { delayAfter } from "../../extension/lib/backoff.js";
import { ALARM_NAME, NativePort } from "../../extension/lib/native_port.js";
import { BUILD } from "../../extension/lib/protocol.js";
import { FakeChrome, settled } from "./fake_chrome.js";

/** @type {FakeChrome} */
let chrome;
/** @type {NativePort} */
let port;

beforeEach(() => {
  chrome = new FakeChrome();
  port = new NativePort(chrome);
  port.about = () => ({ profile: "p1", account: "ada@example.com" });
});

/** Mock time, so that waiting is a statement of the test. */
function mockTime(t) {
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: 1_900_000_000_000 });
}

test("the first frame says who this worker is, keys in routing order", (t) => {
  mockTime(t);
  port.start();
  const [ready, ping] = chrome.ports[0].sent;
  assert.deepEqual(ready, {
    conn: 0,
    type: "ready",
    v_min: 1,
    v_max: 1,
    build: BUILD,
    extension_id: chrome.extension_id,
    profile: "p1",
    account: "ada@example.com",
  });
  assert.deepEqual(Object.keys(ready).slice(0, 2), ["conn", "type"]);
  assert.equal(ping.type, "ping");
});

test("the host's ping is answered and its pong is not passed on; other frames are", (t) => {
  mockTime(t);
  const taken = [];
  port.onFrame = (raw) => taken.push(raw);
  port.start();
  const [handle] = chrome.ports;
  handle.host({ conn: 0, type: "ping", t: 42 });
  assert.deepEqual(handle.sent.at(-1), { conn: 0, type: "pong", t: 42 });
  handle.host({ conn: 0, type: "pong", t: 1 });
  handle.host({ conn: 3, type: "conn_open", client: { name: "x", version: "1" }, build: "b" });
  assert.deepEqual(
    taken.map((frame) => frame.type),
    ["conn_open"],
  );
});

test("two missed heartbeats end the port; any frame counts as life", (t) => {
  mockTime(t);
  port.start();
  const [handle] = chrome.ports;
  for (let i = 0; i < 10; i += 1) {
    t.mock.timers.tick(15_000);
    handle.host({ conn: 0, type: "pong", t: i });
  }
  assert.equal(handle.is_open, true);
  t.mock.timers.tick(30_000);
  assert.equal(handle.is_open, true);
  t.mock.timers.tick(15_000);
  assert.equal(handle.is_open, false);
});

test("C-038 a host that never stays is launched with pauses that grow to at least 30 s", (t) => {
  mockTime(t);
  const launched_ms = [];
  chrome.onConnect = (handle) => {
    launched_ms.push(Date.now());
    setTimeout(() => handle.end(), 1);
  };
  port.start();
  for (let i = 0; i < 5 * 60 * 10; i += 1) t.mock.timers.tick(100);
  const pauses = launched_ms.slice(1).map((at, i) => at - launched_ms[i]);
  assert.ok(pauses.length <= 16, `${pauses.length} launches in five minutes`);
  assert.ok(pauses.at(-1) >= 30_000);
  assert.deepEqual(
    [...pauses].sort((a, b) => a - b),
    pauses,
  );
  assert.ok(chrome.ports.filter((handle) => handle.is_open).length <= 1);
});

test("an alarm stands behind the timer, and the pause outlives the worker", async (t) => {
  mockTime(t);
  port.start();
  for (let i = 0; i < 4; i += 1) {
    chrome.ports.at(-1).end();
    t.mock.timers.tick(delayAfter(i + 1));
  }
  chrome.ports.at(-1).end();
  assert.equal(chrome.alarms.get(ALARM_NAME), 0.5);

  const launched = chrome.ports.length;
  const reborn = new NativePort(chrome);
  await reborn.load();
  reborn.start();
  assert.equal(chrome.ports.length, launched); // the pause is not over
  t.mock.timers.tick(delayAfter(5));
  assert.ok(chrome.ports.length > launched);
});

test("a healthy port that is lost comes back at the first step", (t) => {
  mockTime(t);
  port.start();
  for (let i = 0; i < 3; i += 1) {
    t.mock.timers.tick(10_000);
    chrome.ports[0].host({ conn: 0, type: "pong", t: i });
  }
  chrome.ports[0].end();
  t.mock.timers.tick(delayAfter(1));
  assert.equal(chrome.ports.length, 2);
});

test("the loss of the port is told once", (t) => {
  mockTime(t);
  let losses = 0;
  port.onLoss = () => (losses += 1);
  port.start();
  const [handle] = chrome.ports;
  handle.end();
  handle.end();
  assert.equal(losses, 1);
  assert.equal(port.is_open, false);
});

test("a frame for a dead port is dropped, and one that Chrome does not take ends it", (t) => {
  mockTime(t);
  port.send({ conn: 1, type: "event" });
  port.start();
  chrome.ports[0].is_open = false;
  port.send({ conn: 1, type: "event" });
  assert.equal(port.is_open, false);
});

test("ensure waits for the host's first word", async (t) => {
  mockTime(t);
  const ensured = port.ensure();
  chrome.ports[0].host({ conn: 0, type: "pong", t: 1 });
  assert.deepEqual(await ensured, { connected: true, host: "io.notebook_gateway.host", error: null });
  assert.equal((await port.ensure()).connected, true);
  assert.equal(chrome.ports.length, 1);
});

test("ensure says why there is no host", async (t) => {
  mockTime(t);
  const ensured = port.ensure();
  chrome.last_error = "Specified native messaging host not found.";
  chrome.ports[0].end();
  assert.deepEqual(await ensured, { connected: false, host: "io.notebook_gateway.host", error: chrome.last_error });
});

test("ensure does not wait for ever for a silent host, and does not wait out a pause", async (t) => {
  mockTime(t);
  port.start();
  chrome.ports[0].end();
  const ensured = port.ensure();
  assert.equal(chrome.ports.length, 2);
  t.mock.timers.tick(10_000);
  await settled();
  assert.equal((await ensured).connected, false);
});

test("ready is said again when the account changes", (t) => {
  mockTime(t);
  port.start();
  port.about = () => ({ profile: "p1", account: "grace@example.com" });
  port.sendReady();
  assert.equal(chrome.ports[0].sent.at(-1).account, "grace@example.com");
});
