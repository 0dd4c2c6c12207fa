// Script of the page against the executor: it may lie about its own page, and gets nothing else.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import vm from "node:vm";

import { FakeUploadServer, SECRET as SESSION_SECRET } from "./fake_upload_server.js";
import {
  FakePage,
  SCRIPTS,
  NOTEBOOK,
  OTHER_NOTEBOOK,
  SIGNED_IN,
  answerBody,
  readBodyStrictly,
  resultOf,
} from "./fake_page.js";
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
    holder[name] = function (...args) {
      const result = apply(original, this, args);
      note(this, ...args, result);
      return result;
    };
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
`;
const NO_ITERATION = `
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
  page.evaluate(`{${TRAPS}${NO_ITERATION}}`);
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

/** What could be reached on the way of a file: its bytes, the session address, the headers of the answers. */
const BYTE_TRAPS = `
  const TypedArray = Object.getPrototypeOf(Uint8Array);
  const text = (value) => { let all = ""; for (const i in value) all += String.fromCharCode(value[i]); return all; };
  const trapGetter = (holder, name, shown) => {
    const { get } = Object.getOwnPropertyDescriptor(holder, name);
    const trap = { get() { seen += shown(this); return apply(get, this, []); }, configurable: true };
    Object.defineProperty(holder, name, trap);
  };
  for (const name of ["set", "subarray", "slice", "copyWithin", "fill"]) {
    const original = TypedArray.prototype[name];
    TypedArray.prototype[name] = function (...args) { seen += text(this); return apply(original, this, args); };
  }
  for (const name of ["length", "buffer"]) trapGetter(TypedArray.prototype, name, text);
  Object.defineProperty(TypedArray, Symbol.species, { get() { seen += "species"; return Uint8Array; } });
  TypedArray.prototype[Symbol.iterator] = function () { seen += text(this); throw new Error("no iteration"); };
  for (const name of ["origin", "href", "pathname", "search", "searchParams"]) trapGetter(URL.prototype, name, () => "session address");
  for (const name of ["get", "getAll", "has", "toString"]) wrap(URLSearchParams.prototype, name);
  for (const name of ["get", "has"]) wrap(Headers.prototype, name);
  for (const name of ["status", "headers", "type"]) trapGetter(Response.prototype.__proto__, name, () => "answer");
  wrap(TextEncoder.prototype, "encode");
  for (const name of ["Uint8Array", "URL", "TextEncoder", "Number", "String"]) {
    const original = globalThis[name];
    globalThis[name] = function (...args) { note(...args); return new original(...args); };
  }
`;

test("replaced built-ins see neither the file nor its name nor the session address, and change nothing", async () => {
  // The built-ins that Node lends to the page are put back afterwards.
  const lent = [URL, URLSearchParams, Headers, Response, TextEncoder].map(({ prototype }) => prototype);
  const describe = () => lent.map((prototype) => Object.getOwnPropertyDescriptors(prototype));
  const put = (described) => lent.forEach((prototype, n) => Object.defineProperties(prototype, described[n]));
  const before = describe();
  const page = new FakePage();
  const server = new FakeUploadServer(page, { granularity: "4", step_bytes: 4 });
  page.answer = (sent) => {
    const trapped = describe();
    put(before); // Node itself uses them to make a response
    try {
      return server.answer(sent);
    } finally {
      put(trapped);
    }
  };
  const file = Buffer.from("the secret text of the file");
  const ops = [
    ["start", { source: NOTEBOOK, name: "secret-name.txt", mime_type: "text/plain" }],
    ["slice", { offset: 0, data: file.toString("base64") }],
    ["query", {}],
    ["slice", { offset: 24, data: file.subarray(24).toString("base64") }],
    ["finish", {}],
  ];
  const commands = ops.map(([op, more]) => ({
    op: `upload.${op}`,
    origins: ["https://notebook.google.com"],
    account: "worker@example.com",
    not_after_ms: page.now_ms,
    upload: "up-1",
    notebook: NOTEBOOK,
    size_bytes: file.length,
    granularity_bytes: 4,
    url: server.address,
    ...more,
  }));
  const answers = [];
  try {
    page.evaluate(`{${TRAPS}${BYTE_TRAPS}${NO_ITERATION}}`);
    for (const command of commands) {
      const entered = page.window.__notebookGatewayExecutor(command);
      answers.push(await new Promise((resolve) => Promise.prototype.then.call(entered, resolve)));
    }
  } finally {
    put(before);
  }
  assert.deepEqual(
    answers.map(({ ok, error }) => [ok, error?.message]),
    ops.map(() => [true, undefined]),
  );
  assert.equal(answers[0].url, server.address);
  assert.equal(server.received.toString(), file.toString());
  assert.equal(server.is_final, true);
  const seen = page.evaluate("seen");
  const base64 = file.toString("base64").slice(0, 8);
  for (const secret of [SESSION_SECRET, "session address", "answer", "secret", base64, "species"])
    assert.ok(!seen.includes(secret), secret);
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
