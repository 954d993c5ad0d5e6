# Two commands do everything on a machine with Python >= 3.11 and make: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INTEROP ?= .venv-interop
RELEASE ?= .venv-release
OUTSIDE ?= .venv-outside
POLYNOMIAL := 2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3

.PHONY: install dev demo test browser interop interop-install dataset-check test-slow hostile check docs notebooks lock \
  clean build release-check wheel-check test-newest docs-publish publish

# What users need: the package with its extras census and onnx.
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

# Bytecode is written for what the commands import, at once or later, which takes some seconds, and not for all that is
# installed, which takes half a minute. Without it every command starts a second later where PYTHONDONTWRITEBYTECODE is set.
PIP := $(BIN)/python -m pip install --quiet --no-compile
IMPORT_COMMANDS := import importlib, pkgutil, scipy.special, scipy.stats, modgrok.figures.style, modgrok.commands as all; \
  [importlib.import_module(each.name) for each in pkgutil.iter_modules(all.__path__, "modgrok.commands.")]

# uv reads neither PIP_* nor pip's files, so it is told which index pip uses; what UV_* say themselves goes first.
# `pip config list` prints both kinds, PIP_* first, in lines like global.index-url='...', with \n between several.
# All places are searched, as pip does: the hashes of the lock files refuse everything that is not ours.
told = $(1)="$${$(1):-$$($(BIN)/python -m pip config list | sed -n "s/\\\\n/ /g; s/.*\.$(2)='\(.*\)'/\1/p" | head -n 1)}"
UV_SETTINGS = $(call told,UV_DEFAULT_INDEX,index-url) $(call told,UV_INDEX,extra-index-url) \
  UV_INDEX_STRATEGY=unsafe-best-match UV_SYSTEM_CERTS=true UV_HTTP_TIMEOUT="$${UV_HTTP_TIMEOUT:-180}"
UV = $(UV_SETTINGS) $(BIN)/uv

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

# Other people's tools: networks of torch in, ours out to torch, TransformerLens and nnsight, in an environment of their own.
interop: interop-install
	$(INTEROP)/bin/python -m pytest -m interop tests/interop

interop-install: $(INTEROP)/.installed

$(INTEROP)/.installed: requirements-interop.lock $(VENV)/.installed
	@$(PYTHON) -m venv $(INTEROP)
	@$(call told,UV_FIND_LINKS,find-links) $(UV) pip install --quiet --python $(INTEROP)/bin/python --require-hashes \
	  -r requirements-interop.lock || { echo "torch for CPUs cannot be had: tell pip where PyTorch's wheels for CPUs are"; exit 1; }
	@$(UV) pip install --quiet --python $(INTEROP)/bin/python --no-deps -e .
	@touch $@

# The published data set, built here and read where modgrok is not installed: by datasets, mlcroissant and DuckDB.
dataset-check: install $(OUTSIDE)/.installed
	$(BIN)/modgrok dataset build --out .cache/dataset
	$(OUTSIDE)/bin/python tests/outside/dataset_check.py .cache/dataset

$(OUTSIDE)/.installed: requirements-outside.lock $(VENV)/.installed
	@$(PYTHON) -m venv $(OUTSIDE)
	@$(UV) pip install --quiet --python $(OUTSIDE)/bin/python --require-hashes -r requirements-outside.lock || \
	  $(OUTSIDE)/bin/python -m pip install --quiet --require-hashes -r requirements-outside.lock
	@touch $@

test-slow: dev
	$(BIN)/python -m pytest -m slow

# The whole harness of tests/hostile, or some of its parts (HOSTILE=a,f), for so many seconds at most; the same command
# goes on where it stopped. About four hours of two cores; parts whose batches are small come last.
hostile: dev
	$(BIN)/python tests/hostile/run.py --parts $(HOSTILE) --seconds $(SECONDS)

HOSTILE := d,e,c,a,b,f,g,h,i
SECONDS := 36000

check: dev
	$(BIN)/ruff check $(PYTHON_FILES)
	$(BIN)/ruff format --check $(PYTHON_FILES)
	$(BIN)/mypy

PYTHON_FILES := src studies tests benchmarks notebooks release mkdocs_examples.py

