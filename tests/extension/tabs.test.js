// The one background tab: found, used, renewed, lost.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Executor } from "../../extension/lib/executor.js";
import { nextStep } from "../../extension/lib/tab_steps.js";
import { TabKeeper } from "../../extension/lib/tabs.js";
import { BUILD } from "../../extension/lib/protocol.js";
import { FakeChrome, FakeTab, readyExecutor } from "./fake_chrome.js";

const ACCOUNT = "ada@example.com";
const HOME = "https://notebook.google.com/?authuser=ada%40example.com";

/** @type {FakeChrome} */
let chrome;
/** @type {TabKeeper} */
let tabs;
/** @type {[number, string][]} */
let losses;

beforeEach(() => {
  chrome = new FakeChrome();
  [tabs, losses] = keeper();
});

function keeper() {
  const made = new TabKeeper(chrome, new Executor(chrome));
  const told = [];
  made.onLoss = (tab_id, name) => told.push([tab_id, name]);
  return [made, told];
}

const ready = (more = {}) =>
  tabs.ready({ account: ACCOUNT, not_after_ms: Date.now() + 5_000, refresh: false, ...more });
const opened = () => chrome.log.filter(([what]) => what === "open").length;

test("one tab is opened in the background and used by all callers", async () => {
  const pages = await Promise.all([ready(), ready(), ready()]);
  assert.equal(new Set(pages.map((page) => page.document_id)).size, 1);
  assert.deepEqual(
    chrome.log.map(([what]) => what),
    ["open", "keep"],
  );
  assert.equal(chrome.log[0][1], HOME);
  assert.equal(await ready(), pages[0]);
});

test("after the worker was stopped the same tab is used", async () => {
  const page = await ready();
  [tabs, losses] = keeper();
  await tabs.load();
  assert.deepEqual(await ready(), page);
  assert.equal(opened(), 1);
});

test("without a known tab, a background tab that was opened for the account is taken over", async () => {
  chrome.tabs.set(1, new FakeTab(1, "https://notebook.google.com/?authuser=0", { executor: readyExecutor() }));
  chrome.tabs.set(2, new FakeTab(2, HOME, { executor: readyExecutor(), active: true }));
  chrome.tabs.set(3, new FakeTab(3, HOME, { executor: readyExecutor() }));
  assert.equal((await ready()).tab_id, 3);
  assert.deepEqual(chrome.log, [["keep", 3]]);
  await tabs.forget();
  assert.ok(chrome.tabs.has(3), "a tab that we did not open is not closed");
});

test("a discarded, frozen or wandered-off tab is loaded anew", async () => {
  for (const change of [
    { discarded: true, executor: null },
    { frozen: true },
    { url: "https://example.org/" },
    { executor: null },
  ]) {
    const before = await ready();
    tabs.invalidate(before);
    Object.assign(chrome.tabs.get(before.tab_id), change);
    const after = await ready();
    assert.equal(after.tab_id, before.tab_id);
    assert.notEqual(after.document_id, before.document_id, JSON.stringify(change));
  }
  assert.equal(opened(), 1);
});

test("an executor of an older build is reloaded before it is used", async () => {
  const page = await ready();
  tabs.invalidate(page);
  chrome.tabs.get(page.tab_id).executor = async () => ({ ok: true, build: "0.0.9", ready: true });
  assert.notEqual((await ready()).document_id, page.document_id);
  assert.deepEqual(chrome.log.at(-1), ["reload", page.tab_id]);
});

test("a document from before the extension was reloaded is loaded anew, one from after it is used", async () => {
  const old = readyExecutor();
  chrome.tabs.set(
    3,
    new FakeTab(3, HOME, {
      executor: async (command) => ({ ...(await old(command)), loaded_ms: Date.now() - 60_000 }),
    }),
  );
  await tabs.markInstalled();
  [tabs, losses] = keeper(); // the time of loading outlives the worker
  await tabs.load();
  const page = await ready();
  assert.deepEqual(chrome.log, [
    ["keep", 3],
    ["reload", 3],
  ]);
  tabs.invalidate(page);
  assert.deepEqual(await ready(), page);
});

