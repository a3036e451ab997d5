// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// For aarch64_truth.py: words in hexadecimal, one a line, become their features, one line each; "unknown" if
// the word is no known instruction.
#include <cstdio>
#include <cstring>

#include "probes/audit/host_code/code.hpp"

int main() {
  unsigned word = 0;
  while (std::scanf("%x", &word) == 1) {
    std::string line;
    for (const auto& name : pbprobe::list_feature_names(pbprobe::decode_aarch64(word), pbprobe::kAarch64Features))
      line += (line.empty() ? "" : ",") + name;
    std::array<uint8_t, 4> code{};
    std::memcpy(code.data(), &word, code.size());
    if (pbprobe::count_aarch64(code, 0, nullptr).unknown != 0) line = "unknown";
    std::puts(line.c_str());
  }
}
