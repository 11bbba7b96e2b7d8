"""The engine: verdicts, profiles, oracles, isolation, reports. Two front ends use it, the command
``mytriton-conformance`` and the pytest plugin."""
