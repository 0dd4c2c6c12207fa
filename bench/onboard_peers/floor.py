"""The floor: a bare pipe, the extension and the page on the command line, nothing but what has to be asked.

argv: extension page. Chromium honours ``--load-extension``, branded Chrome does not, so this is no way for a product.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import tempfile
import time

from cdp.finder import find_browser
from native_host.protocol import EXTENSION_ID
from onboarding.extension_browser import IS_READY


class Pipe:
    def __init__(self, reads: int, writes: int) -> None:
        self._reads, self._writes = reads, writes
        self._last_id = 0
        self._kept = b""

    def call(self, method: str, params: object = None, session: str | None = None) -> dict:
        self._last_id += 1
        command = {"id": self._last_id, "method": method, "params": params or {}}
        if session is not None:
            command["sessionId"] = session
        os.write(self._writes, json.dumps(command).encode() + b"\0")
        while True:
            while b"\0" not in self._kept:
                self._kept += os.read(self._reads, 65536)
            message, _, self._kept = self._kept.partition(b"\0")
            answer = json.loads(message)
            if answer.get("id") == self._last_id:
                return answer.get("result", {})

    def wait_for(self, wanted_type: str, url: str, ready: str) -> None:
        while True:
            targets = self.call("Target.getTargets")["targetInfos"]
            found = [t["targetId"] for t in targets if t["type"] == wanted_type and t["url"].startswith(url)]
            if found:
                break
            time.sleep(0.003)
        session = self.call("Target.attachToTarget", {"targetId": found[0], "flatten": True})["sessionId"]
        while True:
            answer = self.call("Runtime.evaluate", {"expression": ready, "returnByValue": True}, session)
            if answer.get("result", {}).get("value"):
                return
            time.sleep(0.003)


def main(extension: str, page: str) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        started_s = time.perf_counter()
        browser_reads, we_write = os.pipe()
        we_read, browser_writes = os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 100) for end in (browser_reads, browser_writes)]
        null = os.open(os.devnull, os.O_RDWR)
        flags = os.environ["BENCH_BROWSER_FLAGS"].split()
        binary = str(find_browser().path)
        argv = [binary, "--remote-debugging-pipe", f"--user-data-dir={folder}", f"--load-extension={extension}"]
        duplicate = os.POSIX_SPAWN_DUP2
        actions = [(duplicate, ends[0], 3), (duplicate, ends[1], 4), *((duplicate, null, n) for n in (0, 1, 2))]
        pid = os.posix_spawn(binary, [*argv, *flags, page], os.environ, file_actions=actions)
        for end in (*ends, browser_reads, browser_writes):
            os.close(end)
        pipe = Pipe(we_read, we_write)
        pipe.wait_for("service_worker", f"chrome-extension://{EXTENSION_ID}/", IS_READY)
        pipe.wait_for("page", page, "document.readyState === 'complete'")
        print(json.dumps({"ready_ms": (time.perf_counter() - started_s) * 1e3}), flush=True)
        pipe.call("Browser.close")
        os.waitpid(pid, 0)


main(*sys.argv[1:])
