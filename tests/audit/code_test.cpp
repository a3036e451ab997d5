// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Tests the features of single instructions, and compares instruction lengths with Zydis on every instruction of real
// code.
#include "probes/audit/host_code/code.hpp"

#include <Zydis/Zydis.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "probes/audit/containers/elf.hpp"
#include "probes/audit/containers/mapped_file.hpp"
#include "probes/audit/host_code/functions.hpp"
#include "probes/audit/host_code/vector_length.hpp"
#include "probes/audit/host_code/x86_forms.hpp"
#include "probes/audit/host_code/x86_sets.hpp"

namespace pbprobe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using Names = std::vector<std::string>;

Names needs_x86(std::vector<uint8_t> code) {
  const Instruction instruction = decode_x86(code);
  EXPECT_EQ(instruction.length, code.size());
  return list_feature_names(instruction.features, kX86Features);
}

TEST(CodeX86, NamesWhatAnInstructionNeeds) {
  EXPECT_THAT(needs_x86({0x0F, 0x58, 0xC1}), IsEmpty());                               // addps
  EXPECT_THAT(needs_x86({0x66, 0x0F, 0x38, 0x00, 0xC1}), ElementsAre("ssse3"));        // pshufb
  EXPECT_THAT(needs_x86({0x66, 0x0F, 0x3A, 0x0F, 0xC1, 0x04}), ElementsAre("ssse3"));  // palignr
  EXPECT_THAT(needs_x86({0xF3, 0x0F, 0xB8, 0xC1}), ElementsAre("popcnt"));
  EXPECT_THAT(needs_x86({0xF3, 0x0F, 0xBC, 0xC1}), IsEmpty());                           // tzcnt, or bsf
  EXPECT_THAT(needs_x86({0xF3, 0x0F, 0xBD, 0xC1}), ElementsAre("abm"));                  // lzcnt
  EXPECT_THAT(needs_x86({0xC5, 0xF8, 0x77}), ElementsAre("avx"));                        // vzeroupper
  EXPECT_THAT(needs_x86({0xC5, 0xFC, 0x58, 0xC1}), ElementsAre("avx"));                  // vaddps ymm
  EXPECT_THAT(needs_x86({0xC5, 0xFD, 0xFE, 0xC1}), ElementsAre("avx2"));                 // vpaddd ymm
  EXPECT_THAT(needs_x86({0xC5, 0xF9, 0xFE, 0xC1}), ElementsAre("avx"));                  // vpaddd xmm
  EXPECT_THAT(needs_x86({0xC4, 0xE2, 0x7D, 0xB8, 0xC1}), ElementsAre("fma"));            // vfmadd231ps ymm
  EXPECT_THAT(needs_x86({0xC4, 0xE2, 0x7D, 0x13, 0xC1}), ElementsAre("f16c"));           // vcvtph2ps
  EXPECT_THAT(needs_x86({0xC4, 0xE2, 0x70, 0xF2, 0xC2}), ElementsAre("bmi1"));           // andn
  EXPECT_THAT(needs_x86({0xC4, 0xE3, 0x7B, 0xF0, 0xC1, 0x05}), ElementsAre("bmi2"));     // rorx
  EXPECT_THAT(needs_x86({0x62, 0xF1, 0x7C, 0x48, 0x58, 0xC1}), ElementsAre("avx512f"));  // vaddps zmm
  EXPECT_THAT(needs_x86({0x62, 0xF1, 0x7C, 0x28, 0x58, 0x40, 0x01}), UnorderedElementsAre("avx512f", "avx512vl"));
  EXPECT_THAT(needs_x86({0x62, 0xF1, 0x7D, 0x48, 0xFD, 0xC1}), ElementsAre("avx512bw"));     // vpaddw zmm
  EXPECT_THAT(needs_x86({0x62, 0xF2, 0x7D, 0x48, 0x50, 0xC1}), ElementsAre("avx512_vnni"));  // vpdpbusd zmm
  EXPECT_THAT(needs_x86({0x62, 0xF2, 0x7E, 0x48, 0x52, 0xC1}), ElementsAre("avx512_bf16"));  // vdpbf16ps zmm
  EXPECT_THAT(needs_x86({0x62, 0xF5, 0x7C, 0x48, 0x58, 0xC1}), ElementsAre("avx512_fp16"));  // vaddph zmm
  EXPECT_THAT(needs_x86({0xC4, 0xE2, 0x71, 0x50, 0xC2}), ElementsAre("avx_vnni"));           // {vex} vpdpbusd
  EXPECT_THAT(needs_x86({0xC4, 0xE2, 0x6A, 0x5C, 0xC1}), ElementsAre("amx_bf16"));           // tdpbf16ps
  EXPECT_THAT(needs_x86({0xC4, 0xE2, 0x6B, 0x5C, 0xC1}), ElementsAre("amx_fp16"));           // tdpfp16ps
  EXPECT_THAT(needs_x86({0xC4, 0xE2, 0x78, 0x49, 0xC0}), ElementsAre("amx_tile"));           // tilerelease
}

