// Script of the page against the executor: it may lie about its own page, and gets nothing else.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import vm from "node:vm";

import { FakePage, SCRIPTS, NOTEBOOK, OTHER_NOTEBOOK, SIGNED_IN, answerBody, readBodyStrictly, resultOf } from "./fake_page.js";
import { caseInput } from "./shared.js";

const SECRET = "the question of the person";

/** Everything a hostile script could reach for, wrapped so that it reports each value it sees. */
const TRAPS = `
  globalThis.seen = "";
  const { stringify } = JSON, { apply } = Reflect, { isArray } = Array;
  const note = (...values) => { for (let i = 0; i < values.length; i += 1) {
    let text = "";
    try { text = typeof values[i] === "string" ? values[i] : (stringify(values[i]) ?? ""); } catch {}
    seen += text;
  } };
  const wrap = (holder, name) => {
    const original = holder[name];
    holder[name] = function (...args) { note(this, ...args); return apply(original, this, args); };
  };
  for (const name of ["then", "catch", "finally"]) wrap(Promise.prototype, name);
  for (const name of ["indexOf", "slice", "toLowerCase", "lastIndexOf", "split", "replace"]) wrap(String.prototype, name);
  for (const name of ["push", "map", "filter", "concat", "join", "slice"]) wrap(Array.prototype, name);
  for (const name of ["call", "apply", "bind"]) wrap(Function.prototype, name);
  for (const name of ["test", "exec"]) wrap(RegExp.prototype, name);
  for (const name of ["get", "set", "has"]) wrap(Map.prototype, name);
  for (const name of ["parse", "stringify"]) wrap(JSON, name);
  for (const name of ["apply", "defineProperty", "get", "has"]) wrap(Reflect, name);
  wrap(Response.prototype, "text");
  wrap(globalThis, "fetch");
  wrap(globalThis, "encodeURIComponent");
  const own_constructor = Promise.prototype.constructor;
  Object.defineProperty(Promise.prototype, "constructor", { get() { note(this); return own_constructor; } });
  Object.defineProperty(Promise, Symbol.species, { get() { return class { constructor(run) { run(note, note); } }; } });
  for (const index of [0, 1, 2, 3]) {
    Object.defineProperty(Array.prototype, index, { set(value) { note(value); }, get() { return undefined; }, configurable: true });
  }
  Array.prototype[Symbol.iterator] = function () { note(this); throw new Error("no iteration"); };
`;

test("C-047 nothing listens to messages or events of the page", () => {
  const heard = [];
  const listen = (type) => void heard.push(type);
  const context = vm.createContext({
    addEventListener: listen,
    setTimeout,
    chrome: { runtime: { id: "x", connect: () => ({ onDisconnect: { addListener: () => {} } }) } },
  });
  vm.runInContext(readFileSync(new URL("../../extension/wake.js", import.meta.url), "utf-8"), context);
  assert.deepEqual(heard, ["pageshow"]);

  const page = new FakePage({ wiz: null });
  page.evaluate("globalThis.heard = []; globalThis.addEventListener = (type) => heard.push(type);");
  for (const name of SCRIPTS) {
    const code = readFileSync(new URL(`../../extension/${name}`, import.meta.url), "utf-8");
    assert.doesNotMatch(code, /addEventListener|postMessage|onmessage|BroadcastChannel/, name);
  }
});

test("C-047 forged messages are no commands, even at the executor's own door", async () => {
  const forged = JSON.parse(readFileSync(caseInput("C-047-forged.json"), "utf-8"));
  assert.equal(forged.length, 4);
  const page = new FakePage();
  for (const message of forged) {
    const answer = await page.run(message);
    assert.deepEqual([answer.ok, answer.error.code, answer.error.started], [false, "INTERNAL", false]);
  }
  assert.equal(page.sent.length, 0);
});

