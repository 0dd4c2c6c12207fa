import assert from "node:assert/strict";
import { test } from "node:test";

import { BadFragment, FragmentJoiner } from "../../extension/lib/fragments.js";

/** Cut a message the way the host does, here into pieces of `size` bytes. */
function pieces(message, size, { conn = 1, id = 7 } = {}) {
  const bytes = Buffer.from(JSON.stringify(message));
  const count = Math.max(1, Math.ceil(bytes.length / size));
  return Array.from({ length: count }, (_, seq) => ({
    type: "fragment",
    conn,
    id,
    seq,
    last: seq === count - 1,
    data: bytes.subarray(seq * size, (seq + 1) * size).toString("base64"),
  }));
}

test("C-035 quotes, control characters and cuts inside multi-byte characters come through", () => {
  const message = { text: `"""\\ \u0001\u0007 😀 ü — عربي 👩‍👩‍👧 ${'"'.repeat(50)}` };
  for (let size = 1; size < 40; size += 1) {
    const joiner = new FragmentJoiner();
    const taken = pieces(message, size).map((piece) => joiner.take(piece));
    assert.deepEqual(taken.at(-1), message);
    assert.ok(taken.slice(0, -1).every((value) => value === undefined));
    assert.equal(joiner.held_bytes, 0);
  }
});

test("pieces of several connections may come in turns", () => {
  const joiner = new FragmentJoiner();
  const [one, two] = [pieces({ n: 1 }, 4, { conn: 1 }), pieces({ n: 2 }, 4, { conn: 2 })];
  assert.equal(joiner.take(one[0]), undefined);
  assert.equal(joiner.take(two[0]), undefined);
  assert.deepEqual(joiner.take(one[1]), { n: 1 });
  assert.deepEqual(joiner.take(two[1]), { n: 2 });
});

test("a gap, a repeat or another message in between is refused, and nothing is kept", () => {
  const all = pieces({ text: "abcdefgh" }, 4);
  const sequences = [[all[1]], [all[0], all[0]], [all[0], all[2]], [all[0], { ...all[1], id: 8 }]];
  for (const sequence of sequences) {
    const joiner = new FragmentJoiner();
    assert.throws(() => sequence.forEach((piece) => joiner.take(piece)), BadFragment);
    assert.equal(joiner.held_bytes, 0);
    assert.deepEqual(all.map((piece) => joiner.take(piece)).at(-1), { text: "abcdefgh" });
  }
});

test("the limit holds over all connections, before the last piece arrives", () => {
  const joiner = new FragmentJoiner(10);
  joiner.take({
    type: "fragment",
    conn: 1,
    id: 1,
    seq: 0,
    last: false,
    data: Buffer.from("123456").toString("base64"),
  });
  const second = {
    type: "fragment",
    conn: 2,
    id: 1,
    seq: 0,
    last: false,
    data: Buffer.from("12345").toString("base64"),
  };
  assert.throws(() => joiner.take(second), BadFragment);
  joiner.drop(1);
  assert.doesNotThrow(() => joiner.take(second));
});

test("what is no base64, no UTF-8 or no JSON is refused", () => {
  for (const data of ["%%%", Buffer.from([0xff]).toString("base64"), Buffer.from("{").toString("base64")]) {
    assert.throws(
      () => new FragmentJoiner().take({ type: "fragment", conn: 1, id: 1, seq: 0, last: true, data }),
      BadFragment,
    );
  }
});
