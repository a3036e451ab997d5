// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Results of loading libtorch's files on an emulated CPU of each claimed row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace pbprobe {

enum class LoadOutcome {
  loaded,
  died,     // ended by an instruction that the CPU lacks
  unknown,  // not tried, or ended in another way
};

[[nodiscard]] std::span<const EnumName<LoadOutcome>> enum_names(LoadOutcome);

// One claimed CPU row.
struct EmulatedLoad {
  std::string target;              // "avx2"
  std::optional<std::string> cpu;  // QEMU model ("Haswell"); null if no model matches this row exactly
  LoadOutcome outcome = LoadOutcome::unknown;
  std::optional<std::string> library;  // library at which the process ended
  std::string what;                    // observation, or the reason why it was not tried
};

template <class Visitor, SameAs<EmulatedLoad> T>
void fields(Visitor& visit, T& load) {
  visit("target", load.target, "the claimed row");
  visit("cpu", load.cpu, "QEMU model of the row; null if no model matches this row exactly");
  visit("outcome", load.outcome, "result of the load");
  visit("library", load.library, "library at which the process ended");
  visit("what", load.what, "observation, or the reason why it was not tried");
}

}  // namespace pbprobe
