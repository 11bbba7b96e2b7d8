# Thin aliases; tox is the task runner (see tox.ini).
PYTHON ?= python3
TOX ?= $(PYTHON) -m tox

.PHONY: check ci format test

check:  ## lint, format check, types, tests, coverage
	$(TOX) run -m quick

ci:  ## everything CI runs
	$(TOX) run -m ci

format:  ## apply the format and safe fixes
	$(TOX) run -q -e format

test:  ## the tests of core with the running interpreter
	$(TOX) run -e core