// Bytes by the encodings of Intel's manuals; what binutils 2.40 knows of them it assembles so.
TEST(CodeX86, TellsNewerSetsApart) {
  EXPECT_THAT(needs_x86({0xC4, 0xE2, 0xF5, 0xB4, 0xC2}), ElementsAre("avx_ifma"));             // vpmadd52luq ymm
  EXPECT_THAT(needs_x86({0xC4, 0xE2, 0x77, 0x50, 0xC2}), ElementsAre("avx_vnni_int8"));        // vpdpbssd ymm
  EXPECT_THAT(needs_x86({0xC4, 0xE2, 0x76, 0xD2, 0xC2}), ElementsAre("avx_vnni_int16"));       // vpdpwsud ymm
  EXPECT_THAT(needs_x86({0xC4, 0xE2, 0x7E, 0x72, 0xC1}), ElementsAre("avx_ne_convert"));       // vcvtneps2bf16
  EXPECT_THAT(needs_x86({0xC4, 0xE2, 0x77, 0xCB, 0xC2}), ElementsAre("sha512"));               // vsha512rnds2
  EXPECT_THAT(needs_x86({0xC4, 0xE2, 0x70, 0xDA, 0xC2}), ElementsAre("sm3"));                  // vsm3msg1
  EXPECT_THAT(needs_x86({0xC4, 0xE2, 0x72, 0xDA, 0xC2}), ElementsAre("sm4"));                  // vsm4key4
  EXPECT_THAT(needs_x86({0xC4, 0xE2, 0x71, 0xE6, 0x10}), ElementsAre("cmpccxadd"));            // cmpbexadd
  EXPECT_THAT(needs_x86({0x0F, 0x38, 0xFC, 0x08}), ElementsAre("raoint"));                     // aadd [rax], ecx
  EXPECT_THAT(needs_x86({0xC4, 0xE2, 0x69, 0x6C, 0xC1}), ElementsAre("amx_complex"));          // tcmmimfp16ps
  EXPECT_THAT(needs_x86({0xD5, 0x50, 0x01, 0xC0}), ElementsAre("apx_f"));                      // add r16d, r16d
  EXPECT_THAT(needs_x86({0x62, 0xF4, 0x7C, 0x18, 0x01, 0xC8}), ElementsAre("apx_f"));          // add, with a new result
  EXPECT_THAT(needs_x86({0x62, 0xF3, 0x74, 0x48, 0x52, 0xC2, 0x00}), ElementsAre("avx10_2"));  // vminmaxps zmm
  EXPECT_THAT(needs_x86({0x62, 0xF5, 0x75, 0x48, 0x58, 0xC2}), ElementsAre("avx10_2"));        // vaddbf16 zmm
}

TEST(CodeX86, CountsBytesOfUnknownOpcodes) {
  const std::vector<uint8_t> code{0x90, 0x62, 0xF0, 0x7C, 0x48, 0x58, 0xC1, 0xC3};
  const CodeCount count = count_x86(code, 0x1000, nullptr);
  EXPECT_GT(count.unknown, 0);
  EXPECT_EQ(count.first_unknown, 0x1001U);
  EXPECT_EQ(count_x86(std::vector<uint8_t>{0x90, 0xC3}, 0x1000, nullptr).unknown, 0);
}

TEST(CodeX86, TracesCallsThroughRegistersAndAsking) {
  // lea rax, [rip+0x10]; call rax; mov rdx, [rip+0x20]; jmp rdx; call rbx; cpuid
  const std::vector<uint8_t> code{0x48, 0x8D, 0x05, 0x10, 0, 0,    0,    0xFF, 0xD0, 0x48, 0x8B,
                                  0x15, 0x20, 0,    0,    0, 0xFF, 0xE2, 0xFF, 0xD3, 0x0F, 0xA2};
  const CodeTrace trace = trace_x86(code, 0x1000);
  EXPECT_THAT(trace.calls, ElementsAre(0x1017U));
  EXPECT_THAT(trace.through, ElementsAre(0x1030U));
  EXPECT_THAT(trace.taken, ElementsAre(0x1017U));
  EXPECT_TRUE(trace.indirect);
  EXPECT_TRUE(trace.asks);
  EXPECT_FALSE(trace_x86(std::span(code).first(18), 0x1000).asks);
}

