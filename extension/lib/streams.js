/**
 * An answer stream from the page to the broker: one pull, one `chunk` frame, until the page says it is done.
 */

import { GatewayFault } from "./errors.js";

/** @typedef {import("./executor.js").Executor} Executor */
/** @typedef {import("./executor.js").Page} Page */

/**
 * @param {Executor} executor
 * @param {Page} page
 * @param {string} key
 * @param {(seq: number, text: string) => void} onChunk `seq` from 0, no gaps
 * @returns {Promise<void>} when the service ended the stream. Rejects with GatewayFault STREAM_SEVERED otherwise.
 */
export async function pumpStream(executor, page, key, onChunk) {
  for (let seq = 0; ;) {
    const piece = await executor.pull(page, key);
    if (piece.text !== "") {
      onChunk(seq, piece.text);
      seq += 1;
    }
    if (piece.error !== null) {
      throw new GatewayFault(/** @type {any} */ (piece.error.code), piece.error.message, {
        detail: piece.error.detail,
        started: true,
      });
    }
    if (piece.done) return;
  }
}
