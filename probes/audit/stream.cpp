// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/audit/stream.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/sha256.hpp"
#include "probes/audit/inspect.hpp"

namespace pbprobe {
namespace {

constexpr uint64_t kAlignment = 8;               // alignment of containers in a file
constexpr uint64_t kGrantedBytes = 16ULL << 20;  // at a time
constexpr uint64_t kMaxKeptBytes = 4ULL << 30;   // in memory, of one member
constexpr uint64_t kPageBytes = 4096;

bool is_zero(std::span<const uint8_t> part) {
  return part.empty() || (part[0] == 0 && std::memcmp(part.data(), part.data() + 1, part.size() - 1) == 0);
}

// Follows containers through a stream of bytes, which arrive in pieces of any size.
class EntryStream {
 public:
  EntryStream(StreamedMember& member, std::string name, const AuditOptions& options, bool keep_all,
              const MemoryGrant& grant)
      : member_(member),
        target_(member.memory.writable()),
        name_(std::move(name)),
        options_(options),
        opens_(opens_device_code(name_, options)),
        grant_(grant) {
    if (keep_all) state_ = State::keep;
    leaves_code_out_ = !keep_all && options.host_code == HostCodeScope::none;
  }

  // Returns false if the member needs more memory than is allowed.
  bool take(std::span<const uint8_t> piece) {
    if (filled_ == 0 && leaves_code_out_) look_for_code(Bytes(piece, name_));
    while (!piece.empty()) {
      const uint64_t taken = step(piece.first(std::min<uint64_t>(piece.size(), target_.size() - filled_)));
      if (taken == 0) break;  // beyond the announced size: inflate_member() reports it
      filled_ += taken;
      piece = piece.subspan(taken);
    }
    return !exceeds_memory();
  }

  [[nodiscard]] bool exceeds_memory() const { return kept_ > kMaxKeptBytes; }

 private:
  enum class State { keep, search, container, entry, payload };

  uint64_t step(std::span<const uint8_t> piece) {
    if (piece.empty()) return 0;
    switch (state_) {
      case State::keep: return keep(piece);
      case State::search: return pass_code(piece);
      case State::container:
      case State::entry: return header(piece);
      case State::payload: return payload(piece);
    }
    return 0;
  }

  // Finds segments with only code: if linkers separate code, the first segment has the tables. `begin`: first piece of
  // the stream, with the program headers.
  void look_for_code(const Bytes& begin) {
    const auto header = begin.read<Elf64_Ehdr>(0, "ELF header");
    if (!header) return;
    const bool known = std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_shoff != 0 &&
                       header->e_phentsize == sizeof(Elf64_Phdr);
    // BOLT appends its own program headers, which were not read yet; the start still has the headers of the linker.
    const uint64_t at = header->e_phoff < begin.size() ? header->e_phoff : sizeof(Elf64_Ehdr);
    const auto table = begin.slice(at, header->e_phnum * sizeof(Elf64_Phdr), "program headers");
    if (!known || !table) return;
    for (uint64_t i = 0; i < header->e_phnum; ++i) {
      const auto segment = table->read<Elf64_Phdr>(i * sizeof(Elf64_Phdr), "program header");
      if (!segment || segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0) continue;
      const uint64_t offset = segment->p_offset;
      const bool inside = offset > 0 && offset <= target_.size() && segment->p_filesz <= target_.size() - offset;
      const bool in_order = code_.empty() || offset >= code_.back().offset + code_.back().bytes;
      if (inside && in_order && segment->p_filesz > 0) code_.push_back({offset, segment->p_filesz, true});
    }
  }

  // Skips code that begins here, or searches up to the next code.
  uint64_t pass_code(std::span<const uint8_t> piece) {
    while (next_code_ < code_.size() && code_[next_code_].offset + code_[next_code_].bytes <= filled_) ++next_code_;
    if (next_code_ == code_.size()) return search(piece);
    const LeftOut& code = code_[next_code_];
    if (filled_ < code.offset) return search(piece.first(std::min<uint64_t>(piece.size(), code.offset - filled_)));
    const uint64_t passed = std::min<uint64_t>(piece.size(), code.offset + code.bytes - filled_);
    auto& left_out = member_.left_out;
    const bool goes_on =
        !left_out.empty() && left_out.back().code && left_out.back().offset + left_out.back().bytes == filled_;
    if (!goes_on) left_out.push_back({filled_, 0, true});
    left_out.back().bytes += passed;
    return passed;
  }

  // Does not write pages of zeros: the memory is zero, and padding then takes none.
  uint64_t keep(std::span<const uint8_t> piece) {
    for (uint64_t at = 0; at < piece.size();) {
      const uint64_t to_page_end = kPageBytes - (filled_ + at) % kPageBytes;
      const auto part = piece.subspan(at, std::min<uint64_t>(to_page_end, piece.size() - at));
      if (!is_zero(part)) write(part, filled_ + at);
      at += part.size();
    }
    return piece.size();
  }

