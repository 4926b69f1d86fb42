# Every target makes what it needs: the first call creates .venv and installs, the next ones start at once.
#   make demo PYTHON=python3.12          choose the interpreter that .venv is made from
#   make bench BENCH_PYTHON=/some/python measure in an environment of yours (one that has PyTorch, say)

PYTHON ?= python3
VENV ?= .venv
BENCH_ARGS ?= --pinned
TEST_ARGS ?= --sample -n auto --dist worksteal
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help demo test test-all pytorch-suite lint format bench codegen docs wheel release clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.demo  ## train on handwritten digits, fit a physical model; pictures in demo/
	$(RUN) -m pullback demo all

test: $(VENV)/.test  ## run every test and example, of large families of cases a sample
	$(RUN) -m pytest $(TEST_ARGS)

test-all: TEST_ARGS = -n auto --dist worksteal
test-all: test  ## run every case of every test

pytorch-suite: $(VENV)/.test  ## run PyTorch's own tests of autograd, fetched from Debian's source package
	@tests/pytorch_suite/fetch.sh; case $$? in \
	  0) $(RUN) tests/pytorch_suite/run.py $(SUITE_ARGS) ;; \
	  75) echo "PyTorch's own tests are not run" ;; \
	  *) exit 1 ;; \
	esac

lint: $(VENV)/.lint  ## ruff, and mypy on the packages that pyproject.toml lists
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

format: $(VENV)/.lint  ## let ruff put the code in order
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

ifdef BENCH_PYTHON
bench:
	PYTHONPATH=. $(BENCH_PYTHON) -m benchmarks $(BENCH_ARGS)
else
bench: $(VENV)/.bench  ## measure against PyTorch, HIPS autograd and JAX, as far as installed
	$(RUN) -m benchmarks $(BENCH_ARGS)
endif

codegen: $(VENV)/.lint  ## write pullback/ops/generated/ and the tables in docs/ anew from the YAML
	$(RUN) tools/codegen.py $(CODEGEN_ARGS)
	$(RUN) tools/operators.py $(CODEGEN_ARGS)
	$(RUN) tools/declarations.py $(CODEGEN_ARGS)
	$(RUN) tools/numpy_functions.py $(CODEGEN_ARGS)
	$(RUN) tools/scipy_functions.py $(CODEGEN_ARGS)
	$(RUN) tools/notebooks.py $(CODEGEN_ARGS)

docs: $(VENV)/.docs  ## build the site into build/docs/html
	$(RUN) docs/site/build.py $(DOCS_ARGS)

wheel: $(VENV)/.release  ## build the distributions and try them with the oldest and the newest NumPy and SciPy
	$(RUN) tools/check_wheel.py

release: $(VENV)/.release  ## check everything, build into dist/, tag
	$(RUN) tools/release.py

clean:  ## remove .venv, caches and what demo and bench wrote
	rm -rf $(VENV) build dist demo bench.json *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# .venv/.NAME says that the extra NAME is installed as pyproject.toml now asks for it.
$(VENV)/.demo $(VENV)/.test $(VENV)/.lint $(VENV)/.bench $(VENV)/.docs $(VENV)/.release: $(VENV)/.%: pyproject.toml | $(RUN)
	$(PIP) install --editable '.[$*]'
	@touch $@

$(RUN):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	  "pullback needs Python 3.11 or newer and this is " + sys.version.split()[0] + "; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
