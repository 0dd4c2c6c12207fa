/**
 * What only the person may change: the expected account and the extension's own allowlist. Deny by default.
 *
 * Changed by the popup, or over CDP by onboarding, keeper and harness (`globalThis.gatewaySettings`); no frame from a
 * broker leads here.
 */

import { isObject } from "./frames.js";
import { isId } from "./policy.js";

/** @typedef {import("./chrome_api.js").StorageArea} StorageArea */
/** @typedef {{account: string | null, notebooks: "*" | readonly string[]}} Settings */

const KEY = "settings";
const PROFILE_KEY = "profile";

/** @type {Settings} */
export const DENY_ALL = Object.freeze({ account: null, notebooks: Object.freeze([]) });

/**
 * Compare two addresses; the part before the @ is not case-sensitive with this service either.
 * @param {string} one
 * @param {string} other
 */
export function isSameAccount(one, other) {
  return one.toLowerCase() === other.toLowerCase();
}

/**
 * @param {Settings} settings
 * @param {string} notebook
 */
export function isAllowed(settings, notebook) {
  return settings.notebooks === "*" || settings.notebooks.includes(notebook);
}

/**
 * Check settings. Keys that are left out keep the value they have in `base`.
 * @param {unknown} raw
 * @param {Settings} [base]
 * @returns {Settings} Throws TypeError.
 */
export function parseSettings(raw, base = DENY_ALL) {
  if (!isObject(raw)) throw new TypeError("settings are an object {account, notebooks}");
  for (const name of Object.keys(raw)) {
    if (name !== "account" && name !== "notebooks") throw new TypeError(`settings have no field "${name}"`);
  }
  const account = "account" in raw ? raw.account : base.account;
  if (account !== null && !(typeof account === "string" && /^[^\s@]+@[^\s@]+$/.test(account))) {
    throw new TypeError("account must be an e-mail address or null");
  }
  const notebooks = "notebooks" in raw ? raw.notebooks : base.notebooks;
  if (notebooks === "*") return Object.freeze({ account, notebooks });
  if (!Array.isArray(notebooks) || !notebooks.every(isId)) {
    throw new TypeError('notebooks must be "*" or a list of notebook ids (lower-case UUID text)');
  }
  return Object.freeze({ account, notebooks: Object.freeze([...new Set(notebooks)]) });
}

export class SettingsStore {
  #area;
  #new_id;
  #current = DENY_ALL;
  #profile = "";
  /** @type {(before: Settings, now: Settings) => void} called after a change is stored */
  onChange = () => {};

  /**
   * @param {StorageArea} area chrome.storage.local
   * @param {() => string} [new_id]
   */
  constructor(area, new_id = () => crypto.randomUUID()) {
    this.#area = area;
    this.#new_id = new_id;
  }

  /** Deny-all until `load` has ended. */
  get current() {
    return this.#current;
  }

  /** Random name of this Chrome profile, made once. */
  get profile() {
    return this.#profile;
  }

  /** Read what is stored. Settings that cannot be read deny everything. */
  async load() {
    const stored = await this.#area.get([KEY, PROFILE_KEY]);
    try {
      this.#current = parseSettings(stored[KEY] ?? DENY_ALL);
    } catch {
      this.#current = DENY_ALL;
    }
    const profile = stored[PROFILE_KEY];
    if (typeof profile === "string" && profile !== "") {
      this.#profile = profile;
    } else {
      this.#profile = this.#new_id();
      await this.#area.set({ [PROFILE_KEY]: this.#profile });
    }
  }

  /**
   * Store new settings, then use them.
   * @param {unknown} raw fields to change
   * @returns {Promise<Settings>} Rejects with TypeError and changes nothing when they are wrong.
   */
  async set(raw) {
    const before = this.#current;
    const now = parseSettings(raw, before);
    await this.#area.set({ [KEY]: { account: now.account, notebooks: now.notebooks } });
    this.#current = now;
    this.onChange(before, now);
    return now;
  }
}
