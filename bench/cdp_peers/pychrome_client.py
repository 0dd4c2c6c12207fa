"""pychrome: threads and websocket-client. argv: ws-url."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pychrome
import workload as w

phases = w.Phases()
browser = pychrome.Browser("http" + sys.argv[1].removeprefix("ws").partition("/devtools/")[0])
tab = next(tab for tab in browser.list_tab() if tab.type == "page")
tab.start()
for _ in range(w.WARM_UP):
    tab.call_method("Browser.getVersion")
with phases.measure("sequential", w.SEQUENTIAL):
    for _ in range(w.SEQUENTIAL):
        tab.call_method("Browser.getVersion")
with ThreadPoolExecutor(w.IN_FLIGHT) as pool, phases.measure("in_flight", w.IN_FLIGHT_CALLS):
    list(pool.map(lambda _: tab.call_method("Browser.getVersion"), range(w.IN_FLIGHT_CALLS)))
with phases.measure("large_mb", w.LARGE_CALLS * w.LARGE_BYTES / 1e6):
    for _ in range(w.LARGE_CALLS):
        tab.call_method("Runtime.evaluate", expression=w.LARGE_EXPRESSION, returnByValue=True)
seen, all_seen = 0, threading.Event()


def count(**_):
    global seen
    seen += 1
    if seen == w.EVENTS:
        all_seen.set()


tab.set_listener("Runtime.bindingCalled", count)
tab.call_method("Runtime.addBinding", name="benchEvent")
with phases.measure("events", w.EVENTS):
    tab.call_method("Runtime.evaluate", expression=w.EVENTS_EXPRESSION)
    assert all_seen.wait(60)
phases.print()
os._exit(0)  # its threads do not end
