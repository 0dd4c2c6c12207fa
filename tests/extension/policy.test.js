// The closed table: what fits, and that nothing hides in a slot that nobody looks at.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { RPC_RULES, STREAM_PARAMS, checkParams, isId } from "../../extension/lib/policy.js";
import { sharedPath } from "./shared.js";

const OPT = [2, null, null, [1, null, null, null, null, null, null, null, null, null, [1]]];
const NOTEBOOK = "1a2b3c4d-0001-4a00-8b00-00000000000a";
const SOURCE = "5a2b3c4d-0001-4a00-8b00-00000000000a";
const NOTE = "4a2b3c4d-0001-4a00-8b00-00000000000a";
const CONVERSATION = "c0ffee00-0001-4a00-8b00-00000000000a";
const HIDDEN = "deadbeef-0001-4a00-8b00-00000000000a";

const CLIENT = OPT[3];
const SPEC = {
  text: [null, ["Title", "Some text"], null, 2, null, null, null, null, null, null, 1],
  web_page: [null, null, ["https://example.org/a"], null, null, null, null, null, null, null, 1],
  video: [null, null, null, null, null, null, null, ["https://youtu.be/abcdefghijk"], null, null, 1],
  drive: [["1Drive_id-x", "application/pdf", 1, "Title"], null, null, null, null, null, null, null, null, null, 1],
};

/** By RPC id, and by shape where an id has several. */
const GOOD = {
  wXbhsf: [null, 1, null, OPT],
  rLM1Ne: [NOTEBOOK, null, OPT, null, 0],
  hizoJc: [[SOURCE], [2], [2]],
  tr032e: [[[[SOURCE]]]],
  hPTbtc: [OPT, null, NOTEBOOK, 20],
  khqZz: [OPT, null, null, CONVERSATION, 20],
  cFji9: [NOTEBOOK],
  "izAoDd text": [[SPEC.text], NOTEBOOK, OPT],
  "izAoDd web_page": [[SPEC.web_page], NOTEBOOK, OPT],
  "izAoDd video": [[SPEC.video], NOTEBOOK, OPT],
  "izAoDd drive": [[SPEC.drive], NOTEBOOK, [2], CLIENT],
  o4cbdc: [[["report.pdf"]], NOTEBOOK, OPT],
  CYK0Xb: [NOTEBOOK, "", [1], null, "New Note"],
  cYAfTb: [NOTEBOOK, NOTE, [[["text", "title", [], 0]]]],
  AH0mwd: [NOTEBOOK, null, [NOTE]],
  stream: [[[[SOURCE]]], "why?", null, [2, null, [1], [1]], CONVERSATION, null, null, NOTEBOOK, 1],
};
const WRITES = ["AH0mwd", "CYK0Xb", "cYAfTb", "izAoDd", "o4cbdc"];
const pattern = (name) => (name === "stream" ? STREAM_PARAMS : RPC_RULES.get(name.split(" ")[0]).params);
const check = (name, params) => checkParams(name, pattern(name), params);

/** Slots whose content is the caller's own text: other text there is no smuggled value. */
const FREE_TEXT = {
  "izAoDd text": ["$[0][0][1][0]", "$[0][0][1][1]"],
  "izAoDd drive": ["$[0][0][0][0]", "$[0][0][0][3]"],
  o4cbdc: ["$[0][0][0]"],
  cYAfTb: ["$[2][0][0][0]", "$[2][0][0][1]"],
  stream: ["$[1]"],
};
/** The parameters as JSON, without what is text in slots for free text. */
function withoutFreeText(name, params) {
  const free = FREE_TEXT[name] ?? [];
  const copy = (value, path) => {
    if (free.includes(path) && typeof value === "string") return "free text";
    return Array.isArray(value) ? value.map((item, index) => copy(item, `${path}[${index}]`)) : value;
  };
  return JSON.stringify(copy(params, "$"));
}
const differsInTextOnly = (name, forged) => withoutFreeText(name, forged) === withoutFreeText(name, GOOD[name]);

