/**
 * Fifth of the MAIN-world files: the parts of a file on their way to the service (wire reference, 7).
 *
 * Slices come from the extension in order and are gathered here until they fill the granularity that the service asks
 * for (C-082); the last part is held back for `finish`, which carries the finalize command. What the page holds of an
 * upload ends with the page. It is also given up when a part fails or an offset does not fit: then only the service knows
 * what it has, and `query` begins anew from its number (C-083). Nothing here can be aborted: each request is a write.
 */

/**
 * @typedef {object} UploadFields
 * @property {string} upload the extension's name for the session
 * @property {string} url the session address as the service gave it
 * @property {number} size_bytes of the whole file
 * @property {number} granularity_bytes
 * @property {number} offset of the slice
 * @property {string} data the slice in base64
 * @property {string} source
 * @property {string} name
 * @property {string} mime_type
 * @property {string | null} notebook
 */
/** @typedef {RequestBounds & UploadFields} UploadCommand one object per call; an op uses some of the fields */
/**
 * @typedef {object} Transfer what the page holds of one upload
 * @property {number} received_bytes what the service has
 * @property {Uint8Array | null} buffer
 * @property {number} buffered_bytes of `buffer`, from its start: they follow the received ones
 * @property {boolean} is_busy a part is on its way
 */

