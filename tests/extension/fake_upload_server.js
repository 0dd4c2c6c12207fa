/** The service's side of one resumable upload, inside a page's `fetch`: strict about offsets and granularity. */

export const SECRET = "UPLOAD-MARKER-3";
const ADDRESS = `https://notebook.google.com/upload/_/?authuser=1&upload_id=${SECRET}&upload_protocol=resumable`;

export class FakeUploadServer {
  received = Buffer.alloc(0);
  is_final = false;
  /** @type {{command: string, offset: number, size: number}[]} */
  log = [];
  /** @type {(command: string) => any} a response, or something thrown, in place of the usual answer */
  fault = () => undefined;

  /** @param {import("./fake_page.js").FakePage} page */
  constructor(page, { granularity = "262144", address = ADDRESS, step_bytes = Number(granularity) } = {}) {
    this.page = page;
    this.granularity = granularity;
    this.step_bytes = step_bytes;
    this.address = address;
    page.answer = (sent) => this.answer(sent);
  }

  answer({ init, bytes }) {
    const { headers } = init;
    const command = headers["x-goog-upload-command"];
    const offset = Number(headers["x-goog-upload-offset"]);
    this.log.push({ command, offset, size: bytes.length });
    const fault = this.fault(command);
    if (fault !== undefined) return fault;
    if (command === "start") {
      const given = { "x-goog-upload-status": "active" };
      if (this.address !== null) given["x-goog-upload-url"] = this.address;
      if (this.granularity !== null) given["x-goog-upload-chunk-granularity"] = this.granularity;
      return this.respond(given);
    }
    if (command === "query") return this.respond(this.state());
    if (offset !== this.received.length || this.is_final) return this.respond({}, 400);
    if (command === "upload" && bytes.length % this.step_bytes !== 0) return this.respond({}, 400);
    this.received = Buffer.concat([this.received, bytes]);
    this.is_final = command === "upload, finalize";
    return this.respond({ "x-goog-upload-status": this.is_final ? "final" : "active" });
  }

  state() {
    if (this.is_final) return { "x-goog-upload-status": "final" };
    return { "x-goog-upload-status": "active", "x-goog-upload-size-received": `${this.received.length}` };
  }

  respond(headers, status = 200) {
    // Every failure carries the secret wherever it can.
    const more = status === 200 ? {} : { "x-goog-upload-url": this.address ?? "", location: this.address ?? "" };
    const body = status === 200 ? "" : `<p>${this.address}</p>`;
    return this.page.response(body, { status, headers: { ...more, ...headers } });
  }
}
