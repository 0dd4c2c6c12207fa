// What the person is shown of the agents' calls: one entry per tool call, never content, bounded, kept over a restart.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { Activity, MAX_ENTRIES } from "../../extension/lib/activity.js";
import { FOREIGN, FakeHost, NOTEBOOK, OPT, configuredHost, rpcAnswer } from "./fake_host.js";
import { FakeStorage, until } from "./fake_chrome.js";

const trace = (number, tool) => ({
  traceparent: `00-${String(number).padStart(32, "0")}-00f067aa0ba902b7-01`,
  ...(tool === undefined ? {} : { tool }),
});
const frame = (more) => ({ conn: 1, op: "rpc", notebook: NOTEBOOK, trace: trace(1, "list_sources"), ...more });

/** @type {FakeHost} */
let host;

beforeEach(async () => {
  host = await configuredHost();
  host.host({ conn: 1, type: "conn_open", client: { name: "claude-code", version: "2.1" }, build: "0.1.0" });
});

afterEach(() => host.close());

const latest = async (limit = 10) =>
  (await host.call("activity", { limit }, { notebook: null, account: null })).value.entries;

test("the calls of one tool call are one entry, with agent, tool, notebook and how it ended", async () => {
  host.page({ rpc: () => rpcAnswer() });
  const more = { trace: trace(7, "get_notebook_metadata") };
  await host.rpc("rLM1Ne", [NOTEBOOK, null, OPT, null, 0], more);
  await host.rpc("rLM1Ne", [NOTEBOOK, null, OPT, null, 0], more);
  await host.rpc("rLM1Ne", [FOREIGN, null, OPT, null, 0], { notebook: FOREIGN, trace: trace(8, "list_sources") });
  const shown = (await latest()).map(({ agent, tool, notebook, calls, open, result }) => [agent, tool, notebook, calls, open, result]);
  assert.deepEqual(shown, [
    ["claude-code", "list_sources", FOREIGN, 1, 0, "ALLOWLIST_DENIED"],
    ["claude-code", "get_notebook_metadata", NOTEBOOK, 2, 0, "ok"],
  ]);
});

test("nothing of question, parameters or answer is kept", async () => {
  host.page({ rpc: () => rpcAnswer({ body: "CANARY-ANSWER" }) });
  await host.rpc("rLM1Ne", [NOTEBOOK, null, OPT, null, 0], { trace: trace(1, "list_sources") });
  await host.ask({ trace: trace(2, "query_notebook") });
  assert.deepEqual(Object.keys((await latest())[0]).sort(), [
    "agent", "began_ms", "calls", "ended_ms", "notebook", "open", "result", "tool", "trace",
  ]);
  assert.doesNotMatch(JSON.stringify(host.activity.latest(MAX_ENTRIES)), /CANARY|why\?/);
});

test("looking at the chain is no activity", async () => {
  await host.call("status", {}, { notebook: null, account: null });
  assert.deepEqual(await latest(), []);
});

test("a tool name that is none, and an agent's endless name, are not shown as they came", () => {
  const activity = new Activity(new FakeStorage());
  activity.opened(1, { name: "x".repeat(500), version: "" });
  activity.begin(frame({ trace: trace(1, "<b>delete</b>") }))("ok");
  activity.begin(frame({ trace: { traceparent: 7, tool: 7 } }))("ok");
  assert.deepEqual(activity.latest(2).map(({ tool, agent }) => [tool, agent.length]), [["unknown", 60], ["unknown", 60]]);
});

test("the oldest entries make room, and a restart keeps the rest but nothing as running", async () => {
  const area = new FakeStorage();
  const activity = new Activity(area);
  for (let number = 0; number < MAX_ENTRIES + 3; number += 1) activity.begin(frame({ trace: trace(number, "list_sources") }));
  assert.equal(activity.latest(1_000).length, MAX_ENTRIES);
  await until(() => "activity" in area.items);
  const again = new Activity(area);
  await again.load();
  assert.equal(again.latest(1_000).length, MAX_ENTRIES);
  assert.deepEqual([...new Set(again.latest(1_000).map(({ open }) => open))], [0]);
});

test("limit is a number in its range", async () => {
  for (const limit of [0, -1, MAX_ENTRIES + 1, "5", 1.5, undefined]) {
    const { error } = await host.call("activity", { limit }, { notebook: null, account: null });
    assert.equal(error.code, "INVALID_ARGUMENT", String(limit));
  }
});

test("an agent that has left is no longer among the connected, and a lost port empties the list", async () => {
  host.host({ conn: 2, type: "conn_open", client: { name: "cursor", version: "1" }, build: "0.1.0" });
  assert.deepEqual(host.activity.agents, ["claude-code", "cursor"]);
  host.host({ conn: 1, type: "conn_close", reason: "left" });
  assert.deepEqual(host.activity.agents, ["cursor"]);
  host.chrome.ports.at(-1).end();
  assert.deepEqual(host.activity.agents, []);
});