  void write(std::span<const uint8_t> part, uint64_t at) {
    for (kept_ += part.size(); granted_ < kept_;) {
      const uint64_t more = std::min<uint64_t>(kGrantedBytes, target_.size() - granted_);
      grant_(more);
      granted_ += more;
    }
    std::memcpy(target_.data() + at, part.data(), part.size());
  }

  // Searches the next magic at a multiple of 8. If a piece cuts a magic in two, the file is kept whole.
  uint64_t search(std::span<const uint8_t> piece) {
    for (uint64_t at = (kAlignment - filled_ % kAlignment) % kAlignment; at + sizeof(uint32_t) <= piece.size();
         at += kAlignment) {
      uint32_t magic = 0;
      std::memcpy(&magic, piece.data() + at, sizeof(magic));
      if (magic != kFatbinMagic) continue;
      if (at > 0) return keep(piece.first(at));
      begin_header(State::container, kContainerHeaderBytes);
      return header(piece);
    }
    return keep(piece);
  }

  void begin_header(State state, uint64_t bytes) {
    state_ = state;
    header_at_ = filled_;
    header_ends_ = filled_ + bytes;
  }

  // Keeps a header, and parses it once it is complete.
  uint64_t header(std::span<const uint8_t> piece) {
    const uint64_t taken = keep(piece.first(std::min<uint64_t>(piece.size(), header_ends_ - filled_)));
    if (filled_ + taken < header_ends_) return taken;
    const Bytes bytes(std::span<const uint8_t>(target_).subspan(header_at_, header_ends_ - header_at_), name_);
    state_ == State::container ? parse_container(bytes, filled_ + taken) : parse_entry(bytes, filled_ + taken);
    return taken;
  }

  void parse_container(const Bytes& bytes, uint64_t next) {
    const auto body = pbprobe::read_container_header(bytes);
    if (!body || *body > target_.size() - next) {
      state_ = State::search;
      return;
    }
    container_ends_ = next + *body;
    member_.memory.disable_huge_pages(next, *body);
    next_entry(next);
  }

  void next_entry(uint64_t at) {
    state_ = State::search;
    if (at + kEntryHeaderBytes > container_ends_) return;
    state_ = State::entry;
    header_at_ = at;
    header_ends_ = at + kEntryHeaderBytes;
  }

  void parse_entry(const Bytes& bytes, uint64_t next) {
    const auto header = pbprobe::read_entry_header(bytes, 0);
    const uint64_t longer = header ? header->header_bytes - kEntryHeaderBytes : 0;
    if (!header || longer > container_ends_ - next || header->padded_bytes > container_ends_ - next - longer) {
      state_ = State::search;
      return;
    }
    state_ = State::payload;
    entry_ = header->entry;
    payload_at_ = next + longer;
    payload_ends_ = payload_at_ + header->padded_bytes;
    collects_ = header->known && opens_;
    collected_.clear();
    if (payload_ends_ == payload_at_) next_entry(payload_ends_);
  }

  uint64_t payload(std::span<const uint8_t> piece) {
    if (filled_ < payload_at_) return keep(piece.first(std::min<uint64_t>(piece.size(), payload_at_ - filled_)));
    const auto part = piece.first(std::min<uint64_t>(piece.size(), payload_ends_ - filled_));
    const uint64_t wanted = entry_.stored_bytes - std::min<uint64_t>(entry_.stored_bytes, filled_ - payload_at_);
    if (collects_) {
      const auto kept = part.first(std::min<uint64_t>(part.size(), wanted));
      collected_.insert(collected_.end(), kept.begin(), kept.end());
    }
    if (filled_ + part.size() == payload_ends_) end_payload();
    return part.size();
  }

  void end_payload() {
    member_.left_out.push_back({payload_at_, payload_ends_ - payload_at_});
    if (collects_) {
      member_.inside.emplace(payload_at_,
                             look_inside(entry_, collected_, name_, payload_at_, wanted_names(name_, options_)));
    }
    next_entry(payload_ends_);
  }

