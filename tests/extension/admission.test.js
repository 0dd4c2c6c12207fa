// Forged frames: each asks for something foreign, each is refused before a page is looked for.
import assert from "node:assert/strict";
import { test } from "node:test";

import { admit } from "../../extension/lib/admission.js";

const OPT = [2, null, null, [1, null, null, null, null, null, null, null, null, null, [1]]];
const NOTEBOOK = "1a2b3c4d-0001-4a00-8b00-00000000000a";
const FOREIGN = "1a2b3c4d-0002-4a00-8b00-00000000000b";
const SOURCE = "5a2b3c4d-0001-4a00-8b00-00000000000a";
const FOREIGN_SOURCE = "5a2b3c4d-0002-4a00-8b00-00000000000b";
const NOTE = "4a2b3c4d-0001-4a00-8b00-00000000000a";
const FOREIGN_NOTE = "4a2b3c4d-0002-4a00-8b00-00000000000b";
const UNKNOWN = "deadbeef-0001-4a00-8b00-00000000000a";
const MINTED = "c0ffee00-0001-4a00-8b00-00000000000a";
const PERSONS_CHAT = "c0ffee00-0002-4a00-8b00-00000000000b";
const FOREIGN_MINTED = "c0ffee00-0003-4a00-8b00-00000000000c";

const OWNERS = new Map([
  [SOURCE, { notebook: NOTEBOOK, kind: "source" }],
  [FOREIGN_SOURCE, { notebook: FOREIGN, kind: "source" }],
  [NOTE, { notebook: NOTEBOOK, kind: "note" }],
  [FOREIGN_NOTE, { notebook: FOREIGN, kind: "note" }],
  [MINTED, { notebook: NOTEBOOK, kind: "minted" }],
  [PERSONS_CHAT, { notebook: NOTEBOOK, kind: "conversation" }],
  [FOREIGN_MINTED, { notebook: FOREIGN, kind: "minted" }],
]);
const HANDLE = `up-${"a".repeat(32)}`;
const session = (more = {}) => ({
  url: "https://notebook.google.com/upload/_/?upload_id=SECRET",
  notebook: NOTEBOOK,
  source: SOURCE,
  account: "Ada@example.com",
  size_bytes: 1_000_000,
  granularity_bytes: 262_144,
  ...more,
});
const FOREIGN_HANDLE = `up-${"b".repeat(32)}`;
const OTHERS_HANDLE = `up-${"c".repeat(32)}`;
const UPLOADS = new Map([
  [HANDLE, session()],
  [FOREIGN_HANDLE, session({ notebook: FOREIGN })],
  [OTHERS_HANDLE, session({ account: "grace@example.com" })],
]);
const SETTINGS = { account: "ada@example.com", notebooks: [NOTEBOOK] };

function call(op, params, more = {}) {
  return {
    type: "call",
    conn: 1,
    id: 1,
    op,
    params,
    notebook: NOTEBOOK,
    account: "ada@example.com",
    not_after_ms: 0,
    trace: {},
    ...more,
  };
}
const rpc = (id, params, more) => call("rpc", { rpc: id, params }, more);
const ask = ({ sources = [[[SOURCE]]], conversation = null, notebook = NOTEBOOK } = {}, more = {}) =>
  call("stream", { params: [sources, "why?", null, [2, null, [1], [1]], conversation, null, null, notebook, 1] }, more);
const admitted = (frame, settings = SETTINGS) =>
  admit(frame, settings, { ownerOf: (id) => OWNERS.get(id), uploadOf: (handle) => UPLOADS.get(handle) });

/** @returns {[string, string | undefined]} code and reason of the refusal */
function refusal(frame, settings) {
  try {
    admitted(frame, settings);
  } catch (error) {
    assert.equal(error.started, false);
    return [error.code, error.detail.reason ?? error.detail.side];
  }
  return assert.fail("was admitted");
}

