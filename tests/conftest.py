"""Settings for all tests."""

from __future__ import annotations

import hypothesis

# Speed is measured in bench/ and never asserted in tests: a busy machine must not turn a property into a failure.
hypothesis.settings.register_profile("notebook-gateway", deadline=None)
hypothesis.settings.load_profile("notebook-gateway")
