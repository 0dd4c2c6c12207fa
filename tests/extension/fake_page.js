/**
 * A notebook page in a `node:vm` context: its own built-ins, the page scripts of the extension loaded at "document_start",
 * and a `fetch` double. `run` is what `chrome.scripting.executeScript` does with the entry.
 */

import { readFileSync } from "node:fs";
import vm from "node:vm";

const EXTENSION = new URL("../../extension/", import.meta.url);
/** The MAIN-world files in their order. */
export const SCRIPTS = JSON.parse(readFileSync(new URL("manifest.json", EXTENSION), "utf-8")).content_scripts[0].js;
const TEXT = SCRIPTS.map((name) => ({ name, code: readFileSync(new URL(name, EXTENSION), "utf-8") }));

export const ACCOUNT = "worker@example.com";
export const NOTEBOOK = "1a2b3c4d-0001-4a00-8b00-00000000000a";
export const OTHER_NOTEBOOK = "1a2b3c4d-0002-4a00-8b00-00000000000b";
export const ORIGINS = [
  "https://notebook.google.com",
  "https://notebooklm.google.com",
  "https://notebook.cloud.google.com",
  "https://notebooklm.cloud.google.com",
];

export const SIGNED_IN = {
  QrtxK: "1",
  SNlM0e: "csrf-secret:1900000000000",
  FdrFJe: "-1000000000000000001",
  cfb2h: "boq_labs-tailwind-frontend_20261101.00_p0",
  Im6cmf: "/_/LabsTailwindUi",
  oPEP7c: ACCOUNT,
};

/** Promises and classes of the page's own realm around what Node gives, so that the page can tamper with them. */
const PRELUDE = `
  globalThis.window = globalThis;
  {
    const { HostResponse, hostFetch } = globalThis;
    delete globalThis.HostResponse;
    delete globalThis.hostFetch;
    const ours = (promise) => new Promise((resolve, reject) => promise.then(resolve, reject));
    globalThis.Response = class Response extends HostResponse {
      constructor(body, init) {
        super(body, init); // written out: the default constructor would iterate
      }
      text() {
        return ours(super.text());
      }
    };
    globalThis.fetch = (url, init) => ours(hostFetch(url, init));
  }
`;

/** What the page's `fetch` got. @typedef {{url: URL, init: any, form?: URLSearchParams, request?: any, bytes?: Buffer}} Sent */

export class FakePage {
  /** @type {Sent[]} */
  sent = [];
  /** @type {(sent: Sent) => any} a Response, a promise of one, or a throw */
  answer = () => this.response("");
  now_ms = 1_900_000_000_000;

  constructor({ origin = "https://notebook.google.com", wiz = SIGNED_IN } = {}) {
    const page = this;
    const globals = {
      Headers,
      HostResponse: Response,
      ReadableStream,
      WritableStream,
      TextDecoder,
      TextEncoder,
      URL,
      URLSearchParams,
      AbortController,
      performance,
      setTimeout: (action, delay_ms) => {
        const timer = setTimeout(action, delay_ms);
        timer.unref?.(); // an idle stream of a finished test keeps nothing alive
        return timer;
      },
      clearTimeout: (timer) => clearTimeout(timer),
      location: { origin },
      document: { readyState: "complete" },
      hostFetch(url, init) {
        const sent = { url: new URL(url), init, ...bodyOf(url, init) };
        page.sent.push(sent);
        const answer = (async () => page.answer(sent))();
        return init.signal === undefined ? answer : Promise.race([answer, aborted(init.signal)]);
      },
    };
    this.context = vm.createContext(globals);
    this.window = vm.runInContext("globalThis", this.context);
    vm.runInContext(PRELUDE, this.context);
    this.Response = this.window.Response;
    this.window.Date.now = () => page.now_ms;
    this.load();
    if (wiz !== null) this.evaluate(`globalThis.WIZ_global_data = ${JSON.stringify(wiz)}`);
  }

  load() {
    for (const { name, code } of TEXT) vm.runInContext(code, this.context, { filename: name });
  }

  /** Run script of the page, after the extension's. */
  evaluate(code) {
    return vm.runInContext(code, this.context);
  }

  /** A command enters as Chrome passes it: as an object of the page's own realm. */
  run(command) {
    this.window.command_json = JSON.stringify(command);
    const entered = vm.runInContext("__notebookGatewayExecutor(JSON.parse(command_json))", this.context);
    return Promise.resolve(entered).then((result) => structuredClone({ ...result }));
  }

