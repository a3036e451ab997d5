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
  std::string name;
  std::string dtype;
  std::string instruction;
  std::string evidence;               // "executed", "executed-via-ptx", "emulated", "assembled", "not built"
  std::optional<std::string> device;  // device or emulator that ran it
};

struct ListedTarget {
  std::string id;
  TargetKind kind = TargetKind::cpu;
  std::vector<std::string> products;
  bool built = false;
  std::optional<std::string> why_not;  // reason why it is not built, with the fix
  std::vector<ListedKernel> kernels;
};

struct TargetList {
  std::vector<ListedTarget> targets;
};

void fields(auto& visit, SameAs<ListedKernel> auto& kernel) {
  visit("name", kernel.name);
  visit("dtype", kernel.dtype, "type of A and B");
  visit("instruction", kernel.instruction);
  visit("evidence", kernel.evidence, "executed, executed-via-ptx, emulated, assembled or not built");
  visit("device", kernel.device, "device or emulator that ran it");
}

void fields(auto& visit, SameAs<ListedTarget> auto& target) {
  visit("id", target.id);
  visit("kind", target.kind);
  visit("products", target.products);
  visit("built", target.built);
  visit("why_not", target.why_not, "reason why it is not built, with the fix");
  visit("kernels", target.kernels);
}

void fields(auto& visit, SameAs<TargetList> auto& list) {
  visit.constant("schema", "pbprobe.target-list/1");
  visit("targets", list.targets);
}

}  // namespace pbprobe
