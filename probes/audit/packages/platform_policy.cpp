// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Source: auditwheel 6.8, policy/manylinux-policy.json and musllinux-policy.json (PEP 513, 571, 599, 600, 656).
#include "probes/audit/packages/platform_policy.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace pbprobe {
namespace {

struct Library {
  std::string_view name;
  int glibc;  // least, 2.x
};
constexpr Library kLibraries[] = {
    {"libatomic.so.1", 0},   {"libgcc_s.so.1", 0},  {"libstdc++.so.6", 0},      {"libm.so.6", 0},
    {"libmvec.so.1", 24},    {"libanl.so.1", 0},    {"libdl.so.2", 0},          {"librt.so.1", 0},
    {"libc.so.6", 0},        {"libnsl.so.1", 0},    {"libutil.so.1", 0},        {"libpthread.so.0", 0},
    {"libX11.so.6", 0},      {"libXext.so.6", 0},   {"libXrender.so.1", 0},     {"libICE.so.6", 0},
    {"libSM.so.6", 0},       {"libGL.so.1", 0},     {"libgobject-2.0.so.0", 0}, {"libgthread-2.0.so.0", 0},
    {"libglib-2.0.so.0", 0}, {"libresolv.so.2", 0}, {"libexpat.so.1", 12},      {"libz.so.1", 0}};

// Newest versions of libstdc++ from a glibc on.
struct CxxVersions {
  int glibc;
  std::string_view glibcxx;
  std::string_view cxxabi;
};
constexpr CxxVersions kCxx[] = {{0, "3.4.8", "1.3.1"},    {12, "3.4.13", "1.3.3"},  {17, "3.4.19", "1.3.7"},
                                {24, "3.4.22", "1.3.10"}, {27, "3.4.24", "1.3.11"}, {31, "3.4.28", "1.3.12"},
                                {34, "3.4.29", "1.3.13"}, {35, "3.4.30", "1.3.13"}, {39, "3.4.33", "1.3.15"}};

constexpr std::pair<std::string_view, int> kOldTags[] = {
    {"manylinux1_", 5}, {"manylinux2010_", 12}, {"manylinux2014_", 17}};

bool is_loader(std::string_view library) {
  return library.starts_with("ld-linux") || library.starts_with("ld-musl") || library.starts_with("linux-vdso");
}

}  // namespace

std::optional<PlatformPolicy> PlatformPolicy::find(std::string_view tag) {
  PlatformPolicy policy;
  policy.musl_ = tag.starts_with("musllinux_");
  if (policy.musl_) return policy;
  for (const auto& [begin, glibc] : kOldTags) {
    policy.glibc_ = glibc;
    if (tag.starts_with(begin)) return policy;
  }
  constexpr std::string_view kBegin = "manylinux_2_";
  if (!tag.starts_with(kBegin)) return std::nullopt;
  const auto [end, error] = std::from_chars(tag.data() + kBegin.size(), tag.data() + tag.size(), policy.glibc_);
  return error == std::errc() && end < tag.data() + tag.size() && *end == '_' ? std::optional(policy) : std::nullopt;
}

bool PlatformPolicy::permits(std::string_view library) const {
  if (is_loader(library) || library.starts_with("libpython")) return true;  // another check compares the Python
  if (musl_) return library == "libc.so" || library.starts_with("libc.musl-") || library == "libz.so.1";
  return std::any_of(std::begin(kLibraries), std::end(kLibraries),
                     [&](const Library& known) { return known.name == library && glibc_ >= known.glibc; });
}

std::optional<std::string> PlatformPolicy::find_newest(const std::string& set) const {
  if (musl_) return std::nullopt;
  if (set == "GLIBC") return "2." + std::to_string(glibc_);
  const auto after =
      std::find_if(std::begin(kCxx), std::end(kCxx), [&](const auto& row) { return row.glibc > glibc_; });
  const CxxVersions& versions = *std::prev(after);
  if (set == "GLIBCXX") return std::string(versions.glibcxx);
  if (set == "CXXABI") return std::string(versions.cxxabi);
  return std::nullopt;
}

}  // namespace pbprobe
