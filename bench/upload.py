"""An upload end to end, beside the same bytes sent by the page itself.

Method: one chain; rounds of three uploads of one size. `add_source` reads a file and takes it through `serve`, host,
extension and page, with registration, journal and SHA-256 of the file. The page's loop makes the same three steps out
of one buffer, in parts of 512 KiB (the page's executor sends 256 or 512 KiB at a time): no disk, no digest, no base64.
The page's single request sends the whole file with the finalize command. All end at the same emulated service over TLS,
which digests what it gets. Ratios are taken round by round.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

import trio

from bench.files import add_file, make_file, project_folder
from native_host.protocol import FRAGMENT_BYTES

ROUNDS = 5
SIZE_BYTES = 64 * 1024 * 1024
WARM_UP_BYTES = 4 * 1024 * 1024

PAGE_UPLOAD = """
(async (notebook, size, sliceBytes) => {
  const wiz = window.WIZ_global_data;
  const form = 'application/x-www-form-urlencoded;charset=UTF-8';
  const post = async (target, headers, body) => {
    const response = await fetch(target, {
      method: 'POST', body, credentials: 'include', headers: { 'Content-Type': form, ...headers },
    });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    return response;
  };
  const options = [2, null, null, [1, null, null, null, null, null, null, null, null, null, [1]]];
  const register = async () => {
    const inner = JSON.stringify([[['page.pdf']], notebook, options]);
    const outer = JSON.stringify([[['o4cbdc', inner, null, 'generic']]]);
    const query = new URLSearchParams({
      rpcids: 'o4cbdc', 'source-path': '/notebook/' + notebook, 'f.sid': wiz.FdrFJe, hl: 'en', rt: 'c',
      authuser: wiz.oPEP7c,
    });
    const body = 'f.req=' + encodeURIComponent(outer) + '&at=' + encodeURIComponent(wiz.SNlM0e) + '&';
    const text = await (await post('/_/LabsTailwindUi/data/batchexecute?' + query, {}, body)).text();
    const row = JSON.parse(text.split('\\n').find((line) => line.includes('o4cbdc')))[0];
    return JSON.parse(row[2])[0][0][0][0];
  };
  const bytes = new Uint8Array(sliceBytes === 0 ? size : sliceBytes);
  for (let at = 0; at < bytes.length; at += 65536) crypto.getRandomValues(bytes.subarray(at, at + 65536));

  const started = performance.now();
  const source = await register();
  const begun = await post('/upload/_/?authuser=' + encodeURIComponent(wiz.oPEP7c), {
    'x-goog-upload-command': 'start', 'x-goog-upload-protocol': 'resumable',
    'x-goog-upload-header-content-length': `${size}`, 'x-goog-upload-header-content-type': 'application/pdf',
  }, JSON.stringify({ PROJECT_ID: notebook, SOURCE_NAME: 'page.pdf', SOURCE_ID: source }));
  const session = begun.headers.get('x-goog-upload-url');
  let offset = 0;
  const send = (command, part) =>
    post(session, { 'x-goog-upload-command': command, 'x-goog-upload-offset': `${offset}` }, part);
  if (sliceBytes > 0) for (; size - offset > sliceBytes; offset += sliceBytes) await send('upload', bytes);
  await send('upload, finalize', bytes.subarray(0, size - offset));
  return performance.now() - started;
})
"""


async def page_rate(chain: Any, notebook: str, size_bytes: int, slice_bytes: int) -> float:
    """Return the page's own MB/s; `slice_bytes` 0 means one request."""
    elapsed_ms = await chain.evaluate_in_tab(f"{PAGE_UPLOAD}('{notebook}', {size_bytes}, {slice_bytes})")
    return size_bytes / 1e3 / float(elapsed_ms)


async def tool_rate(client: Any, path: Path, key: str) -> float:
    """Return the tool's MB/s."""
    return path.stat().st_size / 1e6 / await add_file(client, path, key)


async def measure(rounds: int, size_bytes: int) -> dict[str, list[float]]:
    """Return MB/s of every round."""
    from harness.chain import open_chain
    from harness.emulator.seed import EMPTY_PLAN_ID
    from harness.mcp_client import SERVE_COMMAND, open_client

    rates: dict[str, list[float]] = {"tool": [], "page_slices": [], "page_single": []}
    with project_folder() as folder:
        warm_up, file = make_file(folder, WARM_UP_BYTES), make_file(folder, size_bytes)
        async with open_chain() as chain, open_client(SERVE_COMMAND, env=chain.env, cwd=folder) as client:
            await client.initialize()
            await client.call_tool("select_notebook", {"notebook_id": EMPTY_PLAN_ID, "save_for_project": False})
            await tool_rate(client, warm_up, "warm-up")
            await page_rate(chain, EMPTY_PLAN_ID, WARM_UP_BYTES, FRAGMENT_BYTES)
            for number in range(rounds):
                rates["page_slices"].append(await page_rate(chain, EMPTY_PLAN_ID, size_bytes, FRAGMENT_BYTES))
                rates["tool"].append(await tool_rate(client, file, f"bench-{number}"))
                rates["page_single"].append(await page_rate(chain, EMPTY_PLAN_ID, size_bytes, 0))
    return rates


def table(rates: dict[str, list[float]]) -> str:
    """Render the Markdown table."""
    names = {
        "tool": "`add_source`, file to service",
        "page_slices": f"page alone, slices of {FRAGMENT_BYTES // 1024} KiB",
        "page_single": "page alone, one request",
    }
    lines = ["| upload | MB/s (median / best) | × page's slices |", "|---|---|---|"]
    for key, name in names.items():
        ratio = statistics.median(own / page for own, page in zip(rates[key], rates["page_slices"], strict=True))
        lines.append(f"| {name} | {statistics.median(rates[key]):.1f} / {max(rates[key]):.1f} | {ratio:.2f} |")
    return "\n".join(lines)


def run(rounds: int = ROUNDS, size_bytes: int = SIZE_BYTES) -> dict[str, list[float]]:
    """Run the benchmark."""
    return trio.run(measure, rounds, size_bytes)


if __name__ == "__main__":
    print(table(run(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)))
