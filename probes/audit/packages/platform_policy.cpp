// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Source: auditwheel 6.8, policy/manylinux-policy.json and musllinux-policy.json (PEP 513, 571, 599, 600, 656).
#include "probes/audit/packages/platform_policy.hpp"

#include <algorithm>
#include <charconv>

namespace pbprobe {
namespace {

struct Library {
  std::string_view name;
  int glibc;       // least, 2.x
  bool is_common;  // every system has the C library and the compiler's runtime
};
constexpr Library kLibraries[] = {{"libgcc_s.so.1", 0, true},
                                  {"libstdc++.so.6", 0, true},
                                  {"libm.so.6", 0, true},
                                  {"libmvec.so.1", 24, true},
                                  {"libanl.so.1", 0, true},
                                  {"libdl.so.2", 0, true},
                                  {"librt.so.1", 0, true},
                                  {"libc.so.6", 0, true},
                                  {"libutil.so.1", 0, true},
                                  {"libpthread.so.0", 0, true},
                                  {"libresolv.so.2", 0, true},
                                  {"libatomic.so.1", 0, false},
                                  {"libnsl.so.1", 0, false},
                                  {"libX11.so.6", 0, false},
                                  {"libXext.so.6", 0, false},
                                  {"libXrender.so.1", 0, false},
                                  {"libICE.so.6", 0, false},
                                  {"libSM.so.6", 0, false},
                                  {"libGL.so.1", 0, false},
                                  {"libgobject-2.0.so.0", 0, false},
                                  {"libgthread-2.0.so.0", 0, false},
                                  {"libglib-2.0.so.0", 0, false},
                                  {"libexpat.so.1", 12, false},
                                  {"libz.so.1", 0, false}};

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

const Library* find_library(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kLibraries), std::end(kLibraries), [&](const auto& row) { return row.name == name; });
  return found == std::end(kLibraries) ? nullptr : found;
}

bool is_loader(std::string_view library) {
  return library.starts_with("ld-linux") || library.starts_with("ld-musl") || library.starts_with("linux-vdso");
}

bool is_musl_library(std::string_view library) {
  return library == "libc.so" || library.starts_with("libc.musl-");
}

}  // namespace

bool is_system_library(std::string_view name) {
  const Library* known = find_library(name);
  return is_loader(name) || is_musl_library(name) || (known != nullptr && known->is_common);
}

bool is_allowed_from_system(std::string_view name) {
  return is_system_library(name) || name.starts_with("libpython") || find_library(name) != nullptr;
}

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
  if (musl_) return is_musl_library(library) || library == "libz.so.1";
  const Library* known = find_library(library);
  return known != nullptr && glibc_ >= known->glibc;
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
