# Thin: each target calls a tool. Everything Python lives in .venv, which the first target builds and later ones reuse.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Python compiles what it imports, once, where it may keep that; pip would compile all of it.
unexport PYTHONDONTWRITEBYTECODE
PIP    := install --quiet --disable-pip-version-check --no-compile --require-hashes --requirement
# Takes a fifth of the time that pip takes, but does not know pip's settings: where uv reaches no index, pip has its turn.
INSTALL = $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --requirement $(1) \
          || $(BIN)/pip $(PIP) $(1)
LOCK   := UV_PYTHON_DOWNLOADS=never $(BIN)/uv pip compile --quiet $(UPGRADE) --universal --python-version 3.10 \
          --generate-hashes --no-emit-index-url --custom-compile-command 'make lock' --output-file
# Cargo and maturin share it, or pyo3 would be compiled for each of them.
PYO3   := PYO3_CONFIG_FILE=$(abspath $(VENV)/pyo3.config)
BUILD  := $(PYO3) VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release --locked --quiet --uv
RUST   := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock

# Two targets may install into .venv, but not at once. Cargo and pytest use all cores by themselves.
.NOTPARALLEL:

.PHONY: demo build test test-all soak test-lowest test-newest lint docs live wasm deny advisories lock wheel wheel-pgo release-check bench bench-ns3 bench-peers cliffs fidelity record record-virtual differ acks agreement bpf clean

# The simulator first, whose pictures should not wait for what they do not need, then the ground of the running kernel.
demo: $(VENV)/simulator
	PYTHONPATH=python $(BIN)/python -m dumbbell.demo
	@$(MAKE) --no-print-directory --question build || echo "Experiments on the running kernel are compiled now:"
	@$(MAKE) --no-print-directory --silent build

build: $(VENV)/built

# Crates by themselves would be compiled with other features, and once more; the benchmark has no tests, but libraries of its own.
CARGO_TEST = cargo test --workspace --exclude dumbbell-bench --locked

# Rust's tests are compiled and run beside Python's, and print when both are done. Then come those that take real time, which wait
# more than they compute: beside each other, and beside nothing else. Cases are drawn from one seed, so that nothing fails by chance.
test: export PROPTEST_RNG_SEED ?= 1
test: $(VENV)/built $(VENV)/dev
	said=$(VENV)/rust-tests.txt; \
	$(CARGO_TEST) --no-fail-fast -- --skip on_the_kernel:: >$$said 2>&1 & rust=$$!; \
	$(BIN)/pytest -m 'not real_time' --numprocesses auto --dist loadfile; python=$$?; \
	wait $$rust; rust=$$?; cat $$said; test $$rust = 0 -a $$python = 0
	RUST_TEST_THREADS=4 $(CARGO_TEST) --test ground
	$(BIN)/pytest -m real_time --numprocesses 4

# Whole where `make test` draws fewer cases and shorter runs, and drawn anew every time.
test-all: export DUMBBELL_TEST_WHOLE = 1
test-all:
	$(MAKE) --no-print-directory test PROPTEST_RNG_SEED=$$(date +%s)

# Everything that looks for faults by chance, within a budget (10m to a night, 8h), and a report in out/soak. SOAK has more of its
# options, such as --report docs/soak.md and --mutmut PYTHON.
BUDGET ?= 10m
soak: $(VENV)/built $(VENV)/dev
	$(BIN)/python tests/soak/soak.py --budget $(BUDGET) $(SOAK)

# The Python tests with the lowest and with the newest versions that pyproject.toml allows, not those of requirements.txt.
test-lowest test-newest: test-%: $(VENV)/builders
	tests/versions.sh $*

lint: $(VENV)/dev deny
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python docs/site/history.py

# The site in out/site, which needs no simulator: docstrings are read, not imported. A link or an anchor that leads nowhere is an error.
# Its first page shows the live page, where that can be built.
docs: $(VENV)/docs
	@$(MAKE) --no-print-directory live
	$(BIN)/python docs/site/pages.py
	PATH=$(abspath $(BIN)):$$PATH $(BIN)/zensical build --clean --strict --config-file mkdocs.yml
	@echo "out/site/index.html"

