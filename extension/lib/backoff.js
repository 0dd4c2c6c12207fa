/**
 * How long to wait before the native host is launched again: a pure table of steps (C-038).
 *
 * Doubling to 32 s means a missing host is launched at most about twice a minute. The delay has no jitter: one worker
 * has one host, so there is no crowd to spread.
 */

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 32_000;

/** A port that lived this long was healthy; the next loss starts at the first step again. */
export const STABLE_AFTER_MS = 30_000;

/**
 * @param {number} failures losses in a row, 1 for the first
 * @returns {number} milliseconds
 */
export function delayAfter(failures) {
  return Math.min(FIRST_DELAY_MS * 2 ** Math.max(0, failures - 1), LONGEST_DELAY_MS);
}

/**
 * Count one more loss.
 * @param {number} failures losses in a row before this one
 * @param {number} lived_ms how long the lost port had been open
 * @returns {number} losses in a row now
 */
export function failuresAfterLoss(failures, lived_ms) {
  return lived_ms >= STABLE_AFTER_MS ? 1 : failures + 1;
}
