# Commands for people and for CI; `make help` lists them. Everything is set up by the first one that needs it.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
LOCKS  := requirements/dev.lock
# Each has a control plane of its own.
JOBS   ?= 2

.DEFAULT_GOAL := help
.PHONY: help test unit e2e incluster monitoring programs agreement lint format cluster controlplane node demo bench soak hour docs rbac lock clean

help: ## list the commands
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

test: lint controlplane programs node ## all checks and all tests, on a real control plane and node (what CI runs)
	$(BIN)/python -m pytest -n $(JOBS) --no-loadscope-reorder

unit: $(READY) ## the tests that need no cluster: seconds
	$(BIN)/python -m pytest tests/unit

e2e: controlplane ## the tests on a real control plane
	$(BIN)/python -m pytest tests/e2e tests/controlplane

incluster: node ## the tests on a real node, where the operator is installed as people do it (root)
	$(BIN)/python -m pytest tests/incluster

monitoring: controlplane programs ## metrics, alerts and dashboard against a real Prometheus and Alertmanager
	$(BIN)/python -m pytest tests/monitoring tests/e2e/test_monitoring.py

programs: $(READY)
	$(BIN)/python -m tests.monitoring

agreement: $(READY) ## as many random clusters as wanted against a scheduler (VERSION=1.36.3 CLUSTERS=500 SEED=1 MUTATE=1)
	$(BIN)/python -m tests.agreement $(if $(VERSION),--version $(VERSION)) $(if $(CLUSTERS),--clusters $(CLUSTERS)) \
	  $(if $(SEED),--seed $(SEED)) $(if $(MUTATE),--mutate) $(if $(TEXTS),--texts) $(if $(RECORD),--record $(RECORD))

lint: $(READY) ## formatting, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY) ## format the code and mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

controlplane: $(READY) ## build the control plane's binaries (9 min the first time on 2 cores, then cached)
	$(BIN)/python -m tests.controlplane --build-only

node: controlplane ## build what a real node needs, with the operator's image (6 min the first time; root)
	$(BIN)/python -m tests.incluster

cluster: $(READY) ## a real control plane until Ctrl-C (PROVIDER=kind: in Docker; not run in CI)
	$(BIN)/python -m tests.controlplane

demo: $(READY) ## see it work: from files at once, then on a real control plane (ONCE=1: ends by itself; IN_CLUSTER=1: installed by Helm)
	$(BIN)/python -m examples.$(if $(IN_CLUSTER),in_cluster,demo) $(if $(ONCE),--once)

bench: $(READY) ## what it costs at 5,000 nodes and 150,000 pods, on a stand-in API server: minutes (STOCK=1: stock kopf too, 20 in all)
	$(BIN)/python -m bench.load --growth $(if $(STOCK),--no-lean --stock --within 420)
	$(BIN)/python -m bench.command
	$(BIN)/python -m bench.engine
	$(BIN)/python -m bench.text
	$(BIN)/python -m bench.publishing

soak: controlplane ## half an hour of churn and faults on a real control plane (MINUTES=30 SEED=1)
	$(BIN)/python -m tests.soak $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED))

hour: $(READY) ## what people see in an hour at a busy cluster, in seconds (SEED=1 POD=train-007)
	$(BIN)/python -m tests.hour $(if $(SEED),--seed $(SEED)) $(if $(POD),--pod $(POD))

docs: $(READY) ## write the generated pages anew
	$(BIN)/python docs/generate.py

rbac: $(READY) ## write deploy/rbac anew from the chart
	$(BIN)/python deploy/rbac.py

lock: $(READY) ## write the requirement locks anew, with hashes and without the addresses they came from
	cd $(CURDIR) && for which in operator cli; do \
	  $(BIN)/uv pip compile pyproject.toml --extra $$which $(COMPILE) -o requirements/$$which.lock; done
	cd $(CURDIR) && $(BIN)/uv pip compile --group build $(COMPILE) -o requirements/build.lock
	$(BIN)/uv pip compile pyproject.toml --extra cli --extra operator --group dev $(COMPILE) -o $(LOCKS)

COMPILE := --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
           --no-emit-find-links --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)

$(READY): $(LOCKS) pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "no $(PYTHON) on the PATH: install Python 3.11 or newer" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$$($(PYTHON) -V) is too old: set PYTHON to a Python 3.11 or newer" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make virtual environments: apt-get install python3-venv" >&2; exit 1; }
	@echo "setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r $(LOCKS)
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

clean: ## remove what the commands made in this folder (the control plane's cache stays)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
