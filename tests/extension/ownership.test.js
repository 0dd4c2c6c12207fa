import assert from "node:assert/strict";
import { test } from "node:test";

import { Ownership } from "../../extension/lib/ownership.js";
import { FakeStorage } from "./fake_chrome.js";

test("what was learnt outlives the worker", async () => {
  const area = new FakeStorage();
  const before = new Ownership(area);
  await before.learn("n1", "source", ["s1", "s2"]);
  await before.learn("n1", "minted", ["c1"]);
  const after = new Ownership(area);
  await after.load();
  assert.deepEqual(after.ownerOf("s2"), { notebook: "n1", kind: "source" });
  assert.deepEqual(after.ownerOf("c1"), { notebook: "n1", kind: "minted" });
  assert.equal(after.ownerOf("unknown"), undefined);
});

test("a conversation that we minted stays ours when the service lists it", async () => {
  const ownership = new Ownership(new FakeStorage());
  await ownership.learn("n1", "minted", ["c1"]);
  await ownership.learn("n1", "conversation", ["c1", "c2"]);
  assert.equal(ownership.ownerOf("c1").kind, "minted");
  assert.equal(ownership.ownerOf("c2").kind, "conversation");
});

test("the map is bounded; the oldest ids go first", async () => {
  const ownership = new Ownership(new FakeStorage(), 3);
  await ownership.learn("n1", "source", ["a", "b", "c"]);
  await ownership.learn("n1", "source", ["d"]);
  assert.deepEqual(
    ["a", "b", "c", "d"].map((id) => ownership.ownerOf(id) !== undefined),
    [false, true, true, true],
  );
});

test("nothing is written when nothing is new", async () => {
  const area = new FakeStorage();
  let writes = 0;
  const { set } = area;
  area.set = async (items) => void ((writes += 1), await set.call(area, items));
  const ownership = new Ownership(area);
  await ownership.learn("n1", "source", ["a"]);
  await ownership.learn("n1", "source", ["a"]);
  assert.equal(writes, 1);
});

test("another account knows nothing", async () => {
  const area = new FakeStorage();
  const ownership = new Ownership(area);
  await ownership.learn("n1", "source", ["a"]);
  await ownership.clear();
  const after = new Ownership(area);
  await after.load();
  assert.equal(after.ownerOf("a"), undefined);
});

test("a name that every object has is no id", async () => {
  const ownership = new Ownership(new FakeStorage());
  for (const name of ["__proto__", "constructor", "toString"]) assert.equal(ownership.ownerOf(name), undefined);
});
