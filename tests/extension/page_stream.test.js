// The answer stream: pulled piece by piece, with back-pressure, and gone when nobody pulls.
import assert from "node:assert/strict";
import { test } from "node:test";

import { FakePage, NOTEBOOK } from "./fake_page.js";

const KEY = "a".repeat(32);

/** A page whose stream answer the test writes byte by byte. */
function streamingPage() {
  const page = new FakePage();
  let controller;
  page.body = new ReadableStream({ start: (made) => void (controller = made) }, { highWaterMark: 0 });
  page.answer = ({ init }) => {
    init.signal.addEventListener("abort", () => controller.error(new DOMException("aborted", "AbortError")));
    return page.response(page.body);
  };
  return {
    page,
    write: (bytes) => controller.enqueue(bytes),
    close: () => controller.close(),
    sever: () => controller.error(new TypeError("network error")),
  };
}

test("a question is posted to the stream's own path with its own counter", async () => {
  const { page, close } = streamingPage();
  const head = await page.openStream();
  close();
  assert.deepEqual([head.ok, head.status, head.retry_after_s], [true, 200, null]);
  const [{ url, request }] = page.sent;
  assert.match(url.pathname, /^\/_\/LabsTailwindUi\/data\/google\.internal\..*\/GenerateFreeFormStreamed$/);
  assert.equal(url.searchParams.get("_reqid"), "200000");
  assert.deepEqual(request, [null, '[[],"why?"]']);
  await page.openStream("b".repeat(32));
  assert.equal(page.sent[1].url.searchParams.get("_reqid"), "300000");
});

test("each piece arrives as it was produced", async () => {
  const { page, write, close } = streamingPage();
  await page.openStream();
  const waiting = page.pull(KEY);
  write(Buffer.from("first"));
  assert.deepEqual(await waiting, { ok: true, text: "first", done: false, error: null });
  write(Buffer.from("second"));
  assert.equal((await page.pull(KEY)).text, "second");
  close();
  const { text, error } = await page.pullAll(KEY);
  assert.deepEqual([text, error], ["", null]);
});

test("cuts inside multi-byte characters never break them", async () => {
  const { page, write, close } = streamingPage();
  const text = "ü 😀 — عربي 👩‍👩‍👧 e\u0301";
  await page.openStream();
  const all = page.pullAll(KEY);
  for (const byte of Buffer.from(text)) write(Uint8Array.of(byte));
  close();
  assert.deepEqual(await all, { text, error: null });
});

test("a severed stream says so after the text that had arrived", async () => {
  const { page, write, sever } = streamingPage();
  await page.openStream();
  const all = page.pullAll(KEY);
  write(Buffer.from("half"));
  await new Promise(setImmediate);
  sever();
  const { text, error } = await all;
  assert.equal(text, "half");
  assert.deepEqual([error.code, error.started], ["STREAM_SEVERED", true]);
});

test("c029 what comes with a refusal stays in the page", async () => {
  const page = new FakePage();
  page.answer = () => page.response("slow down", { status: 429, headers: { "retry-after": "3" } });
  const head = await page.openStream();
  assert.deepEqual([head.status, head.retry_after_s], [429, 3]);
  assert.deepEqual(await page.pullAll(), { text: "", error: null });
});

test("the download waits while more than a megabyte is unread", async () => {
  const page = new FakePage();
  const piece = new Uint8Array(256 * 1024).fill(97);
  let produced = 0;
  const body = new ReadableStream(
    { pull: (made) => (produced < 40 ? ((produced += 1), made.enqueue(piece)) : made.close()) },
    { highWaterMark: 0 },
  );
  page.answer = () => page.response(body);
  await page.openStream();
  for (let i = 0; i < 200; i += 1) await new Promise(setImmediate);
  assert.ok(produced < 8, `${produced} pieces were read ahead`);
  const { text } = await page.pullAll();
  assert.equal(text.length, 40 * piece.length);
});

test("abort wakes the one who pulls", async () => {
  const { page } = streamingPage();
  await page.openStream();
  const waiting = page.pull(KEY);
  await page.run({ op: "abort", key: KEY });
  const { done, error } = await waiting;
  assert.deepEqual([done, error.code, error.started], [true, "CANCELLED", true]);
});

test("a stream that nobody pulls any more is aborted", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { page } = streamingPage();
  await page.openStream();
  t.mock.timers.tick(59_000);
  assert.equal(page.sent[0].init.signal.aborted, false);
  t.mock.timers.tick(2_000);
  assert.equal(page.sent[0].init.signal.aborted, true);
  assert.equal((await page.pull(KEY)).error.code, "STREAM_SEVERED");
});

test("without its 128-bit key nobody pulls a stream", async () => {
  const { page, write } = streamingPage();
  await page.openStream();
  write(Buffer.from("secret"));
  for (const key of ["", "b".repeat(32), "__proto__", "constructor", null, undefined]) {
    const answer = await page.run({ op: "pull", key });
    assert.deepEqual([answer.ok, answer.error.code], [false, "STREAM_SEVERED"]);
  }
  assert.equal((await page.pull(KEY)).text, "secret");
});

test("a question that comes late, or for another account, is not asked", async () => {
  const page = new FakePage();
  const late = await page.openStream(KEY, { not_after_ms: page.now_ms - 1 });
  const foreign = await page.openStream(KEY, { account: "home@example.com" });
  assert.deepEqual([late.error.code, foreign.error.code], ["TIMEOUT", "ACCOUNT_MISMATCH"]);
  assert.deepEqual([late.error.started, foreign.error.started], [false, false]);
  assert.equal(page.sent.length, 0);
});

test("the source path names the notebook", async () => {
  const { page } = streamingPage();
  await page.openStream();
  assert.equal(page.sent[0].url.searchParams.get("source-path"), `/notebook/${NOTEBOOK}`);
});

test("c029 a web page instead of an answer never leaves the page", async () => {
  const { page, write } = streamingPage();
  await page.openStream();
  write(Buffer.from("<html>secret"));
  const { text, error } = await page.pullAll(KEY);
  assert.deepEqual([text, error.code], ["", "AUTH_REQUIRED"]);
});