TEST(CodeX86, ComputesLengthsOfRareForms) {
  EXPECT_THAT(needs_x86({0x48, 0xB8, 1, 2, 3, 4, 5, 6, 7, 8}), IsEmpty());             // movabs
  EXPECT_THAT(needs_x86({0x66, 0xB8, 1, 2}), IsEmpty());                               // mov ax
  EXPECT_THAT(needs_x86({0x48, 0xA1, 1, 2, 3, 4, 5, 6, 7, 8}), IsEmpty());             // mov rax, [address]
  EXPECT_THAT(needs_x86({0xC8, 1, 2, 3}), IsEmpty());                                  // enter
  EXPECT_THAT(needs_x86({0xF6, 0xC1, 0x01}), IsEmpty());                               // test cl, 1
  EXPECT_THAT(needs_x86({0xF6, 0xD1}), IsEmpty());                                     // not cl
  EXPECT_THAT(needs_x86({0xF7, 0x05, 1, 2, 3, 4, 5, 6, 7, 8}), IsEmpty());             // test [rip], imm32
  EXPECT_THAT(needs_x86({0x64, 0x48, 0x8B, 0x04, 0x25, 0x28, 0, 0, 0}), IsEmpty());    // mov rax, fs:0x28
  EXPECT_THAT(needs_x86({0x66, 0x2E, 0x0F, 0x1F, 0x84, 0, 0, 0, 0, 0}), IsEmpty());    // nop
  EXPECT_THAT(needs_x86({0xF2, 0x0F, 0x78, 0xC1, 0x01, 0x02}), ElementsAre("sse4a"));  // insertq
}

TEST(CodeX86, ReturnsNoLengthForInvalidInstruction) {
  for (const std::vector<uint8_t>& code : std::vector<std::vector<uint8_t>>{{},
                                                                            {0x06},
                                                                            {0x0F},
                                                                            {0x0F, 0x04},
                                                                            {0x62},
                                                                            {0x62, 0xF1, 0x7C},
                                                                            {0xC5},
                                                                            {0xE8, 1, 2},
                                                                            {0x48, 0xC5, 0xF8, 0x77},
                                                                            std::vector<uint8_t>(20, 0x66),
                                                                            {0x62, 0xF0, 0x7C, 0x48, 0x58, 0xC1},
                                                                            {0xC4, 0xE0, 0x78, 0x10, 0xC0}})
    EXPECT_EQ(decode_x86(code).length, 0U);
}

TEST(CodeX86, CountsAndLeadsToWhatIsCalled) {
  // vpaddd ymm; call +0; lea rax, [rip+16]; nothing; vaddps zmm, cut off
  const std::vector<uint8_t> code{0xC5, 0xFD, 0xFE, 0xC1, 0xE8, 0, 0,    0,    0,   0x48,
                                  0x8D, 0x05, 16,   0,    0,    0, 0x06, 0x62, 0xF1};
  CodeTargets targets;
  const CodeCount count = count_x86(code, 0x1000, &targets);
  EXPECT_EQ(count.instructions, 4);  // the last one is 0xF1, after the prefix that is not valid
  ASSERT_EQ(count.counts.size(), 1U);
  EXPECT_EQ(count.counts[0], std::pair(x86("avx2"), int64_t{1}));
  EXPECT_THAT(targets, ElementsAre(0x1009, 0x1020));
}