test("good calls are admitted", () => {
  assert.deepEqual(admitted(rpc("rLM1Ne", [NOTEBOOK, null, OPT, null, 0])), {
    op: "rpc",
    account: "ada@example.com",
    rpc: "rLM1Ne",
    params: [NOTEBOOK, null, OPT, null, 0],
    notebook: NOTEBOOK,
    is_write: false,
  });
  assert.equal(admitted(rpc("wXbhsf", [null, 1, null, OPT], { notebook: null })).notebook, null);
  assert.equal(admitted(rpc("hizoJc", [[SOURCE], [2], [2]])).op, "rpc");
  assert.equal(admitted(rpc("khqZz", [OPT, null, null, PERSONS_CHAT, 20])).op, "rpc");
  assert.equal(admitted(rpc("khqZz", [OPT, null, null, MINTED, 20])).op, "rpc");
  assert.equal(admitted(ask()).conversation, null);
  assert.equal(admitted(ask({ conversation: MINTED })).conversation, MINTED);
  assert.equal(
    admitted(call("identity", { refresh: true }, { notebook: null, account: "ADA@example.com" })).refresh,
    true,
  );
  assert.equal(admitted(call("identity", {}, { notebook: null })).refresh, false);
  assert.equal(admitted(call("status", {}, { notebook: null, account: null })).op, "status");
});

test("a foreign notebook is refused wherever it is named", () => {
  assert.deepEqual(refusal(rpc("rLM1Ne", [FOREIGN, null, OPT, null, 0], { notebook: FOREIGN })), [
    "ALLOWLIST_DENIED",
    "extension",
  ]);
  assert.deepEqual(refusal(rpc("rLM1Ne", [FOREIGN, null, OPT, null, 0])), ["ALLOWLIST_DENIED", "foreign_notebook"]);
  assert.deepEqual(refusal(rpc("hPTbtc", [OPT, null, FOREIGN, 20])), ["ALLOWLIST_DENIED", "foreign_notebook"]);
  assert.deepEqual(refusal(ask({ notebook: FOREIGN })), ["ALLOWLIST_DENIED", "foreign_notebook"]);
  assert.deepEqual(refusal(ask({ notebook: FOREIGN }, { notebook: FOREIGN })), ["ALLOWLIST_DENIED", "extension"]);
});

test('"*" allows every notebook, but not every text as one', () => {
  const all = { ...SETTINGS, notebooks: "*" };
  assert.equal(admitted(rpc("rLM1Ne", [FOREIGN, null, OPT, null, 0], { notebook: FOREIGN }), all).op, "rpc");
  for (const notebook of ["../notebook/x", "", `${FOREIGN}?authuser=1`]) {
    assert.deepEqual(refusal(rpc("hizoJc", [[SOURCE], [2], [2]], { notebook }), all), [
      "INVALID_ARGUMENT",
      "extension",
    ]);
  }
});

test("deny by default: without settings nothing is admitted", () => {
  const none = { account: null, notebooks: [] };
  assert.equal(refusal(rpc("wXbhsf", [null, 1, null, OPT], { notebook: null }), none)[0], "ACCOUNT_MISMATCH");
  const no_notebooks = { account: "ada@example.com", notebooks: [] };
  assert.deepEqual(refusal(rpc("rLM1Ne", [NOTEBOOK, null, OPT, null, 0]), no_notebooks), [
    "ALLOWLIST_DENIED",
    "extension",
  ]);
});

test("a foreign source is refused, and so is one nobody has seen", () => {
  for (const [id, reason] of [
    [FOREIGN_SOURCE, "foreign_id"],
    [UNKNOWN, "unknown_id"],
    [MINTED, "foreign_id"],
  ]) {
    assert.deepEqual(refusal(rpc("hizoJc", [[id], [2], [2]])), ["ALLOWLIST_DENIED", reason]);
    assert.deepEqual(refusal(rpc("tr032e", [[[[id]]]])), ["ALLOWLIST_DENIED", reason]);
    assert.deepEqual(refusal(ask({ sources: [[[SOURCE]], [[id]]] })), ["ALLOWLIST_DENIED", reason]);
  }
});

test("the person's own chat is never continued, a foreign conversation never read", () => {
  assert.deepEqual(refusal(ask({ conversation: PERSONS_CHAT })), ["ALLOWLIST_DENIED", "foreign_id"]);
  assert.deepEqual(refusal(ask({ conversation: FOREIGN_MINTED })), ["ALLOWLIST_DENIED", "foreign_id"]);
  assert.deepEqual(refusal(ask({ conversation: UNKNOWN })), ["ALLOWLIST_DENIED", "unknown_id"]);
  assert.deepEqual(refusal(rpc("khqZz", [OPT, null, null, FOREIGN_MINTED, 20])), ["ALLOWLIST_DENIED", "foreign_id"]);
  assert.deepEqual(refusal(rpc("khqZz", [OPT, null, null, SOURCE, 20])), ["ALLOWLIST_DENIED", "foreign_id"]);
});

