# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# pbprobe's setup hook: a package that has it in nativeInstallCheckInputs, and sets doInstallCheck, is installed only if its
# wheels hold what pbprobeClaim (a list, or a variant's name) and pbprobeClaimFile say. pbprobeArtifacts names other files.
# shellcheck shell=bash disable=SC2154  # Nix sets the variables

pbprobeCheckHook() {
  echo "Executing pbprobeCheckHook"
  local claims=() artifacts=() artifact
  [[ -z ${pbprobeClaim:-} ]] || claims+=(--claim "$pbprobeClaim")
  [[ -z ${pbprobeClaimFile:-} ]] || claims+=(--claim-file "$pbprobeClaimFile")
  if [[ ${#claims[@]} -eq 0 ]]; then
    echo "pbprobeCheckHook: nothing is claimed: set pbprobeClaim, as in \"sm90,cuda=13.0\", or pbprobeClaimFile"
    return 1
  fi
  read -ra artifacts <<<"${pbprobeArtifacts:-}"
  # nixpkgs moves what was built from dist/ to the output of that name.
  for artifact in dist/*.whl "${dist:-/nonexistent}"/*.whl; do
    if [[ -z ${pbprobeArtifacts:-} && -e $artifact ]]; then artifacts+=("$artifact"); fi
  done
  if [[ ${#artifacts[@]} -eq 0 ]]; then
    echo "pbprobeCheckHook: no wheel in dist/ or \$dist: name what was built in pbprobeArtifacts"
    return 1
  fi
  for artifact in "${artifacts[@]}"; do pbprobe gate "$artifact" "${claims[@]}"; done
}

if [[ -z ${dontUsePbprobeCheck:-} ]]; then preInstallCheckHooks+=(pbprobeCheckHook); fi