TEST(CodeX86, NamesWhatSystemInstructionsNeed) {
  EXPECT_THAT(needs_x86({0x66, 0x0F, 0x38, 0xF6, 0xC1}), ElementsAre("adx"));        // adcx
  EXPECT_THAT(needs_x86({0x0F, 0xC7, 0xF8}), ElementsAre("rdseed"));                 // rdseed eax
  EXPECT_THAT(needs_x86({0x0F, 0xC7, 0xF0}), ElementsAre("rdrand"));                 // rdrand eax
  EXPECT_THAT(needs_x86({0xF3, 0x0F, 0xC7, 0xF8}), ElementsAre("rdpid"));            // rdpid rax
  EXPECT_THAT(needs_x86({0xC7, 0xF8, 0, 0, 0, 0}), ElementsAre("rtm"));              // xbegin
  EXPECT_THAT(needs_x86({0xC6, 0xF8, 0x01}), ElementsAre("rtm"));                    // xabort
  EXPECT_THAT(needs_x86({0x0F, 0x01, 0xD5}), ElementsAre("rtm"));                    // xend
  EXPECT_THAT(needs_x86({0x0F, 0x01, 0xD0}), IsEmpty());                             // xgetbv
  EXPECT_THAT(needs_x86({0x66, 0x0F, 0xAE, 0x30}), ElementsAre("clwb"));             // clwb [rax]
  EXPECT_THAT(needs_x86({0x66, 0x0F, 0xAE, 0x38}), ElementsAre("clflushopt"));       // clflushopt [rax]
  EXPECT_THAT(needs_x86({0x66, 0x0F, 0x38, 0xF8, 0x08}), ElementsAre("movdir64b"));  // movdir64b rcx, [rax]
  EXPECT_THAT(needs_x86({0x0F, 0x38, 0xF9, 0x08}), ElementsAre("movdiri"));          // movdiri [rax], ecx
  EXPECT_THAT(needs_x86({0x66, 0x0F, 0xAE, 0xF1}), ElementsAre("waitpkg"));          // tpause ecx
  EXPECT_THAT(needs_x86({0x0F, 0x01, 0xE8}), ElementsAre("serialize"));              // serialize
  EXPECT_THAT(needs_x86({0xF3, 0x0F, 0x38, 0xDC, 0x00}), ElementsAre("kl"));         // aesenc128kl xmm0, [rax]
  EXPECT_THAT(needs_x86({0xF3, 0x0F, 0x38, 0xD8, 0x00}), ElementsAre("widekl"));     // aesencwide128kl [rax]
  EXPECT_THAT(needs_x86({0xF3, 0x0F, 0xAE, 0xC0}), ElementsAre("fsgsbase"));         // rdfsbase eax
  EXPECT_THAT(needs_x86({0x0F, 0x01, 0xF9}), ElementsAre("rdtscp"));                 // rdtscp
  EXPECT_THAT(needs_x86({0x48, 0x0F, 0xC7, 0x08}), ElementsAre("cx16"));             // cmpxchg16b [rax]
  EXPECT_THAT(needs_x86({0x9F}), ElementsAre("lahf_lm"));                            // lahf
  EXPECT_THAT(needs_x86({0xDD, 0x08}), ElementsAre("pni"));                          // fisttp [rax]
  EXPECT_THAT(needs_x86({0x0F, 0x0F, 0xC1, 0x9E}), ElementsAre("3dnow"));            // pfadd
  EXPECT_THAT(needs_x86({0xF3, 0x0F, 0x1E, 0xFA}), IsEmpty());                       // endbr64
  EXPECT_THAT(needs_x86({0x0F, 0xA2}), IsEmpty());                                   // cpuid
  EXPECT_THAT(needs_x86({0xC7, 0x40, 0x08, 0, 0, 0, 0}), IsEmpty());                 // mov [rax+8], 0
}

// Accepts CPU features, every x86-64 CPU, or unknown.
TEST(CodeX86, DecidesEveryIsaSetOfZydis) {
  int unknown = 0;
  for (int i = 0; i <= ZYDIS_ISA_SET_MAX_VALUE; ++i) {
    const char* name = ZydisISASetGetString(static_cast<ZydisISASet>(i));
    ASSERT_NE(name, nullptr) << i;
    const auto set = find_isa_set(name);
    EXPECT_TRUE(set.has_value()) << name << ": add it to x86_sets.cpp";
    if (set && set->unknown) ++unknown;
  }
  EXPECT_EQ(unknown, 8);
}

// Every opcode of one byte with every ModRM byte.
TEST(CodeX86, AgreesWithZydisOnPlainOpcodes) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  int compared = 0;
  for (int i = 0; i < 0x10000; ++i) {
    const std::vector<uint8_t> code{
        static_cast<uint8_t>(i >> 8), static_cast<uint8_t>(i), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    if (code[0] == 0x0F || code[0] == 0xD5) continue;  // an escape; APX's prefix, which Zydis does not know
    ZydisDecodedInstruction theirs;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, nullptr, code.data(), code.size(), &theirs))) continue;
    ASSERT_EQ(decode_x86(code).features, X86Forms::features(static_cast<uint8_t>(theirs.meta.isa_set)))
        << ZydisMnemonicGetString(theirs.mnemonic) << " " << i;
    ++compared;
  }
  EXPECT_GT(compared, 40000);
}

// Mnemonics that need less, or other features, than the rest of their set.
bool is_told_apart(ZydisMnemonic mnemonic) {
  return mnemonic == ZYDIS_MNEMONIC_TZCNT || mnemonic == ZYDIS_MNEMONIC_XGETBV || mnemonic == ZYDIS_MNEMONIC_MOVDIR64B;
}

