// A file on its way through the page: what is sent, in which parts, and what the page does not do by itself.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { ACCOUNT, FakePage, NOTEBOOK, SIGNED_IN } from "./fake_page.js";
import { FakeUploadServer, SECRET } from "./fake_upload_server.js";
import { caseInput } from "./shared.js";

const SOURCE = "5a2b3c4d-0001-4a00-8b00-00000000000a";
const SLICE_BYTES = 512 * 1024;
const UNCLEAR = { next_offset: null, received_bytes: null };

/** Bytes that differ from place to place. */
function fileOf(size_bytes) {
  const file = Buffer.alloc(size_bytes);
  for (let i = 0; i < size_bytes; i += 4) file.writeUInt32LE((i * 2654435761) % 2 ** 32, Math.min(i, size_bytes - 4));
  return file;
}

/** A page with a service behind it and one file; `step` does what the worker does. */
class Upload {
  constructor(file, server = {}, page = {}) {
    this.file = file;
    this.page = new FakePage(page);
    this.server = new FakeUploadServer(this.page, server);
  }

  async start(more = {}) {
    const file = { source: SOURCE, name: "a.txt", size_bytes: this.file.length, mime_type: "text/plain" };
    const answer = await this.page.upload("start", { ...file, ...more });
    if (answer.ok) this.session = { url: answer.url, granularity_bytes: answer.granularity_bytes };
    return answer;
  }

  step(op, more = {}) {
    return this.page.upload(op, { ...this.session, size_bytes: this.file.length, ...more });
  }

  slice(offset, size_bytes = SLICE_BYTES) {
    return this.step("slice", { offset, data: this.file.subarray(offset, offset + size_bytes).toString("base64") });
  }

  /** Send slices from an offset to the end of the file, as the page asks for them. */
  async slices(from, size_bytes = SLICE_BYTES) {
    let offset = from;
    while (offset < this.file.length) {
      const { ok, error, next_offset } = await this.slice(offset, size_bytes);
      assert.equal(ok, true, error?.message);
      assert.ok(next_offset > offset, `wants ${next_offset} after ${offset}`);
      offset = next_offset;
    }
  }

  assertWhole() {
    assert.equal(this.server.is_final, true);
    const hash = (bytes) => createHash("sha256").update(bytes).digest("hex");
    assert.equal(hash(this.server.received), hash(this.file));
  }
}

const value = ({ ok, error, next_offset, received_bytes, status }) =>
  ok ? (status === undefined ? { next_offset, received_bytes } : { status, received_bytes }) : error.code;

test("a start is the recorded request, with the page's account, and its answer is kept for the worker", async () => {
  const upload = new Upload(fileOf(51));
  const { fetch_ms, ...answer } = await upload.start({ name: "report.txt" });
  assert.deepEqual(answer, { ok: true, url: upload.server.address, granularity_bytes: 262_144 });
  assert.equal(typeof fetch_ms, "number");
  const [{ url, init, bytes }] = upload.page.sent;
  assert.equal(url.href, `https://notebook.google.com/upload/_/?authuser=${encodeURIComponent(ACCOUNT)}`);
  assert.deepEqual(
    { ...init.headers },
    {
      "content-type": "application/x-www-form-urlencoded;charset=UTF-8",
      "x-goog-upload-command": "start",
      "x-goog-upload-header-content-length": "51",
      "x-goog-upload-header-content-type": "text/plain",
      "x-goog-upload-protocol": "resumable",
    },
  );
  assert.deepEqual(
    [init.method, init.credentials, init.redirect, init.signal],
    ["POST", "include", "manual", undefined],
  );
  assert.deepEqual(JSON.parse(bytes), { PROJECT_ID: NOTEBOOK, SOURCE_NAME: "report.txt", SOURCE_ID: SOURCE });
});

