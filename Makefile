# Everything runs in the active environment, else in .venv, else with what is on the PATH.
# BIN ends in a slash or is empty.
ifdef VIRTUAL_ENV
BIN := $(VIRTUAL_ENV)/bin/
else ifneq ($(wildcard .venv/bin/python),)
BIN := .venv/bin/
endif
PYTHON := $(if $(BIN),$(BIN)python,python3)

.PHONY: all check test bench

all: check test

check:
	"$(BIN)ruff" check .
	"$(BIN)ruff" format --check .
	"$(BIN)basedpyright" --pythonpath "$$(command -v "$(PYTHON)")"
	"$(BIN)lint-imports"

test:
	"$(PYTHON)" -m pytest

bench:
	"$(PYTHON)" -m benchmarks.report
