"""Tests of `broker.tools`: each tool through the dispatcher, over the emulator's own state."""
