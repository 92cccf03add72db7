# Everything runs in .venv, which is made with nothing but python3 and pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEV_READY := $(VENV)/.ready-dev
DOCS_READY := $(VENV)/.ready-docs
# The tests of a file share what they compile, so one process runs them all; files begin in the order of their names.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder
TORCH := torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu
# Modules are compiled when they are first imported: to compile all takes as long as the rest of the installation. Where
# images of containers tell Python to keep none of it (PYTHONDONTWRITEBYTECODE), every process would do it anew.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable

unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint format docs clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 16

demo: $(READY)  ## train HalfCheetah from pixels (about seven minutes on two cores), with curve and video
	$(BIN)/pixelbrax train --preset demo

test: $(DEV_READY)  ## run the tests, on two cores
	$(PYTEST)

test-all: $(DEV_READY)  ## run all tests: every task, engine, algorithm and length (hours)
	$(PYTEST) -m ''

lint: $(DEV_READY)  ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/python benchmarks/tables.py --check
	$(BIN)/python -m tools.notebooks --check

format: $(DEV_READY)  ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(DOCS_READY)  ## build the documentation into site/, and check it
	$(BIN)/python -m tools.site

clean:  ## remove the virtual environment and the built documentation (runs/ stays)
	rm -rf $(VENV) site

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "PixelBrax needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) .
	@touch $@

# The tests of adapters take PyTorch's CPU build, if there is one: that of PyPI brings gigabytes of CUDA on Linux.
$(DEV_READY): $(READY)
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps $(TORCH)
	$(INSTALL) '.[dev]'
	@touch $@

$(DOCS_READY): $(READY)
	$(INSTALL) '.[docs]'
	@touch $@
