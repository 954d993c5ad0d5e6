# Two commands do everything on a machine with Python >= 3.11 and make: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
POLYNOMIAL := 2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3

.PHONY: install demo test test-slow check lock clean

install: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "modgrok needs Python >= 3.11, got " + sys.version.split()[0] + "; name another with: make PYTHON=python3.12 install")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $(STAMP)

# The main commands one after the other; what they write stays in demo/.
demo: install
	@mkdir -p demo
	@echo; echo "== The network of the paper: closed-form weights, random phases, checked on every input"
	$(BIN)/modgrok compile "$(POLYNOMIAL)" --mod 97 --method paper --out demo/paper.safetensors
	@echo; echo "== The same polynomial without any error: designed phases, with a proof"
	$(BIN)/modgrok compile "$(POLYNOMIAL)" --mod 97 --out demo/exact.safetensors
	@echo; echo "== A network is one file: load it, check it again, ask it for one value"
	$(BIN)/modgrok verify demo/exact.safetensors
	$(BIN)/modgrok predict demo/exact.safetensors 12 34
	@echo; echo "== Table 1 of the paper, published errors beside ours (two draws of the phases; all of it: modgrok paper table1)"
	$(BIN)/modgrok paper table1 --quick --out demo/paper
	@echo; echo "== Everything that was made is in demo/"

test: check
	$(BIN)/python -m pytest -n auto

test-slow: install
	$(BIN)/python -m pytest -m slow

check: install
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy

# Renews requirements.lock: every dependency, with hashes, for all supported Pythons and platforms.
lock: install
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-annotate --no-emit-index-url \
	  --no-emit-find-links --custom-compile-command "make lock" --quiet --extra dev pyproject.toml -o requirements.lock

clean:
	rm -rf $(VENV) demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