test("a page that holds no executor even when fresh is a failure that proves nothing was sent", async () => {
  chrome.executor = null;
  await assert.rejects(ready(), { code: "UPSTREAM_REJECTED", started: false });
});

test("a page that leads to the sign-in host is AUTH_REQUIRED, and the next call tries again", async () => {
  chrome.onLoad = (tab) => Object.assign(tab, { url: "https://accounts.google.com/v3/signin", executor: null });
  await assert.rejects(ready(), { code: "AUTH_REQUIRED", started: false });
  chrome.onLoad = () => {};
  assert.ok((await ready()).document_id);
  assert.equal(opened(), 1);
});

test("a sign-in page that the person is looking at is left alone", async () => {
  const page = await ready();
  tabs.invalidate(page);
  Object.assign(chrome.tabs.get(page.tab_id), {
    url: "https://accounts.google.com/v3/signin",
    active: true,
    executor: null,
  });
  chrome.log.length = 0;
  await assert.rejects(ready(), { code: "AUTH_REQUIRED" });
  assert.deepEqual(chrome.log, []);
});

test("a page that leads elsewhere is named", async () => {
  chrome.onLoad = (tab) =>
    Object.assign(tab, { url: "https://notebooklm.google/?location=unsupported", executor: null });
  await assert.rejects(ready(), { code: "UPSTREAM_REJECTED", message: /notebooklm\.google,/ });
});

test("a tab that never loads ends the call at its own deadline", async () => {
  chrome.onLoad = (tab) => Object.assign(tab, { status: "loading", url: "" });
  await assert.rejects(ready({ not_after_ms: Date.now() + 120 }), { code: "TIMEOUT", started: false });
  chrome.tabs.clear(); // ends the search, which would go on for those who come later
});

test("refresh loads the page anew, once for all who ask at the same time", async () => {
  const before = await ready();
  const [one, two, plain] = await Promise.all([ready({ refresh: true }), ready({ refresh: true }), ready()]);
  assert.notEqual(one.document_id, before.document_id);
  assert.deepEqual([two, plain], [one, one]);
  assert.equal(chrome.log.filter(([what]) => what === "reload").length, 1);
  assert.deepEqual(losses, [[before.tab_id, "reloaded"]]);
});

test("the old document, which still answers for a moment after a reload, is not used", async () => {
  const before = await ready();
  const reload = chrome.reloadTab;
  chrome.reloadTab = async (id) => void setTimeout(() => reload(id), 120);
  assert.notEqual((await ready({ refresh: true })).document_id, before.document_id);
});

test("a refresh lets calls in the tab end first", async () => {
  const page = await ready();
  let open_calls = 1;
  tabs.countCalls = (tab_id) => ({ all: tab_id === page.tab_id ? open_calls : 0, writes: 0 });
  const refreshed = ready({ refresh: true });
  await new Promise((resolve) => setTimeout(resolve, 120));
  assert.equal(
    chrome.log.some(([what]) => what === "reload"),
    false,
  );
  open_calls = 0;
  assert.notEqual((await refreshed).document_id, page.document_id);
});

test("a refresh waits longer for writes than for reads, and not for ever", async (t) => {
  const page = await ready();
  t.mock.timers.enable({ apis: ["setTimeout", "Date"], now: Date.now() });
  const reloads = () => chrome.log.filter(([what]) => what === "reload").length;
  const counts = { all: 1, writes: 1 };
  tabs.countCalls = () => counts;
  const pass = async (wait_ms) => {
    for (let passed_ms = 0; passed_ms < wait_ms; passed_ms += 50) {
      t.mock.timers.tick(50);
      await new Promise(setImmediate);
    }
  };
  const refreshed = ready({ refresh: true, not_after_ms: Date.now() + 200_000 });
  await pass(59_000);
  assert.equal(reloads(), 0);
  await pass(2_000);
  assert.equal(reloads(), 1);
  assert.notEqual((await refreshed).document_id, page.document_id);

  counts.writes = 0;
  void ready({ refresh: true, not_after_ms: Date.now() + 200_000 });
  await pass(11_000);
  assert.equal(reloads(), 2);
});

test("a page that was signed out or somebody else's is loaded anew for the next call", async () => {
  const page = await ready();
  tabs.suspect();
  assert.notEqual((await ready()).document_id, page.document_id);
});

