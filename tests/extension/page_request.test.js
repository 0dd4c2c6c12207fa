// What the page sends, and when it refuses to send anything.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { ACCOUNT, FakePage, NOTEBOOK, SIGNED_IN, answerBody } from "./fake_page.js";
import { caseInput } from "./shared.js";

test("a call is one POST with the page's own tokens, and the tokens do not come back", async () => {
  const page = new FakePage();
  page.answer = () => page.response(answerBody("tr032e", []), { headers: { "content-type": "application/json" } });
  const answer = await page.rpc("tr032e", [[[["x"]]]], { source_path: `/notebook/${NOTEBOOK}`, notebook: NOTEBOOK });

  assert.equal(answer.ok, true);
  assert.equal(answer.status, 200);
  const [{ url, init, form, request }] = page.sent;
  assert.equal(url.origin + url.pathname, "https://notebook.google.com/_/LabsTailwindUi/data/batchexecute");
  assert.deepEqual(Object.fromEntries(url.searchParams), {
    rpcids: "tr032e",
    "source-path": `/notebook/${NOTEBOOK}`,
    _reqid: "100000",
    bl: SIGNED_IN.cfb2h,
    "f.sid": SIGNED_IN.FdrFJe,
    hl: "en",
    rt: "c",
    authuser: ACCOUNT,
  });
  assert.equal(init.method, "POST");
  assert.equal(init.credentials, "include");
  assert.equal(init.headers["content-type"], "application/x-www-form-urlencoded;charset=UTF-8");
  assert.ok(init.body.endsWith("&"));
  assert.equal(form.get("at"), SIGNED_IN.SNlM0e);
  assert.deepEqual(request, [[["tr032e", '[[[["x"]]]]', null, "generic"]]]);
  for (const secret of [SIGNED_IN.SNlM0e, SIGNED_IN.FdrFJe]) assert.ok(!JSON.stringify(answer).includes(secret));
});

test("C-049 requests go to the origin of the page that was landed on", async () => {
  const page = new FakePage({ origin: "https://notebooklm.cloud.google.com" });
  await page.rpc("tr032e", []);
  assert.equal(page.sent[0].url.origin, "https://notebooklm.cloud.google.com");
});

test("C-049 a page on any other origin sends nothing", async () => {
  for (const origin of ["https://notebook.google.com:8443", "http://notebook.google.com", "https://evil.example"]) {
    const page = new FakePage({ origin });
    const { error } = await page.rpc("wXbhsf", []);
    assert.deepEqual([error.code, error.started], ["TAB_DISCARDED", false]);
    assert.equal(page.sent.length, 0);
  }
});

test("C-050 the tokens of a sign-in page are never used", async () => {
  const html = readFileSync(caseInput("C-050-sign-in-page.html"), "utf-8");
  const wiz = JSON.parse(/WIZ_global_data=(\{.*?\});/.exec(html)[1]);
  const page = new FakePage({ wiz: { ...wiz, oPEP7c: ACCOUNT } });
  const { error } = await page.rpc("wXbhsf", []);
  assert.deepEqual([error.code, error.started], ["AUTH_REQUIRED", false]);
  assert.equal(page.sent.length, 0);
});

test("a signed-out app page without tokens is AUTH_REQUIRED", async () => {
  const { SNlM0e, FdrFJe, oPEP7c, ...rest } = SIGNED_IN;
  for (const wiz of [rest, {}, null]) {
    const { error } = await new FakePage({ wiz }).rpc("wXbhsf", []);
    assert.equal(error.code, "AUTH_REQUIRED");
  }
});

test("C-051 the page account decides, found by the ordered keys", async () => {
  const variants = JSON.parse(readFileSync(caseInput("C-051-identity.json"), "utf-8"));
  assert.equal(variants.length, 7);
  const { oPEP7c, ...without_identity } = SIGNED_IN;
  const seen = [];
  for (const variant of variants) {
    const page = new FakePage({ wiz: { ...without_identity, ...variant.page } });
    const answer = await page.rpc("CYK0Xb", []);
    assert.equal(page.sent.length, answer.ok ? 1 : 0);
    // Our choice for the second variant: oM1Kwf is kept as an alternative.
    if (typeof variant.dispatch === "boolean") assert.equal(answer.ok, variant.dispatch, JSON.stringify(variant));
    if (!answer.ok) assert.equal(answer.error.started, false);
    seen.push(answer.ok ? "sent" : answer.error.code);
  }
  const [drift, mismatch] = ["UPSTREAM_SCHEMA_DRIFT", "ACCOUNT_MISMATCH"];
  assert.deepEqual(seen, ["sent", "sent", mismatch, mismatch, mismatch, drift, drift]);
});

test("C-051 without an identity key the refusal names the keys that were looked for", async () => {
  const { oPEP7c, ...wiz } = SIGNED_IN;
  const { error } = await new FakePage({ wiz }).run({
    op: "identity",
    account: ACCOUNT,
    origins: ["https://notebook.google.com"],
  });
  assert.equal(error.code, "UPSTREAM_SCHEMA_DRIFT");
  assert.match(error.message, /oPEP7c or oM1Kwf/);
});

