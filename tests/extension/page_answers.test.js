// What the page reads and removes in answers before they leave it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { FakePage, NOTEBOOK, OTHER_NOTEBOOK, answerBody, frameBody, readBodyStrictly, resultOf } from "./fake_page.js";
import { caseInput, sharedPath } from "./shared.js";

const SOURCE = "5a2b3c4d-0001-4a00-8b00-00000000000a";
const DRIVE_SOURCE = "5a2b3c4d-0002-4a00-8b00-00000000000b";
const NOTE = "4a2b3c4d-0001-4a00-8b00-00000000000a";
const OTHER_NOTE = "4a2b3c4d-0002-4a00-8b00-00000000000b";
const CONVERSATION = "c0ffee00-0001-4a00-8b00-00000000000a";

const row = (id, title, sources = null) => [title, sources, id, "📗", null, [1]];
const TAIL = [
  ["di", 41],
  ["af.httprm", 41, "-7", 10],
];

/** @param {string} body @param {object} more */
async function ask(rpc, body, more = {}) {
  const page = new FakePage();
  page.answer = () => page.response(body);
  return page.rpc(rpc, [], more);
}

const listOf = (body, allow) => ask("wXbhsf", body, { allow });
const metadataOf = (body) => ask("rLM1Ne", body, { notebook: NOTEBOOK });
const notesOf = (body) => ask("cFji9", body, { notebook: NOTEBOOK });
const conversationsOf = (body) => ask("hPTbtc", body, { notebook: NOTEBOOK });

test("rows of notebooks that are not allowed do not leave the page, and the framing of the rest is exact", async () => {
  const rows = [
    row(OTHER_NOTEBOOK, "secret plans"),
    row(NOTEBOOK, "Überblick 😀 — Teil 2 \u202eعربي 👩‍👩‍👧", [[[SOURCE], "<a & b = 'c'>"]]),
  ];
  const body = frameBody([["wrb.fr", "wXbhsf", JSON.stringify([rows]), null, null, null, "generic"]], TAIL);
  const answer = await listOf(body, [NOTEBOOK]);

  assert.ok(!answer.body.includes("secret plans") && !answer.body.includes(OTHER_NOTEBOOK));
  const left = readBodyStrictly(answer.body);
  assert.deepEqual(resultOf(left, "wXbhsf"), [[rows[1]]]);
  assert.deepEqual(left.slice(1, 3), TAIL);
  assert.equal(answer.owned, null);
});

test("nothing allowed leaves an empty list", async () => {
  const answer = await listOf(answerBody("wXbhsf", [[row(NOTEBOOK, "a"), row(OTHER_NOTEBOOK, "b")]]), []);
  assert.deepEqual(resultOf(readBodyStrictly(answer.body), "wXbhsf"), [[]]);
});

test('"*" lets the body pass as it came', async () => {
  const body = answerBody("wXbhsf", [[row(NOTEBOOK, "a"), row(OTHER_NOTEBOOK, "b")]]);
  assert.equal((await listOf(body, "*")).body, body);
});

test("without an allowlist no row passes", async () => {
  const answer = await listOf(answerBody("wXbhsf", [[row(NOTEBOOK, "a")]]), null);
  assert.deepEqual(resultOf(readBodyStrictly(answer.body), "wXbhsf"), [[]]);
});

test("recorded lists are filtered to the allowed notebook", async () => {
  const lines = readFileSync(sharedPath("wire/recorded/wXbhsf.jsonl"), "utf-8").trim().split("\n");
  for (const line of lines) {
    const { body } = JSON.parse(line).response;
    const rows = resultOf(readBodyStrictly(body), "wXbhsf")[0];
    const keep = rows.at(-1);
    const answer = await listOf(body, [keep[2]]);
    assert.deepEqual(resultOf(readBodyStrictly(answer.body), "wXbhsf"), [[keep]]);
  }
});

test("the list has empty forms, and they are no drift", async () => {
  for (const result of [[], [null], [[]]]) {
    const answer = await listOf(answerBody("wXbhsf", result), [NOTEBOOK]);
    assert.deepEqual(resultOf(readBodyStrictly(answer.body), "wXbhsf"), [[]]);
  }
});

test("an unknown shape of the list fails closed and names the slot", async () => {
  const shapes = [
    ["text", "$"],
    [["text"], "$[0]"],
    [[[["title", null, 7]]], "$[0][0][2]"],
    [[[[row(NOTEBOOK, "a")]]], "$[0][0][2]"],
    [[[row(NOTEBOOK, "a"), "text"]], "$[0][1][2]"],
    [[[row("not-an-id", "a")]], "$[0][0][2]"],
  ];
  for (const [result, path] of shapes) {
    const { error, body } = await listOf(answerBody("wXbhsf", result), [NOTEBOOK]);
    assert.equal(body, undefined);
    assert.equal(error.code, "UPSTREAM_SCHEMA_DRIFT", JSON.stringify(result));
    assert.deepEqual([error.detail.rpc_id, error.detail.path, error.started], ["wXbhsf", path, true]);
  }
});

