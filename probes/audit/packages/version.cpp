// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/version.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "probes/audit/packages/python_text.hpp"

namespace pbprobe {
namespace {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::optional<std::string> quoted(std::string_view text) {
  text = trim(text);
  if (text.size() < 2 || (text[0] != '\'' && text[0] != '"')) return std::nullopt;
  const size_t end = text.find(text[0], 1);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(text.substr(1, end - 1));
}

// "2.11.0+cu130" was built for CUDA 13.0: the last digit is the minor version.
std::optional<std::string> cuda_of_version(std::string_view version) {
  const size_t mark = version.find("+cu");
  if (mark == std::string_view::npos) return std::nullopt;
  const std::string_view digits = version.substr(mark + 3);
  const bool number = std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  if (!number || digits.size() < 2) return std::nullopt;
  return std::string(digits.substr(0, digits.size() - 1)) + "." + digits.back();
}

const std::string* text_of(const std::map<std::string, std::string>& texts, const char* name) {
  const auto found = texts.find(name);
  return found == texts.end() ? nullptr : &found->second;
}

std::optional<std::string> cmake_version(std::string_view text) {
  constexpr std::string_view kSet = "set(PACKAGE_VERSION";
  const size_t found = text.find(kSet);
  if (found == std::string_view::npos) return std::nullopt;
  return quoted(text.substr(found + kSet.size()));
}

// Why a text does not tell its version; `where`: what was looked for in it.
std::optional<std::string> fault_of(std::string_view text, std::string_view where,
                                    const std::optional<std::string>& version) {
  if (text.find('\0') != std::string_view::npos) return "holds NUL bytes, so it is not text";
  if (!version) return fmt::format("no {} that is a quoted text in it", where);
  if (version->empty()) return fmt::format("its {} is empty", where);
  if (std::isdigit(static_cast<unsigned char>(version->front())) == 0)
    return fmt::format("its {} is \"{}\", which is not a version", where, *version);
  return std::nullopt;
}

// What the assignments of version.py say; a name that is assigned None, or not at all, says nothing.
Result<std::optional<std::string>> read_version_py(const std::string& text, Versions& versions) {
  std::optional<std::string> torch;
  if (text.find('\0') != std::string::npos) return torch;
  PBPROBE_TRY(const auto assignments, read_assignments(text), "version.py");
  for (const auto& assignment : assignments) {
    const auto take = [&](std::string_view name, const char* of, std::optional<std::string>& value) {
      if (assignment.name != name) return;
      value = assignment.is_text ? std::optional(assignment.text) : std::nullopt;
      versions.stated.push_back({.of = of,
                                 .where = fmt::format("torch/version.py:{}", assignment.line),
                                 .stated = value.value_or("no text")});
    };
    take("__version__", "torch", torch);
    take("cuda", "CUDA", versions.cuda);
    take("git_version", "commit", versions.git);
  }
  return torch;
}

}  // namespace

Versions read_versions(const std::map<std::string, std::string>& texts) {
  Versions versions;
  const auto take = [&](const char* name, std::string_view where, std::optional<std::string> version) {
    if (auto fault = fault_of(*text_of(texts, name), where, version)) {
      versions.problems.push_back(make_error(ErrorCode::malformed, "{}: {}", name, *fault));
    } else if (!versions.torch) {
      versions.torch = std::move(version);
    }
  };
  if (const auto* text = text_of(texts, "version.py")) {
    auto torch = read_version_py(*text, versions);
    if (torch) {
      take("version.py", "__version__", std::move(*torch));
    } else {
      versions.problems.push_back(torch.error());
    }
    if (versions.torch) return versions;
  }
  if (const auto* text = text_of(texts, "build-version")) take("build-version", "version", std::string(trim(*text)));
  if (const auto* text = text_of(texts, "build-hash")) versions.git = trim(*text);
  if (const auto* text = text_of(texts, "TorchConfigVersion.cmake"))
    take("TorchConfigVersion.cmake", "PACKAGE_VERSION", cmake_version(*text));
  if (versions.torch && !versions.cuda) versions.cuda = cuda_of_version(*versions.torch);
  return versions;
}

}  // namespace pbprobe