  StreamedMember& member_;
  std::span<uint8_t> target_;
  std::string name_;
  const AuditOptions& options_;
  const bool opens_;
  const MemoryGrant& grant_;
  uint64_t kept_ = 0;
  uint64_t granted_ = 0;
  State state_ = State::search;
  uint64_t filled_ = 0;
  uint64_t header_at_ = 0;
  uint64_t header_ends_ = 0;
  uint64_t container_ends_ = 0;
  FatbinEntry entry_;
  uint64_t payload_at_ = 0;
  uint64_t payload_ends_ = 0;
  bool collects_ = false;
  std::vector<uint8_t> collected_;
  bool leaves_code_out_ = false;
  std::vector<LeftOut> code_;  // host code, sorted by offset
  size_t next_code_ = 0;
};

// Adds the offset and padded size of each entry's payload.
void add_payloads(const Fatbins& fatbins, const Bytes& file, std::map<uint64_t, uint64_t>& payloads) {
  for (const auto& entry : fatbins.entries)
    payloads.emplace(static_cast<uint64_t>(entry.payload.data() - file.span().data()), entry.padded_bytes);
}

bool overlaps(const LeftOut& left, uint64_t offset, uint64_t bytes) {
  const bool before = offset <= left.offset && bytes <= left.offset - offset;
  return bytes > 0 && !before && offset < left.offset + left.bytes;
}

// Decides by the type, and by a name that no reader searches for.
bool is_code(const ElfSection& section) {
  constexpr std::array kNames{".text", ".ltext", ".plt", ".iplt", ".init", ".fini", ".bolt"};
  return section.header.sh_type == SHT_PROGBITS && (section.header.sh_flags & SHF_EXECINSTR) != 0 &&
         std::ranges::any_of(kNames, [&](const char* name) { return section.name.starts_with(name); });
}

// Reports whether only sections of code have bytes in the range.
bool are_of_code(const Elf& elf, const LeftOut& left) {
  return !elf.sections.empty() && std::ranges::none_of(elf.sections, [&](const ElfSection& other) {
    const Elf64_Shdr& header = other.header;
    const bool has_bytes = header.sh_type != SHT_NOBITS && header.sh_type != SHT_NULL;
    return has_bytes && !is_code(other) && overlaps(left, header.sh_offset, header.sh_size);
  });
}

// Reports whether two sections share bytes: a section of tables may then be in a part that was left out.
bool share_bytes(const std::vector<ElfSection>& sections) {
  std::vector<std::pair<uint64_t, uint64_t>> places;
  for (const auto& section : sections) {
    const Elf64_Shdr& header = section.header;
    if (header.sh_type != SHT_NOBITS && header.sh_type != SHT_NULL && header.sh_size > 0)
      places.emplace_back(header.sh_offset, header.sh_size);
  }
  std::ranges::sort(places);
  for (size_t i = 1; i < places.size(); ++i) {
    if (places[i].first - places[i - 1].first < places[i - 1].second) return true;
  }
  return false;
}

// Reports whether no dynamic name and no segment other than PT_LOAD is in a part that was left out.
bool has_dynamic_parts(const Elf& elf, const std::vector<LeftOut>& left_out) {
  for (const Elf64_Phdr& header : elf.segments) {
    if (header.p_type == PT_LOAD || header.p_filesz == 0) continue;
    const auto after = std::upper_bound(left_out.begin(), left_out.end(), header.p_offset,
                                        [](uint64_t offset, const LeftOut& left) { return offset < left.offset; });
    if (after != left_out.end() && overlaps(*after, header.p_offset, header.p_filesz)) return false;
    if (after != left_out.begin() && overlaps(after[-1], header.p_offset, header.p_filesz)) return false;
  }
  const auto dynamic = read_dynamic(elf);  // finds strings by address; zeroed strings are empty
  if (!dynamic || dynamic->soname == "") return false;
  return std::ranges::none_of(dynamic->needed, [](const auto& name) { return name.empty(); });
}

}  // namespace

Result<StreamedMember> stream_member(const ZipArchive& archive, const ZipMember& member, const AuditOptions& options,
                                     bool keep_all, const MemoryGrant& grant) {
  StreamedMember streamed;
  Sha256 sum;
  PBPROBE_TRY(streamed.memory, map_memory(member.size_bytes));
  EntryStream passing(streamed, member.name.substr(member.name.rfind('/') + 1), options, keep_all, grant);
  PBPROBE_CHECK(inflate_member(archive, member, [&](std::span<const uint8_t> piece) {
    if (options.digests) sum.update(piece);
    return passing.take(piece);
  }));
  if (passing.exceeds_memory())
    return make_error(ErrorCode::limit, "{}: member {} takes more than {} bytes of memory", archive.file.name(),
                      member.name, kMaxKeptBytes);
  if (options.digests) streamed.sha256 = sum.hex();
  return streamed;
}

bool left_out_nothing_else(const StreamedMember& member, const std::string& name) {
  if (member.left_out.empty()) return true;
  const Bytes file(member.memory.bytes(), name);
  std::map<uint64_t, uint64_t> payloads;
  const auto elf = read_elf(file);
  if (elf && (share_bytes(elf->sections) || !has_dynamic_parts(*elf, member.left_out))) return false;
  if (elf) {
    add_payloads(read_embedded_fatbins(*elf), file, payloads);
    add_payloads(read_fatbin_sections(*elf, kRelocatableSection), file, payloads);
    add_payloads(read_constant_fatbins(*elf), file, payloads);
  } else {
    add_payloads(read_fatbins(file), file, payloads);
  }
  return std::ranges::all_of(member.left_out, [&](const LeftOut& left) {
    if (left.code) return elf && are_of_code(*elf, left);
    const auto entry = payloads.find(left.offset);
    return entry != payloads.end() && entry->second == left.bytes;
  });
}

}  // namespace pbprobe
