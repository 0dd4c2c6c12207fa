import assert from "node:assert/strict";
import { test } from "node:test";

import { CALL_CEILING_MS, Call, DuplicateCall, OpenCalls } from "../../extension/lib/calls.js";

/** Open calls whose ceilings are mocked time. */
function openCalls(t) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  return new OpenCalls();
}

test("a call is counted from open to close, once", (t) => {
  const calls = openCalls(t);
  const call = calls.open(1, 7);
  assert.equal(calls.size, 1);
  calls.close(call);
  calls.close(call);
  assert.equal(calls.size, 0);
  const again = calls.open(1, 7);
  calls.close(call); // the old one: must not close its successor
  assert.equal(calls.size, 1);
  assert.notEqual(again.key, call.key);
});

test("an id is open once per connection", (t) => {
  const calls = openCalls(t);
  calls.open(1, 7);
  assert.throws(() => calls.open(1, 7), DuplicateCall);
  assert.doesNotThrow(() => calls.open(2, 7));
});

test("cancel finds exactly its call; an unknown one is nothing", async (t) => {
  const calls = openCalls(t);
  const [mine, other] = [calls.open(1, 7), calls.open(2, 7)];
  calls.cancel(1, 8, "x");
  calls.cancel(3, 7, "x");
  calls.cancel(1, 7, "deadline");
  await assert.rejects(mine.ended, { code: "CANCELLED", started: false, message: /deadline/ });
  assert.equal(await Promise.race([other.ended.catch(() => "ended"), "open"]), "open");
});

test("a call that a page has is never called unstarted", async (t) => {
  const calls = openCalls(t);
  const call = calls.open(1, 7);
  call.page = { tab_id: 3, document_id: "d" };
  assert.deepEqual([calls.countInTab(3).all, calls.countInTab(4).all], [1, 0]);
  calls.endInTab(4, "gone");
  calls.endInTab(3, "gone");
  await assert.rejects(call.ended, { code: "TAB_DISCARDED", started: true });
});

test("when the port is gone all calls end, silently", async (t) => {
  const calls = openCalls(t);
  const all = [calls.open(1, 1), calls.open(1, 2), calls.open(2, 1)];
  calls.endAll();
  for (const call of all) {
    await assert.rejects(call.ended, { code: "CANCELLED" });
    assert.equal(call.is_silent, true);
  }
});

test("the ceiling ends a silent call, and a closed call has none", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const [silent, closed] = [new Call(1, 1), new Call(1, 2)];
  closed.close();
  t.mock.timers.tick(CALL_CEILING_MS);
  await assert.rejects(silent.ended, { code: "TIMEOUT" });
  assert.equal(await Promise.race([closed.ended.catch(() => "ended"), "open"]), "open");
});

/** A write that a page has. */
function writeUnderWay(calls, conn, id) {
  const call = calls.open(conn, id);
  return Object.assign(call, { is_write: true, page: { tab_id: 3, document_id: "d" } });
}

test("a write that a page has outlives cancel, connection and port; one that no page has does not", async (t) => {
  const calls = openCalls(t);
  const [cancelled, orphan, last] = [1, 2, 3].map((conn) => writeUnderWay(calls, conn, 7));
  const waiting = Object.assign(calls.open(1, 8), { is_write: true });
  assert.equal(calls.cancel(1, 7, "deadline"), cancelled.page);
  assert.equal(calls.cancel(1, 8, "deadline"), null);
  calls.endConnection(2);
  calls.endAll();
  await assert.rejects(waiting.ended, { code: "CANCELLED", started: false });
  for (const call of [cancelled, orphan, last]) {
    assert.equal(await Promise.race([call.ended.catch(() => "ended"), "open"]), "open");
    assert.equal(call.is_silent, true);
  }
  calls.close(waiting);
  assert.deepEqual([calls.size, calls.countInTab(3)], [3, { all: 3, writes: 3 }]);
  for (const call of [cancelled, orphan, last]) calls.close(call);
  assert.equal(calls.size, 0);
});

test("the id of a write without a connection is free for the next host's", (t) => {
  const calls = openCalls(t);
  const write = writeUnderWay(calls, 1, 7);
  calls.endAll();
  const next = calls.open(1, 7);
  calls.close(write);
  assert.equal(calls.size, 1);
  calls.close(next);
  assert.equal(calls.size, 0);
});

test("a page that is lost ends its writes without proof, detached ones too", async (t) => {
  const calls = openCalls(t);
  const [write, orphan] = [writeUnderWay(calls, 1, 7), writeUnderWay(calls, 2, 7)];
  calls.endConnection(2);
  calls.endInTab(3, "gone");
  for (const call of [write, orphan]) await assert.rejects(call.ended, { code: "TAB_DISCARDED", started: true });
});
