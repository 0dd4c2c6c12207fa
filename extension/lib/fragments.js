/**
 * Putting large messages of the host together again: base64 pieces by connection. Pure.
 *
 * The host sends the pieces of one message in order, `seq` from 0; pieces of other connections may come in between, a
 * second message of the same connection may not.
 */

import { MAX_FROM_CHROME_BYTES } from "./protocol.js";

/** @typedef {import("./frames.js").FragmentFrame} FragmentFrame */

/** Pieces that do not fit together; the connection they came from cannot be read any further. */
export class BadFragment extends Error {}

export class FragmentJoiner {
  /** @type {Map<number, {id: number, pieces: Uint8Array[], size_bytes: number}>} by connection number */
  #open = new Map();
  #limit_bytes;

  /** @param {number} [limit_bytes] longest message, in encoded bytes */
  constructor(limit_bytes = MAX_FROM_CHROME_BYTES) {
    this.#limit_bytes = limit_bytes;
  }

  /** Bytes held for messages that are not whole yet. */
  get held_bytes() {
    let total = 0;
    for (const message of this.#open.values()) total += message.size_bytes;
    return total;
  }

  /**
   * Take one piece and return the whole message with the last one.
   * @param {FragmentFrame} frame
   * @returns {unknown} the parsed message, or undefined while pieces are missing. Throws BadFragment.
   */
  take(frame) {
    const message = this.#open.get(frame.conn) ?? { id: frame.id, pieces: [], size_bytes: 0 };
    this.#open.delete(frame.conn); // whatever goes wrong below, nothing is kept
    if (message.id !== frame.id) {
      throw new BadFragment(`fragment of message ${frame.id} while message ${message.id} is not whole`);
    }
    if (frame.seq !== message.pieces.length) {
      throw new BadFragment(`fragment ${frame.seq} where ${message.pieces.length} was due`);
    }
    const piece = decodeBase64(frame.data);
    // Over all connections: the worker's memory is one.
    if (this.held_bytes + message.size_bytes + piece.length > this.#limit_bytes) {
      throw new BadFragment(`message of more than ${this.#limit_bytes} bytes`);
    }
    message.pieces.push(piece);
    message.size_bytes += piece.length;
    if (frame.last) return parseWhole(message);
    this.#open.set(frame.conn, message);
    return undefined;
  }

  /**
   * Forget what a closed connection left behind.
   * @param {number} conn
   */
  drop(conn) {
    this.#open.delete(conn);
  }

  clear() {
    this.#open.clear();
  }
}

/** @param {string} text */
function decodeBase64(text) {
  let binary;
  try {
    binary = atob(text);
  } catch {
    throw new BadFragment("fragment data is not base64");
  }
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/**
 * @param {{pieces: Uint8Array[], size_bytes: number}} message
 * @returns {unknown}
 */
function parseWhole(message) {
  const whole = new Uint8Array(message.size_bytes);
  let offset = 0;
  for (const piece of message.pieces) {
    whole.set(piece, offset);
    offset += piece.length;
  }
  try {
    // Decoded as a whole, so a cut inside a multi-byte character is none.
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(whole));
  } catch {
    throw new BadFragment("joined fragments are not UTF-8 JSON");
  }
}
