/**
 * Which hosts are the real site, as data. Decided on the parsed URL, never on a substring (C-049, C-050).
 */

/** The personal hosts, then the business hosts; both generations of names serve the same calls. */
export const NOTEBOOK_HOSTS = Object.freeze([
  "notebook.google.com",
  "notebooklm.google.com",
  "notebook.cloud.google.com",
  "notebooklm.cloud.google.com",
]);

export const NOTEBOOK_ORIGINS = Object.freeze(NOTEBOOK_HOSTS.map((host) => `https://${host}`));

export const SIGN_IN_HOST = "accounts.google.com";

/** @typedef {"app" | "sign_in" | "blank" | "other"} Place */

/**
 * Say what a tab's URL is.
 * @param {string | undefined} text
 * @returns {Place}
 */
export function placeOf(text) {
  if (text === undefined || text === "" || text === "about:blank") return "blank";
  /** @type {URL} */
  let url;
  try {
    url = new URL(text);
  } catch {
    return "other";
  }
  // The parser has lower-cased the host, decoded %2e and dropped the default port.
  if (url.protocol !== "https:" || url.port !== "" || url.username !== "" || url.password !== "") return "other";
  if (NOTEBOOK_HOSTS.includes(url.hostname)) return "app";
  return url.hostname === SIGN_IN_HOST ? "sign_in" : "other";
}

/**
 * The page to open for an account. The address selects the account; an index can shift (C-052).
 * @param {string} account
 */
export function homeUrl(account) {
  return `${NOTEBOOK_ORIGINS[0]}/?authuser=${encodeURIComponent(account)}`;
}

/**
 * Whether a URL is a page of the app that was opened for this very account by its address.
 * @param {string | undefined} text
 * @param {string} account
 */
export function isPageOf(text, account) {
  if (text === undefined || placeOf(text) !== "app") return false;
  return new URL(text).searchParams.get("authuser")?.toLowerCase() === account.toLowerCase();
}

/**
 * The host of a URL for messages, without the path or query, which can hold personal data.
 * @param {string | undefined} text
 */
export function hostForMessage(text) {
  try {
    return new URL(text ?? "").host || "a page without a host";
  } catch {
    return "an unreadable address";
  }
}
