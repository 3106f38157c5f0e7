# One command works in a fresh clone: every target that needs the environment makes it first.

PYTHON ?= python3
# Test workers. Two is what a small machine has; `make test JOBS=8` on a large one.
JOBS ?= 2
# Clusters beside each other in the end-to-end tests. Most of their time is waiting for a kubelet's timers.
CLUSTERS ?= 3

VENV := .venv
BIN := $(VENV)/bin
# Two stamps: a changed lock rebuilds the environment, a changed pyproject.toml only reinstalls the project.
LOCKED := $(VENV)/.stamp-locked
INSTALLED := $(VENV)/.stamp-installed

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: setup sandbox test fresh testbed testbed-shell e2e e2e-smoke real-libraries peers bench soak lint format protos schemas image charts bundle release lock clean help

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

setup: $(INSTALLED) ## Make .venv with the locked tools and this project in it

$(LOCKED): requirements/dev.txt
	@command -v $(PYTHON) >/dev/null || { \
	  echo "Tangram needs Python 3.11 or newer and found no '$(PYTHON)': on Debian, apt-get install python3 python3-venv." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Tangram needs Python 3.11 or newer, but '$(PYTHON)' is $$($(PYTHON) -V 2>&1): name a newer one with 'make PYTHON=python3.11 setup'." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' cannot make virtual environments: on Debian, apt-get install python3-venv." >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	@# The lock names everything, so nothing is resolved: pip would take a newer release than the lock's for an extra.
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip check >/dev/null || { $(BIN)/python -m pip check >&2; exit 1; }
	@touch $@

$(INSTALLED): $(LOCKED) pyproject.toml
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@# The test bed is not part of the wheel; its command runs from this folder.
	@printf '#!/bin/sh\nPYTHONPATH="%s" exec "%s/python" -m testbed "$$@"\n' "$(CURDIR)" "$(CURDIR)/$(BIN)" > $(BIN)/testbed && chmod +x $(BIN)/testbed
	@touch $@

test: setup ## Run the tests
	$(BIN)/pytest -q -n $(JOBS)

fresh: setup ## Type README's commands on a bare Debian: install line, make sandbox, make test (needs root, apt, Go)
	@PYTHONPATH="$(CURDIR)" $(BIN)/python -m testbed.fresh $(if $(NO_TESTS),--no-tests) $(if $(SMOKE),--smoke)

soak: setup ## Run the tests with the full number of random examples (long)
	TANGRAM_SOAK=1 $(BIN)/pytest -q -n $(JOBS)

lint: setup ## Check style, types and layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/basedpyright
	$(BIN)/lint-imports --no-logo

format: setup ## Rewrite the code in the house format
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

bench: setup ## Measure speed, memory and placement quality (about half an hour)
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/runtime_program.py
	@for nodes in 1000 5000 15000; do $(BIN)/python benchmarks/filter.py --nodes $$nodes --pods-per-node 10 || exit 1; done
	$(BIN)/python benchmarks/drivers.py
	$(BIN)/python benchmarks/placement.py
	$(BIN)/python benchmarks/sandbox.py
	$(BIN)/python benchmarks/dashboard.py
	@if [ "$$(id -u)" = 0 ]; then $(MAKE) testbed && $(BIN)/python benchmarks/node_agent.py && \
	  for nodes in 1000 5000 15000; do $(BIN)/python benchmarks/cluster.py --nodes $$nodes --pods 2000 || exit 1; done && \
	  $(BIN)/python benchmarks/cluster.py --memory; else \
	  echo "The node agent and the scheduler are not measured: that needs a real Kubernetes, and root" \
	    "(benchmarks/node_agent.py, benchmarks/cluster.py)."; fi

sandbox: setup ## Run a GPU cluster on this machine, with no cluster and no GPU; Ctrl-C ends it
	@$(BIN)/tangram sandbox

testbed: setup ## Build a real Kubernetes for the end-to-end tests (about nine minutes the first time on two cores)
	@$(BIN)/testbed build

testbed-shell: testbed ## Open a shell in a real cluster, with kubectl set (needs root)
	@$(BIN)/testbed shell

# The node agent runs over this file too, where it is named.
ifneq ($(MXSML),)
export TANGRAM_MXSML := $(abspath $(MXSML))
endif

# The tests of one file share clusters, so a file stays on one worker.
E2E := $(BIN)/pytest -q -n $(CLUSTERS) --dist loadfile e2e

e2e: testbed ## Run the end-to-end tests on a real Kubernetes (needs root, Linux, Go; with MXSML=/path/libmxsml.so over it too)
	$(E2E)

e2e-smoke: testbed ## Run the essential ones of them
	$(E2E) -m smoke

real-libraries: setup ## Compare vendors' libraries with our twins (MXSML=/path/libmxsml.so MTML=/path/libmtml.so; with KUBELET=1 also run the agent over MetaX's)
	$(BIN)/python -m real_libraries $(if $(MXSML),--mxsml $(MXSML)) $(if $(MTML),--mtml $(MTML))
	@$(if $(KUBELET),$(MAKE) testbed && $(BIN)/pytest -q e2e/test_agent_real_library.py)

# Programs of other projects that a person has built; nothing of them is here, and nothing here builds them.
peers: setup ## Play stories over the schedulers of others (HAMI=/path/to/hami-scheduler KOORD=/path/to/koord-scheduler EXAMPLES=/path/to/HAMi/examples)
	@$(BIN)/python -m peers $(if $(HAMI),--hami "$(HAMI)") $(if $(KOORD),--koord "$(KOORD)") $(if $(EXAMPLES),--examples "$(EXAMPLES)") $(if $(WORDS),-- $(WORDS))

protos: setup ## Write the kubelet's messages from proto/ again
	rm -f src/tangram/wire/kubelet/*_pb2.py src/tangram/wire/kubelet/*_pb2.pyi
	$(BIN)/python -m grpc_tools.protoc --proto_path=proto --python_out=src --pyi_out=src proto/tangram/wire/kubelet/*.proto

# Written beside first: a cluster that did not start must not empty the file.
SHAPES := src/tangram/sandbox/apiserver/schemas/kubernetes.json

schemas: testbed ## Write the shapes of the sandbox's kinds again, from a real API server (needs root)
	$(BIN)/testbed schemas > $(SHAPES).new && mv $(SHAPES).new $(SHAPES)

image: setup ## Make the container image in dist/ (REFRESH=1 looks for newer Debian packages; needs apt)
	@$(BIN)/python -m shipping.image $(if $(REFRESH),--refresh)

charts: setup ## Pack the charts in dist/, the same bytes each time; needs no helm
	@$(BIN)/python -m shipping.charts

bundle: setup ## Make the packages for sites without internet in dist/: images with their tool, charts, metax-docker
	@$(BIN)/python -m shipping.bundle

release: setup ## Make everything people install of the tagged commit, in dist/release/ (SNAPSHOT=1 of one without a tag)
	@$(BIN)/python -m shipping.release $(if $(SNAPSHOT),--snapshot) $(if $(REFRESH),--refresh)

# No index address, no file path and no date goes into the locks: they name versions and hashes, the reader picks the source.
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-header --no-emit-index-url --no-emit-find-links --no-emit-build-options --upgrade

lock: setup ## Choose the newest allowed versions and write requirements/*.txt
	$(COMPILE) pyproject.toml --output-file requirements/run.txt
	$(COMPILE) pyproject.toml --extra mthreads --output-file requirements/image.txt
	$(COMPILE) pyproject.toml --extra dev --output-file requirements/dev.txt

clean: ## Remove everything the other targets made
	rm -rf $(VENV) .sandbox .e2e-logs .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
