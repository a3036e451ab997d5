// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Asks the catalogue's questions of the facts, each once.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "probes/judge/checks.hpp"
#include "probes/judge/facts.hpp"

namespace pbprobe {

// What became of one check of the catalogue.
struct Asked {
  const Check* check = nullptr;
  bool asked = false;
  Answer answer;
};

// In the catalogue's order; `ids`: only of these. What a check needs and the facts lack is why it has no answer.
[[nodiscard]] std::vector<Asked> ask_each(const Facts& facts, const std::optional<std::set<std::string>>& ids);

// Whether there is what such a check is about: nobody asks of a CUDA that was neither claimed nor built with.
[[nodiscard]] bool has_subject(Need need, const Facts& facts);

// Why a check was not asked.
[[nodiscard]] std::string why_not_asked(const Check& check, const Facts& facts);

// Why nothing is known of the claim as a whole: a target that no check asks about, or one file of which nothing that
// is claimed is known.
[[nodiscard]] std::optional<Seen> unjudged_claim(const Facts& facts);

}  // namespace pbprobe
