/**
 * The one background tab: opened when needed, used again, renewed when its document is discarded, gone or too old.
 *
 * Its id is kept in `chrome.storage.session`. Without one, a background tab that was opened for the account by its
 * address is taken over: ours from before the extension was reloaded, or one that the browser's owner opened for us.
 */

import { GatewayFault } from "./errors.js";
import { PageGone } from "./executor.js";
import { NOTEBOOK_ORIGINS, homeUrl, hostForMessage, isPageOf, placeOf } from "./hosts.js";
import { isObject } from "./frames.js";
import { isAskable, nextStep } from "./tab_steps.js";

/** @typedef {import("./chrome_api.js").ChromeApi} ChromeApi */
/** @typedef {import("./chrome_api.js").TabInfo} TabInfo */
/** @typedef {import("./executor.js").Executor} Executor */
/** @typedef {import("./executor.js").Page} Page */
/** @typedef {import("./executor.js").Probe} Probe */
/** @typedef {"tab_discarded" | "tab_gone" | "reloaded"} LossName */
/** @typedef {{account: string, not_after_ms: number, refresh: boolean}} PageRequest */

const KEY = "own_tab";
const INSTALLED_KEY = "installed_ms";
/** How often a loading page is looked at. */
const POLL_MS = 50;
/** A page that has not loaded by then is not going to; calls with a nearer deadline leave earlier. */
const LOAD_LIMIT_MS = 30_000;
/** An executor that does not answer sits in a frozen or hung page. */
const PROBE_LIMIT_MS = 3_000;
/** How long a refresh waits for other calls in the tab to end before it reloads under them. */
const QUIET_LIMIT_MS = 10_000;
/** The same for writes, whose answer would be lost; those that wait for the service to read a source take longest. */
const WRITES_QUIET_LIMIT_MS = 60_000;

export class TabKeeper {
  #chrome;
  #executor;
  /** @type {number | null} */
  #tab_id = null;
  #is_opened_by_us = false;
  // Invariant: set only while #tab_id has exactly this document, as far as Chrome has told us.
  /** @type {Page | null} */
  #page = null;
  /** @type {{promise: Promise<Page>, refresh: boolean} | null} one search at a time, shared by all callers */
  #search = null;
  /** When this extension was loaded; a document from before holds scripts of a runtime that is gone. */
  #installed_ms = 0;
  /** The page answered "signed out" or "other account": load it anew before it is used again. */
  #is_suspect = false;

  /** @type {(tab_id: number, name: LossName, message: string) => void} called when the tab's document is gone */
  onLoss = () => {};
  /** @type {(tab_id: number) => {all: number, writes: number}} how many calls the tab has */
  countCalls = () => ({ all: 0, writes: 0 });

  /** @param {ChromeApi} chrome @param {Executor} executor */
  constructor(chrome, executor) {
    this.#chrome = chrome;
    this.#executor = executor;
  }

  async load() {
    const { [KEY]: stored, [INSTALLED_KEY]: installed_ms } = await this.#chrome.session.get([KEY, INSTALLED_KEY]);
    this.#installed_ms = Number(installed_ms) || 0;
    if (!isObject(stored) || typeof stored.tab_id !== "number") return;
    this.#tab_id = stored.tab_id;
    this.#is_opened_by_us = stored.is_opened_by_us === true;
  }

  /** The extension was installed, updated or reloaded just now. */
  async markInstalled() {
    this.#installed_ms = Date.now();
    this.#page = null;
    await this.#chrome.session.set({ [INSTALLED_KEY]: this.#installed_ms });
  }

