#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# Installs missing packages and configures build/. The Makefile calls it; returns quickly if nothing is missing.
#
#   cmake/bootstrap.sh NEED…     each of: build test docs torch pages real lint asan cross nix wheel configure
#   cmake/bootstrap.sh --list NEED…   only prints the Debian packages that they take
#
# build      compiler, libraries (Debian packages), .venv with cmake, ninja, pybind11
# test       GoogleTest, pytest, NVIDIA's cuobjdump and nvdisasm, which the audit is compared with, and programs that read
#            pbprobe's documents
# docs       MkDocs, which makes the site of docs/, and ruff, which lays out what is generated for Python
# pages      Chromium, its protocol and axe-core, which tests look at HTML with; skipped without it
# nix        evaluates the recipes in tests, which are skipped without it, and builds them (ci/recipe-builds) of parts of the
#            source of Debian's torch, with NVRTC for SMs that nvcc no longer knows
# real       Debian's torch, older than 2.8, and shims built for it; its source, of which parts are compiled for each CPU;
#            what installs bare systems
# wheel      what packs a wheel, and the older libc that it is linked to
# torch      finds the torch of $PYTHON, of an activated environment or of python3; else installs one into .venv
# configure  runs CMake for $TARGETS (native, all, or a list; default: as it is configured, else native) into build/;
#            if targets need CUDA compilers and no toolkit is installed, installs the compilers from wheels into .venv
#
# Writes build/setup/torch: the folder of the torch to examine.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.venv
stamps=$venv/.pbprobe
setup=build/setup
peers=""
list_only=""
[[ ${1:-} != --list ]] || list_only=yes
needs=" $* "

say() { printf 'pbprobe: %s\n' "$*"; }
give_up() {
  printf 'pbprobe: %s\n' "$1" >&2
  [[ $# -eq 1 ]] || printf '%s\n' "${@:2}" >&2
  exit 2
}
needed() { [[ $needs == *" $1 "* ]]; }

# Runs a command with its output in the log, and shows what it is at.
logged() {
  "$@" 2>&1 | tee "$log" | show_progress || {
    tail -n 8 "$log" >&2
    give_up "failed: $*" "(the whole output: $log)"
  }
}

# On a terminal one line, written over; elsewhere the larger steps as lines.
show_progress() {
  local line
  while read -r line; do
    case $line in
      Collecting* | Downloading* | Installing* | Unpacking* | "Setting up"*) ;;
      *) continue ;;
    esac
    if [[ -t 1 ]]; then
      printf '\r\033[K  %.*s' "$((${COLUMNS:-80} - 3))" "$line"
    elif [[ $line == Downloading* || $line == Installing* ]]; then
      printf '  %.100s\n' "$line"
    fi
  done
  [[ ! -t 1 ]] || printf '\r\033[K'
}

# The user's Python: PYTHON=…, an activated environment, or python3.
user_python() {
  local prefix
  if [[ -n ${PYTHON:-} ]]; then
    command -v "$PYTHON" || give_up "PYTHON=$PYTHON is not a program: give the path of a python3"
    return
  fi
  for prefix in "${VIRTUAL_ENV:-}" "${CONDA_PREFIX:-}"; do
    if [[ -n $prefix && -x $prefix/bin/python3 ]]; then
      echo "$prefix/bin/python3"
      return
    fi
  done
  command -v python3 || give_up "no python3 on PATH: install it (Debian: apt-get install python3)"
}

# ---- Debian packages ----------------------------------------------------------------------------------------------

# Libraries: also the list of what the cross build takes for arm64 (ci/sysroot).
libraries="$(cat cmake/debian-libraries.txt)"

