// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Kernel names of one file's device code. The audit stores them only with AuditOptions::kernel_names.
#pragma once

#include <string>

#include "core/facts/inventory.hpp"
#include "core/sm.hpp"

namespace pbprobe {

// Calls `each(mangled_name, sm, is_ptx)` for every kernel of every cubin and of all PTX.
template <class Each>
void for_each_kernel(const DeviceCode& code, Each&& each) {
  const auto take = [&](const std::string& target, const std::vector<std::string>& names, bool is_ptx) {
    const auto sm = parse_sm(target);
    if (!sm) return;
    for (const auto& name : names) each(name, *sm, is_ptx);
  };
  if (code.census) {
    for (const auto& [target, census] : *code.census) {
      if (census.names) take(target, *census.names, false);
    }
  }
  if (code.ptx_kernels) {
    for (const auto& [target, names] : *code.ptx_kernels) take(target, names, true);
  }
}

}  // namespace pbprobe
