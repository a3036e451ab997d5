# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# Builder of stand-in packages: the phases, hooks and variables of stdenv that recipes use.
# shellcheck shell=bash disable=SC2154  # Nix sets the variables
set -euo pipefail
export HOME=$NIX_BUILD_TOP CCACHE_BASEDIR=$NIX_BUILD_TOP MAX_JOBS=$NIX_BUILD_CORES
cd "$NIX_BUILD_TOP"

runHook() { eval "${!1:-}"; }

# Set the search paths of find_package, compiler and linker by variables; the wrappers of nixpkgs use flags.
add_input() {
  local more=""
  [[ ! -d $1/bin ]] || PATH=$1/bin:$PATH
  [[ ! -d $1/include ]] || more=$1/include
  [[ -z $more ]] || export CPLUS_INCLUDE_PATH=${CPLUS_INCLUDE_PATH:+$CPLUS_INCLUDE_PATH:}$more C_INCLUDE_PATH=${C_INCLUDE_PATH:+$C_INCLUDE_PATH:}$more
  [[ ! -d $1/lib ]] || export LIBRARY_PATH=${LIBRARY_PATH:+$LIBRARY_PATH:}$1/lib
  export CMAKE_PREFIX_PATH=${CMAKE_PREFIX_PATH:+$CMAKE_PREFIX_PATH:}$1
  [[ ! -f $1/nix-support/propagated ]] || for more in $(<"$1/nix-support/propagated"); do add_input "$more"; done
}

substituteInPlace() {
  local file=$1 mode
  shift
  while [[ $# -gt 0 ]]; do
    mode=$1
    grep -qF -- "$2" "$file" || { echo "substituteInPlace: $file has no \"$2\""; [[ $mode != --replace-fail ]] || exit 1; }
    shift 3
  done
}

phase() {
  local own=$1Phase
  echo "Running phase: $1Phase"
  if [[ -n ${!own:-} ]]; then eval "${!own}"; else "default_$1"; fi
}
default_unpack() {
  cp -r --no-preserve=mode "$src" source
  chmod -R u+w source
  # Keep the executable bit, like nixpkgs.
  (cd "$src" && find . -type f -perm -u+x) | (cd source && xargs -r chmod +x)
  cd source
}
default_patch() {
  local file
  for file in ${patches:-}; do
    echo "applying patch $file"
    patch -p1 --input="$file"
  done
  runHook postPatch
}
default_configure() {
  runHook preConfigure
  if [[ -z ${dontUseCmakeConfigure:-} ]]; then
    local folder=${ownFolder:-build}
    [[ -z ${ownSysroot:-} ]] || { mkdir -p build && ln -sn "$ownSysroot" build/; }
    # shellcheck disable=SC2086  # stdenv splits them too; CMake of nixpkgs searches no system folder
    CXX=${ownCxx:-$CXX} CXXFLAGS=${ownCxxFlags:-} cmake -G Ninja -S . -B "$folder" \
      -DCMAKE_BUILD_TYPE="${cmakeBuildType:-Release}" -DCMAKE_INSTALL_PREFIX="$out" \
      -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF ${cmakeFlags:-} ${worldCmakeFlags:-} ${ownCmakeFlags:-}
    cd "$folder"
  fi
  runHook postConfigure
}
default_build() { ninja -j "$NIX_BUILD_CORES"; }
default_check() { ninja test; }
default_install() {
  ninja install
  runHook postInstall
}

# Lets ccache share results with the ordinary build, whose headers have other paths.
[[ -z ${ownHeaders:-} ]] || export CCACHE_PREFIX=$compilerPaths CCACHE_PREFIX_CPP=$compilerPaths
for input in ${nativeBuildInputs:-} ${buildInputs:-}; do add_input "$input"; done
if [[ -n ${buildCommand:-} ]]; then
  eval "$buildCommand"
  exit
fi
phase unpack
phase patch
phase configure
phase build
[[ -z ${doCheck:-} ]] || phase check
phase install
