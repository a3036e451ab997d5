// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// For aarch64_truth.py: words in hexadecimal, one a line, become their features, one line each.
#include <cstdio>

#include "probes/audit/host_code/code.hpp"

int main() {
  unsigned word = 0;
  while (std::scanf("%x", &word) == 1) {
    std::string line;
    for (const auto& name : pbprobe::names_of(pbprobe::decode_aarch64(word), pbprobe::kAarch64Features))
      line += (line.empty() ? "" : ",") + name;
    std::puts(line.c_str());
  }
}