// Every instruction of this program, whose code gcc or clang wrote, and of its kernels.
TEST(CodeX86, AgreesWithZydisOnThisProgram) {
  auto mapping = map_file("/proc/self/exe");
  ASSERT_TRUE(mapping.ok()) << mapping.error().message;
  auto elf = read_elf(Bytes(mapping->bytes(), "self"));
  ASSERT_TRUE(elf.ok());
  if (elf->header.e_machine != EM_X86_64) GTEST_SKIP() << "this program is not x86-64 code";
  auto functions = list_functions(*elf);
  ASSERT_TRUE(functions.ok()) << functions.error().message;
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  int64_t instructions = 0;
  for (const auto& function : functions->all) {
    // Only of C++: libcrypto's assembly, linked in, has tables among its code.
    if (!std::string_view(function.name).starts_with("_Z")) continue;
    const auto code = mapping->bytes().subspan(function.offset, function.size);
    for (size_t at = 0; at < code.size();) {
      ZydisDecodedInstruction theirs;
      const bool sound =
          ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, nullptr, code.data() + at, code.size() - at, &theirs));
      const Instruction ours = decode_x86(code.subspan(at));
      ASSERT_EQ(ours.length, sound ? theirs.length : 0) << function.name << "+" << at;
      if (sound && !is_told_apart(theirs.mnemonic)) {
        ASSERT_EQ(ours.features, X86Forms::features(static_cast<uint8_t>(theirs.meta.isa_set))) << function.name;
      }
      at += std::max<size_t>(ours.length, 1);
      ++instructions;
    }
  }
  EXPECT_GT(instructions, 50000);
}

// Whatever Zydis takes for an instruction has the same length and needs here, whatever its bytes.
TEST(CodeX86, AgreesWithZydisOnRandomInstructions) {
  std::mt19937 random(7);
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  const std::vector<std::vector<uint8_t>> starts{
      {},     {0x0F}, {0x66, 0x0F}, {0xF2, 0x0F}, {0xF3, 0x48, 0x0F}, {0x0F, 0x38}, {0x66, 0x0F, 0x3A},
      {0xC5}, {0xC4}, {0x62},       {0x8F},       {0x64, 0x67}};
  int sound = 0;
  for (int i = 0; i < 400000; ++i) {
    std::vector<uint8_t> code = starts[static_cast<size_t>(i) % starts.size()];
    while (code.size() < 24) code.push_back(static_cast<uint8_t>(random()));
    ZydisDecodedInstruction theirs;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, nullptr, code.data(), code.size(), &theirs))) continue;
    const auto set = find_isa_set(ZydisISASetGetString(theirs.meta.isa_set));
    if (!set || set->unknown) continue;
    const Instruction ours = decode_x86(code);
    ASSERT_EQ(ours.length, theirs.length) << ZydisMnemonicGetString(theirs.mnemonic) << " " << i;
    if (!is_told_apart(theirs.mnemonic)) {
      ASSERT_EQ(ours.features, X86Forms::features(static_cast<uint8_t>(theirs.meta.isa_set)))
          << ZydisMnemonicGetString(theirs.mnemonic);
    }
    ++sound;
  }
  EXPECT_GT(sound, 100000);
}

Names needs_arm(uint32_t word) {
  return list_feature_names(decode_aarch64(word), kAarch64Features);
}

// One of each; tests/audit/aarch64_truth.py compares every pattern with llvm-mc.
TEST(CodeAarch64, NamesWhatAnInstructionNeeds) {
  EXPECT_THAT(needs_arm(0xD65F03C0), IsEmpty());                               // ret
  EXPECT_THAT(needs_arm(0x4E20D400), IsEmpty());                               // fadd v0.4s
  EXPECT_THAT(needs_arm(0xB8E00020), ElementsAre("atomics"));                  // ldaddal w0, w0, [x1]
  EXPECT_THAT(needs_arm(0x88E0FC20), ElementsAre("atomics"));                  // casal
  EXPECT_THAT(needs_arm(0xB8BFC020), ElementsAre("lrcpc"));                    // ldapr
  EXPECT_THAT(needs_arm(0x1EE02820), ElementsAre("fphp"));                     // fadd h0, h1, h0
  EXPECT_THAT(needs_arm(0x1EE24020), IsEmpty());                               // fcvt s0, h1
  EXPECT_THAT(needs_arm(0x4E401420), ElementsAre("asimdhp"));                  // fadd v0.8h
  EXPECT_THAT(needs_arm(0x4E809420), ElementsAre("asimddp"));                  // sdot v0.4s
  EXPECT_THAT(needs_arm(0x6E40EC20), ElementsAre("bf16"));                     // bfmmla
  EXPECT_THAT(needs_arm(0x4E80A420), ElementsAre("i8mm"));                     // smmla
  EXPECT_THAT(needs_arm(0x65A00020), ElementsAre("sve"));                      // fmla z0.s
  EXPECT_THAT(needs_arm(0x44C00000), UnorderedElementsAre("sve"));             // sdot z0.d
  EXPECT_THAT(needs_arm(0x6460E420), UnorderedElementsAre("sve", "svebf16"));  // bfmmla z0.s
  EXPECT_THAT(needs_arm(0x45009820), UnorderedElementsAre("sve", "svei8mm"));  // smmla z0.s
  EXPECT_THAT(needs_arm(0x04206020), UnorderedElementsAre("sve", "sve2"));     // mul z0.b, z1.b, z0.b
  EXPECT_THAT(needs_arm(0x80800000), ElementsAre("sme"));                      // fmopa za0.s
  EXPECT_THAT(needs_arm(0x19010440), ElementsAre("mops"));                     // cpyfp [x0]!, [x1]!, x2!
  EXPECT_THAT(needs_arm(0xDAC02000), ElementsAre("cssc"));                     // abs x0, x0
  EXPECT_THAT(needs_arm(0x9AC16000), ElementsAre("cssc"));                     // smax x0, x0, x1
  EXPECT_THAT(needs_arm(0x19211040), ElementsAre("lse128"));                   // ldclrp x0, x1, [x2]
  EXPECT_THAT(needs_arm(0x54000050), ElementsAre("hbc"));                      // bc.eq
  EXPECT_THAT(needs_arm(0xF83FD000), ElementsAre("ls64"));                     // ld64b x0, [x0]
  EXPECT_THAT(needs_arm(0xD5031000), ElementsAre("wfxt"));                     // wfet x0
}

