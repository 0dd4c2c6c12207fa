/**
 * Faults as they travel: `{code, message, detail, started}`. The codes are the names in `broker/errors.py`.
 *
 * `started` says whether the request can have reached the service; it is false only on proof (protocol.md).
 */

/**
 * @typedef {"INVALID_ARGUMENT" | "ALLOWLIST_DENIED" | "NOT_FOUND" | "AUTH_REQUIRED" | "ACCOUNT_MISMATCH"
 *   | "COMPANION_OFFLINE" | "TAB_DISCARDED" | "TIMEOUT" | "CANCELLED" | "RATE_LIMITED" | "STREAM_SEVERED" | "UPSTREAM_REJECTED" | "UPSTREAM_SCHEMA_DRIFT"
 *   | "INTERNAL"} FaultCode
 */
/** @typedef {{code: string, message: string, detail: Record<string, unknown>, started: boolean}} WireError */

/** The one error class that becomes the `error` of a result frame. Its message never holds a secret. */
export class GatewayFault extends Error {
  /**
   * @param {FaultCode} code
   * @param {string} message the fact and the value seen
   * @param {{detail?: Record<string, unknown>, started?: boolean}} [more]
   */
  constructor(code, message, { detail = {}, started = false } = {}) {
    super(message);
    this.name = "GatewayFault";
    this.code = code;
    this.detail = detail;
    this.started = started;
  }

  /** @returns {WireError} */
  toWire() {
    return { code: this.code, message: this.message, detail: this.detail, started: this.started };
  }
}

/**
 * Turn anything thrown into a fault. A foreign error's text could hold a secret, so only its class name is kept.
 * @param {unknown} error
 * @param {boolean} started
 * @returns {GatewayFault}
 */
export function asFault(error, started) {
  if (error instanceof GatewayFault) return error;
  const name = error instanceof Error ? error.name : typeof error;
  return new GatewayFault("INTERNAL", `The extension failed with ${name}.`, { started });
}

/**
 * Show an address without giving it away: `a***@example.com`.
 * @param {string} address
 */
export function maskAddress(address) {
  const at = address.lastIndexOf("@");
  return at < 1 ? "***" : `${address[0]}***${address.slice(at)}`;
}
