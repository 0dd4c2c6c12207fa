/**
 * The closed table of what may be sent to the service. Pure data and pure functions.
 *
 * A call passes if every slot of its parameters is one of: a checked id (notebook, source, note, conversation), a
 * checked scalar (question, title, address, page size …), or exactly the constant that the table has there. So no id
 * hides in a slot that nobody looks at. Shapes: wire reference, 5, 6, 8 and 9.
 */

import { GatewayFault } from "./errors.js";

/** @typedef {"notebook" | "source" | "note" | "conversation" | "minted_or_null"} IdSlotKind */
/** @typedef {"question" | "page_size" | "line" | "text" | "web_address" | "drive_id" | "mime_type"} ScalarSlotKind */
/** @typedef {IdSlotKind | ScalarSlotKind} SlotKind */
/** @typedef {{kind: "notebook" | "source" | "note" | "conversation" | "minted", id: string, path: string}} IdUse */
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

/** Parameters that have one of several shapes, by the name of the shape. */
class OneOf {
  /** @param {Readonly<Record<string, Pattern>>} shapes */
  constructor(shapes) {
    /** @type {Readonly<Record<string, Pattern>>} */
    this.shapes = shapes;
  }
}

/** @typedef {null | number | string | boolean | Slot | ListOf | OneOf | PatternList} Pattern */
/** @typedef {{readonly length: number, readonly [index: number]: Pattern}} PatternList */

const NOTEBOOK = new Slot("notebook");
const SOURCE = new Slot("source");
const NOTE = new Slot("note");
const CONVERSATION = new Slot("conversation");
const LINE = new Slot("line");
const TEXT = new Slot("text");
const WEB_ADDRESS = new Slot("web_address");

/** The "who is asking" block of 2026 (wire reference, 0), and its inner part, which a Drive call has by itself. */
const CLIENT = [1, null, null, null, null, null, null, null, null, null, [1]];
const OPTIONS = [2, null, null, CLIENT];

/** One source per call, so that one answer is about one write. Eleven slots, which slot is set says the kind. */
const ADDED_SOURCE = new OneOf({
  text: [[[null, [LINE, TEXT], null, 2, null, null, null, null, null, null, 1]], NOTEBOOK, OPTIONS],
  web_page: [[[null, null, [WEB_ADDRESS], null, null, null, null, null, null, null, 1]], NOTEBOOK, OPTIONS],
  video: [[[null, null, null, null, null, null, null, [WEB_ADDRESS], null, null, 1]], NOTEBOOK, OPTIONS],
  drive: [
    [[[new Slot("drive_id"), new Slot("mime_type"), 1, LINE], null, null, null, null, null, null, null, null, null, 1]],
    NOTEBOOK,
    [2],
    CLIENT,
  ],
});

/** The service's own ceiling of sources in one notebook is 600; a question names each at most once. */
const MOST_SOURCES = 1000;
/** The service refuses questions of about 10,000 characters itself; this only bounds what enters the page. */
const LONGEST_QUESTION_UTF16 = 65_536;
const LARGEST_PAGE = 100;
/** A title, a file name. The longest file name of common file systems has 255 units. */
const LONGEST_LINE_UTF16 = 2000;
/** The service takes 500,000 words in one source; this only bounds what enters the page. */
const LONGEST_TEXT_UTF16 = 8 * 1024 * 1024;
const LONGEST_ADDRESS_UTF16 = 16_384;

/**
 * @typedef {object} RpcRule
 * @property {"front" | "notebook"} at what `source-path` names
 * @property {boolean} [write] it changes something, so that it is never stopped half way
 * @property {Pattern} params
 */

