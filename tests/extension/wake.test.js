// The content script that wakes the worker: it connects again, ever more slowly, and carries nothing.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import vm from "node:vm";

const CODE = readFileSync(new URL("../../extension/wake.js", import.meta.url), "utf-8");

/** A tab with the script in it. `lose` is what happens when the worker stops. */
function tab() {
  const ports = [];
  const shown = [];
  const runtime = {
    id: "x",
    connect: (_, { name }) => {
      const port = { name, onDisconnect: { addListener: (listener) => (port.lose = listener) } };
      ports.push(port);
      return port;
    },
  };
  // Called when they are needed, so that mocked time counts in the context too.
  const context = vm.createContext({
    chrome: { runtime },
    addEventListener: (type, listener) => shown.push([type, listener]),
    setTimeout: (action, delay_ms) => setTimeout(action, delay_ms),
    Date: { now: () => Date.now() },
  });
  vm.runInContext(CODE, context);
  return { ports, shown, runtime };
}

test("when the worker stops, a new port starts it again within a second", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const { ports } = tab();
  assert.equal(ports.length, 1);
  ports[0].lose();
  t.mock.timers.tick(1_000);
  assert.equal(ports.length, 2);
});

test("a worker that does not stay is started ever more slowly, a healthy one at once", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const { ports } = tab();
  for (let i = 0; i < 10; i += 1) {
    ports.at(-1).lose();
    t.mock.timers.tick(10_000);
  }
  assert.equal(ports.length, 11);
  ports.at(-1).lose();
  t.mock.timers.tick(9_000);
  assert.equal(ports.length, 11);
  t.mock.timers.tick(1_000);
  t.mock.timers.tick(20_000);
  ports.at(-1).lose();
  t.mock.timers.tick(100);
  assert.equal(ports.length, 13);
});

test("C-046 a page that comes back connects anew, once", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const { ports, shown } = tab();
  const [[type, pageshow]] = shown;
  assert.equal(type, "pageshow");
  pageshow();
  assert.equal(ports.length, 1);
  ports[0].lose();
  pageshow();
  t.mock.timers.tick(10_000);
  assert.equal(ports.length, 2);
});

test("a script whose extension was reloaded falls silent", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const { ports, runtime } = tab();
  delete runtime.id;
  ports[0].lose();
  t.mock.timers.tick(60_000);
  assert.equal(ports.length, 1);
});
