/**
 * The way into a page: one `chrome.scripting.executeScript` per command, answered by `page-main.js`.
 */

import { GatewayFault } from "./errors.js";
import { isObject } from "./frames.js";
import { NOTEBOOK_ORIGINS } from "./hosts.js";

/** @typedef {import("./chrome_api.js").ChromeApi} ChromeApi */
/** @typedef {{tab_id: number, document_id: string}} Page one document; a reload makes another one */
/** @typedef {{build: string, ready: boolean, loaded_ms: number, document_id: string}} Probe */
/** @typedef {{account: string, origin: string, build_label: string}} PageIdentity */
/** @typedef {{kind: "source" | "note" | "conversation", ids: string[]} | null} OwnedIds */
/** @typedef {{status: number, body: string, retry_after_s: number | null, owned: OwnedIds, fetch_ms: number}} RpcAnswer */
/** @typedef {{status: number, retry_after_s: number | null, fetch_ms: number}} StreamHead */
/** @typedef {{text: string, done: boolean, error: import("./errors.js").WireError | null}} StreamPiece */
/** @typedef {{url: string, granularity_bytes: number, fetch_ms: number}} StartedUpload */
/** @typedef {{next_offset: number | null, received_bytes: number | null}} SliceValue */
/** @typedef {{status: "active" | "final" | "cancelled" | "expired", received_bytes: number | null}} UploadStatus */
/**
 * @typedef {object} RequestCommand what `rpc` and `stream` need
 * @property {string} key
 * @property {string} account
 * @property {number} not_after_ms
 * @property {string} params_json
 * @property {string} source_path
 * @property {string} [rpc]
 * @property {string | null} [notebook]
 * @property {"*" | readonly string[] | null} [allow]
 * @property {boolean} [is_write]
 */
/** @typedef {{account: string, not_after_ms: number, upload: string, [field: string]: unknown}} UploadCommand */

const ENTRY = "__notebookGatewayExecutor";

/** The document is gone and the command was not run: Chrome refuses before it injects. */
export class PageGone extends Error {}

/** Chrome's own words for a target it could not find, as of Chromium 156. */
const NEVER_INJECTED = /^No (tab|frame|document) with id|^Cannot access|showing error page|Missing host permission/i;

export class Executor {
  #chrome;

  /** @param {ChromeApi} chrome */
  constructor(chrome) {
    this.#chrome = chrome;
  }

  /**
   * Ask a tab's current document which executor it has.
   * @param {number} tab_id
   * @returns {Promise<Probe | null>} null when it has none. Rejects with PageGone.
   */
  async probe(tab_id) {
    const { result, documentId } = await this.#inject({ tabId: tab_id }, { op: "probe" });
    if (!isObject(result) || documentId === undefined) return null;
    const { build, ready, loaded_ms } = result;
    return { build: String(build), ready: ready === true, loaded_ms: Number(loaded_ms), document_id: documentId };
  }

  /** @param {Page} page @param {string} account @returns {Promise<PageIdentity>} */
  identity(page, account) {
    return this.#run(page, { op: "identity", account });
  }

  /** @param {Page} page @param {RequestCommand} command @returns {Promise<RpcAnswer>} */
  rpc(page, command) {
    return this.#run(page, { op: "rpc", ...command });
  }

  /** @param {Page} page @param {RequestCommand} command @returns {Promise<StreamHead>} */
  openStream(page, command) {
    return this.#run(page, { op: "stream", ...command });
  }

  /** @param {Page} page @param {string} key @returns {Promise<StreamPiece>} */
  pull(page, key) {
    return this.#run(page, { op: "pull", key });
  }

  /** @param {Page} page @param {UploadCommand} command @returns {Promise<StartedUpload>} */
  uploadStart(page, command) {
    return this.#run(page, { op: "upload.start", ...command });
  }

  /** @param {Page} page @param {UploadCommand} command @returns {Promise<{value: SliceValue, fetch_ms: number}>} */
  async uploadSlice(page, command) {
    const answer = await this.#run(page, { op: "upload.slice", ...command });
    const { next_offset, received_bytes, fetch_ms } = answer;
    return { value: { next_offset, received_bytes }, fetch_ms };
  }

  /**
   * @param {Page} page @param {"upload.query" | "upload.finish"} op @param {UploadCommand} command
   * @returns {Promise<{value: UploadStatus, fetch_ms: number}>}
   */
  async uploadState(page, op, command) {
    const { status, received_bytes, fetch_ms } = await this.#run(page, { op, ...command });
    return { value: { status, received_bytes }, fetch_ms };
  }

  /** Stop a call or stream; a page that is gone has stopped it already. @param {Page} page @param {string} key */
  async abort(page, key) {
    await this.#run(page, { op: "abort", key }).catch(() => {});
  }

  /**
   * @param {Page} page
   * @param {Record<string, unknown>} command
   * @returns {Promise<any>} the page's answer; its shape is this build's own, checked by `build` in `probe`.
   *   Rejects with GatewayFault or PageGone.
   */
  async #run(page, command) {
    const target = { tabId: page.tab_id, documentIds: [page.document_id] };
    const { result } = await this.#inject(target, { ...command, origins: NOTEBOOK_ORIGINS });
    if (!isObject(result)) throw new GatewayFault("TAB_DISCARDED", "The page gave no answer.", { started: true });
    if (result.ok === true) return result;
    throw pageFault(result.error);
  }

  /**
   * @param {import("./chrome_api.js").ScriptTarget} target
   * @param {Record<string, unknown>} command
   * @returns {Promise<{result?: unknown, documentId?: string}>}
   */
  async #inject(target, command) {
    try {
      const frames = await this.#chrome.executeScript({
        target,
        world: "MAIN",
        injectImmediately: true,
        func: enter,
        args: [ENTRY, command],
      });
      return frames[0] ?? {};
    } catch (error) {
      const text = error instanceof Error ? error.message : "";
      if (NEVER_INJECTED.test(text)) throw new PageGone(text);
      throw new GatewayFault("TAB_DISCARDED", "The page went away while it had the call.", { started: true });
    }
  }
}

/**
 * Runs in the page, where `self` and `globalThis` can be replaced; `window` and our property on it cannot.
 * @param {string} name @param {unknown} command
 */
function enter(name, command) {
  // @ts-expect-error: this one function does not run in the worker
  const entry = window[name];
  return entry === undefined ? null : entry(command);
}

/** @param {unknown} error */
function pageFault(error) {
  if (!isObject(error)) return new GatewayFault("INTERNAL", "The page failed without a reason.", { started: true });
  return new GatewayFault(/** @type {any} */ (error.code), String(error.message), {
    detail: isObject(error.detail) ? error.detail : {},
    started: error.started !== false,
  });
}
