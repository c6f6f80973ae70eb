# Thin: each target calls a tool. Everything Python lives in .venv, which the first target builds and later ones reuse.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
RUST   := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock

.PHONY: demo test lint bench bench-ns3 fidelity clean

demo: $(VENV)/built
	$(BIN)/python -m dumbbell.demo

test: $(VENV)/built $(VENV)/dev
	cargo test --workspace --locked
	$(BIN)/pytest

lint: $(VENV)/dev
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: $(VENV)/tools
	$(BIN)/python benches/run.py

# Beside ns-3, which is installed for this purpose and takes 300 MB.
bench-ns3: $(VENV)/tools benches/.venv-ns3/built
	$(BIN)/python benches/run.py

fidelity: $(VENV)/built
	$(BIN)/python tests/fidelity/fidelity.py

clean:
	rm -rf $(VENV) benches/.venv-ns3 out
	cargo clean

$(VENV)/tools: requirements.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Dumbbell needs Python 3.10 or newer; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements.txt
	touch $@

$(VENV)/dev: requirements-dev.txt $(VENV)/tools
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements-dev.txt
	touch $@

benches/.venv-ns3/built:
	$(PYTHON) -m venv benches/.venv-ns3
	benches/.venv-ns3/bin/pip install --quiet --disable-pip-version-check --no-deps ns3==3.44.post0
	touch $@

# The extension module is compiled into python/dumbbell and the package installed in place: edits to Python need no build.
$(VENV)/built: $(VENV)/tools pyproject.toml $(RUST)
	PIP_QUIET=1 VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release --quiet
	touch $@