test("C-085 any file name travels in the body, and no header holds it", async () => {
  const names = JSON.parse(readFileSync(caseInput("C-085-names.json"), "utf-8"));
  assert.equal(names.length, 12);
  for (const name of names) {
    const upload = new Upload(fileOf(5));
    assert.equal((await upload.start({ name })).ok, true, name);
    const [{ init, bytes }] = upload.page.sent;
    assert.equal(JSON.parse(bytes.toString("utf-8")).SOURCE_NAME, name);
    assert.doesNotMatch(JSON.stringify(init.headers), /[^\x20-\x7e]|name/);
  }
});

test("a small file goes in one request, with the finalize command", async () => {
  for (const size_bytes of [1, 2, 3, 51, 262_143, 262_144]) {
    const upload = new Upload(fileOf(Math.max(size_bytes, 4)).subarray(0, size_bytes));
    await upload.start();
    assert.deepEqual(value(await upload.slice(0)), { next_offset: size_bytes, received_bytes: 0 });
    assert.deepEqual(value(await upload.step("finish")), { status: "final", received_bytes: null });
    assert.deepEqual(upload.server.log.slice(1), [{ command: "upload, finalize", offset: 0, size: size_bytes }]);
    upload.assertWhole();
  }
});

test("C-082 every part but the last is a multiple of the granularity, and the bytes are the file's", async () => {
  const file = fileOf(5_000_000);
  for (const granularity of ["262144", "524288", "1048576", "2097152", "100000", "1", null]) {
    const step_bytes = granularity === null ? 262_144 : Number(granularity);
    for (const slice_bytes of [SLICE_BYTES, 99_991]) {
      const upload = new Upload(file, { granularity, step_bytes });
      assert.equal((await upload.start()).granularity_bytes, step_bytes);
      await upload.slices(0, slice_bytes);
      assert.equal((await upload.step("finish")).status, "final");
      const parts = upload.server.log.slice(1);
      assert.ok(
        parts.slice(0, -1).every(({ command, size }) => command === "upload" && size > 0 && size % step_bytes === 0),
      );
      assert.deepEqual([parts.at(-1).command, parts.at(-1).size > 0], ["upload, finalize", true]);
      upload.assertWhole();
    }
  }
});

test("a file whose size is a multiple keeps its last step for the finalize command", async () => {
  const upload = new Upload(fileOf(4 * 262_144));
  await upload.start();
  await upload.slices(0);
  await upload.step("finish");
  const sizes = upload.server.log.slice(1).map(({ size }) => size);
  assert.deepEqual(sizes, [524_288, 262_144, 262_144]);
  upload.assertWhole();
});

test("C-082 a granularity that is none, or more than the page can hold, is drift", async () => {
  for (const granularity of ["abc", "0", "-1", "1.5", "1e3", " ", "0x10", "67108865", "9".repeat(30), "NaN"]) {
    const { error } = await new Upload(fileOf(5), { granularity }).start();
    const wanted = granularity === " " ? undefined : "UPSTREAM_SCHEMA_DRIFT";
    assert.equal(error?.code, wanted, granularity);
    if (error !== undefined) {
      assert.deepEqual([error.started, error.detail.path], [true, "x-goog-upload-chunk-granularity"]);
    }
  }
  assert.equal((await new Upload(fileOf(5), { granularity: "67108864" }).start()).granularity_bytes, 67_108_864);
});

const SESSION = `upload_id=${SECRET}&upload_protocol=resumable`;

test("C-087 an address on any of the service's hosts is used on the page's own origin", async () => {
  const addresses = [
    `https://notebook.google.com/upload/_/?authuser=1&${SESSION}`,
    `https://notebooklm.google.com/upload/_/?authuser=1&${SESSION}`,
    `https://notebooklm.cloud.google.com/upload/_/?${SESSION}`,
    `https://NOTEBOOK.google.com:443/upload/_/?authuser=${encodeURIComponent(ACCOUNT.toUpperCase())}&${SESSION}`,
  ];
  for (const address of addresses) {
    const upload = new Upload(fileOf(5), { address });
    assert.equal((await upload.start()).ok, true, address);
    await upload.slice(0);
    assert.equal((await upload.step("finish")).status, "final");
    const { url } = upload.page.sent.at(-1);
    assert.equal(url.origin, "https://notebook.google.com");
    assert.equal(url.search, new URL(address).search);
  }
});

