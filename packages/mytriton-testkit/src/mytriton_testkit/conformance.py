"""The pytest plugin collects the conformance cases under this file; nothing else is in it."""
