/**
 * First of the MAIN-world files: copies of the page's built-ins, taken before any script of the page can run, and
 * the few helpers that are built on them.
 *
 * Rules for all of them, because everything on the page's prototypes may be replaced later:
 * - built-ins are called through the copies here; no method is looked up on a value;
 * - no iteration protocol (for-of, spread into a list, list patterns): it goes through replaceable iterators;
 * - own objects have no prototype, so an inherited `then`, `toJSON`, `get` or `signal` is never met;
 * - only promises passed through `own` are awaited, because `await` looks at the promise's `constructor`.
 *
 * The kit is handed on through one property, which `page-main.js` removes again; all files run in one go.
 */

/** @typedef {(self: any, ...args: any[]) => any} Uncurried a built-in method with its receiver as first argument */
/** @typedef {{is_fault: true, code: string, message: string, started: boolean, detail: object}} PageFault */
/** @typedef {{body: string, owned: {kind: "source" | "note" | "conversation", ids: string[]} | null}} InspectedAnswer */
/** @typedef {{rpc: string, notebook: string | null, allow: "*" | readonly string[] | null}} AnswerRule */
/**
 * @typedef {object} RequestBounds what every command that sends something has
 * @property {readonly string[]} origins the real site
 * @property {string} account
 * @property {number} not_after_ms epoch milliseconds
 */
/** @typedef {{account: string, account_index: string}} AccountSelectors what `authuser` may be for the page's account */
/**
 * @typedef {object} PageRequests
 * @property {(command: RequestBounds) => {account: string, origin: string, label: string}} identity
 * @property {() => boolean} isAppPage
 * @property {(command: RequestBounds) => void} refuseWrongPage throws a PageFault
 * @property {(command: RequestBounds, path: string, query: string, form_request: string,
 *   controller: AbortController | null) => Promise<Response>} sendCall
 * @property {(command: RequestBounds, targetOf: (selectors: AccountSelectors) => string, headers: object,
 *   body: BodyInit | undefined) => Promise<Response>} sendBytes
 * @property {(response: Response) => void} refuseRedirect throws a PageFault
 * @property {(response: Response) => number | null} retryAfter
 * @property {(error: unknown, is_aborted: boolean, code: string) => PageFault} faultOf
 */
/** @typedef {"active" | "final" | "cancelled"} UploadState */
/**
 * @typedef {object} UploadAnswers
 * @property {(selectors: AccountSelectors) => string} startTarget
 * @property {(command: UploadCommand) => (selectors: AccountSelectors) => string} sessionOf
 * @property {(response: Response, command: UploadCommand, selectors: AccountSelectors) => string} sessionAddress
 * @property {(response: Response, stage: string) => void} refuseFailure throws a PageFault
 * @property {(response: Response) => number} granularity in bytes
 * @property {(response: Response, stage: string, size_bytes: number) => number | null} receivedBytes
 * @property {(response: Response, stage: string) => UploadState} statusOf
 * @property {(response: Response) => boolean} isActive
 */
