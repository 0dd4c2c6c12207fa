/**
 * Last of the MAIN-world files: the page executor.
 *
 * It has one request made with the page's own tokens and `fetch`, and hands the answer back to the extension. Commands
 * enter only as the argument of the one function at the end,
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
 * @property {boolean} is_write it is never stopped
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
  const RPC_PATH = "/data/batchexecute";
  const STREAM_PATH =
    "/data/google.internal.labs.tailwind.orchestration.v1.LabsTailwindOrchestrationService/GenerateFreeFormStreamed";
  /** The web app's counters: `_reqid` of streams starts at 200000 and grows by 100000 (wire reference, 8.1). */
  const REQUEST_STEP = 100_000;
  /** Text held for a reader; the download waits while there is more. */
  const HIGH_WATER_UTF16 = 1024 * 1024;
  /** A stream that nobody pulls any more belonged to a worker that is gone. */
  const UNPULLED_MS = 60_000;

  const { encodeComponent, fault, http, own, read, uploads } = kit;
  const { faultOf, identity, isAppPage, refuseRedirect, retryAfter, sendCall } = kit.requests;
  const { document } = page;

  const loaded_ms = kit.now_ms();
  let rpc_count = 0;
  let stream_count = REQUEST_STEP;
  /** How to stop what runs, by key. */
  const aborts = /** @type {Record<string, () => void>} */ (/** @type {unknown} */ ({ __proto__: null }));
  const streams = /** @type {Record<string, OpenStream>} */ (/** @type {unknown} */ ({ __proto__: null }));
  const nothing = () => {};

  /** @param {Command} command */
  async function runRpc(command) {
    const controller = new kit.abort.Controller();
    const began_ms = kit.clock_ms();
    let is_aborted = false;
    if (command.is_write !== true) {
      aborts[command.key] = () => {
        is_aborted = true;
        kit.abort.now(controller);
      };
    }
    try {
      rpc_count += REQUEST_STEP;
      const source_path = encodeComponent(command.source_path);
      const query = `rpcids=${encodeComponent(command.rpc)}&source-path=${source_path}&_reqid=${rpc_count}`;
      const form_request = `[[[${kit.toJson(command.rpc)},${kit.toJson(command.params_json)},null,"generic"]]]`;
      const response = await sendCall(command, RPC_PATH, query, form_request, controller);
      refuseRedirect(response);
      const status = http.status(response);
      const body = await own(http.text(response));
      const fetch_ms = kit.clock_ms() - began_ms;
      // What comes with a refusal is a page for people, and says nothing that the status does not (C-029).
      const answer = status === 200 ? kit.inspect(command, body) : { body: "", owned: null };
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
      const response = await sendCall(command, STREAM_PATH, query, form_request, controller);
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
      void download(response, stream, () => is_aborted);
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
   * Of a refusal, and of a web page in the place of data, nothing is kept.
   * @param {Response} response @param {OpenStream} stream @param {() => boolean} isAborted
   */
  async function download(response, stream, isAborted) {
    const body = http.body(response);
    const is_refusal = http.status(response) !== 200;
    let is_start = true;
    const decoder = new kit.streams.Decoder();
    const more = { __proto__: null, stream: true };
    const sink = {
      __proto__: null,
      /** @param {Uint8Array} bytes */
      write(bytes) {
        if (is_refusal) return undefined;
        const text = kit.streams.decode(decoder, bytes, more);
        if (is_start) kit.refuseWebPage(text);
        is_start &&= text === "";
        stream.buffer += text;
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
      const is_ready = isAppPage() || document.readyState !== "loading";
      return { __proto__: null, ok: true, build: BUILD, ready: is_ready, loaded_ms };
    },
    identity: async (command) => {
      const { account, origin, label } = identity(command);
      return { __proto__: null, ok: true, account, origin, build_label: label };
    },
    rpc: runRpc,
    stream: openStream,
    pull,
    "upload.start": uploads.start,
    "upload.slice": uploads.takeSlice,
    "upload.query": uploads.query,
    "upload.finish": uploads.finish,
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
    "is_write",
    "upload",
    "url",
    "offset",
    "data",
    "source",
    "name",
    "size_bytes",
    "granularity_bytes",
    "mime_type",
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
