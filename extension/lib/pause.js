/**
 * The switch that stops all agents at once. Only the person moves it, in the popup or over CDP; it outlives worker and
 * browser. What is stored and is no clear "off" counts as on.
 */

import { GatewayFault } from "./errors.js";

/** @typedef {import("./chrome_api.js").StorageArea} StorageArea */

const KEY = "paused";
const TEXT = "The person has paused all agents in the extension's popup.";

export class PauseSwitch {
  #area;
  #is_on = true; // until `load` has ended
  /** @type {(is_on: boolean) => void} called after a change is stored */
  onChange = () => {};

  /** @param {StorageArea} area chrome.storage.local */
  constructor(area) {
    this.#area = area;
  }

  get is_on() {
    return this.#is_on;
  }

  async load() {
    const stored = (await this.#area.get([KEY]))[KEY];
    this.#is_on = stored !== undefined && stored !== false;
  }

  /** @param {boolean} is_on */
  async set(is_on) {
    if (typeof is_on !== "boolean") throw new TypeError("paused must be true or false");
    if (is_on === this.#is_on) return;
    await this.#area.set({ [KEY]: is_on });
    this.#is_on = is_on;
    this.onChange(is_on);
  }
}

/** What a call is refused or ended with. @param {boolean} [started] @returns {GatewayFault} */
export function pausedFault(started = false) {
  return new GatewayFault("COMPANION_OFFLINE", TEXT, { detail: { reason: "paused" }, started });
}
