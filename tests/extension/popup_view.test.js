// What the popup makes of what it knows: the missing hop, the one thing to do, and rows without content.
import assert from "node:assert/strict";
import { test } from "node:test";

import { activityRows, diagnose } from "../../extension/lib/popup_view.js";

const NOTEBOOK = "1a2b3c4d-0001-4a00-8b00-00000000000a";
const FINE = {
  build: "0.1.0",
  paused: false,
  port: { connected: true, error: null },
  agents: ["codex"],
  account: "ada@example.com",
  notebooks: [NOTEBOOK],
  tab: { state: "ready", host: "notebook.google.com" },
  activity: [],
};
const READ = { notebooks: [{ id: NOTEBOOK, title: "Tides" }], refusal: null };
const refused = (code) => ({ notebooks: null, refusal: { code, message: `because ${code}` } });
const offline = (error) => ({ ...FINE, port: { connected: false, error } });

for (const [name, state, reading, level, summary, next] of [
  ["all is well", FINE, READ, "good", /^Ready\.$/, /^$/],
  ["nobody is connected", { ...FINE, agents: [] }, READ, "good", /No agent is connected/, /^$/],
  ["paused, whatever else is missing", { ...offline("x"), paused: true }, null, "warn", /Paused/, /Switch the pause off/],
  ["the host is not registered", offline("Specified native messaging host not found."), null, "bad", /native host is missing/, /notebook-gateway onboard/],
  ["the host is forbidden", offline("Access to the specified native messaging host is forbidden."), null, "bad", /native host/, /notebook-gateway onboard/],
  ["the host ended", offline("Native host has exited."), null, "bad", /native host/, /notebook-gateway doctor/],
  ["no account", { ...FINE, account: null }, null, "warn", /No account/, /below/],
  ["nobody is signed in", FINE, refused("AUTH_REQUIRED"), "bad", /Not signed in/, /Sign in as ada@example\.com/],
  ["another account", FINE, refused("ACCOUNT_MISMATCH"), "bad", /Another account/, /change the account/],
  ["the service's shape is new", FINE, refused("UPSTREAM_SCHEMA_DRIFT"), "bad", /UPSTREAM_SCHEMA_DRIFT/, /notebook-gateway doctor/],
  ["nothing is allowed", { ...FINE, notebooks: [] }, READ, "warn", /No notebook is allowed/, /Tick/],
  ["the list is being read", FINE, null, "wait", /Reading/, /^$/],
]) {
  test(`the summary names what is missing and the one thing to do: ${name}`, () => {
    const found = diagnose(state, reading);
    assert.equal(found.level, level);
    assert.match(found.summary, summary);
    assert.match(`${found.next} ${found.command}`.trim(), next);
  });
}

test("each hop is told by itself", () => {
  const { hops } = diagnose(offline("Native host has exited."), refused("AUTH_REQUIRED"));
  assert.deepEqual(hops, [
    { level: "bad", name: "Native host", text: "Native host has exited." },
    { level: "good", name: "Agents", text: "codex" },
    { level: "bad", name: "Notebook page", text: "because AUTH_REQUIRED" },
  ]);
});

test("rows show title where it is known, else the beginning of the id, and what runs", () => {
  const entry = { trace: "t", agent: "codex", tool: "list_sources", notebook: NOTEBOOK, began_ms: 5, ended_ms: 9, calls: 1, open: 0, result: "ok" };
  const rows = activityRows(
    [entry, { ...entry, notebook: "ffffffff-0000", result: "TIMEOUT" }, { ...entry, notebook: null, open: 1, result: null }],
    READ.notebooks,
    (ms) => `at ${ms}`,
  );
  assert.deepEqual(
    rows.map(({ notebook, time, result, level }) => [notebook, time, result, level]),
    [["Tides", "at 5", "ok", "good"], ["ffffffff", "at 5", "TIMEOUT", "bad"], ["–", "at 5", "running", "wait"]],
  );
});
