# make demo: from nothing to a report. make test: the whole suite. Both install into .venv first.
PYTHON ?= python3
DEMO ?= demo
STEPS ?= 1000

DRIFTNET = .venv/bin/driftnet
PIP = .venv/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: setup demo test lint clean

setup: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'driftnet needs Python 3.11 or newer: make setup PYTHON=/path/to/python3'; exit 1; }
	@$(PYTHON) -m venv .venv || { echo 'Could not make .venv; on Debian: apt install python3-venv'; exit 1; }
	@echo 'Installing driftnet into .venv'
	@$(PIP) -e .
	@touch $@

.venv/developed: .venv/installed
	@echo 'Installing the tools of developers into .venv'
	@$(PIP) -e '.[dev,hub,oracles]'
	@touch $@

demo: setup
	$(DRIFTNET) generate NS-PwC --config recipes/laptop/data.yaml --output $(DEMO)/data/NS-PwC.nc
	$(DRIFTNET) train NS-PwC drift-net-tiny --config recipes/laptop/train.yaml --training.steps $(STEPS) \
	  --data $(DEMO)/data/NS-PwC.nc --runs $(DEMO)/runs
	$(DRIFTNET) train NS-PwC conv-unet-tiny --config recipes/laptop/train.yaml --training.steps $(STEPS) \
	  --data $(DEMO)/data/NS-PwC.nc --runs $(DEMO)/runs
	$(DRIFTNET) evaluate $(DEMO)/runs/NS-PwC/drift-net-tiny/0 $(DEMO)/runs/NS-PwC/conv-unet-tiny/0 --threads 1
	$(DRIFTNET) report $(DEMO)/runs --output $(DEMO)/report.html --figures $(DEMO)/figures --overwrite

test: .venv/developed
	.venv/bin/python -m pytest -q

lint: .venv/developed
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/pyright
	.venv/bin/lint-imports --no-logo

clean:
	rm -rf .venv $(DEMO)