test("the table holds these RPC ids and no others", () => {
  const reads = ["cFji9", "hPTbtc", "hizoJc", "khqZz", "rLM1Ne", "tr032e", "wXbhsf"];
  assert.deepEqual([...RPC_RULES.keys()].sort(), [...WRITES, ...reads].sort());
  assert.deepEqual(
    [...RPC_RULES].filter(([, rule]) => rule.at === "front").map(([id]) => id),
    ["wXbhsf"],
  );
  assert.deepEqual(
    [...RPC_RULES]
      .filter(([, rule]) => rule.write)
      .map(([id]) => id)
      .sort(),
    WRITES,
  );
});

test("C-072 the id that deletes sources, and those that delete notebooks or chats, are in no table", () => {
  for (const id of ["tGMBJ", "WWINqb", "J7Gthc", "V5N4be", "QDyure"]) assert.equal(RPC_RULES.has(id), false);
});

test("the exact parameters pass, and every id in them is found", () => {
  const found = {};
  for (const [name, params] of Object.entries(GOOD)) {
    found[name] = check(name, params).ids.map(({ kind, id }) => [kind, id]);
  }
  assert.deepEqual(found, {
    wXbhsf: [],
    rLM1Ne: [["notebook", NOTEBOOK]],
    hizoJc: [["source", SOURCE]],
    tr032e: [["source", SOURCE]],
    hPTbtc: [["notebook", NOTEBOOK]],
    khqZz: [["conversation", CONVERSATION]],
    cFji9: [["notebook", NOTEBOOK]],
    "izAoDd text": [["notebook", NOTEBOOK]],
    "izAoDd web_page": [["notebook", NOTEBOOK]],
    "izAoDd video": [["notebook", NOTEBOOK]],
    "izAoDd drive": [["notebook", NOTEBOOK]],
    o4cbdc: [["notebook", NOTEBOOK]],
    CYK0Xb: [["notebook", NOTEBOOK]],
    cYAfTb: [
      ["notebook", NOTEBOOK],
      ["note", NOTE],
    ],
    AH0mwd: [
      ["notebook", NOTEBOOK],
      ["note", NOTE],
    ],
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
        checked = check(name, forged);
      } catch (error) {
        assert.equal(error.code, "INVALID_ARGUMENT");
        assert.equal(error.started, false);
        refused += 1;
        continue;
      }
      assert.ok(
        differsInTextOnly(name, forged) || checked.ids.some(({ id }) => id === HIDDEN),
        JSON.stringify([name, forged]),
      );
      reported += 1;
    }
  }
  assert.ok(refused > 100 && reported >= 8, `${refused} refused, ${reported} reported`);
});