test("closing, discarding, freezing and replacing the tab are told", async () => {
  const { tab_id } = await ready();
  tabs.handleUpdated(tab_id, { discarded: true });
  tabs.handleUpdated(tab_id, { frozen: true });
  tabs.handleReplaced(777, tab_id);
  tabs.handleRemoved(777);
  assert.deepEqual(losses, [
    [tab_id, "tab_discarded"],
    [tab_id, "tab_discarded"],
    [tab_id, "tab_discarded"],
    [777, "tab_gone"],
  ]);
  assert.equal(await tabs.describe(), null);
});

test("other tabs are nobody's business", async () => {
  const page = await ready();
  tabs.handleRemoved(1);
  tabs.handleUpdated(1, { discarded: true });
  tabs.handleReplaced(2, 1);
  assert.deepEqual(losses, []);
  assert.equal(await ready(), page);
});

test("a navigation inside the document is no loss; a new document is", async () => {
  const { tab_id, document_id } = await ready();
  tabs.handleUpdated(tab_id, { status: "loading" });
  await new Promise(setImmediate);
  assert.deepEqual(losses, []);
  chrome.tabs.get(tab_id).document_id = `${document_id}-next`;
  tabs.handleUpdated(tab_id, { status: "complete" });
  await new Promise(setImmediate);
  assert.deepEqual(losses, [[tab_id, "tab_gone"]]);
});

test("another account closes the tab we opened", async () => {
  const { tab_id } = await ready();
  await tabs.forget();
  assert.equal(chrome.tabs.has(tab_id), false);
  assert.equal(await tabs.describe(), null);
});

test("status shows the tab's state and host, never its path", async () => {
  assert.equal(await tabs.describe(), null);
  const { tab_id } = await ready();
  assert.deepEqual(await tabs.describe(), { state: "ready", host: "notebook.google.com" });
  chrome.tabs.get(tab_id).status = "loading";
  assert.equal((await tabs.describe()).state, "loading");
  chrome.tabs.get(tab_id).discarded = true;
  assert.equal((await tabs.describe()).state, "discarded");
});

test("each state of a tab has one next step", () => {
  const app = { url: HOME, status: "complete" };
  const probe = { build: BUILD, ready: true, loaded_ms: 5, document_id: "d" };
  const table = [
    [{ tab: app, probe, is_renewed: false }, "use"],
    [{ tab: { ...app, status: "loading" }, probe, is_renewed: true }, "use"],
    [{ tab: app, probe: { ...probe, ready: false }, is_renewed: true }, "wait"],
    [{ tab: { ...app, status: "loading" }, probe: null, is_renewed: true }, "wait"],
    [{ tab: app, probe: null, is_renewed: false }, "renew"],
    [{ tab: app, probe: null, is_renewed: true }, "broken"],
    [{ tab: { ...app, discarded: true }, probe: null, is_renewed: false }, "renew"],
    [{ tab: { ...app, discarded: true }, probe: null, is_renewed: true }, "wait"],
    [{ tab: { ...app, frozen: true }, probe: null, is_renewed: false }, "renew"],
    [{ tab: { url: "", status: "loading" }, probe: null, is_renewed: false }, "wait"],
    [{ tab: { url: "", status: "complete" }, probe: null, is_renewed: false }, "renew"],
    [{ tab: { url: "https://example.org/", status: "complete" }, probe: null, is_renewed: false }, "renew"],
    [{ tab: { url: "https://example.org/", status: "complete" }, probe: null, is_renewed: true }, "unavailable"],
    [{ tab: { url: "https://accounts.google.com/", status: "complete" }, probe: null, is_renewed: false }, "renew"],
    [{ tab: { url: "https://accounts.google.com/", status: "complete" }, probe: null, is_renewed: true }, "signed_out"],
    [
      {
        tab: { url: "https://accounts.google.com/", status: "complete", active: true },
        probe: null,
        is_renewed: false,
      },
      "signed_out",
    ],
  ];
  for (const [seen, step] of table) assert.equal(nextStep({ installed_ms: 5, ...seen }), step, JSON.stringify(seen));
  assert.equal(nextStep({ tab: app, probe, is_renewed: false, installed_ms: 6 }), "renew");
});