test("the executor cannot be replaced, removed or listed, and leaves nothing else behind", () => {
  const page = new FakePage();
  const result = page.evaluate(`(() => {
    const before = window.__notebookGatewayExecutor;
    try { window.__notebookGatewayExecutor = null; } catch {}
    try { delete window.__notebookGatewayExecutor; } catch {}
    let refused = false;
    try { Object.defineProperty(window, "__notebookGatewayExecutor", { value: null }); } catch { refused = true; }
    return refused && window.__notebookGatewayExecutor === before &&
      !Object.keys(window).includes("__notebookGatewayExecutor") && !("__notebookGatewayKit" in window);
  })()`);
  assert.equal(result, true);
});

test("replaced built-ins see neither question nor answer nor tokens, and change nothing", async () => {
  const page = new FakePage();
  page.evaluate(`{${TRAPS}}`);
  const rows = [
    ["allowed", null, NOTEBOOK],
    ["hidden", null, OTHER_NOTEBOOK],
  ];
  page.answer = () => page.response(answerBody("wXbhsf", [rows]));
  const entered = page.window.__notebookGatewayExecutor({
    op: "rpc",
    key: "k".repeat(32),
    origins: ["https://notebook.google.com"],
    account: "worker@example.com",
    not_after_ms: page.now_ms,
    rpc: "wXbhsf",
    params_json: JSON.stringify([SECRET]),
    source_path: "/",
    notebook: null,
    allow: [NOTEBOOK],
  });
  const answer = await new Promise((resolve, reject) => Promise.prototype.then.call(entered, resolve, reject));
  assert.equal(answer.ok, true, answer.error?.message);
  assert.deepEqual(resultOf(readBodyStrictly(answer.body), "wXbhsf"), [[rows[0]]]);
  const seen = page.evaluate("seen");
  for (const secret of [SECRET, SIGNED_IN.SNlM0e, SIGNED_IN.FdrFJe, "allowed", "hidden"])
    assert.ok(!seen.includes(secret), secret);
  assert.deepEqual(page.sent[0].request[0][0][0], "wXbhsf");
});

test("a trap for results on Object.prototype stops every call before it is sent", async () => {
  for (const trap of ["Object.prototype.then", "Object.prototype.toJSON", "Array.prototype.toJSON"]) {
    const page = new FakePage();
    page.evaluate(`${trap} = function () {}`);
    const entered = page.window.__notebookGatewayExecutor({ op: "rpc", account: "worker@example.com" });
    const { ok, error } = await new Promise((resolve) => Promise.prototype.then.call(entered, resolve));
    assert.deepEqual([ok, error.code, error.started, error.detail.path], [false, "UPSTREAM_SCHEMA_DRIFT", false, trap]);
    assert.equal(page.sent.length, 0);
  }
});

test("a trap that is set while the request runs gets neither the response nor the answer", async () => {
  const page = new FakePage();
  page.answer = () => {
    page.evaluate("globalThis.stolen = 0; Object.prototype.then = function () { stolen += 1; }");
    return page.response("the answer");
  };
  const entered = page.window.__notebookGatewayExecutor({
    op: "rpc",
    key: "k".repeat(32),
    origins: ["https://notebook.google.com"],
    account: "worker@example.com",
    not_after_ms: page.now_ms,
    rpc: "tr032e",
    params_json: "[]",
    source_path: "/",
  });
  const answer = await new Promise((resolve) => Promise.prototype.then.call(entered, resolve));
  assert.equal(answer.body, "the answer");
  assert.equal(page.evaluate("stolen"), 0);
});

test("inherited properties are no part of a command", async () => {
  const page = new FakePage();
  page.evaluate(
    `Object.assign(Object.prototype, { account: "worker@example.com", rpc: "AH0mwd", origins: ["https://notebook.google.com"] })`,
  );
  const answer = await page.run({ op: "rpc", key: "k" });
  assert.equal(answer.ok, false);
  assert.equal(page.sent.length, 0);
});
