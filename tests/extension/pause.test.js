// The switch that stops all agents: what it refuses, what it ends, what it leaves alone, and that it lasts.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { PauseSwitch } from "../../extension/lib/pause.js";
import { FakeHost, NOTEBOOK, OPT, configuredHost, rpcAnswer } from "./fake_host.js";
import { FakeStorage, settled, until } from "./fake_chrome.js";

/** @type {FakeHost} */
let host;

beforeEach(async () => {
  host = await configuredHost();
});

afterEach(() => host.close());

const read = () => host.rpc("rLM1Ne", [NOTEBOOK, null, OPT, null, 0]);

test("while paused every call is refused before a page is looked for, and resuming lets it through", async () => {
  await host.pause.set(true);
  const { error } = await read();
  assert.deepEqual(
    { ...error, message: "" },
    { code: "COMPANION_OFFLINE", message: "", detail: { reason: "paused" }, started: false },
  );
  assert.equal(host.chrome.tabs.size, 0);
  await host.pause.set(false);
  assert.equal((await read()).ok, true);
  const events = host.received.filter(({ type }) => type === "event").map(({ name, conn }) => [conn, name]);
  assert.deepEqual(events, [
    [0, "paused"],
    [0, "resumed"],
  ]);
});

test("status and activity are answered while paused, and say so", async () => {
  await host.pause.set(true);
  assert.equal((await host.call("status", {}, { notebook: null, account: null })).value.paused, true);
  assert.equal((await host.call("activity", { limit: 5 }, { notebook: null, account: null })).ok, true);
});

test("an open read ends at once, and its page is told to stop", async () => {
  const stopped = [];
  host.page({ rpc: () => new Promise(() => {}), abort: (command) => (stopped.push(command.key), { ok: true }) });
  const answer = read();
  await until(() => host.commands.some(({ op }) => op === "rpc"));
  await host.pause.set(true);
  const { error } = await answer;
  assert.deepEqual([error.code, error.started, error.detail.reason], ["COMPANION_OFFLINE", true, "paused"]);
  await settled();
  assert.equal(stopped.length, 1);
});

test("a write that the page has goes on, because stopping it would not undo it", async () => {
  let answerWrite = () => {};
  host.page({ rpc: () => new Promise((resolve) => (answerWrite = () => resolve(rpcAnswer()))) });
  const answer = host.rpc("CYK0Xb", [NOTEBOOK, "", [1], null, "New Note"]);
  await until(() => host.commands.some(({ op }) => op === "rpc"));
  await host.pause.set(true);
  answerWrite();
  assert.equal((await answer).ok, true);
});

test("a pause outlives worker and browser; no frame of a broker ends it", async () => {
  await host.pause.set(true);
  host.close();
  const again = await new FakeHost(host.chrome).startWorker();
  for (const type of ["pause", "resumed", "event", "gatewayPause"]) again.host({ conn: 1, type, name: "resumed", detail: {} });
  await settled();
  assert.equal(again.pause.is_on, true);
  again.close();
});

test("what is stored and is no clear off counts as on", async () => {
  for (const [stored, is_on] of [[undefined, false], [false, false], [true, true], ["no", true], [null, true], [0, true]]) {
    const area = new FakeStorage();
    if (stored !== undefined) area.items.paused = stored;
    const pause = new PauseSwitch(area);
    assert.equal(pause.is_on, true, "before it is loaded");
    await pause.load();
    assert.equal(pause.is_on, is_on, String(stored));
  }
});
