"""The product in a box: an emulator of the service, a headless Chromium with the real extension and native host.

Serves ``notebook-gateway demo``, ``notebook-gateway harness`` and our own tests (``harness.pytest_plugin``). The
emulator's answers come from its own state, and it shares no codec with ``broker``, so that each can catch the mistakes
of the other.
"""
