import assert from "node:assert/strict";
import { test } from "node:test";

import { parseFrame } from "../../extension/lib/frames.js";

const CALL = {
  conn: 1,
  type: "call",
  id: 7,
  op: "rpc",
  params: {},
  notebook: null,
  account: "a@b",
  not_after_ms: 1,
  trace: {},
};

test("a good frame passes, without what the table does not have", () => {
  assert.deepEqual(parseFrame({ ...CALL, extra: 1 }), CALL);
  assert.deepEqual(parseFrame({ type: "pong", conn: 0, t: 1 }), { type: "pong", conn: 0, t: 1 });
});

test("each missing or wrong-typed field is a TypeError that names it", () => {
  for (const name of Object.keys(CALL)) {
    const { [name]: _, ...rest } = CALL;
    assert.throws(() => parseFrame(rest), TypeError);
    assert.throws(() => parseFrame({ ...CALL, [name]: name === "notebook" || name === "account" ? 7 : [] }), TypeError);
  }
  assert.throws(() => parseFrame({ ...CALL, id: 1.5 }), /"id"/);
  assert.throws(() => parseFrame({ ...CALL, conn: -1 }), /"conn"/);
  assert.throws(() => parseFrame({ ...CALL, not_after_ms: Infinity }), /"not_after_ms"/);
});

test("what a host does not send is refused", () => {
  for (const raw of [
    null,
    undefined,
    7,
    "call",
    [],
    {},
    { type: "result", conn: 1, id: 1, ok: true },
    { type: "hello", conn: 1 },
    { type: "toString", conn: 1 },
  ]) {
    assert.throws(() => parseFrame(raw), TypeError);
  }
});
