/**
 * Frames from the native host as values, checked where they arrive. Pure.
 *
 * Required fields and their types are checked, fields that the table does not have are dropped.
 */

import { HOST_TO_WORKER, MESSAGES } from "./protocol.js";

/** @typedef {{type: "conn_open", conn: number, client: {name: string, version: string}, build: string}} ConnOpenFrame */
/** @typedef {{type: "conn_close", conn: number, reason: string}} ConnCloseFrame */
/**
 * @typedef {object} CallFrame
 * @property {"call"} type
 * @property {number} conn
 * @property {number} id
 * @property {string} op
 * @property {Record<string, unknown>} params
 * @property {string | null} notebook
 * @property {string | null} account
 * @property {number} not_after_ms epoch milliseconds
 * @property {Record<string, unknown>} trace
 */
/** @typedef {{type: "cancel", conn: number, id: number, reason: string}} CancelFrame */
/** @typedef {{type: "ping", conn: number, t: unknown}} PingFrame */
/** @typedef {{type: "pong", conn: number, t: unknown}} PongFrame */
/** @typedef {{type: "fragment", conn: number, id: number, seq: number, last: boolean, data: string}} FragmentFrame */
/** @typedef {{type: "error", conn: number, code: string, message: string}} ErrorFrame */
/**
 * @typedef {ConnOpenFrame | ConnCloseFrame | CallFrame | CancelFrame | PingFrame | PongFrame | FragmentFrame
 *   | ErrorFrame} HostFrame
 */

/** @param {unknown} value @returns {value is Record<string, unknown>} */
export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @param {unknown} value @returns {value is number} a whole number from 0 that is exact in JavaScript */
export function isCount(value) {
  return Number.isSafeInteger(value) && /** @type {number} */ (value) >= 0;
}

const isText = (/** @type {unknown} */ value) => typeof value === "string";
const isTextOrNull = (/** @type {unknown} */ value) => value === null || typeof value === "string";
const isAnything = () => true;

/** @type {Readonly<Record<string, (value: unknown) => boolean>>} */
const FIELD_CHECKS = Object.freeze({
  id: isCount,
  seq: isCount,
  last: (value) => typeof value === "boolean",
  data: isText,
  op: isText,
  params: isObject,
  notebook: isTextOrNull,
  account: isTextOrNull,
  not_after_ms: (value) => typeof value === "number" && Number.isFinite(value),
  trace: isObject,
  reason: isText,
  code: isText,
  message: isText,
  build: isText,
  client: (value) => isObject(value) && isText(value.name) && isText(value.version),
  t: isAnything,
  worker_last_seen_ms: isAnything,
});

/**
 * Check one frame of the Chrome leg.
 * @param {unknown} raw
 * @returns {HostFrame} Throws TypeError for anything that a host may not send; the text shows no values.
 */
export function parseFrame(raw) {
  if (!isObject(raw)) throw new TypeError("a frame is a JSON object");
  const type = raw.type;
  if (typeof type !== "string" || !HOST_TO_WORKER.includes(type)) throw new TypeError("unknown frame type");
  if (!isCount(raw.conn)) throw new TypeError(`${type}: field "conn" is missing or no number`);
  const [required, optional] = /** @type {(typeof MESSAGES)[string]} */ (MESSAGES[type]);
  /** @type {Record<string, unknown>} */
  const frame = { type, conn: raw.conn };
  for (const name of [...required, ...optional]) {
    if (!Object.hasOwn(raw, name)) {
      if (optional.includes(name)) continue;
      throw new TypeError(`${type}: field "${name}" is missing`);
    }
    const check = FIELD_CHECKS[name];
    if (check === undefined || !check(raw[name])) throw new TypeError(`${type}: field "${name}" has the wrong type`);
    frame[name] = raw[name];
  }
  return /** @type {HostFrame} */ (frame);
}
