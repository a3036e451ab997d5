// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// audit_wheel_bench WHEEL [RUNS]: the audit of a wheel interleaved with only the inflate library, on its largest member
// and on all of its members by all cores: no reader that inflates the wheel can be faster than the slower of the two.
// Prints medians, their ratios, and the most memory that was used.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "core/parallel.hpp"
#include "probes/audit/audit.hpp"
#include "probes/audit/containers/mapped_file.hpp"
#include "probes/audit/containers/zip.hpp"

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

void inflate(const pbprobe::ZipArchive& archive, const pbprobe::ZipMember& member) {
  const auto done = pbprobe::inflate_member(archive, member, [](std::span<const uint8_t>) { return true; });
  if (!done) std::exit(fail(done.error()));
}

// Returns the peak memory in MB of one audit in its own process, including pages of the mapped wheel.
double megabytes_of_an_audit(const char* wheel) {
  const pid_t child = fork();
  if (child == 0) _exit(pbprobe::audit(wheel, AuditOptions{}).ok() ? 0 : 2);
  int status = 0;
  rusage usage{};
  if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0) {
    std::fprintf(stderr, "%s: it cannot be audited\n", wheel);
    std::exit(2);
  }
  return static_cast<double>(usage.ru_maxrss) / 1e3;
}

// Inflates the largest members first, as the audit does.
void inflate_all(const pbprobe::ZipArchive& archive) {
  std::vector<const pbprobe::ZipMember*> order;
  for (const auto& member : archive.members) order.push_back(&member);
  std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->size_bytes > b->size_bytes; });
  pbprobe::run_tasks(order.size(), 0, [&](size_t i) { inflate(archive, *order[i]); });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("audit_wheel_bench WHEEL [RUNS]\n", stderr);
    return 2;
  }
  const double megabytes = megabytes_of_an_audit(argv[1]);  // before this process maps anything
  const int runs = argc > 2 ? std::atoi(argv[2]) : 5;
  const auto mapping = pbprobe::map_file(argv[1]);
  if (!mapping) return fail(mapping.error());
  const auto archive = pbprobe::read_zip(pbprobe::Bytes(mapping->bytes(), argv[1]));
  if (!archive) return fail(archive.error());
  const auto largest = std::max_element(archive->members.begin(), archive->members.end(),
                                        [](const auto& a, const auto& b) { return a.size_bytes < b.size_bytes; });
  std::vector<double> single, members, whole;
  for (int i = 0; i < runs; ++i) {
    single.push_back(seconds([&] { inflate(*archive, *largest); }));
    members.push_back(seconds([&] { inflate_all(*archive); }));
    whole.push_back(seconds([&] {
      const auto done = pbprobe::audit(argv[1], AuditOptions{});
      if (!done) std::exit(fail(done.error()));
    }));
  }
  const char* library = pbprobe::best_inflate() == pbprobe::Inflate::isal ? "ISA-L" : "zlib";
  std::printf("%s: %.0f MB, largest member %.0f MB, medians of %d, interleaved\n", argv[1],
              static_cast<double>(mapping->bytes().size()) / 1e6, static_cast<double>(largest->size_bytes) / 1e6, runs);
  std::printf("  only %s, largest member   %6.2f s\n", library, median(single));
  std::printf("  only %s, all members      %6.2f s\n", library, median(members));
  std::printf("  audit of the whole wheel    %6.2f s   %.2f times the largest member, %.2f times all members\n",
              median(whole), median(whole) / median(single), median(whole) / median(members));
  std::printf("  most memory of an audit     %6.0f MB, the mapped wheel included\n", megabytes);
}
