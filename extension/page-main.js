/**
 * Last of the three MAIN-world files: the page executor.
 *
 * It reads the page's tokens, adds them to one request, sends it with the page's own `fetch`, and hands the answer back
 * to the extension. Tokens never leave this file. Commands enter only as the argument of the one function at the end,
 * which the extension calls through `chrome.scripting.executeScript`; stream text leaves by pull. There is no listener.
 *
 * Outside of this model: script that already runs as the page has the person's session. It can call this function, which
 * gives it nothing that its own `fetch` would not; it can lie in `WIZ_global_data`; a service worker of the page's origin
 * sees that origin's traffic. It cannot start a call of the gateway, redirect one, widen one, or take an answer from it.
 */

/**
 * @typedef {object} Command one object per call; fields that an op does not use are null
 * @property {string} op
 * @property {string} key 128 random bits in hex: nobody else can pull or stop this call
 * @property {readonly string[]} origins the real site
 * @property {string} account
 * @property {number} not_after_ms epoch milliseconds
 * @property {string} rpc
 * @property {string} params_json
 * @property {string} source_path
 * @property {string | null} notebook
 * @property {"*" | readonly string[] | null} allow
 */
/**
 * @typedef {object} OpenStream
 * @property {string} buffer text that nobody has pulled yet
 * @property {boolean} is_done
 * @property {PageFault | null} fault how it ended, null for the service's own end
 * @property {boolean} is_pulled somebody waits for text
 * @property {() => void} wake ends that wait
 * @property {() => void} drain lets the download go on
 * @property {number} idle_timer
 */

