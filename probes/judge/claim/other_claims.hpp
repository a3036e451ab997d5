// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Checks of files against a claim from `--claim`, a claim file or a variant.json.
#pragma once

#include <string>
#include <string_view>

#include "probes/judge/claim/claimed_files.hpp"

namespace pbprobe {

// Adds a fault for each holder of device code without machine code for `sm`. `claimed` is the claim's word for `sm`.
// An `sm` with suffix requires exactly this SM; without suffix, any code for the capability is enough.
void ask_machine_code(Answer& answer, const std::string& claimed, const Sm& sm, const ClaimedFiles& part);

// Adds a fault for each holder of device code without PTX for exactly `sm`, and one if no file has device code. Without
// a suffix, every unit of the holder needs the PTX.
void ask_ptx(Answer& answer, const std::string& claimed, const Sm& sm, const ClaimedFiles& part);

// Returns the Python tag of a claim: "3.13" is "cp313", "3.13t" is "cp313t", "pypy3.11" is "pp311".
[[nodiscard]] std::string format_python_tag(std::string_view python);

// Checks that each file that imports torch symbols loads with the torch release `claimed`.
[[nodiscard]] Answer ask_torch_symbols(const std::string& claimed, const ClaimedFiles& part);

// Appends the findings of `one` to `all`. The first "unknown" stays.
void add_answer(Answer& all, Answer one);

}  // namespace pbprobe