/** @typedef {Record<"start" | "takeSlice" | "query" | "finish", (command: any) => Promise<object>>} PageUploads */
/**
 * @typedef {object} PageKit
 * @property {(inspection: AnswerRule, body: string) => InspectedAnswer} [inspect] added by `page-answers.js`
 * @property {(body: string) => void} [refuseWebPage] throws a PageFault; added by `page-answers.js`
 * @property {PageRequests} [requests] added by `page-request.js`
 * @property {UploadAnswers} [uploadAnswers] added by `page-upload-answers.js`
 * @property {PageUploads} [uploads] added by `page-upload.js`
 * @property {typeof Reflect.defineProperty} defineProperty
 * @property {(holder: object, name: string) => boolean} has inherited properties too
 * @property {typeof Array.isArray} isArray
 * @property {(text: string) => unknown} parseJson
 * @property {(value: unknown) => string} toJson
 * @property {typeof encodeURIComponent} encodeComponent
 * @property {(text: string) => number} toNumber
 * @property {() => number} now_ms epoch milliseconds
 * @property {() => number} clock_ms monotonic milliseconds
 * @property {(text: string) => number} parseDate
 * @property {(action: () => void, delay_ms: number) => number} setTimer
 * @property {(timer: number) => void} clearTimer
 * @property {{indexOf: Uncurried, lastIndexOf: Uncurried, slice: Uncurried, lower: Uncurried}} text
 * @property {{send: Uncurried, text: Uncurried, type: Uncurried, status: Uncurried, headers: Uncurried, body: Uncurried,
 *   header: Uncurried}} http
 * @property {{Writable: typeof WritableStream, pipeTo: Uncurried, Decoder: typeof TextDecoder, decode: Uncurried}} streams
 * @property {{Controller: typeof AbortController, signal: Uncurried, now: Uncurried}} abort
 * @property {(text: string) => number} sizeUtf8
 * @property {{Bytes: typeof Uint8Array, lengthOf: Uncurried, ofText: (text: string) => Uint8Array<ArrayBuffer>,
 *   setAt: Uncurried, view: (bytes: Uint8Array, from: number, length: number) => Uint8Array<ArrayBuffer>}} bytes
 * @property {{Parser: typeof URL, origin: Uncurried, username: Uncurried, password: Uncurried, pathname: Uncurried,
 *   search: Uncurried, params: Uncurried, all: Uncurried}} url
 * @property {typeof Promise} Promise
 * @property {<T>(promise: Promise<T>) => Promise<T>} own makes a promise safe to await
 * @property {(value: unknown, key: string | number) => any} read an own property, or undefined
 * @property {(list: any[], value: unknown) => void} append
 * @property {(code: string, message: string, started: boolean, detail?: object) => PageFault} fault
 * @property {(rpc: string, path: string, expected: string, started: boolean) => PageFault} drift
 * @property {(started: boolean) => void} refuseTampering throws a PageFault
 */

