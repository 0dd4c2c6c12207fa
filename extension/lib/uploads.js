/**
 * The upload sessions of this browser: a handle for the broker, behind it what only the browser may know.
 *
 * A session address is a bearer secret. It is kept in `chrome.storage.session` and nowhere else: it outlives the worker,
 * the tab, the host and the broker, and ends with the browser or the extension (design, "Files and URLs"). A finished
 * session stays, because a broker that lost the answer asks for it by its handle.
 */

import { isCount, isObject } from "./frames.js";

/** @typedef {import("./chrome_api.js").StorageArea} StorageArea */
/**
 * @typedef {object} UploadSession
 * @property {string} url the session address
 * @property {string} notebook
 * @property {string} source
 * @property {string} account
 * @property {number} size_bytes of the whole file
 * @property {number} granularity_bytes
 */

const KEY = "uploads";

/** About 500 bytes each; the oldest go first. */
export const MOST_UPLOADS = 256;

/** @param {unknown} value @returns {value is string} */
export function isHandle(value) {
  return typeof value === "string" && /^up-[0-9a-f]{32}$/.test(value);
}

/** A name for a new session that nobody can guess. */
export function newHandle() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `up-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

export class Uploads {
  // Invariant: at most #most entries, the newest last.
  /** @type {Map<string, UploadSession>} */
  #sessions = new Map();
  #area;
  #most;

  /** @param {StorageArea} area chrome.storage.session @param {number} [most] */
  constructor(area, most = MOST_UPLOADS) {
    this.#area = area;
    this.#most = most;
  }

  /** Read what is stored. An entry that is no session is left out: its handle is unknown then. */
  async load() {
    const stored = (await this.#area.get([KEY]))[KEY];
    if (!isObject(stored)) return;
    for (const [handle, session] of Object.entries(stored)) {
      if (isHandle(handle) && isSession(session)) this.#sessions.set(handle, session);
    }
  }

  /** @param {string} handle @returns {UploadSession | undefined} */
  find(handle) {
    return this.#sessions.get(handle);
  }

  /**
   * Remember a session, and return when that is stored.
   * @param {string} handle
   * @param {UploadSession} session
   */
  async add(handle, session) {
    this.#sessions.set(handle, session);
    for (const oldest of this.#sessions.keys()) {
      if (this.#sessions.size <= this.#most) break;
      this.#sessions.delete(oldest);
    }
    await this.#store();
  }

  /** Forget everything: the account has changed. */
  async clear() {
    this.#sessions.clear();
    await this.#store();
  }

  async #store() {
    await this.#area.set({ [KEY]: Object.fromEntries(this.#sessions) });
  }
}

/** @param {unknown} value @returns {value is UploadSession} */
function isSession(value) {
  if (!isObject(value)) return false;
  const texts = [value.url, value.notebook, value.source, value.account];
  return (
    texts.every((text) => typeof text === "string") && isCount(value.size_bytes) && isCount(value.granularity_bytes)
  );
}
