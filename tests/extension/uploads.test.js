import assert from "node:assert/strict";
import { test } from "node:test";

import { Uploads, isHandle, newHandle } from "../../extension/lib/uploads.js";
import { FakeStorage } from "./fake_chrome.js";

const session = (more = {}) => ({
  url: "https://notebook.google.com/upload/_/?upload_id=x",
  notebook: "n1",
  source: "s1",
  account: "ada@example.com",
  size_bytes: 5,
  granularity_bytes: 262_144,
  ...more,
});

async function loaded(area, most) {
  const uploads = new Uploads(area, most);
  await uploads.load();
  return uploads;
}

test("a session outlives the worker", async () => {
  const area = new FakeStorage();
  const handle = newHandle();
  await (await loaded(area)).add(handle, session());
  assert.deepEqual((await loaded(area)).find(handle), session());
  assert.equal((await loaded(area)).find(newHandle()), undefined);
});

test("handles are random, and nothing else looks like one", () => {
  const handles = new Set(Array.from({ length: 100 }, newHandle));
  assert.equal(handles.size, 100);
  assert.ok([...handles].every(isHandle));
  for (const bad of ["", "up-", `up-${"A".repeat(32)}`, `up-${"a".repeat(33)}`, `up-${"a".repeat(32)}\n`, null, 7]) {
    assert.equal(isHandle(bad), false);
  }
});

test("the store is bounded; the oldest sessions go first", async () => {
  const area = new FakeStorage();
  const uploads = await loaded(area, 2);
  const handles = [newHandle(), newHandle(), newHandle()];
  for (const handle of handles) await uploads.add(handle, session());
  for (const store of [uploads, await loaded(area, 2)]) {
    assert.deepEqual(
      handles.map((handle) => store.find(handle) !== undefined),
      [false, true, true],
    );
  }
});

test("another account knows none of them", async () => {
  const area = new FakeStorage();
  const uploads = await loaded(area);
  const handle = newHandle();
  await uploads.add(handle, session());
  await uploads.clear();
  assert.equal(uploads.find(handle), undefined);
  assert.equal((await loaded(area)).find(handle), undefined);
});

test("what is stored and is no session is left out", async () => {
  const area = new FakeStorage();
  const [good, ...others] = Array.from({ length: 5 }, newHandle);
  const wrong = [session({ url: null }), session({ size_bytes: -1 }), session({ granularity_bytes: "1" }), "text"];
  const stored = { [good]: session(), ...Object.fromEntries(others.map((handle, n) => [handle, wrong[n]])) };
  await area.set({ uploads: { ...stored, constructor: session() } });
  const uploads = await loaded(area);
  assert.deepEqual(
    [good, ...others, "constructor"].map((handle) => uploads.find(handle) !== undefined),
    [true, false, false, false, false, false],
  );
  await area.set({ uploads: [session()] });
  assert.equal((await loaded(area)).find("0"), undefined);
});
