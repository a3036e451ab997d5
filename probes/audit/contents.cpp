// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/contents.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "probes/audit/symbols.hpp"

namespace pbprobe {
namespace {

struct Signature {
  std::string_view prefix;  // of a defined symbol, as mangled
  std::string_view component;
};

constexpr std::array<Signature, 19> kSignatures{{
    {"_ZN13cudnn_frontend", "cuDNN frontend"},
    {"_ZN4dnnl", "oneDNN"},
    {"_ZN4gloo", "Gloo"},
    {"_ZN6fbgemm", "FBGEMM"},
    {"_ZN7cutlass", "CUTLASS"},
    {"_ZN11arm_compute", "Arm Compute"},
    {"Sleef_", "SLEEF"},
    {"cblas_", "CBLAS"},
    {"dnnl_", "oneDNN"},
    {"kai_", "KleidiAI"},
    {"magma_", "MAGMA"},
    {"mkl_", "MKL"},
    {"nccl", "NCCL"},
    {"nnp_", "NNPACK"},
    {"nvpl_", "NVPL"},
    {"openblas_", "OpenBLAS"},
    {"pytorch_q", "QNNPACK"},
    {"pytorch_u8gemm", "QNNPACK"},
    {"xnn_", "XNNPACK"},
}};
constexpr int64_t kEnough = 10;
constexpr size_t kLongestName = 4096;  // the demangler recurses, and the name is a stranger's

bool is_torch_name(std::string_view name) {
  for (const char* prefix : {"_ZN3c10", "_ZNK3c10", "_ZN2at", "_ZNK2at", "_ZN5torch", "_ZNK5torch", "_ZN6caffe2"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

// "Ss" is std::string's short name before C++11, but also a part of many identifiers.
bool has_old_string(std::string_view name) {
  if (name.find("Ss") == std::string_view::npos || name.size() > kLongestName) return false;
  int status = 0;
  const std::string terminated(name);
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(terminated.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  if (status != 0) return false;
  const std::string_view plain(text.get());
  return plain.find("std::string") != std::string_view::npos ||
         plain.find("std::basic_string<char") != std::string_view::npos;
}

// What dnnl_version() returns begins with three numbers. The compiler names it after the function; where the file has
// lost its local names, the function's own code leads to it.
constexpr std::string_view kVersion = "_ZZ12dnnl_versionE3ver";
constexpr std::string_view kVersionOf = "dnnl_version";

std::optional<uint64_t> address_in_x86(const Bytes& code, uint64_t at) {
  uint64_t skip = 0;
  if (const auto first = code.read<uint32_t>(0, "endbr64"); first && *first == 0xfa1e0ff3) skip = 4;
  const auto opcode = code.read<uint16_t>(skip, "lea");
  const auto form = code.read<uint8_t>(skip + 2, "lea");
  const auto offset = code.read<int32_t>(skip + 3, "lea");
  if (!opcode || !form || !offset || *opcode != 0x8d48 || *form != 0x05)
    return std::nullopt;  // lea rax, [rip + offset]
  return at + skip + 7 + static_cast<uint64_t>(int64_t{*offset});
}

std::optional<uint64_t> address_in_aarch64(const Bytes& code, uint64_t at) {
  const auto page = code.read<uint32_t>(0, "adrp");
  const auto rest = code.read<uint32_t>(4, "add");
  if (!page || !rest || (*page & 0x9f00001f) != 0x90000000 || (*rest & 0xffc003ff) != 0x91000000) return std::nullopt;
  const uint64_t pages = ((*page >> 5U & 0x7ffffU) << 2U) | (*page >> 29U & 3U);
  const uint64_t sign = pages >> 20U != 0 ? ~uint64_t{0} << 21U : 0;
  return (at & ~uint64_t{0xfff}) + ((pages | sign) << 12U) + (*rest >> 10U & 0xfffU);
}

std::optional<std::string> version_at(const Elf& elf, uint64_t address) {
  const auto bytes = bytes_at_address(elf, address, kVersion);
  if (!bytes) return std::nullopt;
  std::array<int32_t, 3> numbers{};
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto number = bytes->read<int32_t>(i * 4, "number");
    if (!number || *number < 0 || *number > 9999) return std::nullopt;
    numbers[i] = *number;
  }
  return fmt::format("{}.{}.{}", numbers[0], numbers[1], numbers[2]);
}

class OneDnn {
 public:
  void look_at(std::string_view name, const Elf64_Sym& symbol) {
    if (symbol.st_shndx == SHN_UNDEF) return;
    if (name == kVersion) object_ = symbol.st_value;
    if (name == kVersionOf) function_ = symbol.st_value;
  }
  [[nodiscard]] std::optional<std::string> version(const Elf& elf) const {
    if (object_) return version_at(elf, *object_);
    if (!function_) return std::nullopt;
    const auto code = bytes_at_address(elf, *function_, kVersionOf);
    if (!code) return std::nullopt;
    const auto address = elf.header.e_machine == EM_X86_64    ? address_in_x86(*code, *function_)
                         : elf.header.e_machine == EM_AARCH64 ? address_in_aarch64(*code, *function_)
                                                              : std::nullopt;
    return address ? version_at(elf, *address) : std::nullopt;
  }

 private:
  std::optional<uint64_t> object_;
  std::optional<uint64_t> function_;
};

}  // namespace

Result<Contents> read_contents(const Elf& elf) {
  Contents contents;
  OneDnn onednn;
  std::array<int64_t, kSignatures.size()> counts{};
  const auto count = [&](std::string_view name, const Elf64_Sym& symbol) {
    if (symbol.st_shndx == SHN_UNDEF) return;
    onednn.look_at(name, symbol);
    for (size_t i = 0; i < kSignatures.size(); ++i) {
      if (name.starts_with(kSignatures[i].prefix)) ++counts[i];
    }
  };
  PBPROBE_CHECK(visit_symbols(elf, ".symtab", count));
  PBPROBE_CHECK(visit_symbols(elf, ".dynsym", [&](std::string_view name, const Elf64_Sym& symbol) {
    count(name, symbol);
    if (symbol.st_shndx == SHN_UNDEF || !is_torch_name(name)) return;
    if (name.find("7__cxx1112basic_string") != std::string_view::npos) {
      ++contents.cxx11_names;
    } else if (has_old_string(name)) {
      ++contents.pre_cxx11_names;
    }
  }));
  for (size_t i = 0; i < kSignatures.size(); ++i) {
    auto& names = contents.components;
    const std::string component(kSignatures[i].component);
    if (counts[i] >= kEnough && std::find(names.begin(), names.end(), component) == names.end())
      names.push_back(component);
  }
  std::sort(contents.components.begin(), contents.components.end());
  contents.onednn = onednn.version(elf);
  return contents;
}

}  // namespace pbprobe
