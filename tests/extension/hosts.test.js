import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { homeUrl, hostForMessage, isPageOf, placeOf } from "../../extension/lib/hosts.js";
import { caseInput } from "./shared.js";

test("C-049 only the real site, compared by its parsed host", () => {
  const cases = JSON.parse(readFileSync(caseInput("C-049-hosts.json"), "utf-8"));
  assert.equal(cases.length, 13);
  // Our documented choice for business accounts: supported.
  for (const { url, real } of cases) assert.equal(placeOf(url) === "app", real !== false, url);
});

test("C-050 a sign-in page is told by its host alone", () => {
  assert.equal(placeOf("https://notebook.google.com/?original_referer=https%3A%2F%2Faccounts.google.com%2F"), "app");
  assert.equal(
    placeOf("https://accounts.google.com/v3/signin/identifier?continue=https%3A%2F%2Fnotebook.google.com%2F"),
    "sign_in",
  );
  assert.equal(placeOf("https://accounts.google.com.evil.example/"), "other");
  assert.equal(placeOf("https://notebook.google.com/#https://accounts.google.com"), "app");
});

test("C-052 the page is opened for the address of the account, not for an index", () => {
  assert.equal(homeUrl("ada+x@example.com"), "https://notebook.google.com/?authuser=ada%2Bx%40example.com");
  assert.equal(isPageOf(homeUrl("Ada@example.com"), "ada@example.com"), true);
  assert.equal(
    isPageOf("https://notebooklm.google.com/notebook/x?authuser=ada%40example.com", "ada@example.com"),
    true,
  );
  for (const url of [
    "https://notebook.google.com/?authuser=0",
    "https://notebook.google.com/",
    "https://evil.example/?authuser=ada%40example.com",
    undefined,
  ]) {
    assert.equal(isPageOf(url, "ada@example.com"), false);
  }
});

test("an empty tab and unreadable addresses have their own names", () => {
  assert.deepEqual(
    [placeOf(undefined), placeOf(""), placeOf("about:blank"), placeOf("no url")],
    ["blank", "blank", "blank", "other"],
  );
  assert.equal(hostForMessage("https://notebooklm.google/?location=unsupported&user=x"), "notebooklm.google");
  assert.equal(hostForMessage("no url"), "an unreadable address");
});
