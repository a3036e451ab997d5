# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# A thin face over cmake/bootstrap.sh, which installs what is missing, and CMake's presets.

TARGETS ?=
PYTHON ?=
TCGEN05 ?=
RECIPES ?=
LINE ?=
WITH_PBPROBE ?=
WHEEL ?=
JOBS ?= $(shell nproc)
export TARGETS PYTHON JOBS TCGEN05 SEED COUNT ONLY REAL FORCE

SETUP := cmake/bootstrap.sh
BUILD := cmake/build
CTEST := .venv/bin/ctest

help:
	@echo 'make report    install what is missing, build for this machine, and print the report on its torch'
	@echo 'make test      build and run the tests of what is built'
	@echo '               ONLY=judge: those of tests/judge; CHANGED=1: those that the difference to main affects;'
	@echo '               SLOW=1 or TARGETS=…: also those that build programs for minutes'
	@echo 'make test-real compare the audit with other tools on a whole torch, and print its figures: minutes'
	@echo '               judge real code of ATen, by the flags of each CPU (PBPROBE_REAL_KERNELS=all takes hours),'
	@echo '               and install the package by pip and uv, with a torch and without'
	@echo '               PBPROBE_TEST_BUILDS=FOLDER adds six real builds: tests/real/fetch_builds FOLDER'
	@echo 'make stress    launch every GPU kernel that is built back to back, and compare all results (SECONDS=60 a target)'
	@echo 'make build     build everything; the program is build/bin/pbprobe'
	@echo 'make setup     only install what is missing (Debian packages when root; the rest into .venv)'
	@echo 'make check     lint, sanitizers, aarch64 cross build, generated files; a part that passed on this machine with the'
	@echo '               same inputs is skipped: FORCE=1 runs it'
	@echo 'make lint | asan | cross    one of them'
	@echo 'make gate-matrix   plant faults in a tiny build of each variant, and print what the gate catches'
	@echo 'make gate-mutations   change tiny builds in 2,000 ways drawn by SEED=1 (COUNT=2000): which verdicts are wrong?'
	@echo '               ONLY=17 repeats one of them; REAL=1 COUNT=200 changes the installed torch'
	@echo 'make matrix    build all 59 recipes by Nix in a stand-in nixpkgs, judge each build, and write docs/matrix.md'
	@echo '               RECIPES=four: one of each kind; RECIPES="NAME NAME": these. WITH_PBPROBE=all: and pbprobe against the'
	@echo '               torch of each, WITH_PBPROBE="NAME NAME": of these; minutes for the first, fewer for the others. What was'
	@echo '               built stays in the table when it is interrupted; the next names, built later, join it.'
	@echo '               LINE=cuda12_9: all of an older line instead, in build/matrix-cuda12_9.md'
	@echo 'make wheel     dist/: one wheel for every Python from 3.9 on, with the kernels of all targets; installs anywhere from'
	@echo '               Debian 11 and Ubuntu 22.04 on. On x86-64 a second one for aarch64, by the cross compiler: minutes;'
	@echo '               WHEEL=native leaves it out'
	@echo 'make docs      the documents as a site in build/site; broken links are errors. To read and search it, with no'
	@echo '               network: .venv/bin/python3 -m http.server --directory build/site'
	@echo 'make generate  write generated files again'
	@echo 'make clean     remove build/ and build-native/'
	@echo
	@echo 'TARGETS=native   the default: CPU targets of this architecture, and the GPUs that the driver reports'
	@echo 'TARGETS=all, TARGETS=sm90,avx512   every target of recipes/targets.json, or a choice; kept until changed'
	@echo 'TCGEN05=full     every tile, cluster and layout of the tcgen05 kernels (SM100, 103, 110), not only those that are'
	@echo '                 chosen; TCGEN05=chosen goes back'
	@echo 'PYTHON=…         the Python whose torch is examined (default: the activated environment, else python3,'
	@echo '                 else a torch that is installed into .venv)'

setup:
	@$(SETUP) build test torch

report:
	@$(SETUP) build torch configure
	@$(BUILD) pbprobe pbprobe_python
	@build/bin/pbprobe report "$$(cat build/setup/torch)"

build:
	@$(SETUP) build test configure
	@$(BUILD)

QUICK := $(if $(TARGETS)$(SLOW),,-LE '^slow$$')

# Half as many entries again as CPUs: an entry waits for about a third of its time.
test:
	@$(SETUP) build test torch configure
ifneq ($(ONLY)$(CHANGED),)
	@.venv/bin/python3 ci/test-rooms $(or $(ONLY),--changed)
else
	@$(BUILD)
	@$(CTEST) --test-dir build --output-on-failure --parallel $$(($(JOBS) * 3 / 2)) $(QUICK)
	@$(if $(QUICK),echo "Left out: tests that build programs for minutes. SLOW=1 or TARGETS=all runs them too")
endif

# Launches every GPU kernel back to back for SECONDS a target.
SECONDS ?= 60
stress:
	@$(SETUP) build test configure
	@$(BUILD) kernels_stress
	@PBPROBE_STRESS_SECONDS=$(SECONDS) $(CTEST) --test-dir build -L '^stress$$' --no-tests=error --verbose

# Comparisons on a whole torch take minutes: not part of `make test`.
test-real:
	@$(SETUP) build test torch real configure
	@$(BUILD)
	@$(BUILD) kernels_tcgen05_full
	@$(CTEST) --test-dir build --output-on-failure --verbose -C real -L '^real$$' --no-tests=error

check:
	@ci/check

lint:
	@ci/check lint

asan:
	@ci/check asan

cross:
	@ci/check aarch64

gate-matrix:
	@$(SETUP) build test torch cross configure
	@$(BUILD) gate_matrix

gate-mutations:
	@$(SETUP) build test torch cross configure
	@$(BUILD) gate_mutations

matrix:
	@$(SETUP) build test nix cross torch configure
	@$(BUILD) pbprobe
	@.venv/bin/python3 ci/recipe-builds $(if $(RECIPES),$(filter-out four,$(RECIPES)),--all) $(addprefix --line=,$(LINE)) \
	  $(addprefix --with-pbprobe=,$(WITH_PBPROBE)) --faults --table $(if $(LINE),build/matrix-$(LINE).md,docs/matrix.md)

# Packs kernels of all targets unless TARGETS= is set.
wheel:
	@TARGETS=$(or $(TARGETS),all) $(SETUP) build torch wheel $(if $(filter native,$(WHEEL)),,cross) configure
	@$(BUILD) pbprobe_wheel pbprobe_manual
	@.venv/bin/python3 ci/pack-wheel
	@$(if $(filter native,$(WHEEL)),,ci/cross-wheel)

# The documents as a site, with what the program says of itself.
docs:
	@$(SETUP) build docs configure
	@$(BUILD) pbprobe pbprobe_python
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict --quiet
	@echo 'build/site/index.html; to search it: .venv/bin/python3 -m http.server --directory build/site'

generate:
	@$(SETUP) build docs configure
	@$(BUILD) pbprobe_generate pbprobe
	@build/bin/pbprobe_generate .
	@.venv/bin/python3 ci/support_table.py build/bin/pbprobe
	@.venv/bin/python3 ci/performance_summary.py
	@.venv/bin/python3 recipes/variants_page.py
	@.venv/bin/python3 ci/python_types.py

clean:
	rm -rf build build-native

.PHONY: help setup report build test stress test-real check lint asan cross gate-matrix gate-mutations matrix wheel docs generate clean