# The documentation as a site that needs no network, in site/; broken links are errors.
docs: $(VENV)/.extra-docs
	$(BIN)/zensical build --strict --clean
	$(BIN)/python benchmarks/share_pages.py site/shared
	@echo "open $(CURDIR)/site/index.html"
	@echo "browsers do not search pages that are opened from a disk; to search, serve them:"
	@echo "  $(BIN)/python -m http.server --directory site 8000, then open http://localhost:8000"

# Every notebook from beginning to end (two minutes on two cores); it lies beside its script afterwards, with its figures.
notebooks: $(VENV)/.extra-notebooks
	$(BIN)/jupytext --quiet --to ipynb --set-kernel python3 --execute notebooks/*.py

# What only the site and only the notebooks need, each by a lock file of its own.
$(VENV)/.extra-%: requirements-%.lock $(VENV)/.installed
	@$(call installed,--require-hashes -r $<)
	@touch $@

# The wheel and the source distribution, in dist/.
build: install
	rm -rf dist
	$(BIN)/python -m hatchling build

# Everything that must be right before a release: the data set, files one by one (release/check.py has the list), and the
# wheel in an empty environment with every command's first example. Some minutes on two cores.
release-check: build dataset-check $(RELEASE)/.installed
	$(RELEASE)/bin/python release/check.py
	$(UV_SETTINGS) $(BIN)/python release/wheels.py dist/*.whl --resolution requirements-dev.lock

# By pip alone, so that what signs and uploads a release has nothing else beside it.
$(RELEASE)/.installed: requirements-release.lock
	@$(PYTHON) -m venv $(RELEASE)
	@$(RELEASE)/bin/python -m pip install -qq --require-hashes -r requirements-release.lock
	@touch $@

# The wheel on each of PYTHONS, with the lowest versions that pyproject.toml allows and with the newest that there are;
# some minutes for each pair.
wheel-check: build
	$(UV_SETTINGS) $(BIN)/python release/wheels.py dist/*.whl $(PYTHONS:%=--python %) --resolution $(RESOLUTIONS)

PYTHONS := $(PYTHON)
RESOLUTIONS := lowest-direct highest

# All tests with the newest versions of everything, whatever the lock files say.
test-newest: install
	$(PYTHON) -m venv .venv-newest
	$(UV) pip install --quiet --python .venv-newest/bin/python --upgrade --resolution highest --group build -e ".[dev]"
	PYTHONDONTWRITEBYTECODE= .venv-newest/bin/python -m pytest -n auto --dist loadfile

# The site as a folder of its version on the branch gh-pages, beside those of other versions (release/pages.py).
docs-publish: docs notebooks
	$(BIN)/python release/pages.py --version $(DOCS_VERSION) --push

DOCS_VERSION := main

# What is in dist/, signed and uploaded by the workflow of a release, which alone has the right to (.github/workflows).
publish: $(RELEASE)/.installed
	$(RELEASE)/bin/pypi-attestations sign dist/*
	$(RELEASE)/bin/twine upload --non-interactive --attestations dist/*

# Brings the lock files in line with pyproject.toml, for all supported Pythons and platforms, with hashes. Versions that
# still fit stay; `make lock LOCK=--upgrade` takes the newest. uv asks its own index only, never pip's extra ones: a
# mirror that holds some platforms' files would leave the hashes of the others out.
lock: install
	$(COMPILE) --group uv -o requirements-uv.lock
	$(COMPILE) --group release -o requirements-release.lock
	$(COMPILE) --extra census --extra onnx --group build pyproject.toml -o requirements.lock
	$(COMPILE) --extra dev --group build --constraint requirements.lock pyproject.toml -o requirements-dev.lock
	$(COMPILE) --extra docs --constraint requirements-dev.lock pyproject.toml -o requirements-docs.lock
	$(COMPILE) --extra notebooks --constraint requirements-dev.lock pyproject.toml -o requirements-notebooks.lock
	$(call told,UV_FIND_LINKS,find-links) $(COMPILE) --extra onnx --group interop --group build \
	  --constraint requirements-dev.lock pyproject.toml -o requirements-interop.lock
	$(COMPILE) --group outside -o requirements-outside.lock

COMPILE = UV_SYSTEM_CERTS=true $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-annotate \
  --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" --quiet $(LOCK)

clean:
	rm -rf $(VENV) $(INTEROP) $(OUTSIDE) $(RELEASE) .venv-newest dist build release/node_modules demo site .cache \
	  notebooks/*.ipynb .mypy_cache .ruff_cache .pytest_cache .hypothesis