# The engine compiles for WebAssembly; only checked, not linked. The target comes with
# `rustup target add wasm32-unknown-unknown`; without it this is skipped.
WASM := units parameters cc-contract cc cc-family path results transport traffic scenario network sim web
TARGET := wasm32-unknown-unknown
HAS_WASM = test -d "$$(rustc --print sysroot)/lib/rustlib/$(TARGET)"
NO_WASM = the target $(TARGET) is not installed (rustup target add $(TARGET))
wasm:
	@if $(HAS_WASM); then cargo check --locked --target $(TARGET) $(WASM:%=-p dumbbell-%); \
	else echo "$(NO_WASM): WebAssembly is not checked"; fi

# The engine in one HTML file, out/live/index.html, which loads nothing.
LIVE := out/live/index.html
live:
	@if $(HAS_WASM); then $(MAKE) --no-print-directory $(LIVE); else echo "$(NO_WASM): the live page is not built"; fi

$(LIVE): $(RUST) $(wildcard crates/web/page/*) $(wildcard examples/*.toml) docs/site/live_page.py python/dumbbell/pages/uplot/VERSION.txt
	cargo rustc --locked --package dumbbell-web --profile web --target $(TARGET) --crate-type cdylib
	$(PYTHON) docs/site/live_page.py $${CARGO_TARGET_DIR:-target}/$(TARGET)/web/dumbbell_web.wasm $@

# Licences, sources and versions of the crates, which needs nothing but the lock file; what is known against them is asked
# of a database that has to be fetched. Without cargo-deny (cargo install cargo-deny) both are skipped.
deny:
	@if cargo deny --version >/dev/null 2>&1; then cargo deny --locked check bans licenses sources; \
	else echo "cargo-deny is not installed: crates are not checked"; fi

advisories:
	@if cargo deny --version >/dev/null 2>&1; then cargo deny --locked check advisories; \
	else echo "cargo-deny is not installed: advisories are not checked"; fi

# The versions that are installed, and their hashes, from pyproject.toml and the .in files. What is there already stays as
# it is where it can; `make lock UPGRADE=--upgrade` takes the newest.
lock: $(VENV)/builders
	$(LOCK) requirements.txt --extra plots pyproject.toml
	$(LOCK) requirements-build.txt requirements-build.in
	$(LOCK) requirements-dev.txt requirements-dev.in
	$(LOCK) requirements-docs.txt requirements-docs.in
	$(LOCK) requirements-release.txt requirements-release.in
	$(LOCK) benches/requirements-ns3.txt --no-deps benches/requirements-ns3.in

# Wheels for every Python from 3.10 on and every Linux from glibc 2.17 on, in out/wheels: of x86-64, and of aarch64 where
# `rustup target add aarch64-unknown-linux-gnu` was run. Zig links against the symbols of that old glibc, whatever is here.
MANYLINUX := manylinux_2_17
WHEEL     := maturin build --release --locked --quiet --zig --compatibility $(MANYLINUX)
wheel: $(VENV)/release
	rm -rf out/wheels
	for machine in x86_64 aarch64; do \
	    if test -d "$$(rustc --print sysroot)/lib/rustlib/$$machine-unknown-linux-gnu"; \
	    then PATH=$(abspath $(BIN)):$$PATH $(WHEEL) --target $$machine-unknown-linux-gnu --out out/wheels || exit 1; \
	    else echo "the target $$machine-unknown-linux-gnu is not installed: no wheel for it"; fi; done
	$(OLD_GLIBC)
OLD_GLIBC = for built in out/wheels/*.whl; do \
	    $(BIN)/auditwheel show $$built | grep -q '"$(MANYLINUX)_' && ls -s --block-size=kB $$built || exit 1; done

# The wheel for this machine, optimised for what the benchmarks do, with what that gains: half an hour. It takes
# `rustup component add llvm-tools`. Wheels of a release are built so only where somebody has the time to train them.
wheel-pgo: $(VENV)/release
	rm -rf out/wheels
	PATH=$(abspath $(BIN)):$$PATH $(BIN)/python benches/pgo.py out/wheels $(WHEEL) --target $$(uname -m)-unknown-linux-gnu
	$(OLD_GLIBC)

# Whether this commit can be released: files, the wheel from the source distribution alone, used offline in an empty
# environment, and the crates. Five minutes.
release-check: $(VENV)/builders
	$(BIN)/python tests/release/check.py

bench: $(VENV)/tools $(VENV)/built
	$(BIN)/python benches/run.py
	$(BIN)/python benches/calls.py

# What recording costs in many experiments, and how costs grow.
cliffs: $(VENV)/tools $(VENV)/built
	$(BIN)/python benches/cliffs.py
	$(BIN)/python benches/cliffs.py --growth

# Beside ns-3, which is installed for this purpose and takes 300 MB.
bench-ns3: $(VENV)/tools benches/.venv-ns3/built
	$(BIN)/python benches/run.py

# What people ask about, from one flow to a thousand and Wi-Fi, in a table and in out/ns3-peers.png. Three minutes.
bench-peers: $(VENV)/built benches/.venv-ns3/built
	$(BIN)/python benches/peers.py

# Beside a live kernel, where jitter blurs the picture, and beside one in virtual time.
fidelity: $(VENV)/built
	status=0; for kernel in linux-6.18 linux-7.2-uml linux-6.12-bbr3; do \
		$(BIN)/python tests/fidelity/fidelity.py --kernel $$kernel || status=1; \
	done; exit $$status

# Measures the running kernel, in real time: root or user namespaces, /dev/net/tun, and a quiet machine. 25 minutes.
record: $(VENV)/built
	$(BIN)/python tests/fidelity/fidelity.py --record

# Records in virtual time, on a kernel that is built from its source: make record-virtual LINUX=linux-source-7.2.tar.xz, with
# PATCH="A.patch B.patch" on one's own (so with `differ` and `acks`). It needs
# flex, bison and bc, no rights and no quiet machine. 20 minutes. RECORD="--kernel linux-6.12-bbr3 --case 10M_40ms_loss2 --runs 40"
# with the patch of BBR v3 records further runs of that collection.
record-virtual: $(VENV)/built
	tests/fidelity/virtual/kernel.sh "$(LINUX)" $(PATCH)
	tests/fidelity/virtual/inside.sh $(BIN)/python tests/fidelity/fidelity.py --record $(RECORD)

# Draws experiments, SEEDS of them, and compares both grounds, on a kernel in virtual time that is built from LINUX once.
SEEDS := 1..20
differ: $(VENV)/built
	test -z "$(LINUX)" || tests/fidelity/virtual/kernel.sh "$(LINUX)" $(PATCH)
	$(BIN)/python tests/fidelity/differ.py $(SEEDS) $(DIFFER)

# The first ACK after which a sender in the simulator differs from that kernel's, of start-ups drawn or of a file with one flow.
ACKS := 1..30
acks: $(VENV)/built
	test -z "$(LINUX)" || tests/fidelity/virtual/kernel.sh "$(LINUX)" $(PATCH)
	$(BIN)/python tests/fidelity/acks.py $(ACKS)

# Twenty experiments on both grounds, in twenty minutes of real time, and docs/agreement.md.
agreement: $(VENV)/built
	$(BIN)/python tests/fidelity/agreement.py

# The kernel's programs, for whoever changes one: Debian's packages clang and llvm. Everybody else has the objects, and a
# test compares the sums of the sources that they were made of.
BPF := crates/linux/bpf
bpf:
	cd $(BPF) && for source in *.bpf.c; do \
	    clang -O2 -g -target bpf -mcpu=v3 -Wall -Wextra -Wno-unused-parameter -Werror -ffile-prefix-map=$(CURDIR)/$(BPF)=. \
	        -c $$source -o $${source%.c}.o && llvm-strip --strip-debug $${source%.c}.o || exit 1; done
	cd $(BPF) && sha256sum *.c *.h >sources.sha256

clean:
	rm -rf $(VENV) .venv-lowest .venv-newest benches/.venv-ns3 out
	cargo clean

$(VENV)/made:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Dumbbell needs Python 3.10 or newer; try make PYTHON=python3.12")'
	$(PYTHON) -m venv --without-pip $(VENV)
	touch $@

$(VENV)/tools: requirements.txt $(VENV)/builders
	$(call INSTALL,requirements.txt)
	touch $@

$(VENV)/dev: requirements-dev.txt $(VENV)/tools
	$(call INSTALL,requirements-dev.txt)
	touch $@

$(VENV)/docs: requirements-docs.txt $(VENV)/builders
	$(call INSTALL,requirements-docs.txt)
	touch $@

$(VENV)/release: requirements-release.txt $(VENV)/builders
	$(call INSTALL,requirements-release.txt)
	touch $@

benches/.venv-ns3/built: benches/requirements-ns3.txt
	$(PYTHON) -m venv benches/.venv-ns3
	benches/.venv-ns3/bin/pip $(PIP) benches/requirements-ns3.txt --no-deps
	touch $@

# A pip that is already there spares the time that one takes to install itself.
$(VENV)/builders: requirements-build.txt $(VENV)/made
	$(PYTHON) -m pip --python $(BIN)/python $(PIP) requirements-build.txt 2>/dev/null \
	    || { $(PYTHON) -m venv $(VENV) && $(BIN)/pip $(PIP) requirements-build.txt; }
	touch $@

# For Python 3.10 and every later one (its stable ABI), whichever runs here.
$(VENV)/pyo3.config: $(VENV)/made
	printf 'implementation=CPython\nversion=3.10\ntarget_abi=CPython-abi3-3.10\nshared=true\n' > $@

# Runs two commands at once and waits for both; fails if one does. What Python needs is installed while Rust is compiled.
both  = { $(1); } & first=$$!; $(2); second=$$?; wait $$first && test $$second = 0
TOOLS = $(MAKE) --silent --no-print-directory $(VENV)/tools

# The extension module is compiled into python/dumbbell and the package installed in place: edits to Python need no build.
# What the package needs must be there before the package. The examples name the schema for editors.
$(VENV)/built: $(VENV)/builders $(VENV)/pyo3.config requirements.txt pyproject.toml $(RUST)
	$(call both,$(TOOLS),$(BUILD) --skip-install) && $(BUILD)
	$(BIN)/dumbbell schema > $(VENV)/experiment.schema.json
	touch $@

# A first picture needs no more than the extension module without the ground of the kernel, and waits for nothing that installs
# packages. What is built whole is left as it is, and what another clone built of equal sources is taken. Python compiles what it
# imports, and does so for the picture while cargo is at work.
MODULE  = python/dumbbell/_core.abi3.so
KEPT    = $(BIN)/python crates/python/kept.py
LIBRARY = $${CARGO_TARGET_DIR:-target}/release/lib_core.so
IMPORT  = $(BIN)/python -c "import matplotlib.figure, matplotlib.backends.backend_agg, polars, pydantic, rich.table, typer"
ENGINE  = $(PYO3) cargo build --release --locked --package dumbbell-python --no-default-features
ifeq ($(shell uname -s),Linux)
$(VENV)/simulator: $(VENV)/pyo3.config requirements.txt $(RUST)
	$(MAKE) --question build || { $(KEPT) take $(MODULE) && $(TOOLS); } \
	    || { $(call both,$(TOOLS) && $(IMPORT),$(ENGINE)) \
	    && cp $(LIBRARY) $(VENV)/_core && mv $(VENV)/_core $(MODULE) && $(KEPT) keep $(MODULE); }
	touch $@
else
$(VENV)/simulator: $(VENV)/built
	touch $@
endif