(() => {
  "use strict";

  const page = /** @type {any} */ (globalThis);
  const { apply, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, has } = Reflect;
  const PristinePromise = Promise;
  const ObjectPrototype = Object.prototype;
  const ArrayPrototype = Array.prototype;

  /** @param {Function} method @returns {Uncurried} */
  const uncurry =
    (method) =>
    (self, ...args) =>
      apply(method, self, args);

  /** @param {object} prototype @param {string} name @returns {Uncurried} */
  const getter = (prototype, name) => {
    for (let holder = /** @type {object | null} */ (prototype); holder !== null; holder = getPrototypeOf(holder)) {
      const found = getOwnPropertyDescriptor(holder, name);
      if (found?.get) return uncurry(found.get);
    }
    throw new TypeError(`no getter ${name}`);
  };

  const hasOwn = uncurry(ObjectPrototype.hasOwnProperty);
  const encoder = new TextEncoder();
  const encode = uncurry(TextEncoder.prototype.encode);
  const PristineBytes = Uint8Array;
  const bytesLength = getter(PristineBytes.prototype, "length");
  const bufferOf = getter(PristineBytes.prototype, "buffer");
  const performanceNow = uncurry(page.performance.now);
  const { performance, setTimeout, clearTimeout } = page;
  const pageFetch = page.fetch;

  /** @param {string} code @param {string} message @param {boolean} started @param {object} [detail] @returns {PageFault} */
  function fault(code, message, started, detail) {
    const made = { __proto__: null, is_fault: true, code, message, started, detail: detail ?? { __proto__: null } };
    return /** @type {any} */ (made);
  }

  /** @param {string} rpc @param {string} path @param {string} expected @param {boolean} started */
  function drift(rpc, path, expected, started) {
    const detail = { __proto__: null, rpc_id: rpc, path, expected };
    return fault("UPSTREAM_SCHEMA_DRIFT", `${rpc}: expected ${expected} at ${path}`, started, detail);
  }

  /** @type {PageKit} */
  const kit = {
    // @ts-expect-error: TypeScript does not know this form of an object literal; it gives the kit no prototype
    __proto__: null,
    defineProperty,
    has,
    isArray: Array.isArray,
    parseJson: JSON.parse,
    toJson: JSON.stringify,
    encodeComponent: encodeURIComponent,
    toNumber: Number,
    now_ms: Date.now,
    clock_ms: () => performanceNow(performance),
    parseDate: Date.parse,
    setTimer: (action, delay_ms) => apply(setTimeout, page, [action, delay_ms]),
    clearTimer: (timer) => apply(clearTimeout, page, [timer]),
    text: /** @type {any} */ ({
      __proto__: null,
      indexOf: uncurry(String.prototype.indexOf),
      lastIndexOf: uncurry(String.prototype.lastIndexOf),
      slice: uncurry(String.prototype.slice),
      lower: uncurry(String.prototype.toLowerCase),
    }),
    http: /** @type {any} */ ({
      __proto__: null,
      send: uncurry(pageFetch),
      text: uncurry(Response.prototype.text),
      type: getter(Response.prototype, "type"),
      status: getter(Response.prototype, "status"),
      headers: getter(Response.prototype, "headers"),
      body: getter(Response.prototype, "body"),
      header: uncurry(Headers.prototype.get),
    }),
    streams: /** @type {any} */ ({
      __proto__: null,
      Writable: WritableStream,
      pipeTo: uncurry(ReadableStream.prototype.pipeTo),
      Decoder: TextDecoder,
      decode: uncurry(TextDecoder.prototype.decode),
    }),
    abort: /** @type {any} */ ({
      __proto__: null,
      Controller: AbortController,
      signal: getter(AbortController.prototype, "signal"),
      now: uncurry(AbortController.prototype.abort),
    }),
    sizeUtf8: (text) => bytesLength(encode(encoder, text)),
    bytes: /** @type {any} */ ({
      __proto__: null,
      Bytes: PristineBytes,
      lengthOf: bytesLength,
      ofText: (/** @type {string} */ text) => encode(encoder, text),
      setAt: uncurry(PristineBytes.prototype.set),
      // Not `subarray`, which asks the list for its constructor. Only for lists that begin where their buffer does.
      view: (/** @type {Uint8Array} */ bytes, /** @type {number} */ from, /** @type {number} */ length) =>
        new PristineBytes(bufferOf(bytes), from, length),
    }),
    url: /** @type {any} */ ({
      __proto__: null,
      Parser: URL,
      origin: getter(URL.prototype, "origin"),
      username: getter(URL.prototype, "username"),
      password: getter(URL.prototype, "password"),
      pathname: getter(URL.prototype, "pathname"),
      search: getter(URL.prototype, "search"),
      params: getter(URL.prototype, "searchParams"),
      all: uncurry(URLSearchParams.prototype.getAll),
    }),
    Promise: PristinePromise,
    own(promise) {
      const constructor = { __proto__: null, value: PristinePromise };
      defineProperty(promise, "constructor", /** @type {any} */ (constructor));
      return promise;
    },
    read(value, key) {
      return value !== null && typeof value === "object" && hasOwn(value, key)
        ? /** @type {any} */ (value)[key]
        : undefined;
    },
    append(list, value) {
      // Not `list[n] = value`: that would meet a setter somebody put on Array.prototype.
      const slot = { __proto__: null, value, writable: true, enumerable: true, configurable: true };
      defineProperty(list, list.length, /** @type {any} */ (slot));
    },
    fault,
    drift,
    refuseTampering(started) {
      // Where native code passes our results: a trap here would see them. Fail closed.
      if (has(ObjectPrototype, "then")) throw drift("page", "Object.prototype.then", "no such property", started);
      if (has(ObjectPrototype, "toJSON")) throw drift("page", "Object.prototype.toJSON", "no such property", started);
      if (has(ArrayPrototype, "toJSON")) throw drift("page", "Array.prototype.toJSON", "no such property", started);
    },
  };

  // A promise that is resolved with an object asks the object for `then`. For a Response the answer stays here, whatever
  // is put on Object.prototype while a request runs.
  const noThen = { __proto__: null, value: undefined, writable: false, enumerable: false, configurable: false };
  defineProperty(Response.prototype, "then", /** @type {any} */ (noThen));

  const handed_on = { __proto__: null, value: kit, configurable: true };
  defineProperty(page, "__notebookGatewayKit", /** @type {any} */ (handed_on));
})();
