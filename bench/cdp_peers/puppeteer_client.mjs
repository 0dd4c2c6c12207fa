// puppeteer-core's CDPSession. argv: ws-url. $BENCH_NODE: the folder that has its node_modules.
import { createRequire } from 'node:module';

const SEQUENTIAL = 2000, IN_FLIGHT_CALLS = 5000, IN_FLIGHT = 100, LARGE_BYTES = 10 * 1024 * 1024, LARGE_CALLS = 3, EVENTS = 50_000;
const puppeteer = createRequire(process.env.BENCH_NODE + '/')('puppeteer-core');
const browser = await puppeteer.connect({ browserWSEndpoint: process.argv[2], protocolTimeout: 120_000 });
const whole = await browser.target().createCDPSession();
const page = await (await browser.pages())[0].createCDPSession();
const found = {};

async function measure(name, units, work) {
  const cpu = process.cpuUsage(), start = performance.now();
  await work();
  const { user, system } = process.cpuUsage(cpu);
  found[name] = units / ((performance.now() - start) / 1e3);
  found[`${name}_cpu_us`] = (user + system) / units;
}

for (let i = 0; i < 2000; i++) await whole.send('Browser.getVersion');
await measure('sequential', SEQUENTIAL, async () => {
  for (let i = 0; i < SEQUENTIAL; i++) await whole.send('Browser.getVersion');
});
await measure('in_flight', IN_FLIGHT_CALLS, async () => {
  let left = IN_FLIGHT_CALLS;
  const work = async () => { while (left-- > 0) await whole.send('Browser.getVersion'); };
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
});
await measure('large_mb', LARGE_CALLS * LARGE_BYTES / 1e6, async () => {
  for (let i = 0; i < LARGE_CALLS; i++) await page.send('Runtime.evaluate', { expression: `'x'.repeat(${LARGE_BYTES})`, returnByValue: true });
});
await page.send('Runtime.addBinding', { name: 'benchEvent' });
await measure('events', EVENTS, async () => {
  let seen = 0;
  const all = new Promise((done) => page.on('Runtime.bindingCalled', () => { if (++seen === EVENTS) done(); }));
  await page.send('Runtime.evaluate', { expression: `for (let i = 0; i < ${EVENTS}; i++) benchEvent('e' + i)` });
  await all;
});
console.log(JSON.stringify(found));
process.exit(0);
