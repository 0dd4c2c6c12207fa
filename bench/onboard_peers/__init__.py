"""One program per way to a browser with the extension ready; each is run by `bench.onboarding`, not imported."""
