/**
 * Second of the MAIN-world files: what the page itself has to understand of an answer before it leaves.
 *
 * `wXbhsf` lists every notebook of the account; rows that are not allowed are removed here and the body is written anew
 * from what was understood, so nothing else can slip through. `rLM1Ne`, `cFji9` and `hPTbtc` name the ids that belong to
 * one notebook; they are read and the body passes as it came. An unknown shape is refused (fail closed), a status row and an
 * answer that was cut off are left to the broker, which tells them apart. Framing: wire reference, 2.2 and 2.3.
 *
 * A web page in the place of data never leaves: the service's pages hold the tokens of the session (C-029).
 */

(() => {
  "use strict";

  /** @type {PageKit} */
  const kit = /** @type {any} */ (globalThis).__notebookGatewayKit;
  const { append, drift, fault, isArray, parseJson, read, sizeUtf8, toJson, toNumber } = kit;
  const { indexOf, slice } = kit.text;

  const PREFIX = ")]}'";
  const LF = "\n";
  const ROW_KINDS = ["wrb.fr", "di", "af.httprm", "er", "e"];
  const ID_LENGTH = 36;
  const DELETED = 2;

  /** @typedef {any[]} Row */

  /** What is done with the answer of each RPC that is looked into; all others pass unread. */
  /** @type {Record<string, (rule: AnswerRule, body: string) => InspectedAnswer>} */
  const READERS = {
    // @ts-expect-error: TypeScript does not know this form of an object literal; it leaves the table without prototype
    __proto__: null,
    wXbhsf: (rule, body) => (rule.allow === "*" ? passed(body) : withoutForeignRows(rule, body)),
    rLM1Ne: (rule, body) => withIds(rule, body, "source", sourceIds),
    cFji9: (rule, body) => withIds(rule, body, "note", noteIds),
    hPTbtc: (rule, body) => withIds(rule, body, "conversation", conversationIds),
  };

  /** @param {string} body */
  function refuseWebPage(body) {
    if (body[skipBlank(body, 0)] !== "<") return;
    throw fault(
      "AUTH_REQUIRED",
      "The service answered with a web page instead of data; the page is signed out.",
      true,
    );
  }

  kit.refuseWebPage = refuseWebPage;

  kit.inspect = (rule, body) => {
    refuseWebPage(body);
    const readAnswer = READERS[rule.rpc];
    return readAnswer === undefined ? passed(body) : readAnswer(rule, body);
  };

  /** @param {string} body @returns {InspectedAnswer} */
  function passed(body) {
    return /** @type {any} */ ({ __proto__: null, body, owned: null });
  }

  // ------------------------------------------------------------------------------------------------------- framing
  /**
   * Read all whole chunks. A chunk that the end of the body cuts off is left out, like everything after it.
   * @param {string} rpc @param {string} body
   * @returns {Row[][]} the rows of each chunk
   */
  function readChunks(rpc, body) {
    /** @type {Row[][]} */
    const chunks = [];
    let at = skipBlank(body, 0);
    if (slice(body, at, at + PREFIX.length) === PREFIX) at += PREFIX.length;
    for (;;) {
      at = skipBlank(body, at);
      const digits_end = indexOf(body, LF, at);
      if (at >= body.length || digits_end < 0) return chunks;
      const declared_utf16 = toNumber(slice(body, at, digits_end));
      if (!(declared_utf16 > 0)) throw drift(rpc, `chunk ${chunks.length}`, "a length", true);
      const line_end = indexOf(body, LF, digits_end + 1);
      const payload = slice(body, digits_end + 1, line_end < 0 ? body.length : line_end);
      // The length counts both line breaks; some recorders rewrote it to the bare payload.
      if (payload.length !== declared_utf16 - 2 && payload.length !== declared_utf16) {
        if (line_end < 0) return chunks;
        throw drift(rpc, `chunk ${chunks.length}`, `${declared_utf16} UTF-16 units`, true);
      }
      append(chunks, readRows(rpc, payload, chunks.length));
      at = digits_end + 1 + payload.length;
    }
  }

  /** @param {string} rpc @param {string} payload @param {number} number @returns {Row[]} */
  function readRows(rpc, payload, number) {
    const rows = parsed(payload);
    if (!isArray(rows)) throw drift(rpc, `chunk ${number}`, "a list of rows", true);
    for (let i = 0; i < rows.length; i += 1) {
      if (!isKnownKind(read(rows[i], 0))) throw drift(rpc, `chunk ${number} row ${i}`, "a row of a known kind", true);
    }
    return rows;
  }

  /** @param {unknown} kind */
  function isKnownKind(kind) {
    for (let i = 0; i < ROW_KINDS.length; i += 1) if (ROW_KINDS[i] === kind) return true;
    return false;
  }

  /** @param {string} body @param {number} at */
  function skipBlank(body, at) {
    while (body[at] === LF || body[at] === "\r" || body[at] === " ") at += 1;
    return at;
  }

  /** @param {unknown} text @returns {any} undefined when it is no JSON text */
  function parsed(text) {
    if (typeof text !== "string") return undefined;
    try {
      return parseJson(text);
    } catch {
      return undefined;
    }
  }

  /**
   * Write a body with exact framing: chunk lengths in UTF-16 units, the closing row with row count and UTF-8 bytes.
   * @param {Row[][]} chunks without the closing row
   * @param {boolean} is_whole whether the service had sent its closing row
   */
  function writeBody(chunks, is_whole) {
    kit.refuseTampering(true);
    let body = PREFIX + LF + LF;
    let row_count = 0;
    for (let i = 0; i < chunks.length; i += 1) {
      const rows = /** @type {Row[]} */ (chunks[i]);
      if (rows.length === 0) continue;
      body += frame(toJson(rows));
      row_count += rows.length;
    }
    if (!is_whole) return body;
    row_count += 1;
    // The closing row states the size of a body that holds the closing row: its own digits count too.
    const size_before = sizeUtf8(body);
    let size = size_before;
    for (;;) {
      const closing = frame(`[["e",${row_count},null,null,${size}]]`);
      if (size_before + closing.length === size) return body + closing;
      size = size_before + closing.length;
    }
  }

  /** @param {string} payload */
  function frame(payload) {
    return `${payload.length + 2}${LF}${payload}${LF}`;
  }

  // ------------------------------------------------------------------------------------------- wXbhsf: list, filtered
  /** @param {AnswerRule} rule @param {string} body @returns {InspectedAnswer} */
  function withoutForeignRows(rule, body) {
    const chunks = readChunks(rule.rpc, body);
    /** @type {Row[][]} */
    const kept_chunks = [];
    let is_whole = false;
    for (let i = 0; i < chunks.length; i += 1) {
      const rows = /** @type {Row[]} */ (chunks[i]);
      /** @type {Row[]} */
      const kept = [];
      for (let k = 0; k < rows.length; k += 1) {
        const row = /** @type {Row} */ (rows[k]);
        if (row[0] === "e") is_whole = true;
        else append(kept, row[0] === "wrb.fr" ? allowedPart(rule, row) : row);
      }
      append(kept_chunks, kept);
    }
    return passed(writeBody(kept_chunks, is_whole));
  }

  /** @param {AnswerRule} rule @param {Row} row @returns {Row} */
  function allowedPart(rule, row) {
    const rpc = read(row, 1);
    const text = read(row, 2);
    const status = read(row, 5) ?? null;
    const kept_text = rpc === rule.rpc && typeof text === "string" ? allowedNotebooks(rule, text) : null;
    // The answer of another id is not looked into and does not leave; its name does, because the broker reports it.
    return ["wrb.fr", typeof rpc === "string" ? rpc : null, kept_text, null, null, status, "generic"];
  }

  /** @param {AnswerRule} rule @param {string} text `[[notebook row, …]]` or an empty form of it */
  function allowedNotebooks(rule, text) {
    const result = parsed(text);
    if (!isArray(result)) throw drift(rule.rpc, "$", "a list", true);
    const rows = read(result, 0) ?? [];
    if (!isArray(rows)) throw drift(rule.rpc, "$[0]", "a list of notebook rows", true);
    /** @type {any[]} */
    const kept = [];
    for (let i = 0; i < rows.length; i += 1) {
      const id = read(rows[i], 2);
      if (!isIdText(id)) throw drift(rule.rpc, `$[0][${i}][2]`, "a notebook id", true);
      if (isAllowed(rule.allow, id)) append(kept, rows[i]);
    }
    kit.refuseTampering(true);
    return toJson([kept]);
  }

  /** @param {AnswerRule["allow"]} allow @param {string} id */
  function isAllowed(allow, id) {
    if (!isArray(allow)) return false;
    for (let i = 0; i < allow.length; i += 1) if (allow[i] === id) return true;
    return false;
  }

  // ------------------------------------------------------------------------------- rLM1Ne, cFji9, hPTbtc: whose ids
  /**
   * @param {AnswerRule} rule @param {string} body @param {"source" | "note" | "conversation"} kind
   * @param {(rule: AnswerRule, result: any) => string[]} idsOf
   * @returns {InspectedAnswer}
   */
  function withIds(rule, body, kind, idsOf) {
    /** @type {string[]} */
    const ids = [];
    const chunks = readChunks(rule.rpc, body);
    for (let i = 0; i < chunks.length; i += 1) {
      const rows = /** @type {Row[]} */ (chunks[i]);
      for (let k = 0; k < rows.length; k += 1) {
        const row = rows[k];
        const text = read(row, 0) === "wrb.fr" && read(row, 1) === rule.rpc ? read(row, 2) : undefined;
        if (text === undefined || text === null) continue;
        const result = parsed(text);
        if (result === undefined) throw drift(rule.rpc, "$", "JSON text", true);
        const found = idsOf(rule, result);
        for (let n = 0; n < found.length; n += 1) append(ids, found[n]);
      }
    }
    return /** @type {any} */ ({ __proto__: null, body, owned: { __proto__: null, kind, ids } });
  }

  /** @param {AnswerRule} rule @param {any} result `[notebook row]` @returns {string[]} */
  function sourceIds(rule, result) {
    const row = read(result, 0);
    if (read(row, 2) !== rule.notebook) throw drift(rule.rpc, "$[0][2]", "the id of the requested notebook", true);
    const rows = read(row, 1) ?? [];
    if (!isArray(rows)) throw drift(rule.rpc, "$[0][1]", "a list of source rows", true);
    /** @type {string[]} */
    const ids = [];
    for (let i = 0; i < rows.length; i += 1) {
      const head = read(rows[i], 0);
      // `[ID]`, or `[null, true, [ID]]` for Drive files (wire reference, 4.2).
      const id = read(head, 0) ?? read(read(head, 2), 0);
      if (!isIdText(id)) throw drift(rule.rpc, `$[0][1][${i}][0]`, "a source id", true);
      append(ids, id);
    }
    return ids;
  }

  /**
   * @param {AnswerRule} rule @param {any} result `[[row, …] or null, time]`; a notebook that never had a note has null
   * @returns {string[]} live and deleted ones alike: a deleted note stays in the list for good (wire reference, 9)
   */
  function noteIds(rule, result) {
    if (!isArray(result)) throw drift(rule.rpc, "$", "a list", true);
    const rows = read(result, 0) ?? [];
    if (!isArray(rows)) throw drift(rule.rpc, "$[0]", "a list of note rows", true);
    /** @type {string[]} */
    const ids = [];
    for (let i = 0; i < rows.length; i += 1) {
      const id = read(rows[i], 0);
      if (!isIdText(id)) throw drift(rule.rpc, `$[0][${i}][0]`, "a note id", true);
      // `[ID, [ID, text, …]]`, or `[ID, null, 2]` once it is deleted.
      const note = read(rows[i], 1) ?? null;
      if (note !== null && read(note, 0) !== id) throw drift(rule.rpc, `$[0][${i}][1][0]`, "the row's own id", true);
      if (note === null && read(rows[i], 2) !== DELETED) {
        throw drift(rule.rpc, `$[0][${i}][2]`, "the mark of a deleted note", true);
      }
      append(ids, id);
    }
    return ids;
  }

  /** @param {AnswerRule} rule @param {any} result `[[[ID, …], …]]`, or an empty form of it @returns {string[]} */
  function conversationIds(rule, result) {
    if (result === null) return [];
    if (!isArray(result)) throw drift(rule.rpc, "$", "a list", true);
    const rows = read(result, 0) ?? [];
    if (!isArray(rows)) throw drift(rule.rpc, "$[0]", "a list of conversations", true);
    /** @type {string[]} */
    const ids = [];
    for (let i = 0; i < rows.length; i += 1) {
      const id = read(rows[i], 0);
      if (!isIdText(id)) throw drift(rule.rpc, `$[0][${i}][0]`, "a conversation id", true);
      append(ids, id);
    }
    return ids;
  }

  /** @param {unknown} value */
  function isIdText(value) {
    return typeof value === "string" && value.length === ID_LENGTH && value[8] === "-" && value[23] === "-";
  }
})();
