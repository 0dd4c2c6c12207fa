/**
 * The open calls of this worker, in one object: it admits, finds, and ends them. Each call ends by exactly one result,
 * or silently with its connection.
 *
 * A write that a page has is never ended by its broker, alive or gone: it goes on, and its answer is the truth. Only our
 * own ceiling and the loss of the page end the wait for it (ADR-005).
 */

import { GatewayFault } from "./errors.js";
import { MAX_OPEN_CALLS_PER_CONNECTION, MAX_OPEN_CALLS_PER_WORKER } from "./protocol.js";

/** @typedef {import("./executor.js").Page} Page */

/** Our own ceiling (design, M-03), moved by each delivered chunk. */
export const CALL_CEILING_MS = 240_000;
/** About the length of one read through the page; the host says the same. */
const RETRY_AFTER_MS = 500;

/** An id that is open already: the results of the two could not be told apart. */
export class DuplicateCall extends Error {}

export class Call {
  /** The page that has the call, once it was handed over. @type {Page | null} */
  page = null;
  /** Its connection is gone, nobody waits for the result. */
  is_silent = false;
  is_closed = false;
  /** It changes something: known once it is admitted. */
  is_write = false;
  /** Something else than its own answer has ended it. */
  is_ended = false;
  /** Rejects when the call is ended from outside; never resolves. @type {Promise<never>} */
  ended;
  /** @type {(fault: GatewayFault) => void} */
  #reject = () => {};
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #ceiling = undefined;

  /** @param {number} conn @param {number} id */
  constructor(conn, id) {
    this.conn = conn;
    this.id = id;
    /** 128 random bits that name the call in the page. */
    this.key = randomKey();
    this.ended = new Promise((_, reject) => {
      this.#reject = reject;
    });
    this.ended.catch(() => {}); // a call that ends by itself never looks at it
    this.touch();
  }

  /** The call is alive: its ceiling begins anew. */
  touch() {
    clearTimeout(this.#ceiling);
    this.#ceiling = setTimeout(() => {
      this.end("TIMEOUT", `The call was open for ${CALL_CEILING_MS / 1000} s without a sign of life.`);
    }, CALL_CEILING_MS);
  }

  /** Whether a page has it and it must not be stopped there. */
  get is_write_under_way() {
    return this.is_write && this.page !== null;
  }

  /**
   * End the call from outside. Once a page has it, nothing proves that its request did not leave.
   * @param {import("./errors.js").FaultCode} code @param {string} message
   */
  end(code, message) {
    this.endWith(new GatewayFault(code, message, { started: this.page !== null }));
  }

  /** @param {GatewayFault} fault */
  endWith(fault) {
    this.is_ended = true;
    this.#reject(fault);
  }

  close() {
    this.is_closed = true;
    clearTimeout(this.#ceiling);
  }
}

export class OpenCalls {
  /** @type {Map<number, Map<number, Call>>} by connection, then by id */
  #by_conn = new Map();
  /** Writes that go on in a page while nobody waits for them. @type {Set<Call>} */
  #detached = new Set();
  #size = 0;

  /** Detached writes included. */
  get size() {
    return this.#size;
  }

  /**
   * Admit a call.
   * @param {number} conn
   * @param {number} id
   * @returns {Call} Throws GatewayFault RATE_LIMITED, or DuplicateCall.
   */
  open(conn, id) {
    const calls = this.#by_conn.get(conn) ?? new Map();
    if (calls.has(id)) throw new DuplicateCall(`call ${id} is open already`);
    if (calls.size >= MAX_OPEN_CALLS_PER_CONNECTION || this.#size >= MAX_OPEN_CALLS_PER_WORKER) {
      throw new GatewayFault("RATE_LIMITED", `${calls.size} calls of this broker and ${this.#size} in all are open.`, {
        detail: { retry_after_ms: RETRY_AFTER_MS },
      });
    }
    const call = new Call(conn, id);
    this.#by_conn.set(conn, calls.set(id, call));
    this.#size += 1;
    return call;
  }

  /** @param {Call} call */
  close(call) {
    call.close();
    if (this.#detached.delete(call) || this.#leaveConnection(call)) this.#size -= 1;
  }

  /**
   * Keep a write that is under way, but free its id: after the loss of a port another host numbers its connections anew.
   * @param {Call} call
   */
  detach(call) {
    if (this.#leaveConnection(call)) this.#detached.add(call);
  }

  /** @param {Call} call @returns {boolean} whether it was there */
  #leaveConnection(call) {
    const calls = this.#by_conn.get(call.conn);
    if (calls?.get(call.id) !== call) return false;
    calls.delete(call.id);
    if (calls.size === 0) this.#by_conn.delete(call.conn);
    return true;
  }

  /**
   * @param {number} conn @param {number} id @param {string} reason
   * @returns {Page | null} the page of a write that goes on all the same
   */
  cancel(conn, id, reason) {
    const call = this.#by_conn.get(conn)?.get(id);
    if (call?.is_write_under_way) return call.page;
    call?.end("CANCELLED", `The broker cancelled the call: ${reason.slice(0, 200)}`);
    return null;
  }

  /** End the calls of a closed connection. @param {number} conn */
  endConnection(conn) {
    for (const call of [...(this.#by_conn.get(conn)?.values() ?? [])]) {
      call.is_silent = true;
      if (call.is_write_under_way) this.detach(call);
      else call.end("CANCELLED", "The broker's connection is closed.");
    }
  }

  /** End all calls: the port is gone, and with it every connection. */
  endAll() {
    for (const conn of [...this.#by_conn.keys()]) this.endConnection(conn);
  }

  /** End every call but the writes that a page has. @param {(started: boolean) => GatewayFault} faultFor */
  endReads(faultFor) {
    for (const call of [...this.#all()]) if (!call.is_write_under_way) call.endWith(faultFor(call.page !== null));
  }

  /**
   * End the calls that a lost page had.
   * @param {number} tab_id @param {string} message
   */
  endInTab(tab_id, message) {
    for (const call of this.#all()) if (call.page?.tab_id === tab_id) call.end("TAB_DISCARDED", message);
  }

  /** @param {number} tab_id @returns {{all: number, writes: number}} */
  countInTab(tab_id) {
    const count = { all: 0, writes: 0 };
    for (const call of this.#all()) {
      if (call.page?.tab_id !== tab_id) continue;
      count.all += 1;
      if (call.is_write) count.writes += 1;
    }
    return count;
  }

  *#all() {
    for (const calls of this.#by_conn.values()) yield* calls.values();
    yield* this.#detached;
  }
}

function randomKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