(() => {
  "use strict";

  /** @type {Required<PageKit>} */
  const kit = /** @type {any} */ (globalThis).__notebookGatewayKit;
  const { drift, fault, http, own, read, requests, toJson } = kit;
  const { granularity, isActive, receivedBytes, refuseFailure, sessionAddress, sessionOf, startTarget, statusOf } =
    kit.uploadAnswers;
  const { Bytes, lengthOf, ofText, setAt, view } = kit.bytes;

  const LONGEST_SLICE_BYTES = 512 * 1024;
  /** Uploads that the page holds parts of; the oldest goes first. */
  const MOST_TRANSFERS = 16;

  const transfers = /** @type {Record<string, Transfer>} */ (/** @type {unknown} */ ({ __proto__: null }));

  // --------------------------------------------------------------------------------------------- what the page holds
  /** @param {string} upload @param {number} received_bytes */
  function remember(upload, received_bytes) {
    delete transfers[upload];
    let count = 0;
    for (const held in transfers) if (held !== "") count += 1;
    for (const oldest in transfers) {
      if (count < MOST_TRANSFERS) break;
      delete transfers[oldest];
      count -= 1;
    }
    const transfer = { __proto__: null, received_bytes, buffer: null, buffered_bytes: 0, is_busy: false };
    transfers[upload] = /** @type {any} */ (transfer);
  }

  /** @param {UploadCommand} command @param {Transfer} transfer @param {Uint8Array} piece */
  function gather({ size_bytes, granularity_bytes }, transfer, piece) {
    if (transfer.buffer === null) {
      // After each part less than one step is left, or exactly one, which then ends the file.
      const rest_bytes = size_bytes - transfer.received_bytes;
      const most_bytes = granularity_bytes + LONGEST_SLICE_BYTES;
      transfer.buffer = new Bytes(rest_bytes < most_bytes ? rest_bytes : most_bytes);
    }
    setAt(transfer.buffer, piece, transfer.buffered_bytes);
    transfer.buffered_bytes += lengthOf(piece);
  }

  /**
   * How much of the buffer goes now: whole steps, and never the end of the file, which goes with the finalize command.
   * @param {UploadCommand} command @param {Transfer} transfer
   */
  function sendableBytes({ size_bytes, granularity_bytes }, { received_bytes, buffered_bytes }) {
    const whole_bytes = buffered_bytes - (buffered_bytes % granularity_bytes);
    const is_end = received_bytes + whole_bytes >= size_bytes;
    return is_end && whole_bytes > 0 ? whole_bytes - granularity_bytes : whole_bytes;
  }

  /** @param {Transfer} transfer @param {number} sent_bytes the service has them now */
  function moveOn(transfer, sent_bytes) {
    const buffer = /** @type {Uint8Array} */ (transfer.buffer);
    const rest_bytes = transfer.buffered_bytes - sent_bytes;
    setAt(buffer, view(buffer, sent_bytes, rest_bytes), 0);
    transfer.received_bytes += sent_bytes;
    transfer.buffered_bytes = rest_bytes;
  }

  const ALPHABET = ofText("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
  const NO_DIGIT = 128;
  const DIGITS = new Bytes(256);
  for (let code = 0; code < 256; code += 1) DIGITS[code] = NO_DIGIT;
  for (let digit = 0; digit < 64; digit += 1) DIGITS[/** @type {number} */ (ALPHABET[digit])] = digit;
  const PADDING = 61; // "="
  const ZERO = 65; // "A"

  /** @param {unknown} text base64 of one slice @returns {Uint8Array | undefined} undefined when it is none */
  function decodeSlice(text) {
    if (typeof text !== "string" || text.length > ((LONGEST_SLICE_BYTES + 2) / 3) * 4) return undefined;
    const codes = ofText(text);
    const length = lengthOf(codes);
    if (length === 0 || length % 4 !== 0) return undefined;
    let padding = 0;
    for (; padding < 2 && codes[length - 1 - padding] === PADDING; padding += 1) codes[length - 1 - padding] = ZERO;
    const bytes = new Bytes((length / 4) * 3 - padding);
    let seen = 0;
    for (let from = 0, to = 0; from < length; from += 4, to += 3) {
      const a = /** @type {any} */ (DIGITS[/** @type {any} */ (codes[from])]);
      const b = /** @type {any} */ (DIGITS[/** @type {any} */ (codes[from + 1])]);
      const c = /** @type {any} */ (DIGITS[/** @type {any} */ (codes[from + 2])]);
      const d = /** @type {any} */ (DIGITS[/** @type {any} */ (codes[from + 3])]);
      seen |= a | b | c | d;
      bytes[to] = (a << 2) | (b >> 4);
      bytes[to + 1] = (b << 4) | (c >> 2); // past the end for padding, where a write is none
      bytes[to + 2] = (c << 6) | d;
    }
    return seen < NO_DIGIT && lengthOf(bytes) <= LONGEST_SLICE_BYTES ? bytes : undefined;
  }

  // ------------------------------------------------------------------------------------------------------------- ops
  /** @param {UploadCommand} command */
  async function start(command) {
    const { notebook, name, source, size_bytes, mime_type, upload } = command;
    const headers = {
      __proto__: null,
      "x-goog-upload-command": "start",
      "x-goog-upload-protocol": "resumable",
      "x-goog-upload-header-content-length": `${size_bytes}`,
      "x-goog-upload-header-content-type": mime_type,
    };
    // The name goes in the body, where any character is fine (C-085).
    const body = `{"PROJECT_ID":${toJson(notebook)},"SOURCE_NAME":${toJson(name)},"SOURCE_ID":${toJson(source)}}`;
    let selectors = /** @type {AccountSelectors} */ (/** @type {unknown} */ (null));
    const targetOf = (/** @type {AccountSelectors} */ own_selectors) => {
      selectors = own_selectors;
      return startTarget(own_selectors);
    };
    const response = await requests.sendBytes(command, targetOf, headers, body);
    refuseFailure(response, "start");
    const url = sessionAddress(response, command, selectors);
    const granularity_bytes = granularity(response);
    remember(upload, 0);
    return { __proto__: null, url, granularity_bytes };
  }

  /** @param {Transfer} transfer */
  function wanted({ received_bytes, buffered_bytes }) {
    return { __proto__: null, next_offset: received_bytes + buffered_bytes, received_bytes };
  }

  /** Nothing was taken, or only the service knows what was: it has to be asked. */
  function unclear() {
    return { __proto__: null, next_offset: null, received_bytes: null };
  }

  /** @param {UploadCommand} command */
  async function takeSlice(command) {
    requests.refuseWrongPage(command);
    const { upload, offset } = command;
    const transfer = transfers[upload];
    if (transfer === undefined || transfer.is_busy) return unclear();
    if (offset !== transfer.received_bytes + transfer.buffered_bytes) return unclear();
    const piece = decodeSlice(command.data);
    if (piece === undefined || offset + lengthOf(piece) > command.size_bytes) {
      throw fault("INVALID_ARGUMENT", "The slice is no base64 of 1 byte to 512 KiB within the file.", false);
    }
    gather(command, transfer, piece);
    const sent_bytes = sendableBytes(command, transfer);
    if (sent_bytes === 0) return wanted(transfer);
    const headers = {
      __proto__: null,
      "x-goog-upload-command": "upload",
      "x-goog-upload-offset": `${transfer.received_bytes}`,
    };
    transfer.is_busy = true;
    let is_known = false;
    try {
      const part = view(/** @type {Uint8Array} */ (transfer.buffer), 0, sent_bytes);
      const response = await requests.sendBytes(command, sessionOf(command), headers, part);
      refuseFailure(response, "slice");
      // A query in the meantime has begun anew from the service's number.
      is_known = isActive(response) && transfers[upload] === transfer;
      if (!is_known) return unclear();
      moveOn(transfer, sent_bytes);
      return wanted(transfer);
    } finally {
      transfer.is_busy = false;
      if (!is_known) forget(upload, transfer);
    }
  }

  /** @param {string} upload @param {Transfer} transfer */
  function forget(upload, transfer) {
    if (transfers[upload] === transfer) delete transfers[upload];
  }

  /** @param {UploadCommand} command */
  async function query(command) {
    const { upload, size_bytes } = command;
    const headers = { __proto__: null, "x-goog-upload-command": "query" };
    const answer = requests.sendBytes(command, sessionOf(command), headers, undefined);
    delete transfers[upload];
    const response = await answer;
    const http_status = http.status(response);
    if (http_status === 404 || http_status === 410) return { __proto__: null, status: "expired", received_bytes: null };
    refuseFailure(response, "query");
    const status = statusOf(response, "query");
    const received_bytes = receivedBytes(response, "query", size_bytes);
    if (status === "active") {
      if (received_bytes === null) throw drift("upload.query", "x-goog-upload-size-received", "a number", true);
      remember(upload, received_bytes);
    }
    return { __proto__: null, status, received_bytes };
  }

  /** @param {UploadCommand} command */
  async function finish(command) {
    requests.refuseWrongPage(command);
    const { upload, size_bytes } = command;
    const transfer = transfers[upload];
    const held_bytes = transfer === undefined ? -1 : transfer.received_bytes + transfer.buffered_bytes;
    if (transfer === undefined || transfer.is_busy || held_bytes !== size_bytes) {
      const detail = { __proto__: null, reason: "incomplete" };
      throw fault("INVALID_ARGUMENT", "The page does not have the rest of the file; nothing was sent.", false, detail);
    }
    const { buffer, buffered_bytes, received_bytes } = transfer;
    const headers = {
      __proto__: null,
      "x-goog-upload-command": "upload, finalize",
      "x-goog-upload-offset": `${received_bytes}`,
    };
    const part = buffer === null || buffered_bytes === 0 ? undefined : view(buffer, 0, buffered_bytes);
    const answer = requests.sendBytes(command, sessionOf(command), headers, part);
    delete transfers[upload]; // whatever comes back, from here on the service has to be asked
    const response = await answer;
    refuseFailure(response, "finalize");
    const status = statusOf(response, "finish");
    return { __proto__: null, status, received_bytes: receivedBytes(response, "finish", size_bytes) };
  }

  /**
   * Time an op, and say of a broken connection where it broke.
   * @param {string} stage @param {(command: UploadCommand) => Promise<any>} run
   * @returns {(command: UploadCommand) => Promise<object>}
   */
  function op(stage, run) {
    return async (command) => {
      const began_ms = kit.clock_ms();
      try {
        const answer = await own(run(command));
        answer.ok = true;
        answer.fetch_ms = kit.clock_ms() - began_ms;
        return answer;
      } catch (error) {
        if (read(error, "is_fault") === true) throw error;
        const detail = { __proto__: null, reason: "network", stage };
        throw fault(
          "UPSTREAM_REJECTED",
          `The connection to the service failed in the upload (${stage}).`,
          true,
          detail,
        );
      }
    };
  }

  kit.uploads = /** @type {any} */ ({
    __proto__: null,
    start: op("start", start),
    takeSlice: op("slice", takeSlice),
    query: op("query", query),
    finish: op("finalize", finish),
  });
})();
