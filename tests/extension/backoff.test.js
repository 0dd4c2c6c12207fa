import assert from "node:assert/strict";
import { test } from "node:test";

import { STABLE_AFTER_MS, delayAfter, failuresAfterLoss } from "../../extension/lib/backoff.js";

test("C-038 pauses double from half a second and grow to at least 30 s", () => {
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6, 7, 8, 100].map(delayAfter),
    [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 32_000, 32_000],
  );
});

test("only a port that lived long enough counts as healthy", () => {
  assert.equal(failuresAfterLoss(6, STABLE_AFTER_MS - 1), 7);
  assert.equal(failuresAfterLoss(6, STABLE_AFTER_MS), 1);
  assert.equal(failuresAfterLoss(0, 0), 1);
});