// llvm-mc prints most of these as generic system instructions, which need nothing.
TEST(CodeAarch64, NamesWhatSystemInstructionsNeed) {
  EXPECT_THAT(needs_arm(0x9AC13000), ElementsAre("pacg"));      // pacga x0, x0, x1
  EXPECT_THAT(needs_arm(0xDAC10020), ElementsAre("paca"));      // pacia x0, x1
  EXPECT_THAT(needs_arm(0xDAC143E0), ElementsAre("paca"));      // xpaci x0
  EXPECT_THAT(needs_arm(0xD503233F), IsEmpty());                // paciasp: a hint, which older CPUs skip
  EXPECT_THAT(needs_arm(0xD503245F), IsEmpty());                // bti c: a hint
  EXPECT_THAT(needs_arm(0x9ADF1000), ElementsAre("mte"));       // irg x0, x0
  EXPECT_THAT(needs_arm(0xD9200800), ElementsAre("mte"));       // stg x0, [x0]
  EXPECT_THAT(needs_arm(0xD50B7460), ElementsAre("mte"));       // dc gva, x0
  EXPECT_THAT(needs_arm(0xD53B2400), ElementsAre("rng"));       // mrs x0, rndr
  EXPECT_THAT(needs_arm(0xD53B2420), ElementsAre("rng"));       // mrs x0, rndrrs
  EXPECT_THAT(needs_arm(0xD5233060), ElementsAre("tme"));       // tstart x0
  EXPECT_THAT(needs_arm(0xD503307F), ElementsAre("tme"));       // tcommit
  EXPECT_THAT(needs_arm(0xD50B7C20), ElementsAre("dcpop"));     // dc cvap, x0
  EXPECT_THAT(needs_arm(0xD50B7D20), ElementsAre("dcpodp"));    // dc cvadp, x0
  EXPECT_THAT(needs_arm(0xD50B7B20), IsEmpty());                // dc cvau, x0
  EXPECT_THAT(needs_arm(0xD53B42A0), ElementsAre("dit"));       // mrs x0, dit
  EXPECT_THAT(needs_arm(0xD53BE0C0), ElementsAre("ecv"));       // mrs x0, cntvctss_el0
  EXPECT_THAT(needs_arm(0xD53BE040), IsEmpty());                // mrs x0, cntvct_el0
  EXPECT_THAT(needs_arm(0x889F7C20), ElementsAre("lor"));       // stllr w0, [x1]
  EXPECT_THAT(needs_arm(0x889FFC20), IsEmpty());                // stlr w0, [x1]
  EXPECT_THAT(needs_arm(0x4E40FC20), ElementsAre("fp8"));       // fdot v0.8h, v1.16b, v0.16b
  EXPECT_THAT(needs_arm(0x2E217820), ElementsAre("fp8"));       // f1cvtl v0.8h, v1.8b
  EXPECT_THAT(needs_arm(0x4EA0DC20), ElementsAre("faminmax"));  // famax v0.4s, v1.4s, v0.4s
  EXPECT_THAT(needs_arm(0x4E801020), ElementsAre("lut"));       // luti2 v0.16b, { v1.16b }, v0[0]
  EXPECT_THAT(needs_arm(0xD53B4440), ElementsAre("fpmr"));      // mrs x0, fpmr
}

