/**
 * The frames between broker, native host and service worker: the JavaScript twin of `native_host/protocol.py`.
 *
 * Pure data, exported under the Python names; `tests/extension/test_extension_files.py` compares the two value by value.
 */

/** Which build this is; equal to `native_host/build.py` and to the manifest's version. */
export const BUILD = "0.1.0";

export const V_MIN = 1;
export const V_MAX = 1;

export const HOST_NAME = "io.notebook_gateway.host";

export const MAX_FROM_CHROME_BYTES = 64 * 1024 * 1024;
export const FRAGMENT_BYTES = 512 * 1024;
export const MAX_OPEN_CALLS_PER_CONNECTION = 32;
export const MAX_OPEN_CALLS_PER_WORKER = 128;
export const HEARTBEAT_S = 15;
export const HEARTBEAT_MISSES = 2;

export const OPS = Object.freeze(
  /** @type {const} */ ([
    "status",
    "activity",
    "identity",
    "rpc",
    "stream",
    "upload.start",
    "upload.slice",
    "upload.query",
    "upload.finish",
  ]),
);

export const EVENTS = Object.freeze(
  /** @type {const} */ ([
    "tab_discarded",
    "tab_gone",
    "signed_out",
    "account_changed",
    "paused",
    "resumed",
    "reloaded",
  ]),
);

/** @typedef {(typeof EVENTS)[number]} EventName */

/**
 * type: [required fields, optional fields]; on the Chrome leg every frame carries `conn` as well.
 * @type {Readonly<Record<string, readonly [readonly string[], readonly string[]]>>}
 */
export const MESSAGES = Object.freeze({
  hello: [["v_min", "v_max", "build", "client", "pid"], []],
  welcome: [["v", "host", "extension", "account"], []],
  conn_open: [["client", "build"], []],
  conn_close: [["reason"], []],
  ready: [["v_min", "v_max", "build", "extension_id", "profile", "account"], []],
  call: [["id", "op", "params", "notebook", "account", "not_after_ms", "trace"], []],
  result: [
    ["id", "ok"],
    ["value", "error", "hops"],
  ],
  chunk: [["id", "seq", "data"], []],
  cancel: [["id", "reason"], []],
  ping: [["t"], []],
  pong: [["t"], ["worker_last_seen_ms"]],
  event: [["name", "detail"], []],
  fragment: [["id", "seq", "last", "data"], []],
  error: [["code", "message"], []],
});

export const HOST_TO_WORKER = Object.freeze([
  "conn_open",
  "conn_close",
  "call",
  "cancel",
  "ping",
  "pong",
  "fragment",
  "error",
]);

export const WORKER_TO_HOST = Object.freeze(["ready", "result", "chunk", "event", "ping", "pong", "error"]);
