/**
 * The toolbar button: says at a glance that agents are paused, or that no native host is connected.
 */

/** @typedef {import("./chrome_api.js").ChromeApi} ChromeApi */

const NAME = "Notebook Gateway";

export class Badge {
  #chrome;
  #shown = "";

  /** @param {ChromeApi} chrome */
  constructor(chrome) {
    this.#chrome = chrome;
  }

  /** @param {{is_paused: boolean, is_connected: boolean}} now */
  show({ is_paused, is_connected }) {
    const [text, title] = is_paused
      ? ["II", `${NAME}: all agents are paused`]
      : is_connected
        ? ["", NAME]
        : ["!", `${NAME}: not connected`];
    if (this.#shown === title) return;
    this.#shown = title;
    void this.#chrome.setBadge(text, title);
  }
}
