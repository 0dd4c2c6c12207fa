/**
 * What to do next with our tab, as a pure decision: look at the tab and at its executor, name one step.
 */

import { placeOf } from "./hosts.js";
import { BUILD } from "./protocol.js";

/** @typedef {import("./chrome_api.js").TabInfo} TabInfo */
/** @typedef {import("./executor.js").Probe} Probe */
/**
 * @typedef {object} Seen
 * @property {TabInfo} tab
 * @property {Probe | null} probe null: no executor there, or not asked
 * @property {number} installed_ms when this extension was loaded
 * @property {boolean} is_renewed the tab was opened, navigated or reloaded for this very call
 */
/** @typedef {"use" | "wait" | "renew" | "signed_out" | "unavailable" | "broken"} Step */

/** Whether the tab's document can be asked at all. @param {TabInfo} tab */
export function isAskable(tab) {
  return !tab.discarded && !tab.frozen && placeOf(tab.url) === "app";
}

/**
 * @param {Seen} seen
 * @returns {Step} `renew`: load the notebook page anew · `unavailable`: the page leads elsewhere · `broken`: a fresh page
 *   has no executor of this build
 */
export function nextStep({ tab, probe, installed_ms, is_renewed }) {
  const is_loading = tab.status === "loading";
  if (tab.discarded || tab.frozen) return is_renewed ? "wait" : "renew";
  switch (placeOf(tab.url)) {
    case "blank":
      return is_loading || is_renewed ? "wait" : "renew";
    case "sign_in":
      if (is_renewed) return is_loading ? "wait" : "signed_out";
      // The person is looking at it, perhaps about to sign in: leave it alone.
      return tab.active ? "signed_out" : "renew";
    case "other":
      if (is_renewed) return is_loading ? "wait" : "unavailable";
      return "renew";
    case "app":
      // A document from before this extension was loaded has another build's executor, or nothing that wakes the worker.
      if (probe?.build === BUILD && (probe.loaded_ms >= installed_ms || is_renewed))
        return probe.ready ? "use" : "wait";
      if (is_loading) return "wait";
      return is_renewed ? "broken" : "renew";
  }
}