const WRONG_ADDRESSES = [
  `https://drive.google.com/upload/_/?authuser=1&${SESSION}`,
  `http://notebook.google.com/upload/_/?authuser=1&${SESSION}`,
  `https://evil.example/upload/_/?authuser=1&${SESSION}`,
  `https://notebook.google.com.evil.example/upload/_/?${SESSION}`,
  `https://notebook.google.com@evil.example/upload/_/?${SESSION}`,
  `https://user@notebook.google.com/upload/_/?${SESSION}`,
  `https://notebook.google.com:8443/upload/_/?${SESSION}`,
  `/upload/_/?authuser=1&${SESSION}`,
  `//notebook.google.com/upload/_/?authuser=1&${SESSION}`,
  "",
  null,
  `https://notebook.google.com/upload/_/?authuser=0&${SESSION}`,
  `https://notebook.google.com/upload/_/?authuser=grace%40example.com&${SESSION}`,
  `https://notebook.google.com/upload/_/?authuser=&${SESSION}`,
  `https://notebook.google.com/upload/_/?authuser=1&authuser=1&${SESSION}`,
  "https://notebook.google.com/upload/_/?authuser=1",
  "https://notebook.google.com/upload/_/?upload_id=",
  `https://notebook.google.com/upload/_/?upload_id=x&${SESSION}`,
  `https://notebook.google.com/upload/?${SESSION}`,
  `https://notebook.google.com/upload/_/../../x?${SESSION}`,
  `https://notebook.google.com/_/LabsTailwindUi/data/batchexecute?${SESSION}`,
];

test("C-087 any other address is drift, names no secret, and gets no byte", async () => {
  for (const address of WRONG_ADDRESSES) {
    const upload = new Upload(fileOf(5), { address });
    const { ok, error, url } = await upload.start();
    assert.deepEqual([ok, url, error?.code], [false, undefined, "UPSTREAM_SCHEMA_DRIFT"], address);
    assert.deepEqual([error.started, error.detail.path], [true, "x-goog-upload-url"]);
    assert.ok(!JSON.stringify(error).includes(SECRET));
    assert.deepEqual(
      value(await upload.step("slice", { url: address, granularity_bytes: 1, offset: 0, data: "QUE=" })),
      UNCLEAR,
    );
    assert.equal(upload.page.sent.length, 1);
  }
});

test("C-087 an address is checked again at each step, before anything is sent", async () => {
  for (const address of WRONG_ADDRESSES) {
    const upload = new Upload(fileOf(4));
    await upload.start();
    await upload.slice(0);
    for (const op of ["query", "finish"]) {
      const { error } = await upload.step(op, { url: address });
      assert.deepEqual([error.code, error.started], ["UPSTREAM_SCHEMA_DRIFT", false]);
      assert.ok(!JSON.stringify(error).includes(SECRET));
    }
    assert.equal(upload.page.sent.length, 1);
  }
});

test("a page that does not say its number accepts its address only", async () => {
  const { QrtxK, ...wiz } = SIGNED_IN;
  const by_number = new Upload(fileOf(5), {}, { wiz });
  assert.equal((await by_number.start()).error.code, "UPSTREAM_SCHEMA_DRIFT");
  const address = `https://notebook.google.com/upload/_/?authuser=${ACCOUNT}&${SESSION}`;
  assert.equal((await new Upload(fileOf(5), { address }, { wiz }).start()).ok, true);
});

test("a slice that the page did not ask for, or of an upload it does not know, is not taken", async () => {
  const upload = new Upload(fileOf(1_000_000));
  await upload.start();
  for (const offset of [1, 524_288, 999_999]) assert.deepEqual(value(await upload.slice(offset, 1)), UNCLEAR);
  assert.deepEqual(value(await upload.slice(0, 10)), { next_offset: 10, received_bytes: 0 });
  assert.deepEqual(value(await upload.slice(0, 10)), UNCLEAR);
  assert.deepEqual(value(await upload.slice(10, 10)), { next_offset: 20, received_bytes: 0 });
  assert.deepEqual(value(await upload.step("slice", { upload: "up-x", offset: 0, data: "QQ==" })), UNCLEAR);
  assert.equal(upload.server.log.length, 1);
});

