#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The pbprobe authors
# SPDX-License-Identifier: MIT
#
# Slurm's Prolog, or a check of NHC's: a node that is wrong is drained, one that could not be asked is not.
# Slurm drains a node whose prolog ends with anything but 0, and kills it after PrologEpilogTimeout (60 s).
set -uo pipefail

python=${PBPROBE_PYTHON:-python3}
line=$("$python" -m pbprobe.fleet --node-health 2>/dev/null)
code=$?
if [[ $code == 1 && $line == FAIL* ]]; then
  echo "print pbprobe: $line"
  exit 1
fi
if [[ $code != 0 ]]; then logger -t pbprobe "node health not known: $line"; fi
exit 0
