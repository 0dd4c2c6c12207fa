import assert from "node:assert/strict";
import { test } from "node:test";

import { pumpStream } from "../../extension/lib/streams.js";

const PAGE = { tab_id: 1, document_id: "d" };

/** Pump a script of pieces; returns the chunks and how it ended. */
async function pump(...pieces) {
  const chunks = [];
  const pulled = [];
  const executor = { pull: async (page, key) => (pulled.push([page, key]), pieces.shift()) };
  const end = await pumpStream(executor, PAGE, "key", (seq, text) => chunks.push([seq, text])).then(
    () => "done",
    (error) => error,
  );
  return { chunks, end, pulled };
}

const piece = (text, more = {}) => ({ text, done: false, error: null, ...more });

test("numbers have no gaps, and empty pieces are none", async () => {
  const { chunks, end, pulled } = await pump(piece("a"), piece(""), piece("b"), piece("", { done: true }));
  assert.deepEqual(chunks, [
    [0, "a"],
    [1, "b"],
  ]);
  assert.equal(end, "done");
  assert.equal(pulled.length, 4);
  assert.deepEqual(pulled[0], [PAGE, "key"]);
});

test("text that came with the end is not lost", async () => {
  assert.deepEqual((await pump(piece("a", { done: true }))).chunks, [[0, "a"]]);
});

test("a fault comes after the text before it, and can have reached the service", async () => {
  const error = { code: "STREAM_SEVERED", message: "cut", detail: { reason: "network" }, started: true };
  const { chunks, end } = await pump(piece("half", { done: true, error }));
  assert.deepEqual(chunks, [[0, "half"]]);
  assert.deepEqual([end.code, end.detail, end.started], ["STREAM_SEVERED", { reason: "network" }, true]);
});