test("a slice that is no base64 of a part of the file is refused, and nothing of it is kept", async () => {
  const upload = new Upload(fileOf(10));
  await upload.start();
  const long = Buffer.alloc(SLICE_BYTES + 1).toString("base64");
  const too_much = Buffer.alloc(11).toString("base64");
  for (const data of ["", "Q", "QQ=A", "Q===", "====", "QQ-_", "QUJD\n", "QÜJD", long, too_much, null, 7, ["QQ=="]]) {
    const { error } = await upload.step("slice", { offset: 0, data });
    assert.deepEqual([error?.code, error?.started], ["INVALID_ARGUMENT", false], String(data).slice(0, 20));
  }
  assert.deepEqual(value(await upload.slice(0)), { next_offset: 10, received_bytes: 0 });
  await upload.step("finish");
  upload.assertWhole();
});

test("C-083 the service's own number wins, whatever the page had", async () => {
  const answers = JSON.parse(readFileSync(caseInput("C-083-query-answers.json"), "utf-8"));
  assert.equal(answers.length, 9);
  const file = fileOf(5_000_000);
  const seen = [];
  for (const { status, size_received, http = 200 } of answers) {
    const upload = new Upload(file);
    const { server, page } = upload;
    await upload.start();
    for (let n = 0; n < 4; n += 1) await upload.slice(n * SLICE_BYTES);
    server.fault = (command) => {
      if (command === "upload") throw new TypeError("Failed to fetch");
    };
    const { error } = await upload.slice(4 * SLICE_BYTES);
    assert.deepEqual(
      [error.code, error.started, error.detail],
      ["UPSTREAM_REJECTED", true, { reason: "network", stage: "slice" }],
    );
    assert.deepEqual(value(await upload.slice(4 * SLICE_BYTES)), UNCLEAR);

    if (Number.isInteger(size_received)) server.received = file.subarray(0, size_received);
    server.fault = (command) => {
      if (command !== "query") return undefined;
      const headers = status === null ? {} : { "x-goog-upload-status": status };
      if (size_received !== null) headers["x-goog-upload-size-received"] = String(size_received);
      return server.respond(headers, http);
    };
    const answer = value(await upload.step("query"));
    seen.push(typeof answer === "string" ? answer : [answer.status, answer.received_bytes]);
    const sent_before = page.sent.length;
    if (answer.status === "active") {
      const sent = server.log.length;
      await upload.slices(answer.received_bytes);
      assert.equal((await upload.step("finish")).status, "final");
      const parts = server.log.slice(sent);
      assert.equal(parts[0].offset, answer.received_bytes);
      assert.ok(parts.slice(0, -1).every(({ size }) => size % 262_144 === 0));
      if (answer.received_bytes === file.length)
        assert.deepEqual(
          parts.map(({ size }) => size),
          [0],
        );
      upload.assertWhole();
    } else {
      // Over: the page begins nothing by itself.
      assert.deepEqual(value(await upload.slice(0)), UNCLEAR);
      assert.equal((await upload.step("finish")).error.detail.reason, "incomplete");
      assert.equal(page.sent.length, sent_before);
    }
  }
  assert.deepEqual(seen, [
    ["active", 0],
    ["active", 1_048_576],
    ["active", 1_300_000],
    ["final", null],
    ["active", 5_000_000],
    "UPSTREAM_SCHEMA_DRIFT",
    ["cancelled", null],
    ["expired", null],
    "UPSTREAM_SCHEMA_DRIFT",
  ]);
});