  rpc(rpc, params, more = {}) {
    return this.run({
      op: "rpc",
      key: "0".repeat(32),
      origins: ORIGINS,
      account: ACCOUNT,
      not_after_ms: this.now_ms + 1000,
      rpc,
      params_json: JSON.stringify(params),
      source_path: "/",
      notebook: null,
      allow: null,
      ...more,
    });
  }

  /** One op of an upload, with what all of them carry. */
  upload(op, more = {}) {
    return this.run({
      op: `upload.${op}`,
      origins: ORIGINS,
      account: ACCOUNT,
      not_after_ms: this.now_ms + 1000,
      upload: `up-${"a".repeat(32)}`,
      notebook: NOTEBOOK,
      ...more,
    });
  }

  openStream(key = "a".repeat(32), more = {}) {
    return this.run({
      op: "stream",
      key,
      origins: ORIGINS,
      account: ACCOUNT,
      not_after_ms: this.now_ms + 1000,
      params_json: '[[],"why?"]',
      source_path: `/notebook/${NOTEBOOK}`,
      ...more,
    });
  }

  pull(key = "a".repeat(32)) {
    return this.run({ op: "pull", key, origins: ORIGINS });
  }

  /** Pull until the end. @returns {Promise<{text: string, error: any}>} */
  async pullAll(key = "a".repeat(32)) {
    let text = "";
    for (;;) {
      const piece = await this.pull(key);
      if (!piece.ok) return { text, error: piece.error };
      text += piece.text;
      if (piece.done) return { text, error: piece.error };
    }
  }

  response(body, init = {}) {
    return new this.Response(body, init);
  }
}

/** The body as it is at this moment: a form of a data call, or bytes of an upload. */
function bodyOf(url, { body }) {
  // Cloned as Chrome reads it, by what it is and not by what the page's prototypes say.
  if (url.includes("/upload/_/")) return { bytes: Buffer.from(structuredClone(body) ?? "") };
  const form = new URLSearchParams(body);
  return { form, request: JSON.parse(form.get("f.req")) };
}

function aborted(signal) {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError")));
  });
}

/** Frame chunks of rows the way the service does, closing row included (wire reference, 2.2 and 2.3). */
export function frameBody(...chunks) {
  const frame = (payload) => `${payload.length + 2}\n${payload}\n`;
  let body = ")]}'\n\n" + chunks.map((rows) => frame(JSON.stringify(rows))).join("");
  const row_count = chunks.flat().length + 1;
  for (let size = 0; ;) {
    const whole = body + frame(`[["e",${row_count},null,null,${size}]]`);
    const real_size = Buffer.byteLength(whole);
    if (real_size === size) return whole;
    size = real_size;
  }
}

/** A body with one answered row, as small answers come. */
export function answerBody(rpc, result, status = null) {
  const text = result === null ? null : JSON.stringify(result);
  return frameBody([
    ["wrb.fr", rpc, text, null, null, status, "generic"],
    ["di", 41],
    ["af.httprm", 41, "-7", 10],
  ]);
}

/** Read a body back strictly: every number in it must be true. @returns {any[]} all rows */
export function readBodyStrictly(body) {
  if (!body.startsWith(")]}'\n\n")) throw new Error("no prefix");
  let at = 6;
  const rows = [];
  while (at < body.length) {
    const lf = body.indexOf("\n", at);
    const count = Number(body.slice(at, lf));
    const payload = body.slice(lf + 1, lf + 1 + count - 2);
    if (body.slice(lf, lf + count) !== `\n${payload}\n`) throw new Error(`chunk length ${count} is wrong`);
    rows.push(...JSON.parse(payload));
    at = lf + count;
  }
  const closing = rows.at(-1);
  if (closing[0] !== "e" || closing[1] !== rows.length || closing[4] !== Buffer.byteLength(body)) {
    throw new Error(`closing row ${JSON.stringify(closing)} for ${rows.length} rows, ${Buffer.byteLength(body)} bytes`);
  }
  return rows;
}

export function resultOf(rows, rpc) {
  const row = rows.find((candidate) => candidate[0] === "wrb.fr" && candidate[1] === rpc);
  return JSON.parse(row[2]);
}
