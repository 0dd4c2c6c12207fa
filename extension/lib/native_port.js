/**
 * The port to the native host: opened, kept alive by a heartbeat both ways, and opened again with growing pauses.
 *
 * An open native port keeps this worker alive. While there is none Chrome may stop the worker at any line, so the number
 * of failures is kept in `chrome.storage.session` and an alarm stands behind every timer (C-038).
 */

import { delayAfter, failuresAfterLoss } from "./backoff.js";
import { BUILD, HEARTBEAT_MISSES, HEARTBEAT_S, HOST_NAME, V_MAX, V_MIN } from "./protocol.js";
import { isObject } from "./frames.js";

/** @typedef {import("./chrome_api.js").ChromeApi} ChromeApi */
/** @typedef {import("./chrome_api.js").NativePortHandle} NativePortHandle */
/** @typedef {{connected: boolean, host: string, error: string | null}} PortInfo */
/** @typedef {{handle: NativePortHandle, opened_ms: number, heard: boolean, silent_beats: number}} OpenPort */

export const ALARM_NAME = "native-port";
/** Chrome's shortest alarm. */
const ALARM_MINUTES = 0.5;
/** How long `ensure` waits for a host's first word: starting Python on a busy machine takes a second or two. */
const FIRST_WORD_MS = 10_000;
const BACKOFF_KEY = "native_port_backoff";

export class NativePort {
  // Invariant: at most one port is open, and a retry is planned only while none is.
  /** @type {OpenPort | null} */
  #port = null;
  #chrome;
  #failures = 0;
  #not_before_ms = 0;
  #last_error = "";
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retry_timer = undefined;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #heartbeat_timer = undefined;
  /** @type {Set<() => void>} those who wait for the first word or the loss of the port */
  #waiting = new Set();

  /** @type {() => {profile: string, account: string | null}} what `ready` says about this worker */
  about = () => ({ profile: "", account: null });
  /** @type {(raw: unknown) => void} called for every frame but heartbeats */
  onFrame = () => {};
  /** @type {() => void} */
  onLoss = () => {};
  /** @type {() => void} called when a host has answered for the first time */
  onConnected = () => {};

  /** @param {ChromeApi} chrome */
  constructor(chrome) {
    this.#chrome = chrome;
  }

  get is_open() {
    return this.#port !== null;
  }

  /** Whether a host answers, and if not what Chrome said of the last one. */
  get info() {
    const connected = this.#port?.heard === true;
    return { connected, error: connected ? null : this.#last_error || null };
  }

  async load() {
    const stored = (await this.#chrome.session.get([BACKOFF_KEY]))[BACKOFF_KEY];
    if (!isObject(stored)) return;
    this.#failures = Number(stored.failures) || 0;
    this.#not_before_ms = Number(stored.not_before_ms) || 0;
  }

  /** Open the port if its time has come; else leave a timer and an alarm that do. */
  start() {
    if (this.#port !== null) return;
    const wait_ms = this.#not_before_ms - Date.now();
    if (wait_ms <= 0) this.#open();
    else this.#planRetry(wait_ms);
  }

  /**
   * Open the port now, whatever the pause, and return whether a host answered.
   * @returns {Promise<PortInfo>}
   */
  async ensure() {
    if (this.#port === null) this.#open();
    if (this.#port !== null && !this.#port.heard) {
      /** @type {Promise<void>} */
      const heard = new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer);
          this.#waiting.delete(done);
          resolve();
        };
        const timer = setTimeout(done, FIRST_WORD_MS);
        this.#waiting.add(done);
      });
      await heard;
    }
    const connected = this.#port?.heard === true;
    const error = connected ? null : this.#last_error || "the native host does not answer";
    return { connected, host: HOST_NAME, error };
  }

  /** Say who we are: at every connect, and again when the account changes. */
  sendReady() {
    const { profile, account } = this.about();
    this.send({
      conn: 0,
      type: "ready",
      v_min: V_MIN,
      v_max: V_MAX,
      build: BUILD,
      extension_id: this.#chrome.extension_id,
      profile,
      account,
    });
  }

  /**
   * Send a frame; without a port it is dropped, because its connection is gone too.
   * Keys come in the order conn, type, id: the host routes by these first bytes.
   * @param {{conn: number, type: string, [field: string]: unknown}} frame
   */
  send(frame) {
    if (this.#port === null) return;
    try {
      this.#port.handle.postMessage(frame);
    } catch (error) {
      if (this.#port !== null) this.#lose(error instanceof Error ? error.message : "the port does not take messages");
    }
  }

  /** Give the port up, for a peer that broke the protocol. @param {string} reason */
  drop(reason) {
    const port = this.#port;
    if (port === null) return;
    this.#lose(reason);
    port.handle.disconnect();
  }

  #open() {
    clearTimeout(this.#retry_timer);
    const handle = this.#chrome.connectNative(HOST_NAME);
    const port = { handle, opened_ms: Date.now(), heard: false, silent_beats: 0 };
    this.#port = port;
    handle.onMessage.addListener((raw) => {
      if (this.#port === port) this.#take(port, raw);
    });
    handle.onDisconnect.addListener(() => {
      const reason = this.#chrome.lastError() ?? "the native host ended";
      if (this.#port === port) this.#lose(reason);
    });
    this.sendReady();
    this.#ping();
    clearInterval(this.#heartbeat_timer);
    this.#heartbeat_timer = setInterval(() => this.#beat(), HEARTBEAT_S * 1000);
    void this.#chrome.clearAlarm(ALARM_NAME);
  }

  /** @param {OpenPort} port @param {unknown} raw */
  #take(port, raw) {
    port.silent_beats = 0;
    if (!port.heard) {
      port.heard = true;
      this.#wakeWaiting();
      this.onConnected();
    }
    if (isObject(raw) && raw.type === "ping") this.send({ conn: 0, type: "pong", t: raw.t });
    else if (!isObject(raw) || raw.type !== "pong") this.onFrame(raw);
  }

  #ping() {
    this.send({ conn: 0, type: "ping", t: Date.now() });
  }

  #beat() {
    if (this.#port === null) return;
    this.#port.silent_beats += 1;
    if (this.#port.silent_beats > HEARTBEAT_MISSES) this.drop("the native host missed its heartbeats");
    else this.#ping();
  }

  /** @param {string} reason */
  #lose(reason) {
    const port = /** @type {OpenPort} */ (this.#port);
    this.#port = null;
    this.#last_error = reason;
    clearInterval(this.#heartbeat_timer);
    this.#failures = failuresAfterLoss(this.#failures, Date.now() - port.opened_ms);
    const wait_ms = delayAfter(this.#failures);
    this.#not_before_ms = Date.now() + wait_ms;
    const kept = { failures: this.#failures, not_before_ms: this.#not_before_ms };
    void this.#chrome.session.set({ [BACKOFF_KEY]: kept });
    this.#planRetry(wait_ms);
    this.#wakeWaiting();
    this.onLoss();
  }

  /** @param {number} wait_ms */
  #planRetry(wait_ms) {
    clearTimeout(this.#retry_timer);
    this.#retry_timer = setTimeout(() => this.start(), wait_ms);
    void this.#chrome.setAlarm(ALARM_NAME, Math.max(ALARM_MINUTES, wait_ms / 60_000));
  }

  #wakeWaiting() {
    for (const done of [...this.#waiting]) done();
  }
}
