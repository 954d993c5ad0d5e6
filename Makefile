# Two commands do everything on a machine with Python >= 3.11 and make: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
POLYNOMIAL := 2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3

.PHONY: install dev demo test browser test-slow hostile check docs notebooks lock clean

# What users need: the package with its extras census, explore and onnx.
install: $(VENV)/.installed

# What contributors need: that, and all that tests and checks run on.
dev: $(VENV)/.developed

# pyproject.toml and __init__.py count because the installed metadata (commands, version) are read from them.
$(VENV)/.installed: requirements.lock requirements-uv.lock pyproject.toml src/modgrok/__init__.py
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "modgrok needs Python >= 3.11, got " + sys.version.split()[0] + "; name another with: make PYTHON=python3.12 install")'
	@echo "Installing into $(VENV) what the lock files list"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --require-hashes -r requirements-uv.lock || echo "uv cannot be had here; pip does its work"
	@$(call installed,--require-hashes -r requirements.lock)
	@$(call installed,--no-deps --no-build-isolation -e .)
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -c '$(IMPORT_COMMANDS)'
	@touch $@

$(VENV)/.developed: requirements-dev.lock $(VENV)/.installed
	@$(call installed,--require-hashes -r requirements-dev.lock)
	@touch $@

# uv installs in seconds what takes pip a minute. Where it cannot be had or fails, pip installs the same.
installed = $(UV) pip install --quiet --python $(BIN)/python $(1) || \
  { echo "uv did not succeed; pip takes over"; $(PIP) $(1); }

# Bytecode is written for what the commands import, which takes some seconds, and not for all that is installed, which
# takes half a minute. Without it every command starts a second later where PYTHONDONTWRITEBYTECODE is set.
PIP := $(BIN)/python -m pip install --quiet --no-compile
IMPORT_COMMANDS := import importlib, pkgutil, modgrok.commands as all; \
  [importlib.import_module(each.name) for each in pkgutil.iter_modules(all.__path__, "modgrok.commands.")]

# uv reads neither PIP_* nor pip's files, so it is told which index pip uses; what UV_* say themselves goes first.
# `pip config list` prints both kinds, PIP_* first, in lines like global.index-url='...', with \n between several.
# All places are searched, as pip does: the hashes of the lock files refuse everything that is not ours.
told = $(1)="$${$(1):-$$($(BIN)/python -m pip config list | sed -n "s/\\\\n/ /g; s/.*\.$(2)='\(.*\)'/\1/p" | head -n 1)}"
UV = $(call told,UV_DEFAULT_INDEX,index-url) $(call told,UV_INDEX,extra-index-url) \
  UV_INDEX_STRATEGY=unsafe-best-match UV_SYSTEM_CERTS=true $(BIN)/uv

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
	@echo; echo "== What it has learned: waves, phases that add up, and what is left when every block is one cosine"
	$(BIN)/modgrok inspect demo/train --out demo/inspect
	@echo; echo "== Every table and figure of the paper in small, published beside measured (two minutes on two cores)"
	$(BIN)/modgrok paper all --quick --out demo/report
	@echo; echo "== Everything that was made is in demo/; open the report in a browser:"
	@echo "$(CURDIR)/demo/report/report.html"
	@echo "== And all of it by hand, in a browser: $(BIN)/modgrok explore --runs demo"

# Checks and tests, docstring examples among them; the tests of one file stay together, on one worker. Bytecode is written
# wherever that is turned off, since dozens of processes import the same modules.
test: check
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --dist loadfile

# The explorer as a person uses it: in a real browser (chromium, if there is one), and ended by Ctrl-C at any moment.
browser: dev
	$(BIN)/python -m pytest -m "browser and not slow" tests/browser tests/test_explorer_end.py

test-slow: dev
	$(BIN)/python -m pytest -m slow

# The whole harness of tests/hostile, or some of its parts (HOSTILE=a,f), for so many seconds at most; the same command
# goes on where it stopped. About two hours of two cores; parts whose batches are small come last.
hostile: dev
	$(BIN)/python tests/hostile/run.py --parts $(HOSTILE) --seconds $(SECONDS)

HOSTILE := d,e,c,a,b,f,g,h,i
SECONDS := 36000

check: dev
	$(BIN)/ruff check $(PYTHON_FILES)
	$(BIN)/ruff format --check $(PYTHON_FILES)
	$(BIN)/mypy

PYTHON_FILES := src studies tests benchmarks notebooks mkdocs_examples.py

# The documentation as a site that needs no network, in site/; broken links are errors.
docs: $(VENV)/.extra-docs
	$(BIN)/zensical build --strict --clean
	@echo "$(CURDIR)/site/index.html"

# Every notebook from beginning to end (two minutes on two cores); it lies beside its script afterwards, with its figures.
notebooks: $(VENV)/.extra-notebooks
	$(BIN)/jupytext --quiet --to ipynb --set-kernel python3 --execute notebooks/*.py

# What only the site and only the notebooks need, each by a lock file of its own.
$(VENV)/.extra-%: requirements-%.lock $(VENV)/.installed
	@$(call installed,--require-hashes -r $<)
	@touch $@

# Brings the lock files in line with pyproject.toml, for all supported Pythons and platforms, with hashes. Versions that
# still fit stay; `make lock LOCK=--upgrade` takes the newest. uv asks its own index only, never pip's extra ones: a
# mirror that holds some platforms' files would leave the hashes of the others out.
lock: install
	$(COMPILE) --group uv -o requirements-uv.lock
	$(COMPILE) --extra census --extra explore --extra onnx --group build pyproject.toml -o requirements.lock
	$(COMPILE) --extra dev --group build --constraint requirements.lock pyproject.toml -o requirements-dev.lock
	$(COMPILE) --extra docs --constraint requirements-dev.lock pyproject.toml -o requirements-docs.lock
	$(COMPILE) --extra notebooks --constraint requirements-dev.lock pyproject.toml -o requirements-notebooks.lock

COMPILE = UV_SYSTEM_CERTS=true $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-annotate \
  --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" --quiet $(LOCK)

clean:
	rm -rf $(VENV) demo site .cache notebooks/*.ipynb .mypy_cache .ruff_cache .pytest_cache .hypothesis
