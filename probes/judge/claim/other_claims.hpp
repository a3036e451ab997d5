// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// What is asked of files under a claim, whoever makes it: `--claim`, a claim file, a variant.json.
#pragma once

#include <string>

#include "probes/judge/claim/claimed_files.hpp"

namespace pbprobe {

// Does each file with device code hold machine code for it? `claimed`: as the claim calls it. With a suffix exactly
// that, without one any code for the capability.
void ask_machine_code(Answer& answer, const std::string& claimed, const Sm& sm, const ClaimedFiles& part);

void ask_ptx(Answer& answer, const std::string& claimed, const Sm& sm, const ClaimedFiles& part);

// Does each file that takes symbols of torch load with this release?
[[nodiscard]] Answer ask_torch_symbols(const std::string& claimed, const ClaimedFiles& part);

void add_answer(Answer& all, Answer one);

}  // namespace pbprobe
