// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Tests the content of a fatbin entry, sound and faulty: each defect by its name and its message.
#include "probes/audit/device_code/device_code.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lz4.h>
#include <zstd.h>

#include <functional>
#include <ostream>

#include "builders.hpp"
#include "probes/audit/containers/fatbin.hpp"

namespace pbprobe {
namespace {

using test::append;
using test::Content;
using test::ElfBuilder;
using test::make_content;
using test::patch;
using testing::ElementsAre;
using testing::Pair;

Content word(uint64_t low, uint64_t high = 0) {
  Content bytes;
  append<uint64_t>(bytes, low);
  append<uint64_t>(bytes, high);
  return bytes;
}

Content words(const std::vector<Content>& list) {
  Content code;
  for (const auto& one : list) append(code, one);
  return code;
}

const Content kStore = word(0x0000000dff007986);  // STG
const Content kTrap = word(0x000000040000795c);   // BPT.TRAP
const Content kNop = word(0x0000000000007918);

// A cubin of CUDA 13 for sm_90 with one kernel.
ElfBuilder cubin() {
  ElfBuilder elf;
  elf.machine = kMachineCuda;
  elf.abi_version = 8;
  elf.flags = 0x6005a04;
  elf.sections = {{".note.nv.tkinfo", SHT_NOTE, make_content("Cuda compilation tools, release 13.0, V13.0.88")},
                  {".text.k", SHT_PROGBITS, words({kStore, kNop})}};
  return elf;
}

struct Packed {
  FatbinEntry entry;
  Content payload;
};

Packed pack(const Content& content, Compression compression) {
  Packed packed;
  packed.entry.sm = {9, 0};
  packed.entry.compression = compression;
  packed.entry.uncompressed_bytes = content.size();
  if (compression == Compression::none) packed.payload = content;
  if (compression == Compression::zstd) {
    packed.payload.resize(ZSTD_compressBound(content.size()));
    packed.payload.resize(
        ZSTD_compress(packed.payload.data(), packed.payload.size(), content.data(), content.size(), 3));
  }
  if (compression == Compression::lz4) {
    packed.payload.resize(static_cast<size_t>(LZ4_compressBound(static_cast<int>(content.size()))));
    packed.payload.resize(static_cast<size_t>(LZ4_compress_default(
        reinterpret_cast<const char*>(content.data()), reinterpret_cast<char*>(packed.payload.data()),
        static_cast<int>(content.size()), static_cast<int>(packed.payload.size()))));
  }
  packed.entry.stored_bytes = packed.payload.size();
  return packed;
}

EntryFacts look(const Packed& packed) {
  return look_inside(packed.entry, packed.payload, "libx.so", 0x40);
}

TEST(FatbinEntry, FindsSameKernelInEachCompression) {
  for (const auto compression : {Compression::none, Compression::lz4, Compression::zstd}) {
    const EntryFacts facts = look(pack(cubin().build(), compression));
    ASSERT_FALSE(facts.problem) << facts.problem->message;
    EXPECT_EQ(facts.assembler, "13.0.88");
    EXPECT_EQ(facts.census->kernels, 1);
    EXPECT_EQ(facts.census->words, 2);
    EXPECT_THAT(facts.census->only_traps, ElementsAre());
  }
}

TEST(FatbinEntry, ReadsAssemblerOfOlderAbiFromHeader) {
  ElfBuilder elf = cubin();
  elf.abi_version = 7;
  elf.flags = 0x5a055a;
  elf.sections.erase(elf.sections.begin());
  Content content = elf.build();
  const auto with_version = [&](uint32_t version) {
    patch<uint32_t>(content, 20, version);  // e_version
    return look(pack(content, Compression::none)).assembler;
  };
  EXPECT_EQ(with_version(129), "12.9");
  EXPECT_EQ(with_version(118), "11.8");
  EXPECT_EQ(with_version(1), std::nullopt);
}

TEST(FatbinEntry, ReadsPtxasBesideNvlink) {
  ElfBuilder elf = cubin();
  elf.sections[0].bytes = make_content(
      "nvlink\nCuda compilation tools, release 13.0, V13.0.97\nptxas\nCuda compilation tools, release 12.7, V12.7.0\n");
  EXPECT_EQ(look(pack(elf.build(), Compression::none)).assembler, "12.7.0");
}

TEST(FatbinEntry, WordsAreDistinguishedWhereTheyShareAnOpcode) {
  ElfBuilder elf = cubin();
  elf.sections[1].bytes =
      words({word(0x00ff0408060075ea, 0x0001d8000800000a), word(0x00ff0408060075ea, 0x0001d8000800010a),
             word(0x00ff0408060075ea, 0x0001d8000800030a), word(0xc006040a080075ea, 0x0001d8000800000c),
             word(0x0006040a08007dea, 0x0001d8000820030c)});
  const EntryFacts facts = look(pack(elf.build(), Compression::none));
  ASSERT_FALSE(facts.problem) << facts.problem->message;
  EXPECT_THAT(facts.census->instructions,
              ElementsAre(Pair("UTCHMMA", 1), Pair("UTCIMMA", 1), Pair("UTCOMMA", 1), Pair("UTCQMMA", 2)));
}

std::vector<std::string> idle(const std::vector<Content>& code) {
  ElfBuilder elf = cubin();
  elf.sections[1].bytes = words(code);
  const EntryFacts facts = look(pack(elf.build(), Compression::none));
  EXPECT_FALSE(facts.problem);
  return facts.census ? facts.census->idle : std::vector<std::string>{"not read"};
}

TEST(FatbinEntry, ReportsKernelWithoutResultAsIdle) {
  const Content exit = word(0x000000000000794d);
  const Content load = word(0x0000000402027981);
  const Content branch = word(0x0000001000000947);
  const Content call = word(0x0000000000007944);
  const Content call_pointer = word(0x0000000002007344);  // CALL.REL of a register
  const Content trap_if = word(0x000000040000095c);       // traps if P0 is true
  EXPECT_THAT(idle({}), ElementsAre("k"));
  EXPECT_THAT(idle({exit, kNop}), ElementsAre("k"));
  EXPECT_THAT(idle({load, exit}), ElementsAre("k"));
  EXPECT_THAT(idle({load, kStore, kTrap}), ElementsAre("k"));        // the kernel never ends
  EXPECT_THAT(idle({load, kStore, kTrap, exit}), ElementsAre("k"));  // the kernel always traps
  EXPECT_THAT(idle({load, kStore, exit}), ElementsAre());
  EXPECT_THAT(idle({load, trap_if, kStore, exit}), ElementsAre());
  EXPECT_THAT(idle({branch, kTrap, kStore, exit}), ElementsAre());
  EXPECT_THAT(idle({call, exit}), ElementsAre("k"));  // the callee is in this section, which stores nothing
  EXPECT_THAT(idle({call_pointer, exit}), ElementsAre());
}

// PTX as nvcc writes it, and what an entry says of it.
std::string ptx_problem(std::string_view text, Sm sm) {
  Packed packed = pack(make_content(text), Compression::zstd);
  packed.entry.kind = EntryKind::ptx;
  packed.entry.sm = sm;
  const EntryFacts facts = look(packed);
  return facts.problem ? facts.problem->message.substr(std::string_view("libx.so fatbin entry at 0x40 ").size()) : "";
}

TEST(FatbinEntry, PtxIsForTheSmThatItsHeaderSays) {
  constexpr std::string_view kForHopper =
      "//\n// Generated by NVIDIA NVVM Compiler\n//\n.version 9.0\n.target sm_90a\n";
  EXPECT_EQ(ptx_problem(kForHopper, {9, 0, 'a'}), "");
  EXPECT_EQ(ptx_problem(".version 9.0\n.target sm_80, debug\n", {8, 0}), "");
  EXPECT_EQ(ptx_problem(kForHopper, {9, 0}), "(sm_90): PTX for sm_90a");
  EXPECT_EQ(ptx_problem("no PTX at all\n", {9, 0}), "(sm_90): not PTX: the text lacks .version or .target");
}

TEST(FatbinEntry, FindsPtxThatEndsInsideFunction) {
  const std::string text = ".version 9.0\n.target sm_90\n";
  for (const size_t blanks : {0, 35, 36, 63, 64, 200}) {  // before, at and behind the 64 bytes of one step
    const std::string open = text + std::string(blanks, ' ') + "{", closed = open + std::string(blanks, ' ') + "}";
    EXPECT_EQ(ptx_problem(open, {9, 0}), "(sm_90): PTX that ends inside a function") << blanks;
    EXPECT_EQ(ptx_problem(closed, {9, 0}), "") << blanks;
    EXPECT_EQ(ptx_problem(closed + open, {9, 0}), "(sm_90): PTX that ends inside a function") << blanks;
  }
  EXPECT_EQ(ptx_problem(text + std::string(500, '{') + std::string(500, '}'), {9, 0}), "");
}

TEST(FatbinEntry, LtoIrThatIsScrambledCannotBeKnown) {
  Packed packed = pack(make_content("anything"), Compression::zstd);
  packed.entry.kind = EntryKind::lto_ir;
  EXPECT_TRUE(look(packed).problem);
  packed.entry.scrambled = true;
  EXPECT_FALSE(look(packed).problem);
}

TEST(FatbinEntry, ComparesFirstBytesOfOtherKinds) {
  const auto problem = [](EntryKind kind, std::string_view content) {
    Packed packed = pack(make_content(content), Compression::zstd);
    packed.entry.kind = kind;
    return look(packed).problem.has_value();
  };
  EXPECT_FALSE(problem(EntryKind::tile_ir, {"\x7fTileIR\0\x0d", 9}));
  EXPECT_TRUE(problem(EntryKind::tile_ir,
                      "\x7f"
                      "ELF"));
  EXPECT_FALSE(problem(EntryKind::mercury,
                       "\x7f"
                       "ELF"));
  EXPECT_TRUE(problem(EntryKind::mercury, ".version 9.0\n.target sm_90\n"));
  EXPECT_FALSE(problem(EntryKind::relocatable_ptx, ".version 9.0\n.target sm_90\n"));
  EXPECT_TRUE(problem(EntryKind::relocatable_ptx, ".version 9.0\n.target sm_80\n"));
}

// nvcc 13.5 labels the cubin of a tile kernel for sm_120a "sm_120".
TEST(FatbinEntry, TakesSmOfTileCodeFromItsElf) {
  ElfBuilder elf = cubin();
  elf.flags |= 0x8;  // the a suffix
  EXPECT_TRUE(look(pack(elf.build(), Compression::none)).problem);
  elf.sections.push_back({".nv.host", SHT_LOPROC + 0x87, make_content("host")});
  const EntryFacts facts = look(pack(elf.build(), Compression::none));
  EXPECT_FALSE(facts.problem);
  EXPECT_EQ(sm_name(facts.sm.value()), "sm_90a");
}

TEST(FatbinEntry, AcceptsKernelThatTrapsAndStores) {
  ElfBuilder elf = cubin();
  elf.sections.push_back({".text.only", SHT_PROGBITS, words({kTrap, kNop})});
  elf.sections.push_back({".text.both", SHT_PROGBITS, words({kTrap, kStore})});
  const EntryFacts facts = look(pack(elf.build(), Compression::none));
  EXPECT_EQ(facts.census->kernels, 3);
  EXPECT_THAT(facts.census->only_traps, ElementsAre("only"));
}

// Models CUTLASS's INT8 collective for 103a: it allocates and reads tensor memory, and traps instead of multiplying.
TEST(FatbinEntry, ReportsKernelWithoutProducts) {
  const Content take = word(0x00000006000675e3);
  const Content read = word(0x0000000a000579ee);
  const Content multiply = word(0x00ff0408060075ea, 0x0001d8000800000a);
  ElfBuilder elf = cubin();
  elf.sections.push_back({".text.lost", SHT_PROGBITS, words({take, read, kStore, kTrap, kTrap, kTrap, kTrap})});
  elf.sections.push_back({".text.guarded", SHT_PROGBITS, words({take, read, kStore, kTrap, kTrap, kTrap})});
  elf.sections.push_back(
      {".text.product", SHT_PROGBITS, words({take, multiply, read, kStore, kTrap, kTrap, kTrap, kTrap})});
  const EntryFacts facts = look(pack(elf.build(), Compression::none));
  EXPECT_EQ(facts.census->kernels, 4);
  EXPECT_THAT(facts.census->only_traps, ElementsAre("lost"));
  EXPECT_EQ(facts.census->instructions.at("UTCATOMSWS"), 3);
  EXPECT_EQ(facts.census->instructions.at("LDTM"), 3);
}

struct EntryDefect {
  std::string name;
  Compression compression;
  std::function<void(Packed&)> damage;
  std::string message;
};
void PrintTo(const EntryDefect& defect, std::ostream* out) {
  *out << defect.name;
}

class BrokenEntry : public testing::TestWithParam<EntryDefect> {};

TEST_P(BrokenEntry, IsReportedByItsDefect) {
  Packed packed = pack(cubin().build(), GetParam().compression);
  ASSERT_FALSE(look(packed).problem);
  GetParam().damage(packed);
  const EntryFacts facts = look(packed);
  ASSERT_TRUE(facts.problem);
  EXPECT_EQ(facts.problem->message, GetParam().message);
  EXPECT_FALSE(facts.census);
}

const std::vector<EntryDefect> kEntryDefects{
    {"NoZstdFrame", Compression::zstd, [](Packed& p) { p.payload[0] ^= 1; },
     "libx.so fatbin entry at 0x40 (sm_90): no zstd frame, but the fatbin entry's header announces one"},
    {"AZstdFrameOfAnotherSize", Compression::zstd, [](Packed& p) { p.entry.uncompressed_bytes += 1; },
     "libx.so fatbin entry at 0x40 (sm_90): a zstd frame of 496 bytes, 497 announced by the fatbin entry's header"},
    {"CutZstdData", Compression::zstd, [](Packed& p) { p.payload.resize(p.payload.size() - 9); },
     "libx.so fatbin entry at 0x40 (sm_90): broken zstd data (Src size is incorrect)"},
    {"NoZstdData", Compression::zstd, [](Packed& p) { p.payload.clear(); },
     "libx.so fatbin entry at 0x40 (sm_90): no zstd frame, but the fatbin entry's header announces one"},
    {"AZstdBomb", Compression::zstd,
     [](Packed& p) {
       p.payload.resize(100);
       p.entry.uncompressed_bytes = 64 << 20;
     },
     "libx.so fatbin entry at 0x40 (sm_90): grows from 100 to 67108864 bytes, more than 1000 times: refused"},
    {"MoreThanTheLimit", Compression::zstd, [](Packed& p) { p.entry.uncompressed_bytes = 600ULL << 20; },
     "libx.so fatbin entry at 0x40 (sm_90): fatbin entry of 629145600 bytes uncompressed, 536870912 are the limit"},
    {"DamagedLz4Data", Compression::lz4, [](Packed& p) { p.payload.resize(p.payload.size() / 2); },
     "libx.so fatbin entry at 0x40 (sm_90): broken LZ4 data"},
    {"MoreLz4DataThanAnnounced", Compression::lz4, [](Packed& p) { p.entry.uncompressed_bytes -= 1; },
     "libx.so fatbin entry at 0x40 (sm_90): broken LZ4 data"},
    {"FewerLz4DataThanAnnounced", Compression::lz4, [](Packed& p) { p.entry.uncompressed_bytes += 1; },
     "libx.so fatbin entry at 0x40 (sm_90): 496 bytes from its LZ4 data, 497 announced"},
    {"NoElfInside", Compression::none, [](Packed& p) { p.payload[0] = 0; },
     "libx.so fatbin entry at 0x40 (sm_90): not an ELF file"},
    {"AnotherMachineInside", Compression::none, [](Packed& p) { patch<uint16_t>(p.payload, 18, EM_X86_64); },
     "libx.so fatbin entry at 0x40 (sm_90): an ELF file of machine 62; CUDA uses 190"},
    {"CutBeforeItsSectionHeaders", Compression::none, [](Packed& p) { p.payload.resize(200); },
     "libx.so fatbin entry at 0x40 (sm_90)+0xf0: section header needs 64 bytes, 0 left"},
    {"ASectionOutside", Compression::none,
     [](Packed& p) { patch<uint64_t>(p.payload, p.payload.size() - 2 * 64 + 0x18, 0x9000); },
     "libx.so fatbin entry at 0x40 (sm_90)+0x9000: .text.k needs 32 bytes, 0 left"},
    {"AnotherSmInside", Compression::none, [](Packed& p) { patch<uint32_t>(p.payload, 48, 0x6005004); },
     "libx.so fatbin entry at 0x40 (sm_90): an ELF file for sm_80"},
    {"ASuffixThatItHasNot", Compression::none, [](Packed& p) { p.entry.sm.suffix = 'a'; },
     "libx.so fatbin entry at 0x40 (sm_90a): an ELF file for sm_90"},
    {"NoPtx", Compression::none, [](Packed& p) { p.entry.kind = EntryKind::ptx; },
     "libx.so fatbin entry at 0x40 (sm_90): an ELF file, no PTX"},
    {"NoLtoIr", Compression::none, [](Packed& p) { p.entry.kind = EntryKind::lto_ir; },
     "libx.so fatbin entry at 0x40 (sm_90): no LTO-IR: it begins with 0x464c457f, 0x7f4e43ed expected"},
};

INSTANTIATE_TEST_SUITE_P(Table, BrokenEntry, testing::ValuesIn(kEntryDefects),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace pbprobe
