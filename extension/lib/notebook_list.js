/**
 * Every notebook of the account, by id and title, for the person who chooses among them: in the popup, or in onboarding
 * over CDP. No frame of a broker leads here; what brokers list is cut down to the allowed ones in the page.
 */

import { GatewayFault } from "./errors.js";

/** @typedef {import("./gateway.js").Parts} Parts */
/** @typedef {{id: string, title: string}} ListedNotebook */

export const LIST_RPC = "wXbhsf";
const LIST_PARAMS = [null, 1, null, [2, null, null, [1, null, null, null, null, null, null, null, null, null, [1]]]];
const WITHIN_MS = 20_000;
const HTTP_OK = 200;
const TITLE_SLOT = 0;
const ID_SLOT = 2;

/**
 * @param {Pick<Parts, "settings" | "tabs" | "executor">} parts
 * @returns {Promise<ListedNotebook[]>} Rejects with GatewayFault.
 */
export async function listAllNotebooks({ settings, tabs, executor }) {
  const { account } = settings.current;
  if (account === null) throw new GatewayFault("ACCOUNT_MISMATCH", "No account is set yet.");
  const not_after_ms = Date.now() + WITHIN_MS;
  const page = await tabs.ready({ account, not_after_ms, refresh: false });
  const answer = await executor.rpc(page, {
    key: `person:${crypto.randomUUID()}`,
    account,
    not_after_ms,
    rpc: LIST_RPC,
    params_json: JSON.stringify(LIST_PARAMS),
    source_path: "/",
    notebook: null,
    allow: "*",
    is_write: false,
  });
  if (answer.status !== HTTP_OK) {
    throw new GatewayFault("UPSTREAM_REJECTED", `The service answered with HTTP ${answer.status}.`, { started: true });
  }
  return parseNotebooks(answer.body);
}

/**
 * @param {string} body the raw answer of `wXbhsf` (wire reference, 2.2 and 4.1)
 * @returns {ListedNotebook[]} Throws GatewayFault for a shape that is not known; never a list that is too short.
 */
export function parseNotebooks(body) {
  const text = body.split("\n").map(rowText).find((found) => found !== undefined);
  if (text === undefined) throw drift("no row of the call");
  const rows = parsed(text)?.[0];
  if (rows === undefined || rows === null) return [];
  if (!Array.isArray(rows)) throw drift("rows");
  return rows.map((row) => {
    const [title, id] = [row?.[TITLE_SLOT], row?.[ID_SLOT]];
    if (typeof id !== "string" || id === "" || (typeof title !== "string" && title !== null)) throw drift("a row");
    return { id, title: title || "Untitled notebook" };
  });
}

/** @param {string} line @returns {string | undefined} the JSON text of our row, if the line is the chunk that holds it */
function rowText(line) {
  if (!line.startsWith("[")) return undefined;
  const rows = parsed(line);
  if (!Array.isArray(rows)) return undefined;
  const row = rows.find((each) => Array.isArray(each) && each[0] === "wrb.fr" && each[1] === LIST_RPC);
  return typeof row?.[2] === "string" ? row[2] : undefined;
}

/** @param {string} text @returns {any} undefined where it is no JSON */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @param {string} what */
function drift(what) {
  return new GatewayFault("UPSTREAM_SCHEMA_DRIFT", `The list of notebooks has an unknown shape: ${what}.`, { started: true });
}