  /**
   * Return a page whose executor is ready. Whose account it is, the page itself checks at each call.
   * @param {PageRequest} request
   * @returns {Promise<Page>} Rejects with GatewayFault, `started` false.
   */
  async ready({ account, not_after_ms, refresh }) {
    if (this.#search === null || (refresh && !this.#search.refresh)) {
      if (this.#page !== null && !refresh && !this.#is_suspect) return this.#page;
      this.#beginSearch(account, refresh);
    }
    const search = /** @type {{promise: Promise<Page>}} */ (this.#search);
    return withDeadline(search.promise, not_after_ms, "No notebook page was ready before the call's deadline.");
  }

  /** The page is not what it was taken for: look again before the next call. @param {Page} page */
  invalidate(page) {
    if (this.#page?.document_id === page.document_id) this.#page = null;
  }

  /** The page is signed out or belongs to somebody else: load it anew before the next call. */
  suspect() {
    this.#is_suspect = true;
  }

  /** Let the tab go, and close it if we opened it: the account has changed. */
  async forget() {
    const tab_id = this.#tab_id;
    const must_close = this.#is_opened_by_us;
    await this.#setTab(null);
    if (tab_id !== null && must_close) await this.#chrome.closeTab(tab_id).catch(() => {});
  }

  /** What `status` shows. @returns {Promise<{state: "ready" | "loading" | "discarded", host: string} | null>} */
  async describe() {
    if (this.#tab_id === null) return null;
    const tab = await this.#chrome.getTab(this.#tab_id).catch(() => null);
    if (tab === null) return null;
    const state = tab.discarded || tab.frozen ? "discarded" : tab.status === "complete" ? "ready" : "loading";
    return { state, host: hostForMessage(tab.url || tab.pendingUrl) };
  }

  // ------------------------------------------------------------------------------------------- what Chrome reports
  /** @param {number} tab_id */
  handleRemoved(tab_id) {
    if (tab_id !== this.#tab_id) return;
    void this.#setTab(null);
    this.onLoss(tab_id, "tab_gone", "The notebook tab was closed.");
  }

  /** @param {number} tab_id @param {{discarded?: boolean, frozen?: boolean, status?: string}} change */
  handleUpdated(tab_id, change) {
    if (tab_id !== this.#tab_id) return;
    if (change.discarded || change.frozen) {
      this.#page = null;
      const what = change.discarded ? "discarded" : "frozen";
      this.onLoss(tab_id, "tab_discarded", `The notebook tab was ${what}.`);
    } else if (change.status !== undefined && this.#page !== null) {
      void this.#checkStillThere(this.#page);
    }
  }

  /** @param {number} added_id @param {number} removed_id Chrome gave the tab another id (discarding, prerendering) */
  handleReplaced(added_id, removed_id) {
    if (removed_id !== this.#tab_id) return;
    void this.#setTab(added_id, this.#is_opened_by_us);
    this.onLoss(removed_id, "tab_discarded", "The notebook tab was replaced.");
  }

  /**
   * Chrome reports a navigation inside the same document in the same words, so ask the document itself.
   * @param {Page} page
   */
  async #checkStillThere(page) {
    const probe = await this.#probe(page.tab_id);
    if (probe?.document_id === page.document_id || this.#page !== page) return;
    this.#page = null;
    this.onLoss(page.tab_id, "tab_gone", "The notebook tab was navigated away or reloaded.");
  }

  // ------------------------------------------------------------------------------------------------ finding a page
  /** @param {string} account @param {boolean} refresh */
  #beginSearch(account, refresh) {
    const before = this.#search?.promise ?? null;
    const promise = this.#find(account, refresh, before);
    const search = { promise, refresh };
    this.#search = search;
    const over = () => {
      if (this.#search === search) this.#search = null;
    };
    promise.then(over, over);
  }

  /** @param {string} account @param {boolean} refresh @param {Promise<Page> | null} before @returns {Promise<Page>} */
  async #find(account, refresh, before) {
    await before?.catch(() => {});
    let tab = await this.#ownTab(account);
    // A document that is being replaced still answers for a moment; `retired` is its id.
    let retired = "";
    let is_renewed = tab === null;
    if (tab === null) {
      tab = await this.#open(account);
    } else if ((refresh || this.#is_suspect) && placeOf(tab.url) === "app") {
      await this.#waitForQuiet(idOf(tab));
      retired = this.#page?.document_id ?? (await this.#probe(idOf(tab)))?.document_id ?? "";
      await this.#renew(tab, account);
      is_renewed = true;
    }
    this.#is_suspect = false;
    this.#page = null;
    const give_up_ms = Date.now() + LOAD_LIMIT_MS;
    while (Date.now() < give_up_ms) {
      tab = await this.#chrome.getTab(idOf(tab)).catch(() => null);
      if (tab === null) throw new GatewayFault("TAB_DISCARDED", "The notebook tab was closed while it was loading.");
      const probe = isAskable(tab) ? await this.#probe(idOf(tab)) : null;
      const step =
        probe?.document_id === retired
          ? "wait"
          : nextStep({ tab, probe, is_renewed, installed_ms: this.#installed_ms });
      if (step === "use" && probe !== null) {
        this.#page = { tab_id: idOf(tab), document_id: probe.document_id };
        return this.#page;
      }
      refuse(step, tab);
      if (step === "renew") {
        retired = probe?.document_id ?? "";
        await this.#renew(tab, account);
        is_renewed = true;
      }
      await sleep(POLL_MS);
    }
    throw new GatewayFault("TIMEOUT", `The notebook page did not load within ${LOAD_LIMIT_MS / 1000} s.`);
  }

  /** @param {string} account @returns {Promise<TabInfo | null>} the tab as it is now */
  async #ownTab(account) {
    if (this.#tab_id !== null) {
      const tab = await this.#chrome.getTab(this.#tab_id).catch(() => null);
      if (tab !== null) return tab;
      await this.#setTab(null);
    }
    const open = await this.#chrome.findTabs(NOTEBOOK_ORIGINS.map((origin) => `${origin}/*`));
    const found = open.find((tab) => !tab.active && isPageOf(tab.url, account)) ?? null;
    if (found !== null) await this.#setTab(idOf(found), false);
    return found;
  }

  /** @param {string} account */
  async #open(account) {
    const tab = await this.#chrome.openTab(homeUrl(account));
    await this.#setTab(idOf(tab), true);
    return tab;
  }

  /** Load the tab's page anew. @param {TabInfo} tab @param {string} account */
  async #renew(tab, account) {
    const tab_id = idOf(tab);
    this.#page = null;
    this.onLoss(tab_id, "reloaded", "The notebook tab was loaded anew.");
    if (isPageOf(tab.url, account)) await this.#chrome.reloadTab(tab_id);
    else await this.#chrome.navigateTab(tab_id, homeUrl(account));
  }

  /** @param {number} tab_id */
  async #waitForQuiet(tab_id) {
    const began_ms = Date.now();
    for (;;) {
      const { all, writes } = this.countCalls(tab_id);
      const limit_ms = writes > 0 ? WRITES_QUIET_LIMIT_MS : QUIET_LIMIT_MS;
      if (all === 0 || Date.now() - began_ms >= limit_ms) return;
      await sleep(POLL_MS);
    }
  }

  /** @param {number} tab_id @returns {Promise<Probe | null>} */
  async #probe(tab_id) {
    try {
      return await withDeadline(this.#executor.probe(tab_id), Date.now() + PROBE_LIMIT_MS, "");
    } catch (error) {
      if (error instanceof PageGone || error instanceof GatewayFault) return null;
      throw error;
    }
  }

  /** @param {number | null} tab_id @param {boolean} [is_opened_by_us] */
  async #setTab(tab_id, is_opened_by_us = false) {
    this.#tab_id = tab_id;
    this.#is_opened_by_us = is_opened_by_us;
    this.#page = null;
    await this.#chrome.session.set({ [KEY]: tab_id === null ? null : { tab_id, is_opened_by_us } });
    if (tab_id !== null) await this.#chrome.keepTab(tab_id).catch(() => {});
  }
}

/** @param {import("./tab_steps.js").Step} step @param {TabInfo} tab */
function refuse(step, tab) {
  const host = hostForMessage(tab.url);
  if (step === "signed_out")
    throw new GatewayFault("AUTH_REQUIRED", `The notebook page leads to ${host}: nobody is signed in.`);
  if (step === "unavailable") {
    throw new GatewayFault("UPSTREAM_REJECTED", `The notebook page leads to ${host}, which is not a notebook page.`);
  }
  if (step === "broken") {
    throw new GatewayFault(
      "UPSTREAM_REJECTED",
      `The page at ${host} did not load: it holds no executor of this build.`,
      {
        detail: { reason: "network" },
      },
    );
  }
}

/** @param {TabInfo} tab */
function idOf(tab) {
  if (tab.id === undefined) throw new GatewayFault("INTERNAL", "Chrome gave a tab without an id.");
  return tab.id;
}

/** @param {number} delay_ms @returns {Promise<void>} */
function sleep(delay_ms) {
  return new Promise((resolve) => setTimeout(resolve, delay_ms));
}

/**
 * @template T
 * @param {Promise<T>} promise
 * @param {number} not_after_ms
 * @param {string} message
 * @returns {Promise<T>}
 */
async function withDeadline(promise, not_after_ms, message) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {Promise<never>} */
  const late = new Promise((_, reject) => {
    // A timer longer than 2^31 ms would fire at once.
    const wait_ms = Math.min(Math.max(0, not_after_ms - Date.now()), LOAD_LIMIT_MS * 4);
    timer = setTimeout(() => reject(new GatewayFault("TIMEOUT", message)), wait_ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