test("C-058 the answer of another id is withheld, its name is kept", async () => {
  const body = frameBody(
    [["wrb.fr", "Zzz999", JSON.stringify([[row(OTHER_NOTEBOOK, "secret plans")]]), null, null, null, "generic"]],
    TAIL,
  );
  const answer = await listOf(body, [NOTEBOOK]);
  assert.deepEqual(readBodyStrictly(answer.body)[0], ["wrb.fr", "Zzz999", null, null, null, null, "generic"]);
});

test("C-060 a second data frame before ours, and every way to begin the body, are read alike", async () => {
  const bodies = JSON.parse(readFileSync(caseInput("C-060-variants.json"), "utf-8"));
  assert.equal(bodies.length, 7);
  for (const body of bodies) {
    const answer = await metadataOf(body);
    assert.equal(answer.ok, true, JSON.stringify(answer.error));
    assert.equal(answer.body, body);
  }
});

test("a status row passes, C-056", async () => {
  const body = answerBody("wXbhsf", null, [7]);
  const answer = await listOf(body, [NOTEBOOK]);
  assert.deepEqual(readBodyStrictly(answer.body)[0], ["wrb.fr", "wXbhsf", null, null, null, [7], "generic"]);
  assert.equal((await metadataOf(answerBody("rLM1Ne", null, [5]))).ok, true);
});

test("a body that was cut off keeps its whole chunks and stays incomplete", async () => {
  const rows = [row(NOTEBOOK, "a"), row(OTHER_NOTEBOOK, "secret plans")];
  const body = frameBody([["wrb.fr", "wXbhsf", JSON.stringify([rows]), null, null, null, "generic"]], TAIL);
  const first_chunk_end = body.indexOf("\n", body.indexOf("wrb.fr")) + 1;
  for (let cut = 0; cut < body.length; cut += 1) {
    const answer = await listOf(body.slice(0, cut), [NOTEBOOK]);
    assert.equal(answer.ok, true, `cut at ${cut}`);
    assert.ok(!answer.body.includes("secret plans"));
    assert.equal(answer.body.includes(NOTEBOOK), cut >= first_chunk_end - 1, `cut at ${cut}`);
  }
});

test("a web page instead of data is AUTH_REQUIRED", async () => {
  const { error } = await listOf("<!doctype html><html></html>", [NOTEBOOK]);
  assert.deepEqual([error.code, error.started], ["AUTH_REQUIRED", true]);
});

test("bodies that are no framing fail closed", async () => {
  const bad = [")]}'\n\nhello\n[]\n", ')]}\'\n\n7\n[["e",1]]\n5\n', ")]}'\n\n4\n{}\n", ')]}\'\n\n12\n[["new",1]]\n'];
  for (const body of bad) {
    const { ok, error } = await listOf(body, [NOTEBOOK]);
    assert.equal(ok, false, body);
    assert.equal(error.code, "UPSTREAM_SCHEMA_DRIFT");
  }
});

test("a notebook's source ids are read, Drive form included", async () => {
  const sources = [
    [[SOURCE], "a"],
    [[null, true, [DRIVE_SOURCE]], "b"],
  ];
  const body = answerBody("rLM1Ne", [row(NOTEBOOK, "t", sources)]);
  const answer = await metadataOf(body);
  assert.equal(answer.body, body);
  assert.deepEqual(answer.owned, { kind: "source", ids: [SOURCE, DRIVE_SOURCE] });
  assert.deepEqual((await metadataOf(answerBody("rLM1Ne", [row(NOTEBOOK, "t")]))).owned, { kind: "source", ids: [] });
});

test("recorded notebooks, notes and conversations are read", async () => {
  for (const [rpc, folder, kind] of [
    ["rLM1Ne", "", "source"],
    ["rLM1Ne", "later/", "source"],
    ["cFji9", "", "note"],
    ["cFji9", "later/", "note"],
    ["hPTbtc", "", "conversation"],
    ["hPTbtc", "later/", "conversation"],
  ]) {
    const lines = readFileSync(sharedPath(`wire/recorded/${folder}${rpc}.jsonl`), "utf-8")
      .trim()
      .split("\n");
    for (const line of lines) {
      const { request, response } = JSON.parse(line);
      const notebook = request.query["source-path"].split("/").at(-1);
      const answer = await ask(rpc, response.body, { notebook });
      assert.equal(answer.ok, true, JSON.stringify(answer.error));
      assert.equal(answer.owned.kind, kind);
    }
  }
});