test("wrong types, objects in place of lists and lists of ids in scalar slots are refused", () => {
  for (const hostile of [{}, { 0: SOURCE, length: 1 }, [SOURCE, SOURCE], true, -1, 1.5, "", "../x", undefined, NaN]) {
    for (const [name, params] of Object.entries(GOOD)) {
      for (const forged of smuggled(params, hostile)) {
        if (differsInTextOnly(name, forged)) continue;
        assert.throws(() => check(name, forged), { code: "INVALID_ARGUMENT" }, JSON.stringify([name, forged]));
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

/** The good parameters with one slot of theirs replaced. */
function withSlot(name, path, value) {
  const steps = [...path.matchAll(/\d+/g)].map(Number);
  const copy = structuredClone(GOOD[name]);
  let holder = copy;
  for (const step of steps.slice(0, -1)) holder = holder[step];
  holder[steps.at(-1)] = value;
  return copy;
}

test("free text has bounds, and the places for an address, a Drive id and a type take nothing else", () => {
  const long = (length) => "x".repeat(length);
  const table = [
    ["izAoDd text", "$[0][0][1][0]", ["t", "Ü 😀\n", long(2000)], ["", long(2001), 7, null, ["t"]]],
    ["izAoDd text", "$[0][0][1][1]", ["", "x", long(8 * 1024 * 1024)], [long(8 * 1024 * 1024 + 1), null, 0]],
    ["o4cbdc", "$[0][0][0]", ["😀.txt", "a b+c%20d#e?.txt"], ["", null, long(2001)]],
    ["cYAfTb", "$[2][0][0][0]", ["", "text"], [null, long(8 * 1024 * 1024 + 1)]],
    ["cYAfTb", "$[2][0][0][1]", ["", "title"], [null, 3]],
    ["izAoDd drive", "$[0][0][0][0]", ["1aB_-9"], ["", "a b", "a\n", "https://docs.google.com/document/d/x", "é"]],
    ["izAoDd drive", "$[0][0][0][1]", ["application/vnd.google-apps.document"], ["", "not a type", "a/b;c=d", "a/b\n"]],
    ["izAoDd web_page", "$[0][0][2][0]", ["HTTPS://EXAMPLE.org/ä?q#f", "http://[::1]:8/"], []],
    ["izAoDd video", "$[0][0][7][0]", ["https://www.youtube.com/live/abcdefghijk"], []],
  ];
  const no_address = ["", "example.org", "/a", "file:///etc/passwd", "javascript:alert(1)", "data:,x", "ftp://a/b"];
  const no_web_address = [
    ...no_address,
    "https://user@a/",
    "https://:pw@a/",
    "https://a/\n",
    `https://a/${long(16_384)}`,
  ];
  for (const row of table.slice(-2)) row[3].push(...no_web_address);
  for (const [name, path, good, bad] of table) {
    for (const value of good) assert.doesNotThrow(() => check(name, withSlot(name, path, value)), value.slice(0, 40));
    for (const value of bad) {
      const forged = withSlot(name, path, value);
      assert.throws(() => check(name, forged), { code: "INVALID_ARGUMENT" }, `${name} ${String(value).slice(0, 40)}`);
    }
  }
});

test("one source per call, one note per call, and no mixture of two kinds", () => {
  const refused = [
    ["izAoDd", [[SPEC.text, SPEC.text], NOTEBOOK, OPT]],
    ["izAoDd", [[], NOTEBOOK, OPT]],
    ["izAoDd", [[SPEC.text], NOTEBOOK, [2], CLIENT]],
    ["izAoDd", [[SPEC.drive], NOTEBOOK, OPT]],
    ["izAoDd", [[[...SPEC.web_page.slice(0, 7), ["https://a/"], null, null, 1]], NOTEBOOK, OPT]],
    ["o4cbdc", [[["a.pdf"], ["b.pdf"]], NOTEBOOK, OPT]],
    ["AH0mwd", [NOTEBOOK, null, [NOTE, NOTE]]],
    ["AH0mwd", [NOTEBOOK, null, []]],
    ["CYK0Xb", [NOTEBOOK, "text", [1], null, "New Note"]],
  ];
  for (const [name, params] of refused) assert.throws(() => check(name, params), { code: "INVALID_ARGUMENT" });
});

test("the writes of the recorded web app differ from ours in the asking block only, ids and nesting are the same", () => {
  const recorded = (rpc) =>
    readFileSync(sharedPath(`wire/recorded/${rpc}.jsonl`), "utf-8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).request.params);
  for (const rpc of ["CYK0Xb", "cYAfTb", "cFji9", "AH0mwd"]) {
    for (const params of recorded(rpc)) assert.doesNotThrow(() => check(rpc, params), rpc);
  }
  for (const [files, notebook] of recorded("o4cbdc")) check("o4cbdc", [files, notebook, OPT]);
  const drive = recorded("izAoDd").filter(([[spec]]) => spec[0] !== null);
  assert.equal(drive.length, 1);
  assert.doesNotThrow(() => check("izAoDd", drive[0]));
});
