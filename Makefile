# The commands of everyday work; `make help` lists them. Each is a short wrapper: the build is in
# CMakePresets.json and cmake/, longer steps are in scripts/.
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
# The slowest tests mostly wait, three at a time (tests/e2e/CMakeLists.txt).
TEST_JOBS ?= $(shell expr $(JOBS) + 2)
PRESET ?= release
PYTHON ?= /usr/bin/python3

.DEFAULT_GOAL := help
.PHONY: help setup build test verify install uninstall asan tsan arm64 fuzz bench format tidy clean \
        torch install-torch uninstall-torch packages try-packages

help: ## list these commands
	@echo "heddle: make COMMAND"
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20
	@echo "Settings: PREFIX=$(PREFIX) JOBS=$(JOBS) TEST_JOBS=$(TEST_JOBS) PRESET=$(PRESET) SECONDS=$(or $(SECONDS),60)"

setup: ## install what the build needs (quiet when nothing is missing)
	@scripts/setup

build: setup ## build the programs and libraries, without tests: build/release/bin/heddle
	@scripts/build $(PRESET) $(JOBS) --target product

test: setup ## build and run all tests, those of PyTorch's backend where there is torch
	@scripts/build $(PRESET) $(JOBS) --target all heddle_torch
	@scripts/run_tests $(PRESET) $(TEST_JOBS)

verify: build ## build, test an emulated fabric, then measure transfers, all-reduces and training beside TCP
	@$(MAKE) --no-print-directory torch || echo "warning: without PyTorch there is no training below" >&2
	@scripts/setup --peers || echo "warning: peers that are missing are left out below" >&2
	@scripts/verify

install: build ## install below PREFIX (make install PREFIX=/opt/heddle)
	@cmake --install build/$(PRESET) --prefix "$(PREFIX)"

uninstall: ## remove exactly what make install wrote
	@scripts/uninstall build/$(PRESET)/install_manifest.txt

torch: ## build PyTorch's backend at build/release/python (docs/reference/pytorch.md)
	@scripts/setup --torch
	@cmake --preset $(PRESET) >/dev/null  # torch may have come since
	@scripts/build $(PRESET) $(JOBS) --target heddle_torch heddle

install-torch: torch ## put it where PYTHON finds it (make install-torch PYTHON=venv/bin/python)
	@scripts/install_torch --python "$(PYTHON)" --package build/$(PRESET)/python/heddle_torch

uninstall-torch: ## take it away again
	@scripts/install_torch --remove --python "$(PYTHON)"

packages: setup ## make Debian packages, a wheel and an archive in build/dist (docs/how-to/packages.md)
	@scripts/setup --packages
	@scripts/setup --torch || echo "warning: without PyTorch there is no heddle-torch and no wheel" >&2
	@scripts/packages $(if $(PACKAGES_FROM),--from "$(PACKAGES_FROM)") --jobs $(JOBS)

try-packages: ## install them in a bare root, run them there, remove them (as root, with Debian's archive)
	@scripts/setup --packages
	@scripts/try_packages

asan: setup ## run all tests with the address and undefined-behaviour sanitizers
	@scripts/build asan $(JOBS)
	@scripts/run_tests asan $(TEST_JOBS)

tsan: setup ## run all tests with the thread sanitizer
	@scripts/build tsan $(JOBS)
	@scripts/run_tests tsan $(TEST_JOBS)

arm64: ## build for arm64 and run unit tests in QEMU; of some modules: ROOMS="base events" (docs/how-to/arm64.md)
	@scripts/setup --arm64
	@scripts/sysroot arm64
	@scripts/build arm64 $(JOBS) --target $(if $(ROOMS),$(ROOMS:%=%_test),unit_tests)
	@scripts/run_tests arm64 $(JOBS) -- -L '^($(if $(ROOMS),$(shell echo $(ROOMS) | tr ' ' '|'),.*))$$' \
	  -LE '^(e2e|examples|fuzz|house|plugins|vopr)$$'

fuzz: ## fuzz every target for SECONDS (default 60) with libFuzzer
	@scripts/setup --fuzz
	@scripts/build fuzz $(JOBS)
	@scripts/fuzz $(or $(SECONDS),60)

bench: build ## compare heddle with other programs (bench/run --list)
	@scripts/build $(PRESET) $(JOBS) --target bench_programs
	@bench/run p2p

format: ## format all C++ files with clang-format
	@scripts/setup --lint
	@scripts/format

tidy: ## check with clang-tidy
	@scripts/setup --lint
	@scripts/tidy

clean: ## remove the build folder
	@rm -rf build
