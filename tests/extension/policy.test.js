// The closed table: what fits, and that nothing hides in a slot that nobody looks at.
import assert from "node:assert/strict";
import { test } from "node:test";

import { RPC_RULES, STREAM_PARAMS, checkParams, isId } from "../../extension/lib/policy.js";

const OPT = [2, null, null, [1, null, null, null, null, null, null, null, null, null, [1]]];
const NOTEBOOK = "1a2b3c4d-0001-4a00-8b00-00000000000a";
const SOURCE = "5a2b3c4d-0001-4a00-8b00-00000000000a";
const CONVERSATION = "c0ffee00-0001-4a00-8b00-00000000000a";
const HIDDEN = "deadbeef-0001-4a00-8b00-00000000000a";

const GOOD = {
  wXbhsf: [null, 1, null, OPT],
  rLM1Ne: [NOTEBOOK, null, OPT, null, 0],
  hizoJc: [[SOURCE], [2], [2]],
  tr032e: [[[[SOURCE]]]],
  hPTbtc: [OPT, null, NOTEBOOK, 20],
  khqZz: [OPT, null, null, CONVERSATION, 20],
  stream: [[[[SOURCE]]], "why?", null, [2, null, [1], [1]], CONVERSATION, null, null, NOTEBOOK, 1],
};
const pattern = (name) => (name === "stream" ? STREAM_PARAMS : RPC_RULES.get(name).params);

test("the table holds these RPC ids and no others", () => {
  assert.deepEqual([...RPC_RULES.keys()].sort(), ["hPTbtc", "hizoJc", "khqZz", "rLM1Ne", "tr032e", "wXbhsf"]);
  assert.deepEqual(
    [...RPC_RULES].filter(([, rule]) => rule.at === "front").map(([id]) => id),
    ["wXbhsf"],
  );
});

test("the exact parameters pass, and every id in them is found", () => {
  const found = {};
  for (const [name, params] of Object.entries(GOOD)) {
    found[name] = checkParams(name, pattern(name), params).ids.map(({ kind, id }) => [kind, id]);
  }
  assert.deepEqual(found, {
    wXbhsf: [],
    rLM1Ne: [["notebook", NOTEBOOK]],
    hizoJc: [["source", SOURCE]],
    tr032e: [["source", SOURCE]],
    hPTbtc: [["notebook", NOTEBOOK]],
    khqZz: [["conversation", CONVERSATION]],
    stream: [
      ["source", SOURCE],
      ["minted", CONVERSATION],
      ["notebook", NOTEBOOK],
    ],
  });
});

/** Every way to put one hostile value somewhere: in place of each value, and behind the end of each list. */
function* smuggled(value, hostile) {
  yield hostile;
  if (!Array.isArray(value)) return;
  yield [...value, hostile];
  for (let i = 0; i < value.length; i += 1) {
    for (const changed of smuggled(value[i], hostile))
      yield value.with?.(i, changed) ?? value.map((item, n) => (n === i ? changed : item));
  }
}

test("an id in any slot is either reported or refused", () => {
  let refused = 0;
  let reported = 0;
  for (const [name, params] of Object.entries(GOOD)) {
    for (const forged of smuggled(params, HIDDEN)) {
      let checked;
      try {
        checked = checkParams(name, pattern(name), forged);
      } catch (error) {
        assert.equal(error.code, "INVALID_ARGUMENT");
        assert.equal(error.started, false);
        refused += 1;
        continue;
      }
      const is_question = name === "stream" && forged[1] === HIDDEN;
      assert.ok(is_question || checked.ids.some(({ id }) => id === HIDDEN), JSON.stringify([name, forged]));
      reported += 1;
    }
  }
  assert.ok(refused > 100 && reported >= 8, `${refused} refused, ${reported} reported`);
});

test("wrong types, objects in place of lists and lists of ids in scalar slots are refused", () => {
  for (const hostile of [{}, { 0: SOURCE, length: 1 }, [SOURCE, SOURCE], true, -1, 1.5, "", "../x", undefined, NaN]) {
    for (const [name, params] of Object.entries(GOOD)) {
      for (const forged of smuggled(params, hostile)) {
        if (JSON.stringify(forged) === JSON.stringify(params)) continue;
        const is_question = name === "stream" && typeof hostile === "string" && hostile !== "" && forged[1] === hostile;
        if (is_question) continue;
        assert.throws(
          () => checkParams(name, pattern(name), forged),
          { code: "INVALID_ARGUMENT" },
          JSON.stringify([name, forged]),
        );
      }
    }
  }
});

test("bounds: page size, question length, number of sources", () => {
  const khqZz = (size) => checkParams("khqZz", pattern("khqZz"), [OPT, null, null, CONVERSATION, size]);
  assert.doesNotThrow(() => [khqZz(1), khqZz(100)]);
  for (const size of [0, 101, "20", null]) assert.throws(() => khqZz(size));
  const ask = (sources, question) => checkParams("stream", STREAM_PARAMS, [sources, question, ...GOOD.stream.slice(2)]);
  assert.doesNotThrow(() => [ask([], "q"), ask(Array(1000).fill([[SOURCE]]), "q".repeat(65_536))]);
  assert.throws(() => ask([], "q".repeat(65_537)));
  assert.throws(() => ask(Array(1001).fill([[SOURCE]]), "q"));
});

test("an id is lower-case UUID text, nothing around it", () => {
  assert.equal(isId(NOTEBOOK), true);
  for (const bad of [
    NOTEBOOK.toUpperCase(),
    `${NOTEBOOK}\n`,
    ` ${NOTEBOOK}`,
    `${NOTEBOOK}/..`,
    "",
    null,
    7,
    [NOTEBOOK],
  ]) {
    assert.equal(isId(bad), false, String(bad));
  }
});
