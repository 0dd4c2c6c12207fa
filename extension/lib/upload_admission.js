/**
 * What the steps of an upload must pass: the source belongs to the notebook, the handle to this notebook and account, the
 * slice to the file. Pure; each refusal is proof that nothing started.
 */

import { GatewayFault } from "./errors.js";
import { isCount } from "./frames.js";
import { isLine, isMimeType } from "./policy.js";
import { FRAGMENT_BYTES } from "./protocol.js";
import { isSameAccount } from "./settings.js";
import { isHandle } from "./uploads.js";

/** @typedef {import("./uploads.js").UploadSession} UploadSession */
/**
 * @typedef {object} UploadStartPlan
 * @property {"upload.start"} op
 * @property {true} is_write
 * @property {string} account
 * @property {string} notebook
 * @property {string} source
 * @property {string} name
 * @property {number} size_bytes
 * @property {string} mime_type
 */
/**
 * @typedef {object} UploadStepPlan
 * @property {"upload.slice" | "upload.query" | "upload.finish"} op
 * @property {true} is_write a query is none, but it may not be torn from the step it is about
 * @property {string} account
 * @property {string} notebook
 * @property {string} upload
 * @property {UploadSession} session
 * @property {number} [offset]
 * @property {string} [data] base64
 */

/** @typedef {{account: string, notebook: string}} Bounds both checked */
/** @typedef {Record<string, unknown>} Params */

/** What a call of each op carries, and nothing else. */
export const UPLOAD_FIELDS = Object.freeze({
  "upload.start": ["source", "name", "size_bytes", "mime_type"],
  "upload.slice": ["upload", "offset", "data"],
  "upload.query": ["upload"],
  "upload.finish": ["upload"],
});

/**
 * @param {Params} params whose `source` is an id of the notebook
 * @param {Bounds} bounds
 * @returns {UploadStartPlan} Throws GatewayFault.
 */
export function planStart({ source, name, size_bytes, mime_type }, { account, notebook }) {
  const op = "upload.start";
  if (!isLine(name)) throw unfit(op, "name", "a file name of 1 to 2000 characters");
  if (!isCount(size_bytes) || size_bytes === 0) throw unfit(op, "size_bytes", "a number of bytes from 1");
  if (!isMimeType(mime_type)) throw unfit(op, "mime_type", "a type such as text/plain");
  return { op, is_write: true, account, notebook, source: String(source), name, size_bytes, mime_type };
}

/**
 * @param {UploadStepPlan["op"]} op
 * @param {Params} params
 * @param {Bounds} bounds
 * @param {(handle: string) => UploadSession | undefined} sessionOf
 * @returns {UploadStepPlan} Throws GatewayFault.
 */
export function planStep(op, { upload, offset, data }, { account, notebook }, sessionOf) {
  if (!isHandle(upload)) throw unfit(op, "upload", "a handle that upload.start gave");
  const session = sessionOf(upload);
  if (session === undefined) {
    throw new GatewayFault("NOT_FOUND", "This browser has no such upload; it or the extension was restarted since.", {
      detail: { side: "extension", reason: "unknown_upload" },
    });
  }
  if (session.notebook !== notebook) {
    throw new GatewayFault("ALLOWLIST_DENIED", "The upload belongs to another notebook.", {
      detail: { side: "extension", reason: "foreign_upload" },
    });
  }
  if (!isSameAccount(session.account, account)) {
    throw new GatewayFault("ACCOUNT_MISMATCH", "The upload belongs to another account.", {
      detail: { side: "extension" },
    });
  }
  /** @type {UploadStepPlan} */
  const plan = { op, is_write: true, account, notebook, upload, session };
  if (op !== "upload.slice") return plan;
  if (!isCount(offset)) throw unfit(op, "offset", "a number of bytes");
  const slice_bytes = base64Size(data);
  if (slice_bytes < 1 || slice_bytes > FRAGMENT_BYTES) throw unfit(op, "data", "base64 of 1 byte to 512 KiB");
  if (offset + slice_bytes > session.size_bytes) throw unfit(op, "offset", "a place within the file");
  return { ...plan, offset, data: /** @type {string} */ (data) };
}

/** @param {unknown} text @returns {number} of the bytes it stands for; 0 when it is no base64 */
function base64Size(text) {
  if (typeof text !== "string" || text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return 0;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return (text.length / 4) * 3 - padding;
}

/** @param {string} op @param {string} name @param {string} expected */
function unfit(op, name, expected) {
  return new GatewayFault("INVALID_ARGUMENT", `${op}: ${name} must be ${expected}.`, {
    detail: { side: "extension", path: name },
  });
}
