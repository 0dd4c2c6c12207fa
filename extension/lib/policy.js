/**
 * The closed table of what may be sent to the service. Pure data and pure functions.
 *
 * A call passes if every slot of its parameters is one of: a checked id (notebook, source, conversation), a checked
 * scalar (question, page size), or exactly the constant that the table has there. So no id hides in a slot that nobody
 * looks at. Shapes: wire reference, 5, 6 and 8.
 */

import { GatewayFault } from "./errors.js";

/** @typedef {"notebook" | "source" | "conversation" | "minted_or_null" | "question" | "page_size"} SlotKind */
/** @typedef {{kind: "notebook" | "source" | "conversation" | "minted", id: string, path: string}} IdUse */
/** @typedef {{conversation: string | null | undefined, ids: IdUse[]}} CheckedParams */

class Slot {
  /** @param {SlotKind} kind */
  constructor(kind) {
    this.kind = kind;
  }
}

/** A list of any length whose items all have one pattern. */
class ListOf {
  /** @param {Pattern} item @param {number} longest */
  constructor(item, longest) {
    /** @type {Pattern} */
    this.item = item;
    this.longest = longest;
  }
}

/** @typedef {null | number | string | boolean | Slot | ListOf | PatternList} Pattern */
/** @typedef {{readonly length: number, readonly [index: number]: Pattern}} PatternList */

const NOTEBOOK = new Slot("notebook");
const SOURCE = new Slot("source");
const CONVERSATION = new Slot("conversation");

/** The "who is asking" block of 2026 (wire reference, 0). */
const OPTIONS = [2, null, null, [1, null, null, null, null, null, null, null, null, null, [1]]];

/** The service's own ceiling of sources in one notebook is 600; a question names each at most once. */
const MOST_SOURCES = 1000;
/** The service refuses questions of about 10,000 characters itself; this only bounds what enters the page. */
const LONGEST_QUESTION_UTF16 = 65_536;
const LARGEST_PAGE = 100;

/** @typedef {{params: Pattern, at: "front" | "notebook"}} RpcRule `at`: what `source-path` names */

/** @type {ReadonlyMap<string, RpcRule>} */
export const RPC_RULES = new Map(
  /** @type {[string, RpcRule][]} */ ([
    ["wXbhsf", { at: "front", params: [null, 1, null, OPTIONS] }],
    ["rLM1Ne", { at: "notebook", params: [NOTEBOOK, null, OPTIONS, null, 0] }],
    ["hizoJc", { at: "notebook", params: [[SOURCE], [2], [2]] }],
    ["tr032e", { at: "notebook", params: [[[[SOURCE]]]] }],
    ["hPTbtc", { at: "notebook", params: [OPTIONS, null, NOTEBOOK, 20] }],
    ["khqZz", { at: "notebook", params: [OPTIONS, null, null, CONVERSATION, new Slot("page_size")] }],
  ]),
);

/** @type {Pattern} */
export const STREAM_PARAMS = [
  new ListOf([[SOURCE]], MOST_SOURCES),
  new Slot("question"),
  null,
  [2, null, [1], [1]],
  new Slot("minted_or_null"),
  null,
  null,
  NOTEBOOK,
  1,
];

/** Slot of the conversation in STREAM_PARAMS, which the worker fills when it mints one. */
export const STREAM_CONVERSATION_SLOT = 4;

/** @param {unknown} value @returns {value is string} the service's ids are lower-case UUID text */
export function isId(value) {
  return typeof value === "string" && /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(value);
}

/**
 * Compare parameters with their pattern and collect every id in them.
 * @param {string} name the RPC id, for messages
 * @param {Pattern} pattern
 * @param {unknown} params
 * @returns {CheckedParams} Throws GatewayFault INVALID_ARGUMENT that names the first slot that does not fit.
 */
export function checkParams(name, pattern, params) {
  /** @type {CheckedParams} */
  const checked = { conversation: undefined, ids: [] };
  match(pattern, params, "$");
  return checked;

  /** @param {Pattern} expected @param {unknown} value @param {string} path @returns {void} */
  function match(expected, value, path) {
    if (expected instanceof Slot) {
      if (!SLOT_CHECKS[expected.kind](value)) refuse(path, expected.kind);
      collect(expected.kind, value, path);
    } else if (expected instanceof ListOf) {
      if (!Array.isArray(value) || value.length > expected.longest) return refuse(path, "list");
      value.forEach((item, index) => match(expected.item, item, `${path}[${index}]`));
    } else if (isList(expected)) {
      if (!Array.isArray(value) || value.length !== expected.length) {
        return refuse(path, `list of ${expected.length} slots`);
      }
      value.forEach((item, index) => match(/** @type {Pattern} */ (expected[index]), item, `${path}[${index}]`));
    } else if (value !== expected) {
      refuse(path, `constant ${JSON.stringify(expected)}`);
    }
  }

  /** @param {SlotKind} kind @param {unknown} value @param {string} path */
  function collect(kind, value, path) {
    if (kind === "notebook" || kind === "source" || kind === "conversation") {
      checked.ids.push({ kind, id: /** @type {string} */ (value), path });
    } else if (kind === "minted_or_null") {
      checked.conversation = /** @type {string | null} */ (value);
      if (checked.conversation !== null) checked.ids.push({ kind: "minted", id: checked.conversation, path });
    }
  }

  /** @param {string} path @param {string} expected @returns {never} */
  function refuse(path, expected) {
    throw new GatewayFault("INVALID_ARGUMENT", `${name}: slot ${path} does not hold the expected ${expected}.`, {
      detail: { side: "extension", rpc_id: name, path },
    });
  }
}

/** @type {Readonly<Record<SlotKind, (value: unknown) => boolean>>} */
const SLOT_CHECKS = Object.freeze({
  notebook: isId,
  source: isId,
  conversation: isId,
  minted_or_null: (value) => value === null || isId(value),
  question: (value) => typeof value === "string" && value !== "" && value.length <= LONGEST_QUESTION_UTF16,
  page_size: (value) =>
    Number.isInteger(value) && /** @type {number} */ (value) >= 1 && /** @type {number} */ (value) <= LARGEST_PAGE,
});

/** @param {Pattern} pattern @returns {pattern is PatternList} */
function isList(pattern) {
  return Array.isArray(pattern);
}
