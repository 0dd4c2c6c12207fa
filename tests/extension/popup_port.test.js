// The popup's line to the worker: who may open it, and what may be asked.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { isPopup, servePopup } from "../../extension/lib/popup_port.js";
import { ACCOUNT, FOREIGN, FakeHost, NOTEBOOK, configuredHost, rpcAnswer } from "./fake_host.js";
import { FakePort, until } from "./fake_chrome.js";

const ID = "honooekhafmnglgdleeanheggbpklbca";
const PAGE = `chrome-extension://${ID}/popup.html`;
/** @type {FakeHost} */
let host;
/** @type {FakePort} */
let port;

beforeEach(async () => {
  host = await configuredHost();
  port = new FakePort();
  const { gateway, settings, pause, activity, ownership, uploads, tabs, port: native } = host;
  const parts = { settings, pause, activity, ownership, uploads, tabs, port: native, executor: host.executor, extension_id: ID };
  assert.ok(gateway);
  servePopup(port, parts, Promise.resolve());
});

afterEach(() => host.close());

let last_id = 0;
async function ask(what, value) {
  const id = (last_id += 1);
  port.onMessage.emit({ id, ask: what, value });
  await until(() => port.sent.some((answer) => answer.id === id));
  return port.sent.find((answer) => answer.id === id);
}

test("c047 only our own page may open the line: no page, no content script, no other extension", () => {
  const senders = [
    { id: ID, url: PAGE },
    { id: ID, url: `${PAGE}#notebooks` },
    { id: ID, url: "https://notebook.google.com/" },
    { id: ID, url: `https://notebook.google.com/?${PAGE}` },
    { id: ID, url: `chrome-extension://${ID}/popup.html.evil` },
    { id: ID, url: `chrome-extension://${ID}/icons/16.png` },
    { id: "p".repeat(32), url: PAGE },
    { id: ID },
    {},
  ];
  assert.deepEqual(
    senders.map((sender) => isPopup({ sender }, ID)),
    [true, true, false, false, false, false, false, false, false],
  );
  assert.equal(isPopup({}, ID), false);
});

test("state says what is connected, for whom, what is allowed and who has called", async () => {
  host.host({ conn: 1, type: "conn_open", client: { name: "codex", version: "1" }, build: "0.1.0" });
  const { ok, value } = await ask("state");
  assert.equal(ok, true);
  assert.deepEqual(
    [value.paused, value.port, value.agents, value.account, value.notebooks, value.tab, value.activity],
    [false, { connected: true, error: null }, ["codex"], ACCOUNT, [NOTEBOOK], null, []],
  );
});

test("pause, allowlist and account are the person's to change here", async () => {
  assert.equal((await ask("pause", true)).ok, true);
  assert.equal(host.pause.is_on, true);
  assert.equal((await ask("allow", [FOREIGN])).ok, true);
  assert.deepEqual(host.settings.current.notebooks, [FOREIGN]);
  assert.equal((await ask("account", ACCOUNT.toUpperCase())).ok, true);
  assert.deepEqual(host.settings.current.notebooks, [FOREIGN], "the same account keeps its list");
  assert.equal((await ask("account", "grace@example.com")).ok, true);
  assert.deepEqual(host.settings.current, { account: "grace@example.com", notebooks: [] });
});

test("what is wrong is refused with its reason and changes nothing", async () => {
  const before = host.settings.current;
  for (const [what, value] of [["allow", "some"], ["allow", ["no-id"]], ["account", "nobody"], ["pause", "yes"], ["set", {}], ["toString", 1], [7, 1]]) {
    const { ok, error } = await ask(what, value);
    assert.deepEqual([ok, error.code], [false, "INVALID_ARGUMENT"], String(what));
    assert.notEqual(error.message, "");
  }
  assert.equal(host.settings.current, before);
  assert.equal(host.pause.is_on, false);
});

test("the list of notebooks is a real read of the page, with titles", async () => {
  const row = JSON.stringify([[["Tides", null, NOTEBOOK]]]);
  host.page({ rpc: () => rpcAnswer({ body: `)]}'\n\n${JSON.stringify([["wrb.fr", "wXbhsf", row]])}` }) });
  assert.deepEqual((await ask("notebooks")).value, [{ id: NOTEBOOK, title: "Tides" }]);
});

test("a popup that was closed before its answer disturbs nobody", async () => {
  port.is_open = false;
  port.onMessage.emit({ id: 1, ask: "state" });
  port.onMessage.emit("no object");
  await until(() => true);
  assert.deepEqual(port.sent, []);
});