TEST(CodeAarch64, ReportsLaterSveAsUnknown) {
  const std::vector<uint8_t> known{0x20, 0x00, 0xA0, 0x65};    // fmla z0.s
  const std::vector<uint8_t> unknown{0x20, 0x84, 0x20, 0x64};  // fdot z0.h, z1.b, z0.b of FP8
  EXPECT_EQ(count_aarch64(known, 0, nullptr).unknown, 0);
  EXPECT_EQ(count_aarch64(unknown, 0, nullptr).unknown, 4);
}

std::vector<std::string> needs_together(const std::vector<uint32_t>& words) {
  std::vector<uint8_t> code(words.size() * 4);
  std::memcpy(code.data(), words.data(), code.size());
  return list_feature_names(count_aarch64(code, 0, nullptr).features, kAarch64Features);
}

TEST(CodeAarch64, FindsFixedVectorLength) {
  constexpr uint32_t kLong = 0x2518E140;     // ptrue p0.b, vl32
  constexpr uint32_t kShort = 0x2518E120;    // ptrue p0.b, vl16
  constexpr uint32_t kAll = 0x2518E3E0;      // ptrue p0.b
  constexpr uint32_t kAsks = 0x04A0E3E0;     // cntw x0
  constexpr uint32_t kCounts = 0x25A20C60;   // whilelo p0.s, w3, w2
  constexpr uint32_t kLoads = 0xA5434000;    // ld1w z0.s, p0/z, [x0, x3, lsl #2]
  constexpr uint32_t kSteps8 = 0x91002063;   // add x3, x3, #8
  constexpr uint32_t kSteps4 = 0x91001063;   // add x3, x3, #4
  constexpr uint32_t kBeside8 = 0x91002084;  // add x4, x4, #8
  constexpr uint32_t kWidens = 0xA5A0A1A2;   // ld1sb {z2.s}, p0/z, [x13]
  constexpr uint32_t kBytes16 = 0x910041AD;  // add x13, x13, #16
  constexpr uint32_t kBytes4 = 0x910011AD;   // add x13, x13, #4
  constexpr uint32_t kLoop = 0x17FFFFFD;     // b back by three words
  EXPECT_THAT(needs_together({kLong}), UnorderedElementsAre("sve", "sve256"));
  EXPECT_THAT(needs_together({kAll, kWidens, kBytes16, kLoop}), UnorderedElementsAre("sve", "sve256"));
  EXPECT_THAT(needs_together({kAll, kWidens, kBytes4, kLoop}), ElementsAre("sve"));
  EXPECT_THAT(needs_together({kLong, kAsks}), ElementsAre("sve"));
  EXPECT_THAT(needs_together({kShort}), ElementsAre("sve"));
  EXPECT_THAT(needs_together({kCounts, kLoads, kSteps8, kLoop}), UnorderedElementsAre("sve", "sve256"));
  EXPECT_THAT(needs_together({kAll, kLoads, kSteps8, kLoop}), UnorderedElementsAre("sve", "sve256"));
  EXPECT_THAT(needs_together({kCounts, kLoads, kSteps4, kLoop}), ElementsAre("sve"));
  EXPECT_THAT(needs_together({kCounts, kLoads, kBeside8, kLoop}), ElementsAre("sve"));
  EXPECT_THAT(needs_together({kCounts, kLoads, kSteps8, kLoop, kAsks}), ElementsAre("sve"));
  EXPECT_THAT(needs_together({kAll, kSteps8, kBeside8, kLoop, kLoads}), ElementsAre("sve"));  // the loop ends before
}

VectorLengths find_lengths(const std::vector<uint32_t>& words) {
  std::vector<uint8_t> code(words.size() * 4);
  std::memcpy(code.data(), words.data(), code.size());
  return find_vector_lengths(code);
}