(() => {
  "use strict";

  const page = /** @type {any} */ (globalThis);
  /** @type {Required<PageKit>} */
  const kit = page.__notebookGatewayKit;
  delete page.__notebookGatewayKit;

  const ENTRY = "__notebookGatewayExecutor";
  const BUILD = "0.1.0";
  const APP_PREFIX = "/_/LabsTailwindUi";
  const RPC_PATH = "/data/batchexecute";
  const STREAM_PATH =
    "/data/google.internal.labs.tailwind.orchestration.v1.LabsTailwindOrchestrationService/GenerateFreeFormStreamed";
  /** Where the page says whose it is. `oPEP7c` is on every recorded page, `oM1Kwf` is kept as an alternative (C-051). */
  const IDENTITY_KEYS = ["oPEP7c", "oM1Kwf"];
  /** The web app's counters: `_reqid` of streams starts at 200000 and grows by 100000 (wire reference, 8.1). */
  const REQUEST_STEP = 100_000;
  /** Text held for a reader; the download waits while there is more. */
  const HIGH_WATER_UTF16 = 1024 * 1024;
  /** A stream that nobody pulls any more belonged to a worker that is gone. */
  const UNPULLED_MS = 60_000;

  const { drift, encodeComponent, fault, http, own, read } = kit;
  const { indexOf, lastIndexOf, lower, slice } = kit.text;
  const { location, document } = page;

  const loaded_ms = kit.now_ms();
  let rpc_count = 0;
  let stream_count = REQUEST_STEP;
  /** How to stop what runs, by key. */
  const aborts = /** @type {Record<string, () => void>} */ (/** @type {unknown} */ ({ __proto__: null }));
  const streams = /** @type {Record<string, OpenStream>} */ (/** @type {unknown} */ ({ __proto__: null }));
  const nothing = () => {};

  // ------------------------------------------------------------------------------------------------------ the page
  /** @param {string} key */
  function wizText(key) {
    const value = read(page.WIZ_global_data, key);
    return typeof value === "string" ? value : "";
  }

  /**
   * Check that this page is the app, signed in, with the expected account; return its tokens.
   * @param {Command} command
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
    return { __proto__: null, origin, csrf, account, session, label };
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
  /**
   * Check everything and call `fetch`, in one synchronous turn: a tab that was frozen in between sends nothing late.
   * @param {Command} command @param {string} path @param {string} query @param {string} form_request
   * @param {AbortController} controller
   */
  function send(command, path, query, form_request, controller) {
    kit.refuseTampering(false);
    const tokens = readPage(command);
    if (kit.now_ms() > command.not_after_ms) {
      throw fault("TIMEOUT", "The page came to the call after its deadline; nothing was sent.", false);
    }
    const url =
      `${tokens.origin}${APP_PREFIX}${path}?${query}&bl=${encodeComponent(tokens.label)}` +
      `&f.sid=${encodeComponent(tokens.session)}&hl=en&rt=c&authuser=${encodeComponent(tokens.account)}`;
    const init = {
      __proto__: null,
      method: "POST",
      credentials: "include",
      redirect: "manual", // tokens are not posted on to wherever a redirect points
      headers: { __proto__: null, "content-type": "application/x-www-form-urlencoded;charset=UTF-8" },
      body: `f.req=${encodeComponent(form_request)}&at=${encodeComponent(tokens.csrf)}&`,
      signal: kit.abort.signal(controller),
    };
    return own(http.send(page, url, init));
  }

  /** @param {Response} response */
  function refuseRedirect(response) {
    if (http.type(response) !== "opaqueredirect") return;
    throw fault("AUTH_REQUIRED", "The service redirected the call: the page is signed out.", true);
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

  /** @param {Command} command */
  async function runRpc(command) {
    const controller = new kit.abort.Controller();
    const began_ms = kit.clock_ms();
    let is_aborted = false;
    aborts[command.key] = () => {
      is_aborted = true;
      kit.abort.now(controller);
    };
    try {
      rpc_count += REQUEST_STEP;
      const source_path = encodeComponent(command.source_path);
      const query = `rpcids=${encodeComponent(command.rpc)}&source-path=${source_path}&_reqid=${rpc_count}`;
      const form_request = `[[[${kit.toJson(command.rpc)},${kit.toJson(command.params_json)},null,"generic"]]]`;
      const response = await send(command, RPC_PATH, query, form_request, controller);
      refuseRedirect(response);
      const status = http.status(response);
      const body = await own(http.text(response));
      const fetch_ms = kit.clock_ms() - began_ms;
      const answer = status === 200 ? kit.inspect(command, body) : { body, owned: null };
      const retry_after_s = retryAfter(response);
      return { __proto__: null, ok: true, status, body: answer.body, owned: answer.owned, retry_after_s, fetch_ms };
    } catch (error) {
      throw faultOf(error, is_aborted, "UPSTREAM_REJECTED");
    } finally {
      delete aborts[command.key];
    }
  }

  // -------------------------------------------------------------------------------------------------- answer streams
  /** Send the question and return when the answer's head is there. @param {Command} command */
  async function openStream(command) {
    const controller = new kit.abort.Controller();
    const began_ms = kit.clock_ms();
    let is_aborted = false;
    aborts[command.key] = () => {
      is_aborted = true;
      kit.abort.now(controller);
    };
    try {
      stream_count += REQUEST_STEP;
      const form_request = `[null,${kit.toJson(command.params_json)}]`;
      const query = `source-path=${encodeComponent(command.source_path)}&_reqid=${stream_count}`;
      const response = await send(command, STREAM_PATH, query, form_request, controller);
      refuseRedirect(response);
      /** @type {OpenStream} */
      const stream = /** @type {any} */ ({
        __proto__: null,
        buffer: "",
        is_done: false,
        fault: null,
        is_pulled: false,
        wake: nothing,
        drain: nothing,
        idle_timer: 0,
      });
      streams[command.key] = stream;
      watchIdle(command.key, stream);
      void download(http.body(response), stream, () => is_aborted);
      const fetch_ms = kit.clock_ms() - began_ms;
      return {
        __proto__: null,
        ok: true,
        status: http.status(response),
        retry_after_s: retryAfter(response),
        fetch_ms,
      };
    } catch (error) {
      delete aborts[command.key];
      throw faultOf(error, is_aborted, "UPSTREAM_REJECTED");
    }
  }

  /**
   * Move text from the network into the buffer, and wait while nobody pulls it. Piped into a sink because a reader's
   * `{done, value}` would be an object with the page's prototype.
   * @param {ReadableStream | null} body @param {OpenStream} stream @param {() => boolean} isAborted
   */
  async function download(body, stream, isAborted) {
    const decoder = new kit.streams.Decoder();
    const more = { __proto__: null, stream: true };
    const sink = {
      __proto__: null,
      /** @param {Uint8Array} bytes */
      write(bytes) {
        stream.buffer += kit.streams.decode(decoder, bytes, more);
        if (stream.buffer !== "") stream.wake();
        if (stream.buffer.length < HIGH_WATER_UTF16) return undefined;
        return own(
          new kit.Promise((/** @type {(value: undefined) => void} */ resolve) => {
            stream.drain = () => resolve(undefined);
          }),
        );
      },
    };
    try {
      if (body !== null) await own(kit.streams.pipeTo(body, new kit.streams.Writable(/** @type {any} */ (sink))));
      stream.buffer += kit.streams.decode(decoder);
    } catch (error) {
      stream.fault = faultOf(error, isAborted(), "STREAM_SEVERED");
    }
    stream.is_done = true;
    stream.wake();
  }

  /** Return the text that has arrived, waiting for the first piece of it. @param {Command} command */
  async function pull(command) {
    const stream = streams[command.key];
    if (stream === undefined || stream.is_pulled) {
      throw fault("STREAM_SEVERED", "This page has no such answer stream.", true);
    }
    kit.clearTimer(stream.idle_timer);
    if (stream.buffer === "" && !stream.is_done) {
      stream.is_pulled = true;
      await own(
        new kit.Promise((/** @type {(value: undefined) => void} */ resolve) => {
          stream.wake = () => resolve(undefined);
        }),
      );
      stream.is_pulled = false;
      stream.wake = nothing;
    }
    const text = stream.buffer;
    stream.buffer = "";
    const { is_done } = stream;
    if (is_done) {
      delete streams[command.key];
      delete aborts[command.key];
    } else {
      watchIdle(command.key, stream);
      stream.drain();
    }
    return { __proto__: null, ok: true, text, done: is_done, error: is_done ? stream.fault : null };
  }

  /** @param {string} key @param {OpenStream} stream */
  function watchIdle(key, stream) {
    stream.idle_timer = kit.setTimer(() => {
      stop(key);
      delete streams[key];
      delete aborts[key];
    }, UNPULLED_MS);
  }

  /** @param {string} key */
  function stop(key) {
    const abort = aborts[key];
    if (abort !== undefined) abort();
    const stream = streams[key];
    if (stream !== undefined) stream.drain(); // so that the stopped download can end
  }

  // -------------------------------------------------------------------------------------------------------- the door
  /** @type {Record<string, (command: Command) => Promise<object>>} */
  const OPS = {
    // @ts-expect-error: TypeScript does not know this form of an object literal; it leaves the table without prototype
    __proto__: null,
    probe: async () => {
      const is_ready = read(page.WIZ_global_data, "Im6cmf") !== undefined || document.readyState !== "loading";
      return { __proto__: null, ok: true, build: BUILD, ready: is_ready, loaded_ms };
    },
    identity: async (command) => {
      kit.refuseTampering(false);
      const { account, origin, label } = readPage(command);
      return { __proto__: null, ok: true, account, origin, build_label: label };
    },
    rpc: runRpc,
    stream: openStream,
    pull,
    abort: async (command) => {
      stop(command.key);
      return { __proto__: null, ok: true };
    },
  };

  const FIELDS = [
    "op",
    "key",
    "origins",
    "account",
    "not_after_ms",
    "rpc",
    "params_json",
    "source_path",
    "notebook",
    "allow",
  ];

  /** @param {unknown} raw @returns {Promise<object>} `{ok: true, …}`, or `{ok: false, error}`; never rejects */
  async function execute(raw) {
    const command = /** @type {any} */ ({ __proto__: null });
    for (let i = 0; i < FIELDS.length; i += 1) {
      const name = /** @type {string} */ (FIELDS[i]);
      command[name] = read(raw, name);
    }
    try {
      const run = OPS[command.op];
      if (run === undefined) throw fault("INTERNAL", "The page executor knows no such command.", false);
      return await own(run(command));
    } catch (error) {
      const { code, message, started, detail } = faultOf(error, false, "INTERNAL");
      const plain = { __proto__: null, code, message, started, detail };
      return /** @type {any} */ ({ __proto__: null, ok: false, error: plain });
    }
  }

  const entry = {
    __proto__: null,
    value: (/** @type {unknown} */ command) => own(execute(command)),
    writable: false,
    enumerable: false,
    configurable: false,
  };
  kit.defineProperty(page, ENTRY, /** @type {any} */ (entry));
})();