test("the answer for another notebook than the requested one is withheld", async () => {
  const { error, body } = await metadataOf(answerBody("rLM1Ne", [row(OTHER_NOTEBOOK, "secret plans", [[[SOURCE]]])]));
  assert.equal(body, undefined);
  assert.deepEqual([error.code, error.detail.path], ["UPSTREAM_SCHEMA_DRIFT", "$[0][2]"]);
});

test("unknown shapes where ids stand fail closed", async () => {
  const bad_metadata = [
    [[], "$[0][2]"],
    [[row(NOTEBOOK, "t", "text")], "$[0][1]"],
    [[row(NOTEBOOK, "t", [[[7]]])], "$[0][1][0][0]"],
    [[row(NOTEBOOK, "t", [[[SOURCE]], [["nonsense"]]])], "$[0][1][1][0]"],
  ];
  for (const [result, path] of bad_metadata) {
    const { error } = await metadataOf(answerBody("rLM1Ne", result));
    assert.deepEqual([error?.code, error?.detail.path], ["UPSTREAM_SCHEMA_DRIFT", path]);
  }
  for (const [result, path] of [
    ["text", "$"],
    [["text"], "$[0]"],
    [[[["x"]]], "$[0][0][0]"],
    [[[7]], "$[0][0][0]"],
  ]) {
    const { error } = await conversationsOf(answerBody("hPTbtc", result));
    assert.deepEqual([error?.code, error?.detail.path], ["UPSTREAM_SCHEMA_DRIFT", path]);
  }
});

test("C-074 live notes, mind maps and deleted notes all belong to the notebook; one that never had any has none", async () => {
  const mixed = readFileSync(caseInput("C-074-notes-mixed.txt"), "utf-8");
  const answer = await notesOf(mixed);
  assert.equal(answer.body, mixed);
  assert.equal(answer.owned.kind, "note");
  assert.deepEqual(
    answer.owned.ids.map((id) => id.slice(0, 13)),
    ["40000000-0001", "40000000-0002", "40000000-0003", "40000000-0004"],
  );
  const never = await notesOf(readFileSync(caseInput("C-074-notes-never.txt"), "utf-8"));
  assert.deepEqual(never.owned, { kind: "note", ids: [] });
  for (const empty of [[], [[]], [null]]) {
    assert.deepEqual((await notesOf(answerBody("cFji9", empty))).owned, { kind: "note", ids: [] });
  }
});

test("an unknown shape of the notes fails closed: no id of it is learnt", async () => {
  const live = [NOTE, [NOTE, "text", [1], null, "title"]];
  const table = [
    [{}, "$"],
    ["text", "$"],
    [["text"], "$[0]"],
    [[[live, "text"]], "$[0][1][0]"],
    [[[live, [7, null, 2]]], "$[0][1][0]"],
    [[[live, [OTHER_NOTE, [NOTE, "text"]]]], "$[0][1][1][0]"],
    [[[live, [OTHER_NOTE, "text"]]], "$[0][1][1][0]"],
    [[[live, [OTHER_NOTE, []]]], "$[0][1][1][0]"],
    [[[live, [OTHER_NOTE, null, 3]]], "$[0][1][2]"],
    [[[live, [OTHER_NOTE]]], "$[0][1][2]"],
  ];
  for (const [result, path] of table) {
    const { ok, error, owned } = await notesOf(answerBody("cFji9", result));
    assert.deepEqual([ok, owned, error?.code, error?.detail.path], [false, undefined, "UPSTREAM_SCHEMA_DRIFT", path]);
  }
  assert.deepEqual((await notesOf(answerBody("cFji9", [[live]]))).owned.ids, [NOTE]);
});

test("the answers of writes teach nothing", async () => {
  for (const rpc of ["izAoDd", "o4cbdc", "CYK0Xb", "cYAfTb", "AH0mwd"]) {
    const body = answerBody(rpc, [[[[NOTE], "title"]]]);
    assert.deepEqual([(await ask(rpc, body)).owned, (await ask(rpc, body)).body], [null, body]);
  }
});

test("conversations are read in both recorded forms and when there is none", async () => {
  for (const [result, ids] of [
    [[[[CONVERSATION]]], [CONVERSATION]],
    [[[[CONVERSATION, [1, 2], [3, 4]]]], [CONVERSATION]],
    [[], []],
    [[null], []],
  ]) {
    assert.deepEqual((await conversationsOf(answerBody("hPTbtc", result))).owned, { kind: "conversation", ids });
  }
});
