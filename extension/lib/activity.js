/**
 * The last tool calls of each agent, for the person: who, which tool, which notebook, when, how it ended. Never content.
 *
 * One tool call makes several calls of the relay; they carry one trace id and become one entry. Kept in
 * `chrome.storage.session`, so it is gone with the browser.
 */

import { isObject } from "./frames.js";

/** @typedef {import("./chrome_api.js").StorageArea} StorageArea */
/** @typedef {import("./frames.js").CallFrame} CallFrame */
/**
 * @typedef {object} Entry
 * @property {string} trace W3C trace id
 * @property {string} agent the MCP client's name
 * @property {string} tool
 * @property {string | null} notebook id
 * @property {number} began_ms epoch milliseconds
 * @property {number} ended_ms of the latest call that ended
 * @property {number} calls how many of the relay
 * @property {number} open of these
 * @property {string | null} result "ok" or the error's code, of the latest that ended; null before
 */

export const MAX_ENTRIES = 200;
const KEY = "activity";
const WRITE_AFTER_MS = 300;
const NAME_LENGTH = 60;
const TOOL = /^[a-z][a-z0-9_]{0,63}$/;
const TRACE_ID = /^[0-9a-f]{2}-([0-9a-f]{32})-/;
/** These look at the chain itself; a person who asks what agents did does not mean them. */
const NO_ACTIVITY = Object.freeze(["status", "activity"]);

export class Activity {
  #area;
  /** @type {Entry[]} oldest first */
  #entries = [];
  /** @type {Map<number, string>} by connection */
  #agents = new Map();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer = undefined;
  /** @type {() => void} */
  onChange = () => {};

  /** @param {StorageArea} area chrome.storage.session */
  constructor(area) {
    this.#area = area;
  }

  async load() {
    const stored = (await this.#area.get([KEY]))[KEY];
    if (!Array.isArray(stored)) return;
    // What was open when this worker ended has nobody left who would say how it ended.
    this.#entries = stored.filter(isEntry).map((entry) => ({ ...entry, open: 0 }));
  }

  /** Names of the agents that are connected now. @returns {string[]} */
  get agents() {
    return [...this.#agents.values()];
  }

  /** @param {number} conn @param {{name: string, version: string}} client */
  opened(conn, client) {
    this.#agents.set(conn, client.name.slice(0, NAME_LENGTH) || "unknown");
    this.onChange();
  }

  /** @param {number} conn */
  closed(conn) {
    if (this.#agents.delete(conn)) this.onChange();
  }

  /** The port is gone, and every connection with it. */
  closedAll() {
    this.#agents.clear();
    this.onChange();
  }

  /**
   * A call begins.
   * @param {CallFrame} frame
   * @returns {(result: string) => void} to be called once, with "ok" or the error's code
   */
  begin(frame) {
    if (NO_ACTIVITY.includes(frame.op)) return () => {};
    const entry = this.#entryOf(frame);
    entry.calls += 1;
    entry.open += 1;
    entry.notebook = frame.notebook ?? entry.notebook;
    this.#changed();
    return (result) => {
      entry.open -= 1;
      entry.result = result;
      entry.ended_ms = Date.now();
      this.#changed();
    };
  }

  /** @param {number} limit @returns {Entry[]} newest first */
  latest(limit) {
    return this.#entries.slice(-limit).reverse();
  }

  /** @param {CallFrame} frame @returns {Entry} */
  #entryOf(frame) {
    const { traceparent, tool } = frame.trace;
    const trace = typeof traceparent === "string" ? (TRACE_ID.exec(traceparent)?.[1] ?? "") : "";
    const name = typeof tool === "string" && TOOL.test(tool) ? tool : "unknown";
    const known = this.#entries.find((each) => each.trace === trace && each.tool === name);
    if (trace !== "" && known !== undefined) return known;
    const began_ms = Date.now();
    const agent = this.#agents.get(frame.conn) ?? "unknown";
    const fresh = { trace, agent, tool: name, notebook: null, calls: 0, open: 0, result: null };
    /** @type {Entry} */
    const entry = { ...fresh, began_ms, ended_ms: began_ms };
    this.#entries.push(entry);
    if (this.#entries.length > MAX_ENTRIES) this.#entries.shift();
    return entry;
  }

  #changed() {
    this.onChange();
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#area.set({ [KEY]: this.#entries });
    }, WRITE_AFTER_MS);
  }
}

/** @param {unknown} raw @returns {raw is Entry} */
function isEntry(raw) {
  return isObject(raw) && typeof raw.tool === "string" && typeof raw.began_ms === "number";
}
