/**
 * Fourth of the MAIN-world files: what the service says in the headers of an upload (wire reference, 7).
 *
 * The session address is a secret like a token: it is checked here and used on the page's own origin, whichever of the
 * service's hosts it names, and it is never part of a fault. Bodies are not read at all: they can repeat it.
 */

(() => {
  "use strict";

  /** @type {Required<PageKit>} */
  const kit = /** @type {any} */ (globalThis).__notebookGatewayKit;
  const { drift, fault, http, requests } = kit;
  const { lower } = kit.text;

  const UPLOAD_PATH = "/upload/_/";
  const SESSION_HEADER = "x-goog-upload-url";
  const GRANULARITY_HEADER = "x-goog-upload-chunk-granularity";
  const STATUS_HEADER = "x-goog-upload-status";
  const RECEIVED_HEADER = "x-goog-upload-size-received";
  /** What the service was seen to ask for; used where it asks for nothing. */
  const USUAL_GRANULARITY_BYTES = 256 * 1024;
  /** The page holds one step in memory. */
  const LARGEST_GRANULARITY_BYTES = 64 * 1024 * 1024;
  const LONGEST_NUMBER = 15;

  /**
   * Check a session address (C-087): https, one of the service's hosts, the upload path, exactly one upload id, and no
   * account selector but this page's own, which is its address or its number among the accounts signed in.
   * @param {unknown} address @param {readonly string[]} origins @param {AccountSelectors} selectors
   * @returns {string | undefined} path and query, to be used on the page's own origin
   */
  function sessionTarget(address, origins, selectors) {
    if (typeof address !== "string") return undefined;
    const { Parser, origin, pathname, username, password, search, params, all } = kit.url;
    let url;
    try {
      url = new Parser(address);
    } catch {
      return undefined; // empty and relative ones, too
    }
    let is_ours = false;
    for (let i = 0; i < origins.length; i += 1) if (origins[i] === origin(url)) is_ours = true;
    if (!is_ours || username(url) !== "" || password(url) !== "" || pathname(url) !== UPLOAD_PATH) return undefined;
    const query = params(url);
    const ids = all(query, "upload_id");
    if (ids.length !== 1 || ids[0] === "") return undefined;
    const users = all(query, "authuser");
    if (users.length > 1 || (users.length === 1 && !isOwnSelector(users[0], selectors))) return undefined;
    return `${UPLOAD_PATH}${search(url)}`;
  }

  /** @param {string} selector @param {AccountSelectors} selectors */
  function isOwnSelector(selector, { account, account_index }) {
    return lower(selector) === lower(account) || (account_index !== "" && selector === account_index);
  }

  /**
   * @param {UploadCommand} command a later one: its address was checked before, by another document perhaps
   * @returns {(selectors: AccountSelectors) => string}
   */
  function sessionOf(command) {
    return (selectors) => {
      const target = sessionTarget(command.url, command.origins, selectors);
      if (target === undefined)
        throw drift("upload", SESSION_HEADER, "a session address of this page's account", false);
      return target;
    };
  }

  /**
   * @param {Response} response @param {UploadCommand} command @param {AccountSelectors} selectors
   * @returns {string} the address that a start was answered with, checked
   */
  function sessionAddress(response, command, selectors) {
    const address = header(response, SESSION_HEADER);
    if (sessionTarget(address, command.origins, selectors) !== undefined) return address;
    throw drift("upload.start", SESSION_HEADER, "a session address of the service for this page's account", true);
  }

  /** @param {Response} response @param {string} name @returns {string} "" when it is missing */
  function header(response, name) {
    return http.header(http.headers(response), name) ?? "";
  }

  /** @param {Response} response @param {string} stage */
  function refuseFailure(response, stage) {
    requests.refuseRedirect(response);
    const http_status = http.status(response);
    if (http_status >= 200 && http_status < 300) return;
    const detail = /** @type {any} */ ({ __proto__: null, http_status, stage });
    const retry_after_s = requests.retryAfter(response);
    if (retry_after_s !== null) detail.retry_after_ms = retry_after_s * 1000;
    const signed_out = http_status === 401 || http_status === 403;
    const code = signed_out ? "AUTH_REQUIRED" : http_status === 429 ? "RATE_LIMITED" : "UPSTREAM_REJECTED";
    // Nothing of the body or the headers: they can hold the session address.
    throw fault(code, `The service answered HTTP ${http_status} to the upload (${stage}).`, true, detail);
  }

  /** @param {string} text @returns {number | null} null when it is no whole number */
  function wholeNumber(text) {
    if (text === "" || text.length > LONGEST_NUMBER) return null;
    for (let i = 0; i < text.length; i += 1) {
      const digit = /** @type {string} */ (text[i]);
      if (digit < "0" || digit > "9") return null;
    }
    return kit.toNumber(text);
  }

  /** @param {Response} response */
  function granularity(response) {
    const text = header(response, GRANULARITY_HEADER);
    if (text === "") return USUAL_GRANULARITY_BYTES;
    const bytes = wholeNumber(text);
    if (bytes === null || bytes === 0 || bytes > LARGEST_GRANULARITY_BYTES) {
      throw drift("upload.start", GRANULARITY_HEADER, "a number of bytes from 1 to 64 MiB", true);
    }
    return bytes;
  }

  /** @param {Response} response @param {string} stage @param {number} size_bytes of the file @returns {number | null} */
  function receivedBytes(response, stage, size_bytes) {
    const text = header(response, RECEIVED_HEADER);
    if (text === "") return null;
    const bytes = wholeNumber(text);
    if (bytes !== null && bytes <= size_bytes) return bytes;
    throw drift(`upload.${stage}`, RECEIVED_HEADER, `a number of bytes, at most the file's ${size_bytes}`, true);
  }

  /** @param {Response} response @param {string} stage @returns {UploadState} */
  function statusOf(response, stage) {
    const status = header(response, STATUS_HEADER);
    if (status === "active" || status === "final" || status === "cancelled") return status;
    throw drift(`upload.${stage}`, STATUS_HEADER, "active, final or cancelled", true);
  }

  kit.uploadAnswers = /** @type {any} */ ({
    __proto__: null,
    startTarget: (/** @type {AccountSelectors} */ { account }) =>
      `${UPLOAD_PATH}?authuser=${kit.encodeComponent(account)}`,
    sessionOf,
    sessionAddress,
    refuseFailure,
    granularity,
    receivedBytes,
    statusOf,
    /** A part is taken unless the service says otherwise. */
    isActive(/** @type {Response} */ response) {
      const status = header(response, STATUS_HEADER);
      return status === "active" || status === "";
    },
  });
})();
