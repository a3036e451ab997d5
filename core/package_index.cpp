// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "core/package_index.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/pep440.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kPypi = "https://pypi.org/simple";
constexpr std::array<std::string_view, 8> kPublishedByPytorch{"torch",     "torchvision", "torchaudio",     "torchdata",
                                                              "torchtext", "torchao",     "pytorch-triton", "xformers"};

// Reports whether the index has a folder of this name: "cu130", "cpu", "rocm7.1", "xpu"; not "git1a2b3c" or "nv25.3".
bool is_index_folder(std::string_view local) {
  if (local == "cpu" || local == "xpu") return true;
  for (const std::string_view begin : {"cu", "rocm"}) {
    const std::string_view number = local.starts_with(begin) ? local.substr(begin.size()) : "";
    if (!number.empty() && number.find_first_not_of("0123456789.") == number.npos) return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> find_pytorch_index(std::string_view name, std::string_view version) {
  const std::string plain = package_name(name);
  const size_t plus = version.find('+');
  const bool published = std::ranges::find(kPublishedByPytorch, plain) != kPublishedByPytorch.end();
  if (!published || plus == version.npos || !is_index_folder(version.substr(plus + 1))) return std::nullopt;
  const char* const nightly = version.find(".dev") < plus ? "nightly/" : "";
  return fmt::format("https://download.pytorch.org/whl/{}{}", nightly, version.substr(plus + 1));
}

std::optional<std::string> make_torch_reinstall(std::string_view version) {
  const bool local = version.find('+') != version.npos;
  const auto index = local ? find_pytorch_index("torch", version) : std::optional<std::string>(kPypi);
  if (!index || version.empty()) return std::nullopt;
  return fmt::format("pip install --force-reinstall torch=={} --index-url {}", version, *index);
}

std::string make_index_option(std::string_view torch) {
  if (torch.find('+') == torch.npos) return fmt::format(" --index-url {}", kPypi);
  const auto index = find_pytorch_index("torch", torch);
  return index ? " --extra-index-url " + *index : "";
}

std::string make_torch_pin(std::string_view version) {
  return fmt::format("torch=={}{}", version.substr(0, version.find('+')), make_index_option(version));
}

}  // namespace pbprobe
