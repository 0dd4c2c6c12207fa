/**
 * Small ISOLATED content script of a notebook tab: wakes the extension's worker after Chrome has stopped it.
 *
 * The port carries nothing. When the worker stops, the port closes and a new one starts the worker again; with the worker
 * comes the native host. Ports also close when the page enters the back/forward cache; a page that comes back connects anew.
 */

(() => {
  "use strict";

  const FIRST_DELAY_MS = 100;
  const LONGEST_DELAY_MS = 10_000;
  /** A port that lived this long was healthy. */
  const STABLE_AFTER_MS = 20_000;

  let delay_ms = FIRST_DELAY_MS;
  let is_connected = false;

  function connect() {
    // An extension that was reloaded or removed leaves this script behind without a runtime.
    if (is_connected || chrome.runtime?.id === undefined) return;
    const port = chrome.runtime.connect(undefined, { name: "wake" });
    const opened_ms = Date.now();
    is_connected = true;
    port.onDisconnect.addListener(() => {
      is_connected = false;
      const was_stable = Date.now() - opened_ms >= STABLE_AFTER_MS;
      delay_ms = was_stable ? FIRST_DELAY_MS : Math.min(delay_ms * 2, LONGEST_DELAY_MS);
      setTimeout(connect, delay_ms);
    });
  }

  addEventListener("pageshow", connect);
  connect();
})();
