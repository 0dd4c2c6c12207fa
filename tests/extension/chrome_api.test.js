import assert from "node:assert/strict";
import { test } from "node:test";

import { chromeApi } from "../../extension/lib/chrome_api.js";

function withChrome(parts) {
  globalThis.chrome = { runtime: { id: "x" }, storage: { local: {}, session: {} }, ...parts };
  return chromeApi();
}

test("our tab opens in the background", async () => {
  const asked = [];
  const api = withChrome({ tabs: { create: async (options) => (asked.push(options), { id: 5 }) } });
  assert.deepEqual(await api.openTab("https://notebook.google.com/"), { id: 5 });
  assert.deepEqual(asked, [{ url: "https://notebook.google.com/", active: false }]);
});

test("where Chrome has no window, a minimised one is made", async () => {
  const asked = [];
  const api = withChrome({
    tabs: { create: () => Promise.reject(new Error("No current window")) },
    windows: { create: async (options) => (asked.push(options), { tabs: [{ id: 6 }] }) },
  });
  assert.deepEqual(await api.openTab("https://notebook.google.com/"), { id: 6 });
  assert.deepEqual(asked, [{ url: "https://notebook.google.com/", focused: false, state: "minimized" }]);
});

test("Chrome itself never discards our tab", async () => {
  const asked = [];
  const api = withChrome({ tabs: { update: async (...args) => void asked.push(args) } });
  await api.keepTab(5);
  assert.deepEqual(asked, [[5, { autoDiscardable: false }]]);
});