test("a note is filled or deleted only where it was read, and nothing else is taken for one", () => {
  const fill = (id) => rpc("cYAfTb", [NOTEBOOK, id, [[["text", "title", [], 0]]]]);
  const remove = (id) => rpc("AH0mwd", [NOTEBOOK, null, [id]]);
  for (const write of [fill, remove]) {
    assert.equal(admitted(write(NOTE)).is_write, true);
    assert.deepEqual(refusal(write(UNKNOWN)), ["ALLOWLIST_DENIED", "unknown_id"]);
    for (const id of [FOREIGN_NOTE, SOURCE, MINTED, PERSONS_CHAT]) {
      assert.deepEqual(refusal(write(id)), ["ALLOWLIST_DENIED", "foreign_id"]);
    }
  }
  assert.deepEqual(refusal(rpc("hizoJc", [[NOTE], [2], [2]])), ["ALLOWLIST_DENIED", "foreign_id"]);
  assert.deepEqual(refusal(rpc("khqZz", [OPT, null, null, NOTE, 20])), ["ALLOWLIST_DENIED", "foreign_id"]);
});

test("writes into a notebook that is not allowed, or not the call's own, are refused", () => {
  const create = (notebook, more) => rpc("CYK0Xb", [notebook, "", [1], null, "New Note"], more);
  assert.equal(admitted(create(NOTEBOOK)).is_write, true);
  assert.deepEqual(refusal(create(FOREIGN, { notebook: FOREIGN })), ["ALLOWLIST_DENIED", "extension"]);
  assert.deepEqual(refusal(create(FOREIGN)), ["ALLOWLIST_DENIED", "foreign_notebook"]);
  assert.deepEqual(refusal(rpc("o4cbdc", [[["a.pdf"]], FOREIGN, OPT])), ["ALLOWLIST_DENIED", "foreign_notebook"]);
  assert.deepEqual(refusal(rpc("cFji9", [FOREIGN])), ["ALLOWLIST_DENIED", "foreign_notebook"]);
});

test("another account is refused with both addresses masked", () => {
  const frame = rpc("rLM1Ne", [NOTEBOOK, null, OPT, null, 0], { account: "grace@example.com" });
  assert.equal(refusal(frame)[0], "ACCOUNT_MISMATCH");
  assert.throws(
    () => admitted(frame),
    (error) => /g\*\*\*@example\.com/.test(error.message) && !/grace|ada@/.test(JSON.stringify(error.toWire())),
  );
  assert.equal(refusal({ ...frame, account: null })[0], "ACCOUNT_MISMATCH");
});

