// puppeteer-core's launch with `enableExtensions` over the pipe. argv: extension page.
import { createRequire } from "node:module";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const puppeteer = createRequire(`${process.env.BENCH_NODE}/`)("puppeteer-core");
const [extension, url] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "bench-profile-"));
const started_ms = performance.now();
const browser = await puppeteer.launch({
  executablePath: process.env.BENCH_BROWSER,
  headless: true,
  userDataDir: folder,
  pipe: true,
  enableExtensions: [extension],
  args: process.env.BENCH_BROWSER_FLAGS.split(" "),
});
const isWorker = (target) => target.type() === "service_worker" && target.url().startsWith("chrome-extension://");
await Promise.all([
  (async () => {
    const worker = await (await browser.waitForTarget(isWorker)).worker();
    while (!(await worker.evaluate(process.env.BENCH_IS_READY))) await new Promise((done) => setTimeout(done, 3));
  })(),
  (async () => {
    const page = await browser.newPage();
    await page.goto(url, { waitUntil: "load" });
  })(),
]);
console.log(JSON.stringify({ ready_ms: performance.now() - started_ms }));
await browser.close();
rmSync(folder, { recursive: true, force: true });
