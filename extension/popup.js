/**
 * The popup: asks the worker, shows what it says, and sends what the person changes. All judgement is in
 * `lib/popup_view.js`; text is set as text, never as markup.
 */

import { openWorker } from "./lib/popup_worker.js";
import { activityRows, diagnose } from "./lib/popup_view.js";

/** @typedef {import("./lib/popup_port.js").PopupState} PopupState */
/** @typedef {import("./lib/popup_view.js").Reading} Reading */

const REFRESH_MS = 1_000;
const MARKS = { good: "✓", warn: "!", bad: "✗", wait: "·" };

const ask = openWorker();
/** @type {PopupState | null} */
let state = null;
/** @type {Reading | null} */
let reading = null;

/** @template {HTMLElement} T @param {string} id @returns {T} */
const byId = (id) => /** @type {T} */ (document.getElementById(id));
const clock = (/** @type {number} */ ms) => new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** @param {string} name @param {{text?: string, class?: string}} [more] @returns {HTMLElement} */
function element(name, { text = "", class: names = "" } = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = names;
  return made;
}

/** @param {HTMLElement} shown @param {string} text set only when it differs, so that nothing is read out twice */
function setText(shown, text) {
  if (shown.textContent !== text) shown.textContent = text;
}

function showStatus() {
  if (state === null) return;
  const { level, summary, next, command, hops } = diagnose(state, reading);
  setText(byId("summary"), summary);
  byId("summary").dataset.level = level;
  const todo = byId("next");
  todo.hidden = next === "";
  todo.replaceChildren(`${next} `, ...(command === "" ? [] : [element("code", { text: command })]));
  byId("hops").replaceChildren(
    ...hops.map((hop) => {
      const row = element("li");
      const mark = element("span", { text: MARKS[hop.level], class: `mark ${hop.level}` });
      mark.setAttribute("aria-hidden", "true");
      row.append(mark, element("span", { text: `${hop.name}: ${hop.text}` }));
      return row;
    }),
  );
  byId("pause").setAttribute("aria-checked", String(state.paused));
  setText(byId("account"), state.account ?? "not set");
  setText(byId("build"), state.build);
}

function showNotebooks() {
  if (state === null) return;
  const { notebooks } = state;
  const is_all = notebooks === "*";
  for (const radio of /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("input[name=which]"))) {
    radio.checked = (radio.value === "all") === is_all;
    radio.disabled = state.account === null;
  }
  const listed = reading?.notebooks ?? [];
  const known = new Set(listed.map(({ id }) => id));
  const missing = is_all ? [] : notebooks.filter((id) => !known.has(id)).map((id) => ({ id, title: `${id.slice(0, 8)} (not in the list)` }));
  const box = byId("notebooks");
  const legend = /** @type {HTMLElement} */ (box.querySelector("legend"));
  const rows = [...listed, ...missing].map(({ id, title }) => {
    const label = element("label");
    const tick = document.createElement("input");
    Object.assign(tick, { type: "checkbox", name: "notebook", value: id, disabled: is_all });
    tick.checked = is_all || notebooks.includes(id);
    label.append(tick, ` ${title}`);
    return label;
  });
  box.replaceChildren(legend, ...rows);
  const note = reading === null ? "Reading the list …" : "An agent needs a yes here and in allowlist.json (notebook-gateway allow add).";
  setText(byId("notebooks-note"), reading?.refusal ? `The list cannot be read: ${reading.refusal.message}` : note);
}

function showActivity() {
  if (state === null) return;
  const rows = activityRows(state.activity, reading?.notebooks ?? [], clock);
  byId("no-activity").hidden = rows.length > 0;
  byId("activity-scroll").hidden = rows.length === 0;
  byId("activity").replaceChildren(
    ...rows.map((row) => {
      const line = element("tr");
      line.append(
        ...[row.agent, row.tool, row.notebook, row.time].map((text) => element("td", { text })),
        element("td", { text: row.result, class: row.level }),
      );
      return line;
    }),
  );
}

async function refresh() {
  const answer = await ask("state");
  if (!answer.ok) return;
  state = /** @type {PopupState} */ (answer.value);
  showStatus();
  showActivity();
}

async function readNotebooks() {
  reading = null;
  if (state?.account === null) {
    showNotebooks();
    return;
  }
  const answer = await ask("notebooks");
  reading = answer.ok
    ? { notebooks: /** @type {import("./lib/popup_view.js").ListedNotebook[]} */ (answer.value), refusal: null }
    : { notebooks: null, refusal: answer.error };
  await refresh();
  showNotebooks();
}

/** @param {string} what @param {unknown} value @param {string} done */
async function change(what, value, done) {
  const answer = await ask(what, value);
  setText(byId("saved"), answer.ok ? done : answer.error.message);
  await refresh();
  return answer.ok;
}

byId("pause").addEventListener("click", () => {
  if (state !== null) void change("pause", !state.paused, state.paused ? "Agents may go on." : "All agents are paused.");
});

byId("notebooks-form").addEventListener("change", () => {
  const form = /** @type {HTMLFormElement} */ (byId("notebooks-form"));
  const chosen = new FormData(form);
  const allowed = chosen.get("which") === "all" ? "*" : chosen.getAll("notebook");
  void change("allow", allowed, "Saved.").then(showNotebooks);
});

byId("account-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const address = /** @type {HTMLInputElement} */ (byId("address")).value.trim();
  void change("account", address, `The account is ${address}.`).then((is_done) => {
    if (!is_done) return;
    /** @type {HTMLDetailsElement} */ (byId("account-change")).open = false;
    void readNotebooks();
  });
});

await refresh();
showNotebooks();
setInterval(() => void refresh(), REFRESH_MS);
await readNotebooks();