/** @type {ReadonlyMap<string, RpcRule>} */
export const RPC_RULES = new Map(
  /** @type {[string, RpcRule][]} */ ([
    ["wXbhsf", { at: "front", params: [null, 1, null, OPTIONS] }],
    ["rLM1Ne", { at: "notebook", params: [NOTEBOOK, null, OPTIONS, null, 0] }],
    ["hizoJc", { at: "notebook", params: [[SOURCE], [2], [2]] }],
    ["tr032e", { at: "notebook", params: [[[[SOURCE]]]] }],
    ["hPTbtc", { at: "notebook", params: [OPTIONS, null, NOTEBOOK, 20] }],
    ["khqZz", { at: "notebook", params: [OPTIONS, null, null, CONVERSATION, new Slot("page_size")] }],
    ["cFji9", { at: "notebook", params: [NOTEBOOK] }],
    ["izAoDd", { at: "notebook", write: true, params: ADDED_SOURCE }],
    ["o4cbdc", { at: "notebook", write: true, params: [[[LINE]], NOTEBOOK, OPTIONS] }],
    // What is created is always the same empty note; `cYAfTb` fills it.
    ["CYK0Xb", { at: "notebook", write: true, params: [NOTEBOOK, "", [1], null, "New Note"] }],
    ["cYAfTb", { at: "notebook", write: true, params: [NOTEBOOK, NOTE, [[[TEXT, TEXT, [], 0]]]] }],
    // The wire takes a list of notes; one note per call is all that a tool asks for.
    ["AH0mwd", { at: "notebook", write: true, params: [NOTEBOOK, null, [NOTE]] }],
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
    } else if (expected instanceof OneOf) {
      if (!Object.values(expected.shapes).some((shape) => isMatch(shape, value, path))) {
        refuse(path, `shape (one of ${Object.keys(expected.shapes).join(", ")})`);
      }
    } else if (isList(expected)) {
      if (!Array.isArray(value) || value.length !== expected.length) {
        return refuse(path, `list of ${expected.length} slots`);
      }
      value.forEach((item, index) => match(/** @type {Pattern} */ (expected[index]), item, `${path}[${index}]`));
    } else if (value !== expected) {
      refuse(path, `constant ${JSON.stringify(expected)}`);
    }
  }

  /** @param {Pattern} shape @param {unknown} value @param {string} path */
  function isMatch(shape, value, path) {
    const id_count = checked.ids.length;
    try {
      match(shape, value, path);
      return true;
    } catch (error) {
      if (!(error instanceof GatewayFault)) throw error;
      checked.ids.length = id_count; // what a shape that does not fit had collected
      return false;
    }
  }

  /** @param {SlotKind} kind @param {unknown} value @param {string} path */
  function collect(kind, value, path) {
    if (kind === "notebook" || kind === "source" || kind === "note" || kind === "conversation") {
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

/** @param {unknown} value @returns {value is string} a title or file name */
export function isLine(value) {
  return isTextOf(value, 1, LONGEST_LINE_UTF16);
}

/** @param {unknown} value @returns {value is string} `type/subtype`, no parameters (RFC 6838, 4.2) */
export function isMimeType(value) {
  const name = "[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}";
  return typeof value === "string" && new RegExp(`^${name}/${name}$`).test(value);
}

/** @param {unknown} value @param {number} shortest @param {number} longest @returns {value is string} */
function isTextOf(value, shortest, longest) {
  return typeof value === "string" && value.length >= shortest && value.length <= longest;
}

/** An address that the service itself will read. Which hosts it may name is for the broker to say. */
function isWebAddress(/** @type {unknown} */ value) {
  if (!isTextOf(value, 1, LONGEST_ADDRESS_UTF16) || /\p{Cc}/u.test(value) || !URL.canParse(value)) return false;
  const { protocol, username, password } = new URL(value);
  return ["http:", "https:"].includes(protocol) && username === "" && password === "";
}

/** @type {Readonly<Record<SlotKind, (value: unknown) => boolean>>} */
const SLOT_CHECKS = Object.freeze({
  notebook: isId,
  source: isId,
  note: isId,
  conversation: isId,
  minted_or_null: (value) => value === null || isId(value),
  question: (value) => isTextOf(value, 1, LONGEST_QUESTION_UTF16),
  page_size: (value) =>
    Number.isInteger(value) && /** @type {number} */ (value) >= 1 && /** @type {number} */ (value) <= LARGEST_PAGE,
  line: isLine,
  text: (value) => isTextOf(value, 0, LONGEST_TEXT_UTF16),
  web_address: isWebAddress,
  drive_id: (value) => typeof value === "string" && /^[A-Za-z0-9_-]{1,256}$/.test(value),
  mime_type: isMimeType,
});

/** @param {Pattern} pattern @returns {pattern is PatternList} */
function isList(pattern) {
  return Array.isArray(pattern);
}
