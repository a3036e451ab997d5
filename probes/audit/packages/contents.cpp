// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/packages/contents.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/facts/environment.hpp"
#include "core/torch_names.hpp"
#include "core/torch_symbols.hpp"
#include "probes/audit/containers/elf.hpp"
#include "probes/audit/host_code/code.hpp"

namespace pbprobe {
namespace {

// dnnl_version() returns a struct that begins with three numbers. The compiler names the struct after the function; in
// a file without local names, the code of dnnl_version() has its address.
constexpr std::string_view kOneDnnObject = "_ZZ12dnnl_versionE3ver";
constexpr std::string_view kOneDnn = "dnnl_version";
// magma_version(int*, int*, int*) stores three numbers where its arguments point.
constexpr std::string_view kMagma = "magma_version";
constexpr uint64_t kMostCode = 256;  // size limit of magma_version
// Returns the numbers of the release in its three highest bytes (torch/headeronly/version.h, TORCH_ABI_VERSION).
constexpr std::string_view kTorch = "aoti_torch_abi_version";

using Numbers = std::array<int32_t, 3>;

std::optional<std::string> format_numbers(const Numbers& numbers) {
  for (const int32_t number : numbers) {
    if (number < 0 || number > 9999) return std::nullopt;
  }
  return fmt::format("{}.{}.{}", numbers[0], numbers[1], numbers[2]);
}

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

std::optional<std::string> read_version_string(const Elf& elf, uint64_t address) {
  const auto bytes = bytes_at_address(elf, address, kOneDnnObject);
  if (!bytes) return std::nullopt;
  Numbers numbers{};
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto number = bytes->read<int32_t>(i * 4, "number");
    if (!number) return std::nullopt;
    numbers[i] = *number;
  }
  return format_numbers(numbers);
}

std::optional<std::string> version_of_onednn(const Elf& elf, uint64_t function) {
  const auto code = bytes_at_address(elf, function, kOneDnn);
  if (!code) return std::nullopt;
  const auto address = elf.header.e_machine == EM_X86_64    ? address_in_x86(*code, function)
                       : elf.header.e_machine == EM_AARCH64 ? address_in_aarch64(*code, function)
                                                            : std::nullopt;
  return address ? read_version_string(elf, *address) : std::nullopt;
}

// Returns the numbers of the first three instructions `mov dword [register], number`.
std::optional<Numbers> stored_by_x86(const Bytes& code) {
  Numbers numbers{};
  size_t stored = 0;
  for (uint64_t at = 0; at < code.size();) {
    const size_t length = decode_x86(code.span().subspan(at)).length;
    if (length == 0) return std::nullopt;
    const auto opcode = code.read<uint8_t>(at, "mov");
    const auto form = code.read<uint8_t>(at + 1, "mov");
    const auto number = code.read<int32_t>(at + 2, "number");
    // No displacement, and neither rsp nor rip: those forms are longer.
    if (length == 6 && opcode && form && number && *opcode == 0xc7 && (*form & 0xf8) == 0 && *form != 4 && *form != 5) {
      numbers[stored++] = *number;
      if (stored == numbers.size()) return numbers;
    }
    at += length;
  }
  return std::nullopt;
}

// Returns the numbers of the first three `str w, [x]`, if w is zero or set by `mov w, number`.
std::optional<Numbers> stored_by_aarch64(const Bytes& code) {
  std::array<std::optional<int32_t>, 32> registers{};
  registers[31] = 0;  // wzr
  Numbers numbers{};
  size_t stored = 0;
  for (uint64_t at = 0; at + 4 <= code.size(); at += 4) {
    const auto word = code.read<uint32_t>(at, "instruction");
    if (!word) return std::nullopt;
    if ((*word & 0xffe00000) == 0x52800000 && (*word & 31U) != 31)
      registers[*word & 31U] = static_cast<int32_t>(*word >> 5U & 0xffffU);
    if ((*word & 0xfffffc00) != 0xb9000000) continue;
    const auto number = registers[*word & 31U];
    if (!number) return std::nullopt;
    numbers[stored++] = *number;
    if (stored == numbers.size()) return numbers;
  }
  return std::nullopt;
}

std::optional<std::string> version_of_magma(const Elf& elf, uint64_t function) {
  const auto from = bytes_at_address(elf, function, kMagma);
  if (!from) return std::nullopt;
  const Bytes code(from->span().first(std::min(from->size(), kMostCode)), std::string(kMagma));
  const auto numbers = elf.header.e_machine == EM_X86_64    ? stored_by_x86(code)
                       : elf.header.e_machine == EM_AARCH64 ? stored_by_aarch64(code)
                                                            : std::nullopt;
  return numbers ? format_numbers(*numbers) : std::nullopt;
}

// mov rax, number; ret, with or without a frame around it.
std::optional<uint64_t> returned_by_x86(const Bytes& code) {
  constexpr std::array<std::pair<uint32_t, uint32_t>, 5> kFrame{
      {{0xfa1e0ff3, 4}, {0x55, 1}, {0xe58948, 3}, {0x5d, 1}, {0xc9, 1}}};  // endbr64, push, mov, pop, leave
  std::optional<uint64_t> value;
  for (uint64_t at = 0; at < kMostCode;) {
    const auto word = code.read<uint32_t>(at, "instruction");
    if (!word) return std::nullopt;
    if ((*word & 0xffU) == 0xc3) return value;
    const auto frame = std::ranges::find_if(
        kFrame, [&](const auto& one) { return (*word & (0xffffffffU >> (32 - 8 * one.second))) == one.first; });
    if (frame != kFrame.end()) {
      at += frame->second;
    } else if ((*word & 0xffffU) == 0xb848 && !value) {
      const auto number = code.read<uint64_t>(at + 2, "number");
      if (!number) return std::nullopt;
      value = *number;
      at += 10;
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

// movz x0, number, then any movk x0, up to ret.
std::optional<uint64_t> returned_by_aarch64(const Bytes& code) {
  std::optional<uint64_t> value;
  for (uint64_t at = 0; at < kMostCode; at += 4) {
    const auto word = code.read<uint32_t>(at, "instruction");
    if (!word) return std::nullopt;
    const uint64_t shift = uint64_t{*word >> 21U & 3U} * 16;
    const uint64_t number = uint64_t{*word >> 5U & 0xffffU} << shift;
    if ((*word & 0xffffff3f) == 0xd503241f) continue;  // bti
    if (*word == 0xd65f03c0) return value;             // ret
    if ((*word & 0xff80001f) == 0xd2800000) {
      value = number;
    } else if ((*word & 0xff80001f) == 0xf2800000 && value) {
      value = (*value & ~(uint64_t{0xffff} << shift)) | number;
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<std::string> version_of_torch(const Elf& elf, uint64_t function) {
  const auto code = bytes_at_address(elf, function, kTorch);
  if (!code) return std::nullopt;
  const auto value = elf.header.e_machine == EM_X86_64    ? returned_by_x86(*code)
                     : elf.header.e_machine == EM_AARCH64 ? returned_by_aarch64(*code)
                                                          : std::nullopt;
  if (!value || *value == 0) return std::nullopt;
  return fmt::format("{}.{}.{}", *value >> 56U, *value >> 48U & 0xffU, *value >> 40U & 0xffU);
}

// Reads the versions of oneDNN, MAGMA and torch from the code of their version functions. Runs nothing.
class OwnVersions {
 public:
  // Stores the address of a version function; ignores other names and undefined symbols. Call for each symbol, then
  // read().
  void record_symbol(std::string_view name, const Elf64_Sym& symbol);
  // {"MAGMA": "2.6.1", "oneDNN": "3.10.2", "torch": "2.11.0"}; without those whose code has another form.
  [[nodiscard]] std::map<std::string, std::string> read(const Elf& elf) const;

 private:
  std::optional<uint64_t> onednn_object_;  // address of the result of dnnl_version()
  std::optional<uint64_t> onednn_;
  std::optional<uint64_t> magma_;
  std::optional<uint64_t> torch_;
};

void OwnVersions::record_symbol(std::string_view name, const Elf64_Sym& symbol) {
  if (symbol.st_shndx == SHN_UNDEF) return;
  if (name == kOneDnnObject) onednn_object_ = symbol.st_value;
  if (name == kOneDnn) onednn_ = symbol.st_value;
  if (name == kMagma) magma_ = symbol.st_value;
  if (name == kTorch) torch_ = symbol.st_value;
}

std::map<std::string, std::string> OwnVersions::read(const Elf& elf) const {
  std::map<std::string, std::string> versions;
  const auto take = [&](const char* library, std::optional<std::string> version) {
    if (version) versions[library] = std::move(*version);
  };
  if (onednn_object_) {
    take("oneDNN", read_version_string(elf, *onednn_object_));
  } else if (onednn_) {
    take("oneDNN", version_of_onednn(elf, *onednn_));
  }
  if (magma_) take("MAGMA", version_of_magma(elf, *magma_));
  if (torch_) take("torch", version_of_torch(elf, *torch_));
  return versions;
}

struct Signature {
  std::string_view prefix;  // mangled prefix of a defined symbol
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
constexpr size_t kNamedSymbols = 10;

// Names of a file's undefined symbols that belong to torch.
struct TakenNames {
  std::set<std::string_view> cxx;
  std::set<std::string_view> stable;
  std::set<std::string_view> unknown;
  TorchReleases common = TorchReleases::all();

  void add(std::string_view name) {
    const TorchName kind = classify_torch_name(name);
    if (kind == TorchName::none) return;
    const TorchReleases having = TorchReleases::with(name);
    if (having.empty() && kind == TorchName::signature) return;
    (kind == TorchName::stable ? stable : cxx).insert(name);
    if (!having.empty()) {
      common &= having;
    } else if (is_reserved_for_torch(name)) {
      unknown.insert(name);
    }
  }
  TorchSymbols summary() const {
    TorchSymbols symbols{.cxx = static_cast<int64_t>(cxx.size()), .stable = static_cast<int64_t>(stable.size())};
    for (const auto& name : cxx.empty() ? stable : cxx) {
      if (symbols.first.size() < kNamedSymbols) symbols.first.emplace_back(name);
    }
    if (!unknown.empty()) symbols.unknown.emplace(unknown.begin(), unknown.end());
    if (symbols.cxx + symbols.stable > 0) symbols.releases = common.names();
    return symbols;
  }
};

bool starts_module(std::string_view name) {
  return std::ranges::any_of(kModuleEntries, [&](std::string_view begin) { return name.starts_with(begin); });
}

}  // namespace

Result<Contents> read_contents(const Elf& elf) {
  Contents contents;
  OwnVersions versions;
  TakenNames taken;
  std::array<int64_t, kSignatures.size()> counts{};
  const auto count = [&](std::string_view name, const Elf64_Sym& symbol) {
    if (symbol.st_shndx == SHN_UNDEF) return;
    versions.record_symbol(name, symbol);
    for (size_t i = 0; i < kSignatures.size(); ++i) {
      if (name.starts_with(kSignatures[i].prefix)) ++counts[i];
    }
  };
  PBPROBE_CHECK(visit_symbols(elf, ".symtab", count));
  PBPROBE_CHECK(visit_symbols(elf, ".dynsym", [&](std::string_view name, const Elf64_Sym& symbol) {
    count(name, symbol);
    // The loader sets an undefined weak symbol to 0.
    const bool undefined = symbol.st_shndx == SHN_UNDEF;
    if (undefined && ELF64_ST_BIND(symbol.st_info) != STB_WEAK) taken.add(name);
    if (undefined ? name.starts_with("Py") || name.starts_with("_Py") : starts_module(name))
      contents.uses_python = true;
    if (undefined || classify_torch_name(name) != TorchName::member) return;
    if (name.find("7__cxx1112basic_string") != std::string_view::npos) {
      ++contents.cxx11_names;
    } else if (has_old_string(name)) {
      ++contents.pre_cxx11_names;
    }
  }));
  for (size_t i = 0; i < kSignatures.size(); ++i) {
    auto& names = contents.components;
    const std::string component(kSignatures[i].component);
    if (counts[i] >= kEnough && std::ranges::find(names, component) == names.end()) names.push_back(component);
  }
  std::ranges::sort(contents.components);
  contents.versions = versions.read(elf);
  contents.torch_symbols = taken.summary();
  return contents;
}

namespace {

// The first match wins, so longer prefixes precede shorter ones.
constexpr std::array<std::pair<std::string_view, std::string_view>, 57> kComponents{{
    {"libtorch.", "libtorch"},
    {"libtorch_", "libtorch"},
    {"libtorch-", "libtorch"},  // renamed by auditwheel: libtorch-d6f8e1a2.so
    {"libtorchbind", "libtorch"},
    {"libc10", "libtorch"},
    {"libATen", "libtorch"},
    {"libcaffe2", "libtorch"},
    {"libshm", "libtorch"},
    {"_C.", "libtorch"},
    {"_dl.", "libtorch"},
    {"libaoti_", "libtorch"},
    {"torch_shm_manager", "libtorch"},  // a program that torch starts
    {"libmagma", "MAGMA"},
    {"libnccl", "NCCL"},
    {"libcudnn", "cuDNN"},
    {"libcublas", "cuBLAS"},
    {"libnvblas", "cuBLAS"},
    {"libcufftw", "cuFFT"},
    {"libcufft", "cuFFT"},
    {"libcusparseLt", "cuSPARSELt"},
    {"libcusparse", "cuSPARSE"},
    {"libcusolver", "cuSOLVER"},
    {"libcurand", "cuRAND"},
    {"libcudart", "CUDA runtime"},
    {"libnvrtc", "NVRTC"},
    {"libnvJitLink", "nvJitLink"},
    {"libnvvm", "NVVM"},
    {"libcupti", "CUPTI"},
    {"libnvperf", "CUPTI"},
    {"libpcsamplingutil", "CUPTI"},
    {"libcheckpoint", "CUPTI"},
    {"libcufile", "cuFile"},
    {"libnvshmem", "NVSHMEM"},
    {"nvshmem_", "NVSHMEM"},
    {"libnvToolsExt", "NVTX"},
    {"libnvtx", "NVTX"},
    {"libgomp", "OpenMP"},
    {"libiomp", "OpenMP"},
    {"libomp", "OpenMP"},
    {"libopenblas", "OpenBLAS"},
    {"libmkl_", "MKL"},
    {"libdnnl", "oneDNN"},
    {"libfbgemm", "FBGEMM"},
    {"libarm_compute", "Arm Compute"},
    {"libnvpl_", "NVPL"},
    {"libsleef", "SLEEF"},
    {"libXNNPACK", "XNNPACK"},
    {"libgloo", "Gloo"},
    {"libuv", "libuv"},
    {"libnuma", "libnuma"},
    {"libtriton", "Triton"},
    {"libgfortran", "GCC runtime"},
    {"libquadmath", "GCC runtime"},
    {"libstdc++", "GCC runtime"},
    {"libgcc_s", "GCC runtime"},
    {"libblas", "BLAS"},
    {"ptxas", "PTX compiler"},
}};

// Many packages call their extension module _C, as torch does. torch's wheel also has a folder functorch.
bool may_be_torch(std::string_view folder, std::string_view name) {
  const std::string_view last = folder.substr(folder.rfind('/') + 1);
  return !name.starts_with("_") || folder.empty() || last == "torch" || last == "functorch";
}

}  // namespace

std::optional<std::string> find_component(std::string_view path) {
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const std::string_view folder = slash == std::string_view::npos ? "" : path.substr(0, slash);
  for (const auto& [prefix, component] : kComponents) {
    if (name.starts_with(prefix) && may_be_torch(folder, name)) return std::string(component);
  }
  return std::nullopt;
}

}  // namespace pbprobe
