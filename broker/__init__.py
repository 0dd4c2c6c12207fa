"""MCP facade, policy, session lock, relay to the browser, wire codecs, and one module per tool (``broker.tools``).

Imports only ``native_host`` (and, where a browser has to be reached, ``cdp``). Nothing here imports the front door, the
harness or onboarding. What parses arguments for people or draws tables does not belong here.
"""
