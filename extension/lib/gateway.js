/**
 * The worker's switchboard: frames in, calls admitted and run, exactly one result out for each.
 */

import { admit } from "./admission.js";
import { DuplicateCall, OpenCalls } from "./calls.js";
import { GatewayFault, asFault } from "./errors.js";
import { PageGone } from "./executor.js";
import { BadFragment, FragmentJoiner } from "./fragments.js";
import { isCount, isObject, parseFrame } from "./frames.js";
import { runIdentity, runRpc, runStatus, runStream } from "./ops.js";
import { pausedFault } from "./pause.js";
import { runUploadStart, runUploadStep } from "./upload_ops.js";

/** @typedef {import("./frames.js").CallFrame} CallFrame */
/** @typedef {import("./frames.js").HostFrame} HostFrame */
/** @typedef {import("./calls.js").Call} Call */
/** @typedef {import("./executor.js").Executor} Executor */
/** @typedef {import("./executor.js").Page} Page */
/** @typedef {import("./native_port.js").NativePort} NativePort */
/** @typedef {import("./settings.js").SettingsStore} SettingsStore */
/** @typedef {import("./ownership.js").Ownership} Ownership */
/** @typedef {import("./tabs.js").TabKeeper} TabKeeper */
/** @typedef {import("./uploads.js").Uploads} Uploads */
/** @typedef {import("./pause.js").PauseSwitch} PauseSwitch */
/** @typedef {import("./activity.js").Activity} Activity */
/** @typedef {import("./ops.js").Context} Context */
/** @typedef {import("./admission.js").Plan} Plan */
/**
 * @typedef {object} Parts
 * @property {NativePort} port
 * @property {SettingsStore} settings
 * @property {PauseSwitch} pause
 * @property {Activity} activity
 * @property {Ownership} ownership
 * @property {Uploads} uploads
 * @property {TabKeeper} tabs
 * @property {Executor} executor
 * @property {string} extension_id
 */

export class Gateway {
  calls = new OpenCalls();
  /** When a broker called last, in epoch milliseconds; the start of this worker if none has. The keeper asks. */
  last_call_ms = Date.now();
  #fragments = new FragmentJoiner();
  #parts;
  #is_signed_out = false;
  /** The port was connected or lost, or agents were paused or let go on. @type {() => void} */
  onChange = () => {};

  /** @param {Parts} parts */
  constructor(parts) {
    this.#parts = parts;
    const { activity, pause, port, settings, tabs } = parts;
    port.about = () => ({ profile: settings.profile, account: settings.current.account });
    port.onFrame = (raw) => this.take(raw);
    port.onLoss = () => {
      this.#fragments.clear();
      this.calls.endAll();
      activity.closedAll();
      this.onChange();
    };
    port.onConnected = () => this.onChange();
    pause.onChange = (is_on) => {
      // Writes that a page has go on: stopping one would not undo it (ADR-043).
      if (is_on) this.calls.endReads((started) => pausedFault(started));
      this.#sendEvent(is_on ? "paused" : "resumed", {});
      this.onChange();
    };
    tabs.countCalls = (tab_id) => this.calls.countInTab(tab_id);
    tabs.onLoss = (tab_id, name, message) => {
      this.calls.endInTab(tab_id, message);
      this.#sendEvent(name, { message });
    };
    settings.onChange = (before, now) => {
      if (before.account !== now.account) void this.#changeAccount();
    };
  }

  /**
   * Handle one frame of the host.
   * @param {unknown} raw
   */
  take(raw) {
    try {
      this.#dispatch(parseFrame(raw));
    } catch (error) {
      this.#refuse(raw, error);
    }
  }

