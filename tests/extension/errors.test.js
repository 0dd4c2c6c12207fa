import assert from "node:assert/strict";
import { test } from "node:test";

import { GatewayFault, asFault, maskAddress } from "../../extension/lib/errors.js";

test("a fault travels with code, message, detail and its word on started", () => {
  const fault = new GatewayFault("TIMEOUT", "late", { detail: { a: 1 } });
  assert.deepEqual(fault.toWire(), { code: "TIMEOUT", message: "late", detail: { a: 1 }, started: false });
  assert.equal(asFault(fault, true), fault);
});

test("a foreign error becomes INTERNAL without its text, which could hold a secret", () => {
  for (const foreign of [new RangeError("token=secret"), "secret", null]) {
    const wire = asFault(foreign, true).toWire();
    assert.deepEqual([wire.code, wire.started], ["INTERNAL", true]);
    assert.ok(!wire.message.includes("secret"));
  }
});

test("addresses are masked to their first letter and domain", () => {
  assert.deepEqual(["ada@example.com", "@example.com", "nobody", ""].map(maskAddress), [
    "a***@example.com",
    "***",
    "***",
    "***",
  ]);
});
