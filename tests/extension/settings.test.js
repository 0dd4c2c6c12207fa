import assert from "node:assert/strict";
import { test } from "node:test";

import { SettingsStore, isAllowed, isSameAccount, parseSettings } from "../../extension/lib/settings.js";
import { FakeStorage } from "./fake_chrome.js";

const NOTEBOOK = "1a2b3c4d-0001-4a00-8b00-00000000000a";

test("everything is denied until the person says otherwise", async () => {
  const store = new SettingsStore(new FakeStorage());
  assert.deepEqual(store.current, { account: null, notebooks: [] });
  await store.load();
  assert.deepEqual(store.current, { account: null, notebooks: [] });
  assert.equal(isAllowed(store.current, NOTEBOOK), false);
});

test("settings and the profile's name outlive the worker", async () => {
  const area = new FakeStorage();
  const first = new SettingsStore(area, () => "profile-1");
  await first.load();
  await first.set({ account: "ada@example.com", notebooks: [NOTEBOOK, NOTEBOOK] });
  const second = new SettingsStore(area, () => "profile-2");
  await second.load();
  assert.deepEqual(second.current, { account: "ada@example.com", notebooks: [NOTEBOOK] });
  assert.equal(second.profile, "profile-1");
});

test("a field that is left out stays, and a change is told with before and after", async () => {
  const store = new SettingsStore(new FakeStorage());
  await store.load();
  await store.set({ account: "ada@example.com", notebooks: "*" });
  const told = [];
  store.onChange = (before, now) => told.push([before.account, now.account, now.notebooks]);
  await store.set({ account: "grace@example.com" });
  assert.deepEqual(told, [["ada@example.com", "grace@example.com", "*"]]);
});

test("wrong settings are refused and change nothing", async () => {
  const store = new SettingsStore(new FakeStorage());
  await store.load();
  await store.set({ account: "ada@example.com", notebooks: [NOTEBOOK] });
  const wrong = [
    null,
    [],
    "x",
    { account: "ada" },
    { account: 7 },
    { notebooks: "all" },
    { notebooks: ["*"] },
    { notebooks: [NOTEBOOK.toUpperCase()] },
    { notebooks: null },
    { paused: true },
  ];
  for (const raw of wrong) await assert.rejects(store.set(raw), TypeError, JSON.stringify(raw));
  assert.deepEqual(store.current, { account: "ada@example.com", notebooks: [NOTEBOOK] });
});

test("stored settings that cannot be read deny everything", async () => {
  const area = new FakeStorage();
  area.items = { settings: { account: "ada@example.com", notebooks: "everything" } };
  const store = new SettingsStore(area);
  await store.load();
  assert.deepEqual(store.current, { account: null, notebooks: [] });
});

test("addresses are compared without case, and as a whole", () => {
  assert.equal(isSameAccount("Ada@Example.com", "ada@example.com"), true);
  assert.equal(isSameAccount("ada@example.com", "ada@example.com.evil.example"), false);
  assert.deepEqual(parseSettings({ account: null }), { account: null, notebooks: [] });
});
