// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// audit_wheel_bench WHEEL [RUNS]: the audit of a wheel by turns with the inflate library alone on its largest member,
// which no reader of that wheel can beat on one core. Prints medians, their ratio, and the most memory that was used.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "probes/audit/audit.hpp"
#include "probes/audit/mapped_file.hpp"
#include "probes/audit/zip.hpp"

namespace {

using pbprobe::AuditOptions;

template <class Task>
double seconds(Task task) {
  const auto start = std::chrono::steady_clock::now();
  task();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int fail(const pbprobe::Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("audit_wheel_bench WHEEL [RUNS]\n", stderr);
    return 2;
  }
  const int runs = argc > 2 ? std::atoi(argv[2]) : 5;
  const auto mapping = pbprobe::map_file(argv[1]);
  if (!mapping) return fail(mapping.error());
  const auto archive = pbprobe::read_zip(pbprobe::Bytes(mapping->bytes(), argv[1]));
  if (!archive) return fail(archive.error());
  const auto largest = std::max_element(archive->members.begin(), archive->members.end(),
                                        [](const auto& a, const auto& b) { return a.size_bytes < b.size_bytes; });
  std::vector<double> alone, whole;
  for (int i = 0; i < runs; ++i) {
    alone.push_back(seconds([&] {
      const auto done = pbprobe::inflate_member(*archive, *largest, [](std::span<const uint8_t>) { return true; });
      if (!done) std::exit(fail(done.error()));
    }));
    whole.push_back(seconds([&] {
      const auto done = pbprobe::audit(argv[1], AuditOptions{});
      if (!done) std::exit(fail(done.error()));
    }));
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const char* library = pbprobe::best_inflate() == pbprobe::Inflate::isal ? "ISA-L" : "zlib";
  std::printf("%s: %.0f MB, largest member %.0f MB, medians of %d by turns\n", argv[1],
              static_cast<double>(mapping->bytes().size()) / 1e6, static_cast<double>(largest->size_bytes) / 1e6, runs);
  std::printf("  %s alone, largest member   %6.2f s\n", library, median(alone));
  std::printf("  audit of the whole wheel    %6.2f s   %.2f times that\n", median(whole),
              median(whole) / median(alone));
  std::printf("  most memory, the mapped wheel included: %.0f MB\n", static_cast<double>(usage.ru_maxrss) / 1e3);
}
