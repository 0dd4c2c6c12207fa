/**
 * Which notebook an id belongs to, learnt from the service's answers for that notebook. An id nobody has seen is
 * unknown, and a request that names it is refused until its notebook has been read.
 *
 * Kept in `chrome.storage.session`: it outlives the worker and ends with the browser.
 */

import { isObject } from "./frames.js";

/** @typedef {import("./chrome_api.js").StorageArea} StorageArea */
/** @typedef {"source" | "note" | "conversation" | "minted"} OwnedKind minted: a conversation that this worker made itself */
/** @typedef {{notebook: string, kind: OwnedKind}} Owner */

const KEY = "ownership";

/** About 100 bytes each in storage that holds 10 MB; the oldest go first. */
export const MOST_IDS = 20_000;

export class Ownership {
  // Invariant: at most #most entries, the most recently learnt last.
  /** @type {Map<string, Owner>} */
  #owners = new Map();
  #area;
  #most;

  /** @param {StorageArea} area chrome.storage.session @param {number} [most] */
  constructor(area, most = MOST_IDS) {
    this.#area = area;
    this.#most = most;
  }

  async load() {
    const stored = (await this.#area.get([KEY]))[KEY];
    if (!isObject(stored)) return;
    for (const [id, entry] of Object.entries(stored)) {
      if (Array.isArray(entry)) this.#owners.set(id, { notebook: String(entry[0]), kind: entry[1] });
    }
  }

  /** @param {string} id @returns {Owner | undefined} */
  ownerOf(id) {
    return this.#owners.get(id);
  }

  /**
   * Remember ids of one notebook, and return when that is stored.
   * @param {string} notebook
   * @param {OwnedKind} kind
   * @param {readonly string[]} ids
   */
  async learn(notebook, kind, ids) {
    let is_changed = false;
    for (const id of ids) {
      const known = this.#owners.get(id);
      // The service lists a conversation that we minted like any other; it stays ours.
      const kept = known?.kind === "minted" && known.notebook === notebook ? "minted" : kind;
      if (known?.notebook === notebook && known.kind === kept) continue;
      this.#owners.delete(id);
      this.#owners.set(id, { notebook, kind: kept });
      is_changed = true;
    }
    if (!is_changed) return;
    for (const id of this.#owners.keys()) {
      if (this.#owners.size <= this.#most) break;
      this.#owners.delete(id);
    }
    await this.#store();
  }

  /** Forget everything: the account has changed. */
  async clear() {
    this.#owners.clear();
    await this.#store();
  }

  async #store() {
    /** @type {Record<string, [string, OwnedKind]>} */
    const entries = {};
    for (const [id, owner] of this.#owners) entries[id] = [owner.notebook, owner.kind];
    await this.#area.set({ [KEY]: entries });
  }
}
