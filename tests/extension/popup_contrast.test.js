// WCAG 2.2, 1.4.3: text has a contrast of 4.5 to its ground, in light and in dark.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const css = readFileSync(new URL("../../extension/popup.css", import.meta.url), "utf8");
const [light, dark] = [...css.matchAll(/:root \{([^}]*)\}/g)].map(([, body]) =>
  Object.fromEntries([...body.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name, colour]) => [name, colour])),
);
const PAIRS = [
  ["text", "ground"], ["text", "panel"], ["quiet", "ground"], ["quiet", "panel"], ["good", "ground"], ["warn", "ground"],
  ["bad", "ground"], ["accent", "ground"], ["on-accent", "accent"],
];

/** @param {string} colour relative luminance, as WCAG defines it */
function luminance(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one, other) {
  const [dim, bright] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (bright + 0.05) / (dim + 0.05);
}

for (const [name, colours] of [["light", light], ["dark", dark]]) {
  for (const [text, ground] of PAIRS) {
    test(`${name}: ${text} can be read on ${ground}`, () => {
      assert.ok(contrast(colours[text], colours[ground]) >= 4.5, `${contrast(colours[text], colours[ground])}`);
    });
  }
}
