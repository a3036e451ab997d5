// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What became of libtorch's files when an emulated CPU of a claimed row loaded them.
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
  died,     // of an instruction that the CPU has not
  unknown,  // it could not be tried, or ended otherwise
};

[[nodiscard]] std::span<const EnumName<LoadOutcome>> enum_names(LoadOutcome);

// One claimed CPU row.
struct EmulatedLoad {
  std::string target;              // "avx2"
  std::optional<std::string> cpu;  // QEMU's model: "Haswell"; null: it has none of exactly this row
  LoadOutcome outcome = LoadOutcome::unknown;
  std::optional<std::string> library;  // of which it died, or at which it ended
  std::string what;                    // what was seen, or why it was not tried
};

template <class Visitor, SameAs<EmulatedLoad> T>
void fields(Visitor& visit, T& load) {
  visit("target", load.target, "the claimed row");
  visit("cpu", load.cpu, "QEMU's model of it; null: there is none of exactly this row");
  visit("outcome", load.outcome, "whether it loaded");
  visit("library", load.library, "of which it died, or at which it ended");
  visit("what", load.what, "what was seen, or why it was not tried");
}

}  // namespace pbprobe