TEST(CodeAarch64, LeavesVectorLengthUndecidedWithPartialEvidence) {
  constexpr uint32_t kAll = 0x2518E3E0;      // ptrue p0.b
  constexpr uint32_t kShort = 0x2518E120;    // ptrue p0.b, vl16
  constexpr uint32_t kAsks = 0x04A0E3E0;     // cntw x0
  constexpr uint32_t kStores = 0xE540E000;   // st1w {z0.s}, p0, [x0]
  constexpr uint32_t kTwenty = 0xD2800281;   // mov x1, #20
  constexpr uint32_t kSixteen = 0xD2800201;  // mov x1, #16
  constexpr uint32_t kUpTo = 0x25211FE0;     // whilelo p0.b, xzr, x1
  constexpr uint32_t kBytes = 0xE400E000;    // st1b {z0.b}, p0, [x0]
  constexpr uint32_t kRest16 = 0xF2400C5F;   // tst x2, #15
  constexpr uint32_t kRest32 = 0xF240105F;   // tst x2, #31
  constexpr uint32_t kSpills = 0xE5804BE0;   // str z0, [sp, #2, mul vl]
  constexpr uint32_t kFrame = 0x043F57DF;    // addvl sp, sp, #-2
  EXPECT_EQ(find_lengths({kAll, kStores}), VectorLengths::undecided);
  EXPECT_EQ(find_lengths({kAll, kStores, kAsks}), VectorLengths::any);
  EXPECT_EQ(find_lengths({kShort, kStores}), VectorLengths::any);
  EXPECT_EQ(find_lengths({kFrame, kAll, kStores}), VectorLengths::undecided);
  EXPECT_EQ(find_lengths({kTwenty, kUpTo, kBytes}), VectorLengths::longer);
  EXPECT_EQ(find_lengths({kSixteen, kUpTo, kBytes}), VectorLengths::any);
  EXPECT_EQ(find_lengths({kUpTo, kBytes}), VectorLengths::undecided);
  EXPECT_EQ(find_lengths({kRest16, kUpTo, kBytes}), VectorLengths::any);
  EXPECT_EQ(find_lengths({kRest32, kUpTo, kBytes}), VectorLengths::undecided);
  EXPECT_EQ(find_lengths({kSpills}), VectorLengths::undecided);
  EXPECT_EQ(find_lengths({kFrame, kSpills}), VectorLengths::any);
}

TEST(CodeAarch64, TracesCallsThroughRegistersAndAsking) {
  // adrp x0, 0x6000; add x0, x0, #16; blr x0; adrp x1, 0x6000; ldr x1, [x1, #8]; br x1; mrs x2, ID_AA64ISAR0_EL1;
  // a word of no instruction
  const std::vector<uint32_t> words{0xB0000000, 0x91004000, 0xD63F0000, 0xB0000001,
                                    0xF9400421, 0xD61F0020, 0xD5380602, 0x02345678};
  std::vector<uint8_t> code(words.size() * 4);
  std::memcpy(code.data(), words.data(), code.size());
  const CodeTrace trace = trace_aarch64(code, 0x5000);
  EXPECT_THAT(trace.calls, ElementsAre(0x6010U));
  EXPECT_THAT(trace.through, ElementsAre(0x6008U));
  EXPECT_TRUE(trace.asks);
  EXPECT_FALSE(trace.indirect);
  const CodeCount count = count_aarch64(code, 0x5000, nullptr);
  EXPECT_EQ(count.unknown, 4);
  EXPECT_EQ(count.first_unknown, 0x501CU);
}

TEST(CodeX86, ListsWordsThatCodeReads) {
  // mov rax, [rip+16]; movdqa xmm0, [rip+0]
  const std::vector<uint8_t> code{0x48, 0x8B, 0x05, 16, 0, 0, 0, 0x66, 0x0F, 0x6F, 0x05, 0, 0, 0, 0};
  CodeTargets targets;
  static_cast<void>(count_x86(code, 0x1000, &targets));
  EXPECT_THAT(targets, ElementsAre(0x1017 | kInPlace, 0x100F | kInPlace, 0x1017 | kInPlace));
}

TEST(CodeAarch64, IgnoresSectionAnchor) {
  // adrp x1, page; add x1, x1, #16; add x2, x1, #8; add x1, x1, #32; ret
  const std::vector<uint32_t> words{0x90000001, 0x91004021, 0x91002022, 0x91008021, 0xD65F03C0};
  std::vector<uint8_t> code(words.size() * 4);
  std::memcpy(code.data(), words.data(), code.size());
  CodeTargets targets;
  static_cast<void>(count_aarch64(code, 0x5000, &targets));
  EXPECT_THAT(targets, ElementsAre(0x5018, 0x5030));
}

TEST(CodeAarch64, CountsAndLeadsToWhatIsCalled) {
  const std::vector<uint32_t> words{0x94000004, 0x90000000, 0x91004000, 0xB8E00020, 0x54000040, 0xD65F03C0};
  std::vector<uint8_t> code(words.size() * 4 + 2);
  std::memcpy(code.data(), words.data(), words.size() * 4);
  CodeTargets targets;
  const CodeCount count = count_aarch64(code, 0x5000, &targets);
  EXPECT_EQ(count.instructions, 6);
  EXPECT_EQ(count.features, arm("atomics"));
  EXPECT_THAT(targets, ElementsAre(0x5010, 0x5010, 0x5018));  // bl; adrp and add; b.eq
}

}  // namespace
}  // namespace pbprobe
