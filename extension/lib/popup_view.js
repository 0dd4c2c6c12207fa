/**
 * What the popup shows for what it knows: which hop is missing and the one thing to do, rows of activity. Pure.
 */

/** @typedef {import("./popup_port.js").PopupState} PopupState */
/** @typedef {import("./activity.js").Entry} Entry */
/** @typedef {{code: string, message: string}} Refusal */
/** @typedef {{id: string, title: string}} ListedNotebook */
/** @typedef {"good" | "warn" | "bad" | "wait"} Level */
/** @typedef {{level: Level, name: string, text: string}} Hop */
/** @typedef {{level: Level, summary: string, next: string, command: string, hops: Hop[]}} Diagnosis */
/** @typedef {{agent: string, tool: string, notebook: string, time: string, result: string, level: Level}} ActivityRow */
/**
 * @typedef {object} Reading what the last real read of the list of notebooks gave; null while it runs
 * @property {ListedNotebook[] | null} notebooks
 * @property {Refusal | null} refusal
 */

const DOCTOR = "notebook-gateway doctor";
/** Chrome's own words: https://developer.chrome.com/docs/extensions/develop/concepts/native-messaging */
const NOT_FOUND = "host not found";
const FORBIDDEN = "forbidden";

/**
 * @param {PopupState} state
 * @param {Reading | null} reading
 * @returns {Diagnosis}
 */
export function diagnose(state, reading) {
  const hops = [hostHop(state), agentsHop(state), accountHop(state, reading)];
  /** @param {Level} level @param {string} summary @param {string} [next] @param {string} [command] */
  const say = (level, summary, next = "", command = "") => ({ level, summary, next, command, hops });
  if (state.paused) return say("warn", "Paused: no agent can do anything.", "Switch the pause off to let them go on.");
  if (!state.port.connected) return say("bad", "Not connected: the native host is missing.", "Run on this machine:", hostCommand(state));
  if (state.account === null) return say("warn", "No account is set.", "Set it below.");
  const code = reading?.refusal?.code;
  if (code === "AUTH_REQUIRED") return say("bad", "Not signed in.", `Sign in as ${state.account} in a notebook tab of this browser.`);
  if (code === "ACCOUNT_MISMATCH") {
    return say("bad", "Another account is signed in.", `Sign in as ${state.account}, or change the account below.`);
  }
  if (code !== undefined) return say("bad", `The notebooks cannot be read (${code}).`, "Run on this machine:", DOCTOR);
  if (state.notebooks !== "*" && state.notebooks.length === 0) {
    return say("warn", "No notebook is allowed yet.", "Tick below what agents may use.");
  }
  if (reading === null) return say("wait", "Connected. Reading the notebooks …");
  return say("good", state.agents.length === 0 ? "Ready. No agent is connected now." : "Ready.");
}

/** @param {PopupState} state @returns {Hop} */
function hostHop({ port }) {
  if (port.connected) return { level: "good", name: "Native host", text: "connected" };
  return { level: "bad", name: "Native host", text: port.error ?? "not connected yet" };
}

/** @param {PopupState} state */
function hostCommand({ port }) {
  const error = (port.error ?? "").toLowerCase();
  return error.includes(NOT_FOUND) || error.includes(FORBIDDEN) ? "notebook-gateway onboard" : DOCTOR;
}

/** @param {PopupState} state @returns {Hop} */
function agentsHop({ agents }) {
  if (agents.length === 0) return { level: "wait", name: "Agents", text: "none connected" };
  return { level: "good", name: "Agents", text: [...new Set(agents)].join(", ") };
}

/** @param {PopupState} state @param {Reading | null} reading @returns {Hop} */
function accountHop({ account, tab }, reading) {
  const name = "Notebook page";
  if (account === null) return { level: "wait", name, text: "waits for the account" };
  if (reading === null) return { level: "wait", name, text: tab === null ? "opening" : tab.host };
  if (reading.refusal !== null) return { level: "bad", name, text: reading.refusal.message };
  return { level: "good", name, text: tab === null ? "signed in" : `${tab.host}, signed in` };
}

/**
 * @param {readonly Entry[]} entries newest first
 * @param {readonly ListedNotebook[]} notebooks whose titles are known
 * @param {(ms: number) => string} clock
 * @returns {ActivityRow[]}
 */
export function activityRows(entries, notebooks, clock) {
  const titles = new Map(notebooks.map(({ id, title }) => [id, title]));
  return entries.map((entry) => {
    const is_running = entry.open > 0;
    const result = is_running ? "running" : (entry.result ?? "unknown");
    return {
      agent: entry.agent,
      tool: entry.tool,
      notebook: entry.notebook === null ? "–" : (titles.get(entry.notebook) ?? entry.notebook.slice(0, 8)),
      time: clock(entry.began_ms),
      result,
      level: is_running ? "wait" : result === "ok" ? "good" : "bad",
    };
  });
}
