import assert from "node:assert/strict";
import { test } from "node:test";
import vm from "node:vm";

import { Executor, PageGone } from "../../extension/lib/executor.js";
import { FakeChrome, FakeTab, readyExecutor } from "./fake_chrome.js";

const PAGE = { tab_id: 1, document_id: "doc-1-1" };

function chromeWith(executor) {
  const chrome = new FakeChrome();
  chrome.tabs.set(1, new FakeTab(1, "https://notebook.google.com/", { executor }));
  return chrome;
}

/** Chrome refuses or breaks with this text. */
function failing(message) {
  const chrome = new FakeChrome();
  chrome.executeScript = async () => {
    throw new Error(message);
  };
  return new Executor(chrome);
}

test("probe says which executor a document has, or that there is none", async () => {
  const { loaded_ms, ...probe } = await new Executor(chromeWith(readyExecutor())).probe(1);
  assert.deepEqual(probe, { build: "0.1.0", ready: true, document_id: "doc-1-1" });
  assert.equal(typeof loaded_ms, "number");
  assert.equal(await new Executor(chromeWith(null)).probe(1), null);
});

test("a command reaches one document, never its successor", async () => {
  const chrome = chromeWith(
    readyExecutor({ identity: () => ({ ok: true, account: "a@b", origin: "o", build_label: "l" }) }),
  );
  const executor = new Executor(chrome);
  assert.equal((await executor.identity(PAGE, "a@b")).account, "a@b");
  chrome.tabs.get(1).document_id = "doc-1-2";
  await assert.rejects(executor.identity(PAGE, "a@b"), PageGone);
});

test("Chrome's refusals before the injection prove that nothing ran", async () => {
  const texts = [
    "No tab with id: 1.",
    "No document with id doc-1-1 in tab with id 1.",
    'Cannot access contents of url "https://accounts.google.com/". Extension manifest must request permission.',
    "Frame with ID 0 is showing error page",
  ];
  for (const text of texts) await assert.rejects(failing(text).identity(PAGE, "a@b"), PageGone, text);
});

test("a document that goes away with the command proves nothing", async () => {
  for (const text of ["Frame with ID 0 was removed.", "The tab was closed.", "Something new"]) {
    await assert.rejects(failing(text).identity(PAGE, "a@b"), { code: "TAB_DISCARDED", started: true }, text);
  }
  await assert.rejects(new Executor(chromeWith(null)).identity(PAGE, "a@b"), { code: "TAB_DISCARDED", started: true });
});

test("the page's refusal keeps its code, detail and word on started", async () => {
  const error = { code: "ACCOUNT_MISMATCH", message: "m", detail: { side: "page" }, started: false };
  const executor = new Executor(chromeWith(readyExecutor({ identity: () => ({ ok: false, error }) })));
  await assert.rejects(executor.identity(PAGE, "a@b"), {
    code: "ACCOUNT_MISMATCH",
    message: "m",
    detail: { side: "page" },
    started: false,
  });
});

test("the injected function reads only what a page cannot replace", () => {
  let injected;
  const chrome = chromeWith(readyExecutor());
  chrome.executeScript = async ({ func }) => ((injected = func), [{ result: null, documentId: "d" }]);
  void new Executor(chrome).probe(1);
  assert.doesNotMatch(String(injected), /globalThis|self\b|document|await/);
  const window = { door: (command) => `ran ${command}` };
  const enter = vm.runInNewContext(`(${String(injected)})`, { window });
  assert.equal(enter("door", "x"), "ran x");
  assert.equal(enter("missing", "x"), null);
});