test("C-051 a mismatch masks both addresses", async () => {
  const { error } = await new FakePage({ wiz: { ...SIGNED_IN, oPEP7c: "home@example.com" } }).rpc("wXbhsf", []);
  assert.equal(error.code, "ACCOUNT_MISMATCH");
  assert.match(error.message, /h\*\*\*@example\.com/);
  assert.match(error.message, /w\*\*\*@example\.com/);
  assert.ok(!JSON.stringify(error).includes("home@") && !JSON.stringify(error).includes("worker@"));
});

test("C-052 the account is selected by its address, which is read anew at each call", async () => {
  const page = new FakePage();
  await page.rpc("tr032e", []);
  page.evaluate(`WIZ_global_data = {...WIZ_global_data, oPEP7c: "other@example.com"}`);
  const { error } = await page.rpc("tr032e", []);
  assert.equal(page.sent.length, 1);
  assert.equal(page.sent[0].url.searchParams.get("authuser"), ACCOUNT);
  assert.equal(error.code, "ACCOUNT_MISMATCH");
});

test("identity gives account, origin and build label, and nothing secret", async () => {
  const page = new FakePage();
  const answer = await page.run({
    op: "identity",
    account: "WORKER@example.com",
    origins: ["https://notebook.google.com"],
  });
  assert.deepEqual(answer, {
    ok: true,
    account: ACCOUNT,
    origin: "https://notebook.google.com",
    build_label: SIGNED_IN.cfb2h,
  });
});

test("C-044 a command that comes after its deadline sends nothing and proves it", async () => {
  const page = new FakePage();
  const { error } = await page.rpc("tr032e", [], { not_after_ms: page.now_ms - 1 });
  assert.deepEqual([error.code, error.started], ["TIMEOUT", false]);
  assert.equal(page.sent.length, 0);
});

test("the checks and the call of fetch are one synchronous turn", () => {
  const page = new FakePage();
  void page.rpc("tr032e", []);
  assert.equal(page.sent.length, 1); // nothing was awaited in between
});

test("a redirected call is AUTH_REQUIRED and is not followed", async () => {
  // The page reads `type` by the prototype's getter, and no real response of this type can be made here.
  const proto = Response.prototype;
  const original = Object.getOwnPropertyDescriptor(proto, "type");
  Object.defineProperty(proto, "type", { configurable: true, get: () => "opaqueredirect" });
  try {
    const redirected = new FakePage();
    const { error } = await redirected.rpc("tr032e", []);
    assert.deepEqual([error.code, error.started, error.detail.reason], ["AUTH_REQUIRED", true, "redirect"]);
    assert.equal(redirected.sent[0].init.redirect, "manual");
  } finally {
    Object.defineProperty(proto, "type", original);
  }
});

test("HTTP errors pass without their page, with Retry-After in seconds", async () => {
  const page = new FakePage();
  page.answer = () => page.response("<html>slow down</html>", { status: 429, headers: { "retry-after": "7" } });
  const answer = await page.rpc("wXbhsf", [], { allow: [] });
  assert.deepEqual([answer.status, answer.body, answer.retry_after_s], [429, "", 7]);

  page.answer = () =>
    page.response("", { status: 503, headers: { "retry-after": new Date(page.now_ms + 9000).toUTCString() } });
  assert.equal((await page.rpc("tr032e", [])).retry_after_s, 9);
});

test("c029 a web page instead of data never leaves the page, whatever was asked", async () => {
  const page = new FakePage();
  page.answer = () => page.response('\n<!doctype html><script>WIZ_global_data = {"SNlM0e": "token"}</script>');
  for (const rpc of ["wXbhsf", "tr032e", "izAoDd", "CYK0Xb"]) {
    const { error, ...rest } = await page.rpc(rpc, [], { allow: "*" });
    assert.deepEqual([error.code, error.started], ["AUTH_REQUIRED", true]);
    assert.ok(!JSON.stringify([error, rest]).includes("token"));
  }
});

test("a failed connection is no proof that nothing started", async () => {
  const page = new FakePage();
  page.answer = () => {
    throw new TypeError("Failed to fetch");
  };
  const { error } = await page.rpc("tr032e", []);
  assert.deepEqual([error.code, error.started, error.detail], ["UPSTREAM_REJECTED", true, { reason: "network" }]);
});

test("abort ends a running call of that key only", async () => {
  const page = new FakePage();
  page.answer = () => new Promise(() => {});
  const mine = page.rpc("tr032e", [], { key: "1".repeat(32) });
  await page.run({ op: "abort", key: "2".repeat(32) });
  assert.equal(page.sent[0].init.signal.aborted, false);
  await page.run({ op: "abort", key: "1".repeat(32) });
  const { error } = await mine;
  assert.deepEqual([error.code, error.started], ["CANCELLED", true]);
});
