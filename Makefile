# Two commands matter: `make demo` and `make test`. Both set up everything they need, on a fresh machine as well.
SHELL := /bin/sh
.DEFAULT_GOAL := help

# The interpreter the environment is made with; 3.11 or newer.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SETUP := $(VENV)/.ready
SETUP_DEV := $(VENV)/.ready-dev
SETUP_FUZZ := $(VENV)/.ready-fuzz
# How long `make fuzz` runs each target.
SECONDS ?= 60
# How long `make soak` runs.
MINUTES ?= 30
# How long `make load` runs its sixteen brokers.
LOAD_MINUTES ?= 10

.PHONY: help demo test lint unit unit-broker unit-rest guard-check fuzz e2e kill-matrix soak load keeper-cycles bench mcpb docs clean

help:
	@echo "make demo   set up, then answer one question through a real browser against the emulated service"
	@echo "make test   set up, then run every check and test"
	@echo "make lint | unit | guard-check | fuzz | e2e | kill-matrix | soak | load | keeper-cycles | bench | mcpb | docs | clean   the parts"

# pip compiles bytecode on install, and compileall does it for our own editable tree: `serve` never pays for it.
$(SETUP): pyproject.toml scripts/ensure-browser.sh scripts/ensure-venv.sh
	@PYTHON="$(PYTHON)" sh scripts/ensure-venv.sh "$(VENV)"
	@"$(BIN)/python" -m pip install --quiet --disable-pip-version-check --editable '.[harness]'
	@sh scripts/ensure-browser.sh
	@"$(BIN)/python" -m compileall -q notebook_gateway broker cdp native_host onboarding harness
	@touch $@

$(SETUP_DEV): $(SETUP) package.json package-lock.json scripts/ensure-strace.sh scripts/ensure-xvfb.sh
	@"$(BIN)/python" -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@sh scripts/ensure-node.sh
	@sh scripts/ensure-strace.sh
	@sh scripts/ensure-xvfb.sh
	@npm ci --silent --no-audit --no-fund
	@touch $@

# Apart from the rest, since atheris has wheels for Linux only.
$(SETUP_FUZZ): $(SETUP_DEV) requirements-fuzz.txt
	@"$(BIN)/python" -m pip install --quiet --disable-pip-version-check -r requirements-fuzz.txt
	@touch $@

demo: $(SETUP)
	@"$(BIN)/notebook-gateway" demo

# In it the fuzzer only shows that its targets run; longer runs are `make fuzz SECONDS=600`.
test: lint unit guard-check
	$(MAKE) --no-print-directory fuzz SECONDS=3
	$(MAKE) --no-print-directory e2e
	$(MAKE) --no-print-directory soak MINUTES=2

lint: $(SETUP_DEV)
	"$(BIN)/ruff" check .
	"$(BIN)/ruff" format --check .
	npx --no-install pyright --pythonpath "$(BIN)/python"
	npx --no-install tsc -p extension/jsconfig.json
	npx --no-install tsc -p extension/jsconfig.popup.json

# In two processes, since most of the time goes into processes that the tests start and wait for.
unit: $(SETUP_DEV)
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target unit-broker unit-rest

unit-broker: $(SETUP_DEV)
	"$(BIN)/python" -m pytest -m "not browser" -p no:cacheprovider tests/broker

unit-rest: $(SETUP_DEV)
	node --test tests/extension/*.test.js
	"$(BIN)/python" -m pytest -m "not browser" -p no:cacheprovider --ignore=tests/broker

# Takes each guard of docs/guarantees.md away, in a copy, and sees its test fail.
guard-check: $(SETUP_DEV)
	"$(BIN)/python" -P -m tests.guards

# SECONDS for each target of fuzz/, as many at a time as there are processors. Status 1 when an invariant broke.
fuzz: $(SETUP_FUZZ)
	"$(BIN)/python" -P -m fuzz --seconds "$(SECONDS)"

e2e: $(SETUP_DEV)
	"$(BIN)/python" -m pytest -m browser

# The whole of it; goes on where it was interrupted, and writes the table of docs/reliability.md at its end.
kill-matrix: $(SETUP_DEV)
	"$(BIN)/python" -P -m tests.reliability

# Agents at work for MINUTES while one fault after the other happens; prints the tables of docs/reliability.md.
soak: $(SETUP_DEV)
	"$(BIN)/python" -P -m tests.reliability.soak --minutes "$(MINUTES)"

# Sixteen brokers on one browser for LOAD_MINUTES, and a thousand starts and ends of `serve`.
load: $(SETUP_DEV)
	"$(BIN)/python" -P -m tests.reliability.load --minutes "$(LOAD_MINUTES)"
	"$(BIN)/python" -P -m tests.reliability.cycles --count 1000

# Fifty starts and stops of the browser keeper, after which no process may be left; some five minutes.
keeper-cycles: $(SETUP_DEV)
	NOTEBOOK_GATEWAY_KEEPER_CYCLES=50 "$(BIN)/python" -m pytest tests/e2e/test_keeper.py -k again_and_again

bench: $(SETUP_DEV)
	"$(BIN)/python" -m bench

# dist/notebook-gateway-VERSION.mcpb, for clients that install bundles.
mcpb: $(SETUP_DEV)
	@sh scripts/build-mcpb.sh "$(BIN)/python"

docs: $(SETUP_DEV)
	"$(BIN)/python" -m broker.tool_docs > docs/tools.md
	"$(BIN)/python" -m notebook_gateway.cli_docs > docs/cli.md

clean:
	rm -rf "$(VENV)" node_modules dist fuzz/corpus.d fuzz/found
