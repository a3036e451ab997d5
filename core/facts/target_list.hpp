// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// List of `pbprobe targets`: each target with its kernels and their evidence.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "core/targets.hpp"

namespace pbprobe {

struct ListedKernel {
  FIELD(std::string, name);
  FIELD(std::string, dtype, "type of A and B");
  FIELD(std::string, instruction);
  FIELD(std::string, evidence, "executed, executed-via-ptx, emulated, assembled or not built");
  FIELD(std::optional<std::string>, device, "device or emulator that ran it");
};

struct ListedTarget {
  FIELD(std::string, id);
  FIELD(TargetKind, kind) = TargetKind::cpu;
  FIELD(std::vector<std::string>, products);
  FIELD(bool, built) = false;
  FIELD(std::optional<std::string>, why_not, "reason why it is not built, with the fix");
  FIELD(std::vector<ListedKernel>, kernels);
};

struct TargetList {
  SCHEMA("pbprobe.target-list/1");
  FIELD(std::vector<ListedTarget>, targets);
};

}  // namespace pbprobe