test("ops and RPC ids outside the table are refused", () => {
  for (const op of ["upload", "upload.cancel", "eval", "toString", "__proto__", ""]) {
    assert.throws(() => admitted(call(op, {})), { code: "INVALID_ARGUMENT", message: /not in this build's table/ });
  }
  for (const id of ["CCqFvf", "tGMBJ", "WWINqb", "J7Gthc", "toString", "", 7, null, { toString: "rLM1Ne" }]) {
    assert.throws(() => admitted(rpc(id, [])), { code: "INVALID_ARGUMENT", message: /not in this build's table/ });
  }
});

test("parameters that the op does not have are refused, and so is a notebook where there is none", () => {
  assert.equal(
    refusal(call("rpc", { rpc: "tr032e", params: [[[[SOURCE]]]], source_path: `/notebook/${FOREIGN}` }))[0],
    "INVALID_ARGUMENT",
  );
  assert.equal(
    refusal(call("stream", { params: ask().params.params, conversation: PERSONS_CHAT }))[0],
    "INVALID_ARGUMENT",
  );
  assert.equal(refusal(rpc("wXbhsf", [null, 1, null, OPT]))[0], "INVALID_ARGUMENT");
  assert.equal(refusal(call("identity", { refresh: "yes" }, { notebook: null }))[0], "INVALID_ARGUMENT");
  assert.equal(refusal(call("status", { account: "x" }, { notebook: null }))[0], "INVALID_ARGUMENT");
});

const FILE = { source: SOURCE, name: "Übersicht – März.pdf", size_bytes: 5, mime_type: "application/pdf" };
const start = (changes = {}, more = {}) => call("upload.start", { ...FILE, ...changes }, more);

test("an upload starts for a known source of the notebook, with a name, a size and a type", () => {
  assert.deepEqual(admitted(start()), {
    op: "upload.start",
    is_write: true,
    account: "ada@example.com",
    notebook: NOTEBOOK,
    ...FILE,
  });
  assert.deepEqual(refusal(start({ source: FOREIGN_SOURCE })), ["ALLOWLIST_DENIED", "foreign_id"]);
  assert.deepEqual(refusal(start({ source: UNKNOWN })), ["ALLOWLIST_DENIED", "unknown_id"]);
  assert.deepEqual(refusal(start({ source: NOTE })), ["ALLOWLIST_DENIED", "foreign_id"]);
  assert.deepEqual(refusal(start({}, { notebook: FOREIGN })), ["ALLOWLIST_DENIED", "extension"]);
  assert.equal(refusal(start({}, { account: "grace@example.com" }))[0], "ACCOUNT_MISMATCH");
  const table = {
    source: [null, "", [SOURCE]],
    name: ["", null, "x".repeat(2001)],
    size_bytes: [0, -1, 1.5, "5", null, 2 ** 60],
    mime_type: ["", "pdf", "text/html; charset=utf-8", "a/b\r\nx-evil: 1", "ä/ö", null],
    url: ["https://evil.example/"],
  };
  for (const [name, values] of Object.entries(table)) {
    for (const value of values) assert.equal(refusal(start({ [name]: value }))[0], "INVALID_ARGUMENT", name);
  }
});

test("the steps of an upload need its handle, its notebook and its account", () => {
  for (const op of ["upload.query", "upload.finish"]) {
    const step = (upload, more) => call(op, { upload }, more);
    assert.deepEqual(admitted(step(HANDLE)), {
      op,
      is_write: true,
      account: "ada@example.com",
      notebook: NOTEBOOK,
      upload: HANDLE,
      session: UPLOADS.get(HANDLE),
    });
    assert.deepEqual(refusal(step(`up-${"d".repeat(32)}`)), ["NOT_FOUND", "unknown_upload"]);
    assert.deepEqual(refusal(step(FOREIGN_HANDLE)), ["ALLOWLIST_DENIED", "foreign_upload"]);
    assert.equal(refusal(step(OTHERS_HANDLE))[0], "ACCOUNT_MISMATCH");
    assert.deepEqual(refusal(step(HANDLE, { notebook: FOREIGN })), ["ALLOWLIST_DENIED", "extension"]);
    for (const bad of ["", "up-", "__proto__", null, 7, [HANDLE]]) {
      assert.equal(refusal(step(bad))[0], "INVALID_ARGUMENT");
    }
    assert.equal(refusal(call(op, { upload: HANDLE, url: "https://evil.example/" }))[0], "INVALID_ARGUMENT");
  }
});

test("a slice is base64 of 1 byte to 512 KiB, within the file", () => {
  const data = (length) => Buffer.alloc(length, 7).toString("base64");
  const slice = (offset, text) => call("upload.slice", { upload: HANDLE, offset, data: text });
  const good = [
    [0, data(1)],
    [0, data(512 * 1024)],
    [999_998, data(2)],
    [999_999, data(1)],
  ];
  for (const [offset, text] of good) assert.equal(admitted(slice(offset, text)).offset, offset);
  const bad = [
    [0, ""],
    [0, data(512 * 1024 + 1)],
    [999_999, data(2)],
    [1_000_000, data(1)],
    [-1, data(1)],
    [0.5, data(1)],
    [null, data(1)],
    [0, "QQ"],
    [0, "QQ=A"],
    [0, "===="],
    [0, "QQ-_"],
    [0, "QQ==\n"],
    [0, ["QQ=="]],
    [0, null],
  ];
  for (const [offset, text] of bad) assert.equal(refusal(slice(offset, text))[0], "INVALID_ARGUMENT", String(text));
  assert.deepEqual(refusal(call("upload.slice", { upload: OTHERS_HANDLE, offset: 0, data: "QQ==" })), [
    "ACCOUNT_MISMATCH",
    "extension",
  ]);
});

test("C-029 no refusal of a step shows the session address", () => {
  for (const upload of [HANDLE, FOREIGN_HANDLE, OTHERS_HANDLE]) {
    assert.throws(
      () => admitted(call("upload.slice", { upload, offset: -1, data: "" })),
      (error) => !/SECRET|upload_id/.test(JSON.stringify(error.toWire())),
    );
  }
});