  /** @param {HostFrame} frame */
  #dispatch(frame) {
    switch (frame.type) {
      case "call":
        void this.#run(frame, this.calls.open(frame.conn, frame.id));
        break;
      case "cancel": {
        const page = this.calls.cancel(frame.conn, frame.id, frame.reason);
        if (page !== null) this.#parts.tabs.invalidate(page); // as below: perhaps it is frozen
        break;
      }
      case "conn_open":
        this.#parts.activity.opened(frame.conn, frame.client);
        break;
      case "conn_close":
        this.#parts.activity.closed(frame.conn);
        this.#fragments.drop(frame.conn);
        this.calls.endConnection(frame.conn);
        break;
      case "fragment": {
        const whole = this.#fragments.take(frame);
        if (whole === undefined) break;
        // A fragment inside a fragment, or a frame for another connection, is nothing a host sends.
        if (!isObject(whole) || whole.type === "fragment" || whole.conn !== frame.conn) {
          throw new BadFragment("the joined message is no frame of its own connection");
        }
        this.take(whole);
        break;
      }
      case "error":
        this.#parts.port.drop(`the native host reports ${frame.code}: ${frame.message}`);
        break;
      case "ping": // both are answered by the port itself
      case "pong":
        break;
    }
  }

  /**
   * A call that is refused gets its result; any other breach ends the connection it came from, and the host's own ends
   * the port.
   * @param {unknown} raw
   * @param {unknown} error
   */
  #refuse(raw, error) {
    const { port } = this.#parts;
    const is_ours = [TypeError, BadFragment, DuplicateCall, GatewayFault].some((kind) => error instanceof kind);
    const message = is_ours && error instanceof Error ? error.message : "the frame could not be handled";
    const { conn, type, id } = isObject(raw) ? raw : { conn: 0, type: "", id: 0 };
    if (!isCount(conn) || conn === 0) {
      port.drop(`the native host broke the protocol: ${message}`);
    } else if (type === "call" && isCount(id) && !(error instanceof DuplicateCall)) {
      const fault = error instanceof GatewayFault ? error : new GatewayFault("INVALID_ARGUMENT", message);
      port.send({ conn, type: "result", id, ok: false, error: fault.toWire() });
    } else {
      port.send({ conn, type: "error", code: "INVALID_ARGUMENT", message });
    }
  }

  /**
   * @param {CallFrame} frame
   * @param {Call} call
   */
  async #run(frame, call) {
    const began_ms = performance.now();
    this.last_call_ms = Date.now();
    /** @type {Record<string, number>} */
    const hops = { worker_ms: 0 };
    const over = this.#parts.activity.begin(frame);
    const work = this.#perform(frame, call, hops);
    let outcome;
    try {
      const value = await Promise.race([work, call.ended]);
      outcome = { ok: true, value };
      over("ok");
      this.#is_signed_out = false;
    } catch (error) {
      const fault = asFault(error, call.page !== null);
      this.#afterFault(call, fault);
      over(fault.code);
      outcome = { ok: false, error: fault.toWire() };
    }
    hops.worker_ms = performance.now() - began_ms;
    if (call.is_ended && call.is_write_under_way) {
      // Nobody waits for it any longer; the page still works on it, and its tab must not be reloaded under it.
      this.calls.detach(call);
      const close = () => this.calls.close(call);
      work.then(close, close);
    } else {
      this.calls.close(call);
    }
    if (call.is_silent) return;
    this.#parts.port.send({ conn: call.conn, type: "result", id: call.id, ...outcome, hops });
  }

  /**
   * @param {CallFrame} frame
   * @param {Call} call
   * @param {Record<string, number>} hops filled in on the way
   * @returns {Promise<unknown>} the result's value
   */
  async #perform(frame, call, hops) {
    const { settings, ownership, tabs, uploads } = this.#parts;
    const plan = admit(frame, settings.current, {
      ownerOf: (id) => ownership.ownerOf(id),
      uploadOf: (handle) => uploads.find(handle),
    });
    if (plan.op === "status") return runStatus(this.#parts, this.calls.size);
    if (plan.op === "activity") return { entries: this.#parts.activity.latest(plan.limit) };
    if (this.#parts.pause.is_on) throw pausedFault();
    call.is_write = "is_write" in plan && plan.is_write;
    const began_ms = performance.now();
    for (let is_second_try = false; ; is_second_try = true) {
      const refresh = plan.op === "identity" && plan.refresh && !is_second_try;
      const page = await tabs.ready({ account: plan.account, not_after_ms: frame.not_after_ms, refresh });
      hops.tab_ms = performance.now() - began_ms;
      await notEnded(call);
      call.page = page;
      const context = { parts: this.#parts, call, page, hops, not_after_ms: frame.not_after_ms };
      try {
        return await this.#runInPage(context, plan);
      } catch (error) {
        if (!(error instanceof PageGone)) throw error;
        // Proof that nothing ran there: the document was gone before the command came.
        call.page = null;
        tabs.invalidate(page);
        if (is_second_try) throw new GatewayFault("TAB_DISCARDED", "The notebook page went away twice in a row.");
      }
    }
  }

  /** @param {Context} context @param {Exclude<Plan, {op: "status" | "activity"}>} plan @returns {Promise<unknown>} */
  #runInPage(context, plan) {
    switch (plan.op) {
      case "identity":
        return runIdentity(context, plan);
      case "rpc":
        return runRpc(context, plan);
      case "stream":
        return runStream(context, plan, (seq, data) => this.#sendChunk(context.call, seq, data));
      case "upload.start":
        return runUploadStart(context, plan);
      default:
        return runUploadStep(context, plan);
    }
  }

  /** @param {Call} call @param {GatewayFault} fault */
  #afterFault(call, fault) {
    const { executor, tabs } = this.#parts;
    if (call.page !== null && ["CANCELLED", "TIMEOUT", "COMPANION_OFFLINE"].includes(fault.code)) {
      if (!call.is_write) void executor.abort(call.page, call.key);
      tabs.invalidate(call.page); // perhaps it is frozen: ask it before the next call (C-044)
    }
    if (call.page !== null && ["AUTH_REQUIRED", "ACCOUNT_MISMATCH"].includes(fault.code)) tabs.suspect();
    if (fault.code === "AUTH_REQUIRED" && !this.#is_signed_out) {
      this.#is_signed_out = true;
      this.#sendEvent("signed_out", { message: fault.message });
    }
  }

  /** @param {Call} call @param {number} seq @param {string} data */
  #sendChunk(call, seq, data) {
    if (call.is_closed) return; // nothing follows a result
    call.touch();
    this.#parts.port.send({ conn: call.conn, type: "chunk", id: call.id, seq, data });
  }

  /** @param {import("./protocol.js").EventName} name @param {Record<string, unknown>} detail to every broker */
  #sendEvent(name, detail) {
    this.#parts.port.send({ conn: 0, type: "event", name, detail });
  }

  async #changeAccount() {
    const { ownership, port, settings, tabs, uploads } = this.#parts;
    port.sendReady();
    this.#sendEvent("account_changed", { account: settings.current.account });
    await ownership.clear();
    await uploads.clear();
    await tabs.forget();
  }
}

/** Throw what ended the call, if something did while it waited. @param {Call} call @returns {Promise<void>} */
function notEnded(call) {
  return Promise.race([call.ended, Promise.resolve()]);
}
