// The wiring: every listener is there before the first await, and the globals do what CDP users expect.
import assert from "node:assert/strict";
import { test } from "node:test";

import { FakePort, FakeStorage, until } from "./fake_chrome.js";

/** The global `chrome` of a worker, as far as `chrome_api.js` and the wiring touch it. */
function fakeGlobalChrome(ports) {
  const registered = [];
  const event = (name) => ({ addListener: () => registered.push(name) });
  const chrome = {
    runtime: {
      id: "honooekhafmnglgdleeanheggbpklbca",
      connectNative: () => (ports.push(new FakePort()), ports.at(-1)),
      onInstalled: event("onInstalled"),
      onStartup: event("onStartup"),
      onConnect: event("onConnect"),
    },
    alarms: { create: async () => {}, clear: async () => true, onAlarm: event("onAlarm") },
    storage: { local: new FakeStorage(), session: new FakeStorage() },
    tabs: { onRemoved: event("onRemoved"), onUpdated: event("onUpdated"), onReplaced: event("onReplaced") },
    scripting: {},
    action: { setBadgeText: async () => {}, setBadgeBackgroundColor: async () => {}, setTitle: async () => {} },
  };
  return { chrome, registered };
}

test("a worker that starts has all listeners before anything is loaded, and none for pages or other extensions", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  const ports = [];
  const { chrome, registered } = fakeGlobalChrome(ports);
  globalThis.chrome = chrome;
  let openStorage = () => {};
  const gate = new Promise((resolve) => (openStorage = resolve));
  const get = chrome.storage.local.get;
  chrome.storage.local.get = (keys) => gate.then(() => get.call(chrome.storage.local, keys));

  await import("../../extension/service_worker.js");
  const expected = ["onAlarm", "onConnect", "onInstalled", "onRemoved", "onReplaced", "onStartup", "onUpdated"];
  assert.deepEqual(registered.sort(), expected);
  assert.equal(ports.length, 0);
  openStorage();

  const ensured = globalThis.ensureNativePort();
  await until(() => ports.length > 0);
  ports[0].host({ conn: 0, type: "pong", t: 1 });
  assert.deepEqual(await ensured, { connected: true, host: "io.notebook_gateway.host", error: null });
  assert.equal(ports.length, 1);

  await globalThis.gatewaySettings.set({ account: "ada@example.com", notebooks: "*" });
  assert.deepEqual(await globalThis.gatewaySettings.get(), { account: "ada@example.com", notebooks: "*" });
  await assert.rejects(globalThis.gatewaySettings.set({ account: "nobody" }), TypeError);
  assert.equal(ports[0].sent.filter(({ type }) => type === "ready").at(-1).account, "ada@example.com");

  ports[0].host({ conn: 0, type: "error", code: "VERSION_SKEW", message: "the end" });
  assert.equal(ports[0].is_open, false);
});
