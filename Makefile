# What a stranger and CI both run. Every target makes what it needs in .venv first; `make` alone lists them.

BIN := .venv/bin
ARGS :=

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test lint bench clean runtime dev

help: ## list the targets
	@echo "usage: make TARGET [PYTHON=/path/to/python3] [ARGS='options of pytest']"
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  \1\t\2/p' Makefile

demo: runtime ## install ytrag and ask its built-in sample a two-hop question
	@$(BIN)/ytrag demo

test: dev ## run the tests, files side by side
	@$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile $(ARGS)

lint: dev ## check style and types: ruff, mypy, pyright
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/pyright --pythonpath $(BIN)/python

bench: dev ## run the benches, peers side by side
	@OMP_WAIT_POLICY=passive $(BIN)/python -m pytest benches --benchmark-disable-gc $(ARGS)

clean: ## remove what the other targets made, .venv included
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .benchmarks .demo-kb *.egg-info
	find kernels storage schemas ytrag_core tests benches -name __pycache__ -type d -prune -exec rm -rf {} +

runtime:
	@.ci/setup runtime

dev:
	@.ci/setup dev
