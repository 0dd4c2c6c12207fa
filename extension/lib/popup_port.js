/**
 * The popup's line to this worker: a runtime port that our own page alone may open. What it may ask is the table below.
 *
 * Pages cannot open such a port; a content script can (`wake.js` does), so the sender's address decides, which the
 * browser states and no script can choose. No frame of a broker leads here.
 */

import { asFault } from "./errors.js";
import { isObject } from "./frames.js";
import { listAllNotebooks } from "./notebook_list.js";
import { BUILD } from "./protocol.js";
import { isSameAccount } from "./settings.js";

/** @typedef {import("./gateway.js").Parts} Parts */
/**
 * @typedef {object} PopupPort
 * @property {{id?: string, url?: string}} [sender]
 * @property {(message: object) => void} postMessage
 * @property {import("./chrome_api.js").ChromeEvent} onMessage
 * @property {import("./chrome_api.js").ChromeEvent} onDisconnect
 */
/**
 * @typedef {object} PopupState
 * @property {string} build
 * @property {boolean} paused
 * @property {{connected: boolean, error: string | null}} port
 * @property {string[]} agents
 * @property {string | null} account
 * @property {"*" | readonly string[]} notebooks
 * @property {{state: string, host: string} | null} tab
 * @property {import("./activity.js").Entry[]} activity
 */

const SHOWN_ENTRIES = 50;

/** Whether a port comes from our own popup page. @param {PopupPort} port @param {string} extension_id */
export function isPopup(port, extension_id) {
  const page = `chrome-extension://${extension_id}/popup.html`;
  return port.sender?.id === extension_id && port.sender.url?.split(/[?#]/)[0] === page;
}

/** @param {Parts} parts @returns {Promise<PopupState>} */
async function stateOf({ settings, pause, port, activity, tabs }) {
  const { account, notebooks } = settings.current;
  return {
    build: BUILD,
    paused: pause.is_on,
    port: port.info,
    agents: activity.agents,
    account,
    notebooks,
    tab: await tabs.describe(),
    activity: activity.latest(SHOWN_ENTRIES),
  };
}

/** @type {Readonly<Record<string, (parts: Parts, value: unknown) => Promise<unknown>>>} */
const ASKS = Object.freeze({
  state: (parts) => stateOf(parts),
  notebooks: (parts) => listAllNotebooks(parts),
  connect: ({ port }) => port.ensure(),
  pause: ({ pause }, value) => pause.set(/** @type {boolean} */ (value)),
  allow: ({ settings }, value) => settings.set({ notebooks: value }),
  account({ settings }, value) {
    const { account } = settings.current;
    const is_other = account === null || typeof value !== "string" || !isSameAccount(account, value);
    // What one account allows says nothing about the notebooks of another.
    return settings.set(is_other ? { account: value, notebooks: [] } : { account: value });
  },
});

/**
 * Answer a popup for as long as it is open: `{id, ask, value}` brings `{id, ok, value | error}`.
 * @param {PopupPort} port
 * @param {Parts} parts
 * @param {Promise<unknown>} loaded
 */
export function servePopup(port, parts, loaded) {
  port.onMessage.addListener(async (raw) => {
    if (!isObject(raw)) return;
    const { id, ask, value } = raw;
    try {
      await loaded;
      const answer = typeof ask === "string" && Object.hasOwn(ASKS, ask) ? ASKS[ask] : undefined;
      if (answer === undefined) throw new TypeError("no such question");
      post(port, { id, ok: true, value: (await answer(parts, value)) ?? null });
    } catch (error) {
      const { code, message } = error instanceof TypeError ? { code: "INVALID_ARGUMENT", message: error.message } : asFault(error, false);
      post(port, { id, ok: false, error: { code, message } });
    }
  });
}

/** @param {PopupPort} port @param {object} message */
function post(port, message) {
  try {
    port.postMessage(message);
  } catch {
    // The popup was closed meanwhile: it closes whenever the person clicks elsewhere.
  }
}
