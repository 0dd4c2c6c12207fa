/**
 * The only module that touches the global `chrome`; all others get what they need of it as an argument, so that tests
 * can hand them something smaller.
 */

/**
 * @typedef {object} StorageArea
 * @property {(keys: string[]) => Promise<Record<string, unknown>>} get
 * @property {(items: Record<string, unknown>) => Promise<void>} set
 */
/** @typedef {{addListener: (listener: (...args: any[]) => void) => void}} ChromeEvent */
/**
 * @typedef {object} NativePortHandle
 * @property {(message: object) => void} postMessage
 * @property {() => void} disconnect
 * @property {ChromeEvent} onMessage
 * @property {ChromeEvent} onDisconnect
 */
/**
 * @typedef {object} TabInfo
 * @property {number} [id]
 * @property {string} [url]
 * @property {string} [pendingUrl]
 * @property {string} [status] "unloaded", "loading" or "complete"
 * @property {boolean} [discarded]
 * @property {boolean} [frozen]
 * @property {boolean} [active]
 */
/** @typedef {{tabId: number, documentIds?: string[]}} ScriptTarget */
/**
 * @typedef {object} ScriptInjection
 * @property {ScriptTarget} target
 * @property {"MAIN"} world
 * @property {boolean} injectImmediately
 * @property {(...args: any[]) => unknown} func
 * @property {unknown[]} args
 */
/**
 * @typedef {object} ChromeApi
 * @property {StorageArea} local chrome.storage.local
 * @property {StorageArea} session chrome.storage.session
 * @property {string} extension_id
 * @property {(host_name: string) => NativePortHandle} connectNative
 * @property {() => string | undefined} lastError
 * @property {(name: string, delay_minutes: number) => Promise<void>} setAlarm
 * @property {(name: string) => Promise<unknown>} clearAlarm
 * @property {(tab_id: number) => Promise<TabInfo>} getTab rejects when there is none
 * @property {(url_patterns: string[]) => Promise<TabInfo[]>} findTabs
 * @property {(url: string) => Promise<TabInfo>} openTab in the background
 * @property {(tab_id: number) => Promise<unknown>} keepTab so that Chrome itself never discards it
 * @property {(tab_id: number, url: string) => Promise<unknown>} navigateTab
 * @property {(tab_id: number) => Promise<unknown>} reloadTab
 * @property {(tab_id: number) => Promise<unknown>} closeTab
 * @property {(text: string, title: string) => Promise<unknown>} setBadge on the toolbar button
 * @property {(injection: ScriptInjection) => Promise<{result?: unknown, documentId?: string}[]>} executeScript
 */

/** @returns {ChromeApi} */
export function chromeApi() {
  return {
    local: chrome.storage.local,
    session: chrome.storage.session,
    extension_id: chrome.runtime.id,
    connectNative: (host_name) => chrome.runtime.connectNative(host_name),
    lastError: () => chrome.runtime.lastError?.message,
    setAlarm: (name, delay_minutes) => chrome.alarms.create(name, { delayInMinutes: delay_minutes }),
    clearAlarm: (name) => chrome.alarms.clear(name),
    getTab: (tab_id) => chrome.tabs.get(tab_id),
    findTabs: (url_patterns) => chrome.tabs.query({ url: url_patterns }),
    openTab,
    keepTab: (tab_id) => chrome.tabs.update(tab_id, { autoDiscardable: false }),
    navigateTab: (tab_id, url) => chrome.tabs.update(tab_id, { url }),
    reloadTab: (tab_id) => chrome.tabs.reload(tab_id),
    closeTab: (tab_id) => chrome.tabs.remove(tab_id),
    setBadge,
    executeScript: (injection) => chrome.scripting.executeScript(/** @type {any} */ (injection)),
  };
}

/** @param {string} text @param {string} title */
async function setBadge(text, title) {
  await chrome.action.setBadgeText({ text });
  await chrome.action.setBadgeBackgroundColor({ color: "#8a4b00" });
  await chrome.action.setTitle({ title });
}

/** @param {string} url @returns {Promise<TabInfo>} */
async function openTab(url) {
  try {
    return await chrome.tabs.create({ url, active: false });
  } catch {
    // Chrome runs without any window (after the last one was closed): a minimised one keeps out of the way.
    const made = await chrome.windows.create({ url, focused: false, state: "minimized" });
    const tab = made?.tabs?.[0];
    if (tab === undefined) throw new Error("Chrome opened no tab");
    return tab;
  }
}