packages_for() {
  local list=""
  needed build && list+=" g++ make git ccache $libraries libgtest-dev libgmock-dev libisal-dev"
  needed test && list+=" binutils llvm iproute2 nftables groff-base"
  needed lint && list+=" clang-tidy shellcheck"
  needed asan && list+=" clang libclang-rt-dev"
  needed cross && list+=" g++-aarch64-linux-gnu qemu-user-static"
  needed nix && list+=" nix-bin xz-utils patch"
  needed pages && list+=" chromium fonts-dejavu-core"
  needed real && list+=" g++-aarch64-linux-gnu xz-utils debootstrap"
  # The system's own python3 comes without venv and headers; other Pythons have both.
  if needed build && [[ $(readlink -f "$python") == /usr/bin/* ]]; then list+=" python3-venv python3-dev"; fi
  # For users who type `cd build && ctest`; the build itself uses the cmake of .venv.
  if needed build && [[ $(id -u) -eq 0 ]] && { [[ -n $list_only ]] || ! command -v ctest >/dev/null; }; then list+=" cmake"; fi
  echo "$list"
}

install_packages() {
  local missing=() package sudo=()
  if ! command -v dpkg-query >/dev/null; then
    say "this system has no Debian packages: install these by its own means:$(packages_for)"
    return
  fi
  for package in $(packages_for); do
    [[ $(dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | head -n 1) == installed ]] || missing+=("$package")
  done
  [[ ${#missing[@]} -gt 0 ]] || return 0
  if [[ $(id -u) -ne 0 ]]; then
    sudo -n true 2>/dev/null ||
      give_up "these Debian packages are missing, and installing them takes root. Run" \
        "  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}" \
        "and then the same make command again."
    sudo=(sudo -n)
  fi
  say "installing Debian packages: ${missing[*]}"
  # Their scripts call what was just installed: on the system's own PATH, whatever ours is.
  local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive "PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH" apt-get)
  logged "${apt[@]}" update
  logged "${apt[@]}" install -y --no-install-recommends "${missing[@]}"
}

# ---- .venv --------------------------------------------------------------------------------------------------------

make_venv() {
  [[ -x $venv/bin/python3 ]] && return
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    give_up "$python is older than Python 3.10: set PYTHON=… to a newer one"
  say "making $venv with $python"
  # Resolves the link: the folder of links in which it may have been found is temporary.
  "$(readlink -f "$python")" -m venv "$venv" || give_up "$python cannot make a virtual environment: set PYTHON=… to one that can"
}

# install_locked NAME: cmake/requirements-NAME.txt, in which each file is known by its hash; all that it depends on is in there
# (ci/lock-requirements).
install_locked() {
  local file=cmake/requirements-$1.txt stamp=$stamps/$1
  [[ -f $stamp && $(<"$stamp") == "$(cksum <"$file")" ]] && return
  say "installing into $venv: $(sed -n '1s/.*, of: //p' "$file")"
  logged "$venv/bin/python3" -m pip install --disable-pip-version-check --require-hashes --no-deps -r "$file"
  mkdir -p "$stamps"
  cksum <"$file" >"$stamp"
}

# ---- torch --------------------------------------------------------------------------------------------------------

# Prints the folder of the torch of a Python, without importing it.
torch_of() {
  "$1" - <<'PY' 2>/dev/null
import importlib.util, pathlib, sys
sys.path = [entry for entry in sys.path if entry]  # not what lies in this folder by chance
spec = importlib.util.find_spec("torch")
if spec is None or spec.origin is None:
    sys.exit(1)
print(pathlib.Path(spec.origin).parent)
PY
}

find_torch() {
  local folder
  if ! folder=$(torch_of "$python"); then
    if [[ -n ${PYTHON:-} ]] && ! [[ $python -ef $venv/bin/python3 ]]; then
      say "PYTHON=$PYTHON has no torch: taking the one of $venv"
    fi
    install_locked torch
    folder=$(torch_of "$venv/bin/python3") || give_up "torch was installed into $venv, but cannot be found there: rm -r $venv"
  fi
  write_if_changed "$setup/torch" "$folder"
}

write_if_changed() {
  [[ -f $1 && $(<"$1") == "$2" ]] || printf '%s\n' "$2" >"$1"
}

# ---- CUDA ---------------------------------------------------------------------------------------------------------

# Prints $TARGETS, else the targets of the previous call: `make test` after `make build TARGETS=sm90` tests sm90.
targets_word() {
  if [[ -n ${TARGETS:-} ]]; then
    echo "$TARGETS"
  elif [[ -f $setup/targets ]]; then
    cat "$setup/targets"
  else
    echo native
  fi
}

find_nvcc() {
  local nvcc
  for nvcc in "${CUDACXX:-}" "$(command -v nvcc || true)" "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc"; do
    if [[ -n $nvcc && -x $nvcc && $("$nvcc" --version) =~ release\ ([0-9]+)\. && ${BASH_REMATCH[1]} -ge 13 ]]; then
      echo "$nvcc"
      return
    fi
  done
}

# install_by_hash NAME SUBJECT WITHOUT: likewise; without it what WITHOUT says is the case, and nothing else differs.
install_by_hash() {
  local file=cmake/requirements-$1.txt stamp=$stamps/$1
  if ! [[ -f $stamp && $(<"$stamp") == "$(cksum <"$file")" ]]; then
    say "installing into $venv: $2"
    if ! "$venv/bin/python3" -m pip install --disable-pip-version-check --require-hashes --no-deps -r "$file" >"$log" 2>&1; then
      say "$2 could not be installed (the whole output: $log): $3"
      return 1
    fi
    mkdir -p "$stamps"
    cksum <"$file" >"$stamp"
  fi
}

# SMs that nvcc no longer builds.
install_nvrtc() {
  local library
  install_by_hash nvrtc "NVRTC 12.9" "targets that need it are not built" || return 0
  for library in "$PWD/$venv"/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12; do nvrtc=$library; done
}

# Only its headers are used: the packages that its Python part asks for are not installed.
install_cutlass() {
  local folder
  install_by_hash cutlass "CUTLASS 4.2" "tcgen05 kernels are not built" || return 0
  for folder in "$PWD/$venv"/lib/python3*/site-packages/cutlass_library/source/include; do cutlass=$folder; done
}

# Tests that compare with them are skipped, with a message, if they are missing.
install_peers() {
  local site
  install_by_hash peers "cuobjdump and nvdisasm" "tests that compare with them are skipped" || return 0
  for site in "$PWD/$venv"/lib/python3*/site-packages; do peers=$site/nvidia/cu13/bin; done
}

# The tests make device code for the readers too, whatever the targets.
install_cuda() {
  local compilers site
  compilers=$("$python" cmake/native_targets.py --compilers "$targets") || exit 2
  nvcc=""
  nvrtc=""
  cutlass=""
  if [[ " $compilers " == *" nvrtc "* ]] || needed nix; then install_nvrtc; fi
  [[ " $compilers " != *" nvcc "* ]] || install_cutlass
  [[ " $compilers " == *" nvcc "* ]] || needed test || return 0
  nvcc=$(find_nvcc)
  [[ -z $nvcc ]] || return 0
  install_locked cuda
  for site in "$PWD/$venv"/lib/python3*/site-packages; do
    nvcc=$site/nvidia/cu13/bin/nvcc
    ln -sfn lib "$site/nvidia/cu13/lib64" # where nvcc looks for its libraries
  done
}

# ---- configure ----------------------------------------------------------------------------------------------------

# CMake's cache keeps what was given before, so only what is new or has changed makes it run again.
configure() {
  local arguments argument preset=dev changed=""
  [[ -z ${CI:-} ]] || preset=ci
  arguments=("--preset=$preset" "-DCMAKE_MAKE_PROGRAM=$PWD/$venv/bin/ninja" "-DPython_EXECUTABLE=$PWD/$venv/bin/python3"
    "-DCMAKE_CXX_COMPILER_LAUNCHER=$PWD/cmake/cached" "-DPBPROBE_TARGETS=$ids")
  [[ -z $nvcc ]] || arguments+=("-DPBPROBE_NVCC=$nvcc" "-DPBPROBE_TEST_NVCC=$nvcc")
  ! needed wheel || arguments+=("-DPBPROBE_OLDER_LIBC=$PWD/build/older-libc-$(dpkg --print-architecture)")
  [[ -z $nvrtc ]] || arguments+=("-DPBPROBE_NVRTC=$nvrtc")
  [[ -z ${TCGEN05:-} ]] || arguments+=("-DPBPROBE_TCGEN05=$TCGEN05")
  [[ -z $cutlass ]] || arguments+=("-DPBPROBE_CUTLASS=$cutlass")
  [[ -z $peers ]] || arguments+=("-DPBPROBE_TEST_PEERS=$peers")
  [[ ! -f $setup/torch ]] || arguments+=("-DPBPROBE_TEST_TORCH=$(dirname "$(<"$setup/torch")")")
  [[ -f build/build.ninja && -f $setup/configured ]] || : >"$setup/configured"
  for argument in "${arguments[@]}"; do
    grep -qFx -- "$argument" "$setup/configured" || changed=yes
  done
  if [[ -n $changed ]]; then
    say "configuring build/ for the targets $ids"
    "$venv/bin/cmake" "${arguments[@]}" --log-level=NOTICE >"$log" || {
      cat "$log" >&2
      exit 2
    }
    printf '%s\n' "${arguments[@]}" | cat - "$setup/configured" | awk -F= '!seen[$1]++' >"$setup/configured.new"
    mv "$setup/configured.new" "$setup/configured"
    link_package
  fi
  printf '%s' "$targets" >"$setup/targets"
}

# Makes `import pbprobe` and the script pbprobe in .venv use build/.
link_package() {
  local site
  for site in "$venv"/lib/python3*/site-packages; do printf '%s\n' "$PWD/build/python" >"$site/pbprobe-build.pth"; done
  printf '#!%s\nfrom pbprobe.__main__ import main\n\nmain()\n' "$PWD/$venv/bin/python3" >"$venv/bin/pbprobe"
  chmod +x "$venv/bin/pbprobe"
}

python=$(user_python)
if [[ -n $list_only ]]; then
  packages_for
  exit
fi
mkdir -p "$setup"
log=$setup/log.txt
if needed configure; then
  targets=$(targets_word)
  ids=$("$python" cmake/native_targets.py "$targets") || exit 2
fi
install_packages
make_venv
if needed test || needed lint || needed docs; then
  "$venv/bin/python3" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    give_up "$venv is of a Python older than 3.11, which tests and lint need (make report does not): rm -r $venv, and set PYTHON=… to a newer one"
fi
if needed build; then install_locked build; fi
if needed test; then
  install_locked test
  install_peers
  install_by_hash clients "readers of JUnit, evidence, wheels, variants and workflows; numpy" "tests that ask them are skipped" || true
fi
if needed wheel; then
  install_locked wheel
  ci/older-libc
fi
if needed pages; then
  install_by_hash pages "what drives Chromium, and axe-core" "tests of pages are skipped" || true
fi
if needed lint; then install_locked lint; fi
if needed docs; then install_locked docs; fi
if needed torch; then find_torch; fi
if { needed real || needed nix; } && command -v apt-get >/dev/null; then
  ci/torch-source || say "the source of Debian's torch could not be fetched: no recipe will be built, and tests/real/test_aten.py will fail"
fi
if needed configure; then
  install_cuda
  configure
fi
