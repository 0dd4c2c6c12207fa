/**
 * Third of the MAIN-world files: whose page this is, its tokens, and the one request that is made of them.
 *
 * Every request of the gateway is sent by `sendCall` or `sendBytes`, and each checks host, tokens, account and deadline
 * and calls `fetch` in one synchronous turn: a tab that was frozen in between sends nothing late. Tokens never leave
 * this file but inside a request to the page's own origin.
 */

(() => {
  "use strict";

  const page = /** @type {any} */ (globalThis);
  /** @type {PageKit} */
  const kit = page.__notebookGatewayKit;

  const APP_PREFIX = "/_/LabsTailwindUi";
  /** Where the page says whose it is. `oPEP7c` is on every recorded page, `oM1Kwf` is kept as an alternative (C-051). */
  const IDENTITY_KEYS = ["oPEP7c", "oM1Kwf"];

  const { drift, encodeComponent, fault, http, own, read } = kit;
  const { indexOf, lastIndexOf, lower, slice } = kit.text;
  const { location } = page;

  // ------------------------------------------------------------------------------------------------------ the page
  /** @param {string} key */
  function wizText(key) {
    const value = read(page.WIZ_global_data, key);
    return typeof value === "string" ? value : "";
  }

  /**
   * Check that this page is the app, signed in, with the expected account; return its tokens.
   * @param {RequestBounds} command
   */
  function readPage(command) {
    const { origin } = location;
    let is_real = false;
    for (let i = 0; i < command.origins.length; i += 1) if (command.origins[i] === origin) is_real = true;
    if (!is_real) throw fault("TAB_DISCARDED", "The tab is no longer on a notebook page.", false);
    const csrf = wizText("SNlM0e");
    // The sign-in page has tokens of its own; only the app's prefix makes them ours (C-050).
    if (wizText("Im6cmf") !== APP_PREFIX || csrf === "") {
      throw fault("AUTH_REQUIRED", `The page at ${origin} carries no tokens of the app: it is signed out.`, false);
    }
    const account = readAccount();
    if (lower(account) !== lower(command.account)) {
      const text = `The page belongs to ${mask(account)}; the configured account is ${mask(command.account)}.`;
      throw mismatch(text, command.account, account);
    }
    const session = wizText("FdrFJe");
    const label = wizText("cfb2h");
    if (session === "") throw drift("page", "WIZ_global_data.FdrFJe", "text", false);
    if (label === "") throw drift("page", "WIZ_global_data.cfb2h", "text", false);
    // The page's own number for its account among those signed in; text, and only ever compared (wire reference, 1).
    const account_index = wizText("QrtxK");
    return { __proto__: null, origin, csrf, account, account_index, session, label };
  }

  /** @returns {string} the one address that all identity keys of the page agree on */
  function readAccount() {
    let account = "";
    for (let i = 0; i < IDENTITY_KEYS.length; i += 1) {
      const key = /** @type {string} */ (IDENTITY_KEYS[i]);
      if (read(page.WIZ_global_data, key) === undefined) continue;
      const found = wizText(key);
      if (indexOf(found, "@") < 1) throw drift("page", `WIZ_global_data.${key}`, "an e-mail address", false);
      if (account !== "" && lower(found) !== lower(account)) {
        throw mismatch(`The page names two accounts, ${mask(account)} and ${mask(found)}.`, account, found);
      }
      account = found;
    }
    if (account !== "") return account;
    const looked_for = `an account under ${IDENTITY_KEYS[0]} or ${IDENTITY_KEYS[1]}`;
    throw drift("page", "WIZ_global_data", looked_for, false);
  }

  /** @param {string} address */
  function mask(address) {
    const at = lastIndexOf(address, "@");
    return at < 1 ? "***" : `${address[0]}***${slice(address, at)}`;
  }

  /** @param {string} message @param {string} expected @param {string} found */
  function mismatch(message, expected, found) {
    const detail = { __proto__: null, side: "page", expected: mask(expected), found: mask(found) };
    return fault("ACCOUNT_MISMATCH", message, false, detail);
  }

  // --------------------------------------------------------------------------------------------------- one request
  /** All that has to be true of the page right before a request leaves. @param {RequestBounds} command */
  function guard(command) {
    kit.refuseTampering(false);
    const tokens = readPage(command);
    if (kit.now_ms() > command.not_after_ms) {
      throw fault("TIMEOUT", "The page came to the call after its deadline; nothing was sent.", false);
    }
    return tokens;
  }

  /** @type {PageRequests["sendCall"]} */
  function sendCall(command, path, query, form_request, controller) {
    const tokens = guard(command);
    const url =
      `${tokens.origin}${APP_PREFIX}${path}?${query}&bl=${encodeComponent(tokens.label)}` +
      `&f.sid=${encodeComponent(tokens.session)}&hl=en&rt=c&authuser=${encodeComponent(tokens.account)}`;
    const body = `f.req=${encodeComponent(form_request)}&at=${encodeComponent(tokens.csrf)}&`;
    return post(url, { __proto__: null }, body, controller);
  }

  /** @type {PageRequests["sendBytes"]} */
  function sendBytes(command, targetOf, headers, body) {
    const { origin, account, account_index } = guard(command);
    const target = targetOf(/** @type {any} */ ({ __proto__: null, account, account_index }));
    return post(`${origin}${target}`, headers, body, null);
  }

  /**
   * @param {string} url @param {object} headers without prototype @param {BodyInit | undefined} body
   * @param {AbortController | null} controller
   */
  function post(url, headers, body, controller) {
    /** @type {any} */ (headers)["content-type"] = "application/x-www-form-urlencoded;charset=UTF-8";
    const init = {
      __proto__: null,
      method: "POST",
      credentials: "include",
      redirect: "manual", // tokens are not posted on to wherever a redirect points
      headers,
      body,
      signal: controller === null ? undefined : kit.abort.signal(controller),
    };
    return own(http.send(page, url, init));
  }

  /** @param {Response} response */
  function refuseRedirect(response) {
    if (http.type(response) !== "opaqueredirect") return;
    // The reason tells a write's caller that the service turned this very request away, so that nothing was done.
    const detail = { __proto__: null, reason: "redirect" };
    throw fault("AUTH_REQUIRED", "The service redirected the call: the page is signed out.", true, detail);
  }

  /** @param {Response} response @returns {number | null} `Retry-After` in seconds, from either of its two forms */
  function retryAfter(response) {
    const text = http.header(http.headers(response), "retry-after");
    if (typeof text !== "string" || text === "") return null;
    const seconds = kit.toNumber(text);
    if (seconds >= 0) return seconds;
    const wait_ms = kit.parseDate(text) - kit.now_ms();
    return wait_ms > 0 ? wait_ms / 1000 : null;
  }

  /** @param {unknown} error @param {boolean} is_aborted @param {string} code @returns {PageFault} */
  function faultOf(error, is_aborted, code) {
    if (read(error, "is_fault") === true) return /** @type {PageFault} */ (error);
    if (is_aborted) return fault("CANCELLED", "The call was stopped.", true);
    const detail = { __proto__: null, reason: "network" };
    return fault(code, "The connection to the service failed before the answer was complete.", true, detail);
  }

  kit.requests = /** @type {any} */ ({
    __proto__: null,
    identity(/** @type {RequestBounds} */ command) {
      kit.refuseTampering(false);
      const { account, origin, label } = readPage(command);
      return { __proto__: null, account, origin, label };
    },
    refuseWrongPage: (/** @type {RequestBounds} */ command) => void guard(command),
    isAppPage: () => read(page.WIZ_global_data, "Im6cmf") !== undefined,
    sendCall,
    sendBytes,
    refuseRedirect,
    retryAfter,
    faultOf,
  });
})();