test("a query whose answer says nothing usable is drift that names the header", async () => {
  const table = [
    [{}, "x-goog-upload-status"],
    [{ "x-goog-upload-status": "paused" }, "x-goog-upload-status"],
    [{ "x-goog-upload-status": "active" }, "x-goog-upload-size-received"],
    [{ "x-goog-upload-status": "active", "x-goog-upload-size-received": "-1" }, "x-goog-upload-size-received"],
    [{ "x-goog-upload-status": "final", "x-goog-upload-size-received": "6" }, "x-goog-upload-size-received"],
  ];
  for (const [headers, path] of table) {
    const upload = new Upload(fileOf(5));
    await upload.start();
    upload.server.fault = () => upload.server.respond(headers);
    const { error } = await upload.step("query");
    assert.deepEqual([error.code, error.detail.path, error.started], ["UPSTREAM_SCHEMA_DRIFT", path, true]);
  }
});

test("another document of the page knows nothing of an upload until it has asked", async () => {
  const file = fileOf(1_000_000);
  const before = new Upload(file);
  await before.start();
  await before.slice(0);
  const after = new Upload(file);
  after.session = before.session;
  after.server.received = before.server.received;
  assert.deepEqual(value(await after.slice(SLICE_BYTES)), UNCLEAR);
  assert.deepEqual((await after.step("finish")).error.detail, { reason: "incomplete" });
  const { received_bytes } = await after.step("query");
  assert.equal(received_bytes, 524_288);
  await after.slices(received_bytes);
  assert.equal((await after.step("finish")).status, "final");
  after.assertWhole();
});

test("finish before the page has the whole rest is refused, and nothing was sent", async () => {
  const upload = new Upload(fileOf(1_000_000));
  await upload.start();
  await upload.slice(0);
  const sent = upload.page.sent.length;
  const { error } = await upload.step("finish");
  assert.deepEqual([error.code, error.started, error.detail], ["INVALID_ARGUMENT", false, { reason: "incomplete" }]);
  assert.equal(upload.page.sent.length, sent);
  await upload.slices(SLICE_BYTES);
  assert.equal((await upload.step("finish")).status, "final");
});

test("a lost answer to finish is asked for, and nothing is sent twice", async () => {
  const upload = new Upload(fileOf(5));
  await upload.start();
  await upload.slice(0);
  const { server } = upload;
  const usual = server.answer.bind(server);
  upload.page.answer = (sent) => {
    usual(sent);
    throw new TypeError("Failed to fetch");
  };
  const { error } = await upload.step("finish");
  assert.deepEqual([error.code, error.started, error.detail.stage], ["UPSTREAM_REJECTED", true, "finalize"]);
  assert.equal((await upload.step("finish")).error.detail.reason, "incomplete");
  upload.page.answer = usual;
  assert.deepEqual(value(await upload.step("query")), { status: "final", received_bytes: null });
});

test("a query in the middle of a slice begins anew, and the late answer of the slice changes nothing", async () => {
  const upload = new Upload(fileOf(1_000_000));
  await upload.start();
  const { server, page } = upload;
  const usual = server.answer.bind(server);
  let finish = () => {};
  page.answer = () =>
    new Promise((resolve) => (finish = () => resolve(server.respond({ "x-goog-upload-status": "active" }))));
  const slow = upload.slice(0);
  assert.deepEqual(value(await upload.slice(SLICE_BYTES)), UNCLEAR); // one part at a time
  page.answer = usual;
  assert.deepEqual(value(await upload.step("query")), { status: "active", received_bytes: 0 });
  assert.deepEqual(value(await upload.slice(0, 10)), { next_offset: 10, received_bytes: 0 });
  finish();
  assert.deepEqual(value(await slow), UNCLEAR);
  await upload.slices(10);
  assert.equal((await upload.step("finish")).status, "final");
  upload.assertWhole();
});

test("a part that the service does not take as active is unclear, until it is asked", async () => {
  const upload = new Upload(fileOf(1_000_000));
  await upload.start();
  upload.server.fault = () => upload.server.respond({ "x-goog-upload-status": "cancelled" });
  assert.deepEqual(value(await upload.slice(0)), UNCLEAR);
  assert.equal((await upload.step("query")).status, "cancelled");
});

