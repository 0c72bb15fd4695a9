# probescope: `make run` and `make test` are all that a newcomer needs.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

CACHE := $(or $(PROBESCOPE_CACHE),$(XDG_CACHE_HOME:%=%/probescope),$(HOME)/.cache/probescope)
TOOLS := $(CACHE)/tools
export PATH := $(TOOLS)/bin:$(HOME)/.cargo/bin:$(PATH)
export PROBESCOPE_CACHE := $(CACHE)

# A fresh checkout for every run, as on CI, still finds the dependencies compiled.
ifeq ($(CI),true)
export CARGO_TARGET_DIR := $(CACHE)/target
export CARGO_INCREMENTAL := 0
endif

BUILD_PACKAGES := build-essential pkg-config libelf-dev zlib1g-dev
TEST_PACKAGES := tmux qemu-system-x86 busybox-static kmod zstd xz-utils cpio

TYPOS_VERSION := 1.52.0
DENY_VERSION := 0.20.2

.PHONY: run build test test-long lint bench bpf man completions static deb deps-build deps-test deps-lint screenshots help

run: build ## install what the build needs, build, open the workbench (FILE=script.bt to open one)
	exec target/release/probescope $(FILE)

build: deps-build
	cargo build --release --locked

test: deps-test ## every test: unit, script cases here and in guest kernels, terminal, screenshots, build of the benches
	@tests/run-all

test-long: build deps-test ## hours of tests: generated scripts, fuzzing, kill -9, full disks, hotplug, ... (PARTS="kill disk" for some)
	tests/long/run $(PARTS)

lint: deps-lint ## rustfmt, clippy, fuzz targets, typos, cargo-deny
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo check --locked --quiet --manifest-path fuzz/Cargo.toml --target-dir "$${CARGO_TARGET_DIR:-target}"
	typos
	cargo deny --log-level error check licenses bans sources

bench: deps-build ## benchmarks, each figure beside the peer's
	cargo bench --locked

man: build ## write manual pages into target/share/man
	target/release/probescope man target/share/man/man1

completions: build ## write completions for bash, zsh and fish into target/share/completions
	mkdir -p target/share/completions
	for shell in bash zsh fish; do target/release/probescope completions $$shell > target/share/completions/probescope.$$shell; done

# The target is named so that its flags are not those of programs that run while it is built.
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
STATIC = $(or $(CARGO_TARGET_DIR),target)/$(HOST)/dist/probescope
# Where Rust links with its own lld, functions of the same code become one, and relocations a bitmap (glibc 2.36).
SMALL = $(if $(filter x86_64-%-gnu,$(HOST)),-C link-arg=-Xlinker -C link-arg=--icf=all -C link-arg=-zpack-relative-relocs)

static: deps-build ## one program that needs no library, in target/static/
	RUSTFLAGS="-C target-feature=+crt-static $(SMALL) -L native=$$(dirname "$$(cc -print-file-name=libelf.a)")" \
	  cargo build --locked --profile dist --features static --target $(HOST) --bin probescope
	mkdir -p target/static
	cp $(STATIC) target/static/probescope

deb: static ## a Debian package of it with manual pages and completions, in target/deb/
	@.ci/deb target/static/probescope target/deb

screenshots: build ## write every view as SVG into screenshots/
	target/release/probescope screenshots screenshots

bpf: bpf/latency.bpf.o bpf/task.bpf.o tests/fixtures/latency/action.bpf.o ## compile the BPF programs in C (needs clang and llvm-strip; the result is committed)

bpf/%.bpf.o: bpf/kernel.h bpf/%.h bpf/%.bpf.c
	clang -O2 -g -target bpf -mcpu=v3 -Wall -Werror -fdebug-prefix-map=$(CURDIR)=. \
	  -DSOURCES_CKSUM="\"$$(cat $^ | cksum | cut -d' ' -f1)\"" -c bpf/$*.bpf.c -o $@
	llvm-strip -g $@

tests/fixtures/latency/action.bpf.o: bpf/kernel.h tests/fixtures/latency/action.bpf.c
	clang -O2 -g -target bpf -mcpu=v3 -Wall -Werror -Ibpf -fdebug-prefix-map=$(CURDIR)=. -c $(lastword $^) -o $@
	llvm-strip -g $@

deps-build:
	@.ci/packages "the build" 'command -v cc && command -v make && pkg-config --exists libelf zlib' $(BUILD_PACKAGES)

deps-test: deps-build
	@.ci/packages "the tests" 'command -v tmux && command -v qemu-system-x86_64 && command -v busybox && command -v modprobe && command -v zstd && command -v xz && command -v cpio' $(TEST_PACKAGES)

deps-lint: deps-build
	@.ci/lint-tools $(TOOLS) $(TYPOS_VERSION) $(DENY_VERSION)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14
