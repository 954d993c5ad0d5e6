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

# The main commands one after the other, and the report; what they write stays in demo/.
demo: install
	@mkdir -p demo
	@echo; echo "== The network of the paper: closed-form weights, random phases, checked on every input"
	$(BIN)/modgrok compile "$(POLYNOMIAL)" --mod 97 --method paper --out demo/paper.safetensors
	@echo; echo "== The same polynomial without any error: designed phases, with a proof that rounding cannot spoil it"
	$(BIN)/modgrok compile "$(POLYNOMIAL)" --mod 97 --out demo/exact.safetensors
	@echo; echo "== And with as few neurons as are right on every input"
	$(BIN)/modgrok compile "$(POLYNOMIAL)" --mod 97 --frequencies minimal --out demo/minimal.safetensors
	@echo; echo "== A network is one file: load it, check it again, ask it for one value"
	$(BIN)/modgrok verify demo/minimal.safetensors
	$(BIN)/modgrok predict demo/minimal.safetensors 12 34
	@echo; echo "== Is a polynomial h(g1(n1) + g2(n2))? Decided from its values, with a witness or a proof"
	$(BIN)/modgrok classify "(4n1 + n2^2)^3 + n1 n2" --mod 97
	@echo; echo "== Training instead of compiling: a network that groks n1 n2 from half of its table"
	$(BIN)/modgrok train "n1 n2" --mod 97 --steps 150 --overwrite --out demo/train
	@echo; echo "== Every table and figure of the paper in small, published beside measured (two minutes on two cores)"
	$(BIN)/modgrok paper all --quick --out demo/report
	@echo; echo "== Everything that was made is in demo/; open the report in a browser:"
	@echo "$(CURDIR)/demo/report/report.html"

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