test("C-029 failures carry status and stage, never the address, and Retry-After", async () => {
  const codes = {
    400: "UPSTREAM_REJECTED",
    401: "AUTH_REQUIRED",
    403: "AUTH_REQUIRED",
    429: "RATE_LIMITED",
    500: "UPSTREAM_REJECTED",
  };
  for (const [status, code] of Object.entries(codes)) {
    const http_status = Number(status);
    const upload = new Upload(fileOf(1_000_000));
    await upload.start();
    upload.server.fault = () => upload.server.respond({ "retry-after": "7" }, http_status);
    const stages = {
      start: await upload.start(),
      slice: await upload.slice(0),
      query: await upload.step("query"),
    };
    for (const [stage, { error }] of Object.entries(stages)) {
      assert.deepEqual([error.code, error.started], [code, true]);
      assert.deepEqual(error.detail, { http_status, stage, retry_after_ms: 7000 });
      assert.doesNotMatch(JSON.stringify(error), new RegExp(`${SECRET}|upload_id`));
    }
  }
  const upload = new Upload(fileOf(5));
  await upload.start();
  await upload.slice(0);
  upload.server.fault = () => upload.server.respond({}, 404);
  assert.deepEqual((await upload.step("finish")).error.detail, { http_status: 404, stage: "finalize" });
});

test("account, deadline and tokens are checked in the turn that sends, for each step", async () => {
  const upload = new Upload(fileOf(4));
  await upload.start();
  const steps = [
    (more) => upload.start(more),
    (more) => upload.step("slice", { offset: 0, data: "QUE=", ...more }),
    (more) => upload.step("query", more),
    (more) => upload.step("finish", more),
  ];
  for (const step of steps) {
    const late = await step({ not_after_ms: upload.page.now_ms - 1 });
    assert.deepEqual([late.error.code, late.error.started], ["TIMEOUT", false]);
    const other = await step({ account: "grace@example.com" });
    assert.deepEqual([other.error.code, other.error.started], ["ACCOUNT_MISMATCH", false]);
    assert.equal(upload.page.sent.length, 1);
  }
  upload.page.evaluate("WIZ_global_data.SNlM0e = ''");
  for (const step of steps) assert.equal((await step({})).error.code, "AUTH_REQUIRED");
  assert.equal(upload.page.sent.length, 1);

  const sync = new Upload(fileOf(4));
  for (const [n, step] of [() => sync.start(), () => sync.step("query"), () => sync.step("finish")].entries()) {
    if (n === 2) await sync.slice(0);
    const running = step();
    assert.equal(sync.page.sent.length, n + 1); // nothing was awaited in between
    await running;
  }
});

test("no abort reaches an upload or a write, and a read ends as before", async () => {
  const upload = new Upload(fileOf(5));
  upload.page.answer = () => new Promise(() => {});
  void upload.start({ key: "1".repeat(32) });
  void upload.page.rpc("CYK0Xb", [], { key: "2".repeat(32), is_write: true });
  const read = upload.page.rpc("cFji9", [], { key: "3".repeat(32), is_write: false });
  for (const digit of ["1", "2", "3"]) await upload.page.run({ op: "abort", key: digit.repeat(32) });
  assert.equal((await read).error.code, "CANCELLED");
  assert.deepEqual(
    upload.page.sent.map(({ init }) => init.signal?.aborted),
    [undefined, false, true],
  );
});

test("the page holds parts of so many uploads and no more; the oldest is forgotten", async () => {
  const upload = new Upload(fileOf(5));
  const handles = Array.from({ length: 17 }, (_, n) => `up-${n}`);
  for (const handle of handles) await upload.start({ upload: handle });
  const taken = [];
  for (const handle of handles)
    taken.push((await upload.step("slice", { upload: handle, offset: 0, data: "QQ==" })).next_offset);
  assert.deepEqual(taken, [null, ...Array(16).fill(1)]);
});
