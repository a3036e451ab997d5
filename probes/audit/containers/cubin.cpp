// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/containers/cubin.hpp"

#include <algorithm>

namespace pbprobe {
namespace {

constexpr int kFirstSpecificMajor = 9;     // earlier SMs have no a suffix: the bits below have no meaning there
constexpr uint32_t kAbi7Specific = 0x800;  // the a suffix, up to CUDA 12
constexpr uint32_t kAbi8Specific = 0x8;    // the a suffix in ABI 8 of CUDA 12.8 and 12.9, for SM 10.0 and later
constexpr uint8_t kCompatSpecific = 9;     // attribute of .nv.compat: 1 is the a suffix
constexpr std::string_view kTextPrefix = ".text.";
constexpr uint8_t kEntryFunction = 0x10;  // st_other of a kernel; device functions lack it

// Returns nullopt without the attribute. Attributes of .nv.compat: format, identifier, then a value of two bytes, or
// (format 4) a length and that many bytes.
Result<std::optional<bool>> compat_says_specific(const Bytes& compat) {
  for (uint64_t offset = 0; offset + 4 <= compat.size();) {
    PBPROBE_TRY(const auto format, compat.read<uint8_t>(offset, "attribute format"));
    PBPROBE_TRY(const auto identifier, compat.read<uint8_t>(offset + 1, "attribute identifier"));
    PBPROBE_TRY(const auto value, compat.read<uint16_t>(offset + 2, "attribute value"));
    if (format == 2 && identifier == kCompatSpecific) return std::optional((value & 0xff) == 1);
    offset += 4 + (format == 4 ? value : 0);
  }
  return std::optional<bool>();
}

// The command line of the assembler: ".note.nv.tkinfo … -arch sm_120f -m 64".
std::optional<Sm> parse_arch(std::string_view note) {
  constexpr std::string_view kMark = "-arch ";
  const size_t at = note.find(kMark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = note.substr(at + kMark.size());
  return parse_sm(rest.substr(0, rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789")));
}

// Returns the version in "Cuda compilation tools, release 13.0, V13.0.88". nvlink writes its note before the note of
// ptxas.
std::optional<std::string> find_version(std::string_view note) {
  constexpr std::string_view kMark = ", V";
  constexpr size_t kLongest = 16;
  const size_t tool = note.find("ptxas");
  const size_t at = note.find(kMark, tool == std::string_view::npos ? 0 : tool);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = note.substr(at + kMark.size());
  const std::string_view version = rest.substr(0, rest.find_first_not_of("0123456789."));
  if (version.empty() || version.size() > kLongest) return std::nullopt;
  return std::string(version);
}

Result<Elf64_Ehdr> cuda_header(const Bytes& file) {
  if (!file.text().starts_with(std::string_view(ELFMAG, SELFMAG)))
    return make_error(ErrorCode::malformed, "{}: not an ELF file", file.name());
  PBPROBE_TRY(const auto header, file.read<Elf64_Ehdr>(0, "ELF header"));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return make_error(ErrorCode::malformed, "{}: ELF class {}, byte order {}; CUDA uses 2 and 1", file.name(),
                      header.e_ident[EI_CLASS], header.e_ident[EI_DATA]);
  if (header.e_machine != kMachineCuda)
    return make_error(ErrorCode::malformed, "{}: an ELF file of machine {}; CUDA uses {}", file.name(),
                      header.e_machine, kMachineCuda);
  return header;
}

struct Table {
  Bytes bytes;
  uint64_t count = 0;
  uint64_t names = 0;
};

// A section count above e_shnum's range is in the first section header, as is the index of the names.
Result<Table> section_headers(const Bytes& file, const Elf64_Ehdr& header) {
  Table table{{}, header.e_shnum, header.e_shstrndx};
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff == 0)
    return make_error(ErrorCode::malformed, "{}: a cubin without section headers", file.name());
  PBPROBE_TRY(const auto first, file.read<Elf64_Shdr>(header.e_shoff, "section header"));
  if (table.count == 0) table.count = first.sh_size;
  if (table.names == SHN_XINDEX) table.names = first.sh_link;
  if (table.count > file.size() / sizeof(Elf64_Shdr))
    return make_error(ErrorCode::malformed, "{}: {} sections in {} bytes", file.name(), table.count, file.size());
  PBPROBE_TRY(table.bytes, file.slice(header.e_shoff, table.count * sizeof(Elf64_Shdr), "section headers"));
  return table;
}

Result<void> check_segments(const Bytes& file, const Elf64_Ehdr& header) {
  if (header.e_phnum == 0) return {};
  PBPROBE_TRY(const Bytes table, file.slice(header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr), "program headers"));
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    PBPROBE_TRY(const auto segment, table.read<Elf64_Phdr>(i * sizeof(Elf64_Phdr), "program header"));
    if (segment.p_type != PT_LOAD) continue;
    PBPROBE_CHECK(file.slice(segment.p_offset, segment.p_filesz, "a segment"));
  }
  return {};
}

// Marks the sections that hold kernels, by the symbols.
Result<void> mark_kernels(const Bytes& symbols, std::vector<bool>& kernels) {
  const uint64_t count = symbols.size() / sizeof(Elf64_Sym);
  for (uint64_t i = 0; i < count; ++i) {
    PBPROBE_TRY(const auto symbol, symbols.read<Elf64_Sym>(i * sizeof(Elf64_Sym), "symbol"));
    const bool entry = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && (symbol.st_other & kEntryFunction) != 0;
    if (entry && symbol.st_shndx < kernels.size()) kernels[symbol.st_shndx] = true;
  }
  return {};
}

// Returns the member of `cubin` that keeps the section `name`, or null.
Bytes* find_table(Cubin& cubin, std::string_view name) {
  if (name == ".nv.compat") return &cubin.compat;
  if (name == ".note.nv.tkinfo") return &cubin.note;
  if (name == ".nv.callgraph") return &cubin.calls;
  return nullptr;
}

}  // namespace

Result<Cubin> open_cubin(const Bytes& file) {
  Cubin cubin;
  PBPROBE_TRY(cubin.header, cuda_header(file));
  PBPROBE_TRY(const Table table, section_headers(file, cubin.header));
  PBPROBE_CHECK(check_segments(file, cubin.header));
  const auto header_at = [&](uint64_t i) {
    return *table.bytes.read<Elf64_Shdr>(i * sizeof(Elf64_Shdr), "section header");
  };
  if (table.names >= table.count)
    return make_error(ErrorCode::malformed, "{}: the cubin has no section of section names", file.name());
  const Elf64_Shdr names_header = header_at(table.names);
  PBPROBE_TRY(const Bytes names, file.slice(names_header.sh_offset, names_header.sh_size, "section names"));
  std::vector<bool> kernels(table.count);
  for (uint64_t i = 1; i < table.count; ++i) {
    const Elf64_Shdr header = header_at(i);
    if (header.sh_type != SHT_PROGBITS && header.sh_type != SHT_SYMTAB && header.sh_type != SHT_NOTE &&
        header.sh_type < SHT_LOPROC)
      continue;
    const std::string_view rest = names.text().substr(std::min<uint64_t>(header.sh_name, names.size()));
    const std::string_view name = rest.substr(0, rest.find('\0'));
    const bool is_code = header.sh_type == SHT_PROGBITS && name.starts_with(kTextPrefix);
    const bool is_symbols = header.sh_type == SHT_SYMTAB;
    if (name == ".nv.host") cubin.is_tile = true;
    Bytes* const table_of = find_table(cubin, name);
    if (!is_code && !is_symbols && table_of == nullptr) continue;
    PBPROBE_TRY(const Bytes bytes, file.slice(header.sh_offset, header.sh_size, name));
    if (is_code) {
      cubin.functions.push_back({.name = name.substr(kTextPrefix.size()), .code = bytes.span(), .section = i});
    } else if (is_symbols) {
      cubin.symbols = bytes;
      PBPROBE_CHECK(mark_kernels(bytes, kernels));
      if (header.sh_link >= table.count) continue;
      const Elf64_Shdr strings = header_at(header.sh_link);
      PBPROBE_TRY(cubin.strings, file.slice(strings.sh_offset, strings.sh_size, "names of symbols"));
    } else {
      *table_of = bytes;
    }
  }
  for (auto& function : cubin.functions) function.kernel = kernels[function.section] || cubin.symbols.size() == 0;
  return cubin;
}

Result<std::vector<CubinCall>> read_calls(const Cubin& cubin) {
  constexpr uint64_t kEdgeBytes = 8;
  const uint64_t count = cubin.symbols.size() / sizeof(Elf64_Sym);
  std::vector<CubinCall> calls;
  for (uint64_t at = 0; at + kEdgeBytes <= cubin.calls.size(); at += kEdgeBytes) {
    PBPROBE_TRY(const auto caller, cubin.calls.read<uint32_t>(at, "a caller"));
    PBPROBE_TRY(const auto callee, cubin.calls.read<uint32_t>(at + sizeof(uint32_t), "a callee"));
    if (caller == 0) continue;  // marks of ptxas: their callees are no symbols
    if (caller >= count || callee >= count)
      return make_error(ErrorCode::malformed,
                        "{}: the cubin's call graph refers to symbol {}, but the cubin has {} symbols",
                        cubin.calls.name(), std::max(caller, callee), count);
    PBPROBE_TRY(const auto from, cubin.symbols.read<Elf64_Sym>(caller * sizeof(Elf64_Sym), "symbol"));
    PBPROBE_TRY(const auto to, cubin.symbols.read<Elf64_Sym>(callee * sizeof(Elf64_Sym), "symbol"));
    const std::string_view rest = cubin.strings.text().substr(std::min<uint64_t>(to.st_name, cubin.strings.size()));
    calls.push_back({.caller = from.st_shndx,
                     .callee = to.st_shndx == SHN_UNDEF ? std::nullopt : std::optional<uint64_t>(to.st_shndx),
                     .name = rest.substr(0, rest.find('\0'))});
  }
  return calls;
}

std::optional<std::string> read_assembler(const Cubin& cubin) {
  constexpr uint32_t kFirstTenth = 90;  // e_version of older ABIs is ten times the release: 129 is 12.9
  if (auto known = find_version(cubin.note.text())) return known;
  const uint32_t version = cubin.header.e_version;
  if (cubin.header.e_ident[EI_ABIVERSION] == 7 && version >= kFirstTenth && version < 1000)
    return fmt::format("{}.{}", version / 10, version % 10);
  return std::nullopt;
}

Result<OwnSm> read_own_sm(const Cubin& cubin) {
  OwnSm own;
  const uint32_t flags = cubin.header.e_flags;
  const uint8_t abi = cubin.header.e_ident[EI_ABIVERSION];
  if (abi < 7 || abi > 8)
    return make_error(ErrorCode::unsupported,
                      "cubin of ABI version {}: pbprobe reads only 7 (CUDA 9 to 12) and 8 (since 12.8)", abi);
  own.sm = make_sm(abi == 7 ? flags & 0xff : (flags >> 8) & 0xff);
  if (own.sm.major < kFirstSpecificMajor) {
    own.tells_family = true;
    return own;
  }
  if (abi == 7) {
    if ((flags & kAbi7Specific) != 0) own.sm.suffix = 'a';
    own.tells_family = true;  // ABI 7 is older than family suffixes
    return own;
  }
  PBPROBE_TRY(const auto specific, compat_says_specific(cubin.compat));
  if (specific.value_or((flags & kAbi8Specific) != 0)) own.sm.suffix = 'a';
  const auto arch = parse_arch(cubin.note.text());
  own.tells_family = own.sm.suffix == 'a' || (arch && same_capability(*arch, own.sm));
  if (arch && same_capability(*arch, own.sm) && arch->suffix == 'f' && own.sm.suffix == '\0') own.sm.suffix = 'f';
  return own;
}

Result<FatbinEntry> read_cubin(const Bytes& file) {
  FatbinEntry entry;
  PBPROBE_TRY(const Cubin cubin, open_cubin(file));
  PBPROBE_TRY(const OwnSm own, read_own_sm(cubin), "{}", file.name());
  entry.sm = own.sm;
  entry.major = 1;
  entry.minor = cubin.header.e_ident[EI_ABIVERSION];
  entry.stored_bytes = file.size();
  entry.padded_bytes = file.size();
  entry.uncompressed_bytes = file.size();
  entry.payload = file.span();
  return entry;
}

Result<uint64_t> cubin_bytes(const Bytes& bytes) {
  PBPROBE_TRY(const Elf64_Ehdr header, cuda_header(bytes));
  PBPROBE_TRY(const Table table, section_headers(bytes, header));
  uint64_t end = header.e_shoff + table.bytes.size();
  if (header.e_phnum > 0) end = std::max(end, header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr));
  PBPROBE_CHECK(bytes.slice(0, end, "a cubin"));
  return end;
}

}  // namespace pbprobe
