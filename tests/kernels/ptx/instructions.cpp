// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Instructions of one thread.
#include <algorithm>
#include <map>
#include <string_view>

#include "kernels/gemm/reference.hpp"
#include "tests/kernels/ptx/machine.hpp"

namespace pbprobe::ptx {
namespace {

using Run = void (*)(Thread&, const Instruction&);

template <class T>
void move(Thread& t, const Instruction& i) {
  t.set(i, 0, t.get<T>(i, 1));
}

// clang-format off
template <class T> T add(T a, T b) { return a + b; }
template <class T> T sub(T a, T b) { return a - b; }
template <class T> T mul(T a, T b) { return a * b; }
template <class T> T div(T a, T b) { return a / b; }
template <class T> T rem(T a, T b) { return a % b; }
template <class T> T least(T a, T b) { return std::min(a, b); }
template <class T> T most(T a, T b) { return std::max(a, b); }
template <class T> T both(T a, T b) { return a & b; }
template <class T> T either(T a, T b) { return a | b; }
template <class T> T differ(T a, T b) { return a ^ b; }
template <class T> bool eq(T a, T b) { return a == b; }
template <class T> bool ne(T a, T b) { return a != b; }
template <class T> bool lt(T a, T b) { return a < b; }
template <class T> bool le(T a, T b) { return a <= b; }
template <class T> bool gt(T a, T b) { return a > b; }
template <class T> bool ge(T a, T b) { return a >= b; }
// clang-format on

template <class T, T (*kOf)(T, T)>
void binary(Thread& t, const Instruction& i) {
  t.set(i, 0, kOf(t.get<T>(i, 1), t.get<T>(i, 2)));
}
template <class T, bool (*kOf)(T, T)>
void compare(Thread& t, const Instruction& i) {
  t.set(i, 0, static_cast<uint64_t>(kOf(t.get<T>(i, 1), t.get<T>(i, 2))));
}
template <class T>
void select(Thread& t, const Instruction& i) {
  t.set(i, 0, t.get<T>(i, t.get<uint64_t>(i, 3) != 0 ? 1 : 2));
}
template <class T>
void invert(Thread& t, const Instruction& i) {
  t.set(i, 0, static_cast<T>(~t.get<T>(i, 1)));
}
void invert_predicate(Thread& t, const Instruction& i) {
  t.set(i, 0, uint64_t{t.get<uint64_t>(i, 1) == 0});
}
// A shift by the width or more gives zeros, or signs.
template <class T>
void shift_left(Thread& t, const Instruction& i) {
  const auto by = t.get<uint32_t>(i, 2);
  t.set(i, 0, by >= 8 * sizeof(T) ? T{0} : static_cast<T>(t.get<T>(i, 1) << by));
}
template <class T>
void shift_right(Thread& t, const Instruction& i) {
  const auto by = std::min<uint32_t>(t.get<uint32_t>(i, 2), 8 * sizeof(T) - 1);
  const bool all = t.get<uint32_t>(i, 2) > by && std::is_unsigned_v<T>;
  t.set(i, 0, all ? T{0} : static_cast<T>(t.get<T>(i, 1) >> by));
}
template <class From, class To>
void multiply_wide(Thread& t, const Instruction& i) {
  t.set(i, 0, static_cast<To>(static_cast<To>(t.get<From>(i, 1)) * static_cast<To>(t.get<From>(i, 2))));
}
template <class T>
void multiply_add(Thread& t, const Instruction& i) {
  t.set(i, 0, static_cast<T>(t.get<T>(i, 1) * t.get<T>(i, 2) + t.get<T>(i, 3)));
}
template <class From, class To>
void convert(Thread& t, const Instruction& i) {
  t.set(i, 0, static_cast<To>(t.get<From>(i, 1)));
}
uint16_t round_to_half(float value, DType type) {
  uint16_t bits = 0;
  set_element(&bits, type, 0, static_cast<double>(value));
  return bits;
}
void convert_to_fp16(Thread& t, const Instruction& i) {
  t.set(i, 0, round_to_half(t.get<float>(i, 1), DType::fp16));
}
void convert_to_bf16x2(Thread& t, const Instruction& i) {  // the first of the two is the upper half
  const uint32_t high = round_to_half(t.get<float>(i, 1), DType::bf16);
  t.set(i, 0, high << 16 | round_to_half(t.get<float>(i, 2), DType::bf16));
}

enum class Space { parameter, global, shared };

template <Space kSpace, class T, size_t kCount>
void load(Thread& t, const Instruction& i) {
  const uint64_t address = t.value(i.operands[kCount]);
  const size_t bytes = sizeof(T) * kCount;
  const std::byte* from = kSpace == Space::parameter ? t.block.parameter(address, bytes)
                          : kSpace == Space::global  ? t.block.global(address, bytes, false)
                                                     : t.block.shared(address, bytes);
  for (size_t n = 0; n < kCount; ++n) {
    T value;
    std::memcpy(&value, from + n * sizeof(T), sizeof(T));
    t.set(i, n, value);
  }
}
template <Space kSpace, class T, size_t kCount>
void store(Thread& t, const Instruction& i) {
  const uint64_t address = t.value(i.operands[0]);
  const size_t bytes = sizeof(T) * kCount;
  std::byte* to = kSpace == Space::global ? t.block.global(address, bytes, true) : t.block.shared(address, bytes);
  for (size_t n = 0; n < kCount; ++n) {
    const T value = t.get<T>(i, n + 1);
    std::memcpy(to + n * sizeof(T), &value, sizeof(T));
  }
}

// cp.async of 16 bytes: all of them; so many, and zeros; or only zeros where the predicate says that they are absent.
void copy_async(Thread& t, const Instruction& i) {
  Copy copy;
  copy.to = t.value(i.operands[0]);
  size_t bytes = 16;
  if (i.operands.size() == 4 && i.operands[3].predicate) {
    bytes = t.get<uint64_t>(i, 3) != 0 ? 0 : 16;
  } else if (i.operands.size() == 4) {
    bytes = t.get<uint32_t>(i, 3);
  }
  const uint64_t from = t.value(i.operands[1]);
  if (bytes > 0 && from % 16 != 0) throw Fault(fmt::format("cp.async from {:#x}", from));
  for (size_t n = 0; n < bytes; ++n) copy.bytes.at(n) = *t.block.global(from + n, 1, false);
  t.copies.back().push_back(copy);
}
void commit_copies(Thread& t, const Instruction&) {
  t.copies.emplace_back();
}
void await_copies(Thread& t, const Instruction& i) {
  const size_t pending = t.get<uint32_t>(i, 0) + 1;  // and the one that is open
  while (t.copies.size() > pending) {
    for (const Copy& copy : t.copies.front()) std::memcpy(t.block.shared(copy.to, 16), copy.bytes.data(), 16);
    t.copies.erase(t.copies.begin());
  }
}
// mov of a register's halves, or of two that become one.
template <class Half, class Whole>
void take_apart(Thread& t, const Instruction& i) {
  const auto whole = t.get<Whole>(i, 2);
  t.set(i, 0, static_cast<Half>(whole));
  t.set(i, 1, static_cast<Half>(whole >> 8 * sizeof(Half)));
}
template <class Half, class Whole>
void put_together(Thread& t, const Instruction& i) {
  t.set(i, 0, static_cast<Whole>(t.get<Half>(i, 1) | static_cast<Whole>(t.get<Half>(i, 2)) << 8 * sizeof(Half)));
}
void multiply_high(Thread& t, const Instruction& i) {
  t.set(i, 0, static_cast<uint32_t>(uint64_t{t.get<uint32_t>(i, 1)} * t.get<uint32_t>(i, 2) >> 32));
}
void negate(Thread& t, const Instruction& i) {
  t.set(i, 0, ~t.get<uint32_t>(i, 1) + 1);
}
void nothing(Thread&, const Instruction&) {}
void fail(Thread&, const Instruction& i) {
  throw Fault(fmt::format("{} is reached", i.name));
}
void branch(Thread& t, const Instruction& i) {
  t.next = i.target;
}
void end(Thread& t, const Instruction&) {
  t.ended = true;
}

template <class T>
void compare_rows(std::map<std::string_view, Run>& rows, const std::array<std::string_view, 6>& names) {
  const std::array<Run, 6> of{compare<T, eq<T>>, compare<T, ne<T>>, compare<T, lt<T>>,
                              compare<T, le<T>>, compare<T, gt<T>>, compare<T, ge<T>>};
  for (size_t i = 0; i < of.size(); ++i) rows[names.at(i)] = of.at(i);
}

std::map<std::string_view, Run> moving_rows() {
  return {
      {"mov.u32", move<uint32_t>},
      {"mov.b32", move<uint32_t>},
      {"mov.f32", move<uint32_t>},
      {"mov.u64", move<uint64_t>},
      {"mov.b64", move<uint64_t>},
      {"mov.pred", move<uint64_t>},
      {"mov.b16", move<uint16_t>},
      {"mov.u16", move<uint16_t>},
      {"mov.s32", move<uint32_t>},
      {"mov.b32.together", put_together<uint16_t, uint32_t>},
      {"mov.b64.together", put_together<uint32_t, uint64_t>},
      {"mov.b32.apart", take_apart<uint16_t, uint32_t>},
      {"mov.b64.apart", take_apart<uint32_t, uint64_t>},
      {"cvta.param.u64", move<uint64_t>},
      {"cvta.global.u64", move<uint64_t>},
      {"selp.s32", select<uint32_t>},
      {"selp.u16", select<uint16_t>},
      {"selp.b16", select<uint16_t>},
      {"cvta.to.global.u64", move<uint64_t>},
      {"selp.b32", select<uint32_t>},
      {"selp.u32", select<uint32_t>},
      {"selp.b64", select<uint64_t>},
      {"selp.f32", select<uint32_t>},
      {"cvt.u32.u16", convert<uint16_t, uint32_t>},
      {"cvt.u16.u32", convert<uint32_t, uint16_t>},
      {"cvt.s64.s32", convert<int32_t, int64_t>},
      {"cvt.u64.u32", convert<uint32_t, uint64_t>},
      {"cvt.u32.u64", convert<uint64_t, uint32_t>},
      {"cvt.rn.f16.f32", convert_to_fp16},
      {"cvt.rn.bf16x2.f32", convert_to_bf16x2},
  };
}

std::map<std::string_view, Run> arithmetic_rows() {
  std::map<std::string_view, Run> rows{
      {"mul.hi.u32", multiply_high},
      {"neg.s32", negate},
      {"min.u32", binary<uint32_t, least<uint32_t>>},
      {"and.b16", binary<uint16_t, both<uint16_t>>},
      {"or.b16", binary<uint16_t, either<uint16_t>>},
      {"setp.eq.b32", compare<uint32_t, eq<uint32_t>>},
      {"setp.ne.b32", compare<uint32_t, ne<uint32_t>>},
      {"add.s32", binary<uint32_t, add<uint32_t>>},
      {"add.s64", binary<uint64_t, add<uint64_t>>},
      {"add.f32", binary<float, add<float>>},
      {"sub.s32", binary<uint32_t, sub<uint32_t>>},
      {"sub.s64", binary<uint64_t, sub<uint64_t>>},
      {"mul.f32", binary<float, mul<float>>},
      {"mul.lo.s32", binary<uint32_t, mul<uint32_t>>},
      {"mul.lo.s64", binary<uint64_t, mul<uint64_t>>},
      {"mul.wide.s32", multiply_wide<int32_t, int64_t>},
      {"mul.wide.u32", multiply_wide<uint32_t, uint64_t>},
      {"mul.wide.u16", multiply_wide<uint16_t, uint32_t>},
      {"mad.lo.s32", multiply_add<uint32_t>},
      {"mad.lo.s64", multiply_add<uint64_t>},
      {"div.s32", binary<int32_t, div<int32_t>>},
      {"rem.u32", binary<uint32_t, rem<uint32_t>>},
      {"rem.s64", binary<int64_t, rem<int64_t>>},
      {"shr.u64", shift_right<uint64_t>},
      {"min.s32", binary<int32_t, least<int32_t>>},
      {"max.s32", binary<int32_t, most<int32_t>>},
      {"and.b32", binary<uint32_t, both<uint32_t>>},
      {"and.b64", binary<uint64_t, both<uint64_t>>},
      {"and.pred", binary<uint64_t, both<uint64_t>>},
      {"or.b32", binary<uint32_t, either<uint32_t>>},
      {"or.b64", binary<uint64_t, either<uint64_t>>},
      {"or.pred", binary<uint64_t, either<uint64_t>>},
      {"xor.b32", binary<uint32_t, differ<uint32_t>>},
      {"not.b32", invert<uint32_t>},
      {"not.pred", invert_predicate},
      {"shl.b32", shift_left<uint32_t>},
      {"shl.b64", shift_left<uint64_t>},
      {"shr.u32", shift_right<uint32_t>},
      {"shr.s32", shift_right<int32_t>},
  };
  compare_rows<int32_t>(rows,
                        {"setp.eq.s32", "setp.ne.s32", "setp.lt.s32", "setp.le.s32", "setp.gt.s32", "setp.ge.s32"});
  compare_rows<uint32_t>(rows,
                         {"setp.eq.u32", "setp.ne.u32", "setp.lt.u32", "setp.le.u32", "setp.gt.u32", "setp.ge.u32"});
  compare_rows<int64_t>(rows,
                        {"setp.eq.s64", "setp.ne.s64", "setp.lt.s64", "setp.le.s64", "setp.gt.s64", "setp.ge.s64"});
  return rows;
}

std::map<std::string_view, Run> memory_rows() {
  return {
      {"ld.param.u32", load<Space::parameter, uint32_t, 1>},
      {"ld.param.v4.u32", load<Space::parameter, uint32_t, 4>},
      {"ld.param.u64", load<Space::parameter, uint64_t, 1>},
      {"ld.param.v2.u32", load<Space::parameter, uint32_t, 2>},
      {"ld.global.u8", load<Space::global, uint8_t, 1>},
      {"ld.global.u32", load<Space::global, uint32_t, 1>},
      {"ld.global.f32", load<Space::global, uint32_t, 1>},
      {"ld.shared.u32", load<Space::shared, uint32_t, 1>},
      {"ld.shared.b32", load<Space::shared, uint32_t, 1>},
      {"ld.shared.v4.f32", load<Space::shared, uint32_t, 4>},
      {"st.global.u16", store<Space::global, uint16_t, 1>},
      {"st.global.u32", store<Space::global, uint32_t, 1>},
      {"st.global.f32", store<Space::global, uint32_t, 1>},
      {"st.global.v2.u32", store<Space::global, uint32_t, 2>},
      {"st.global.v4.u32", store<Space::global, uint32_t, 4>},
      {"st.global.v4.f32", store<Space::global, uint32_t, 4>},
      {"st.shared.v2.f32", store<Space::shared, uint32_t, 2>},
      {"st.shared.v4.b32", store<Space::shared, uint32_t, 4>},
      {"cp.async.cg.shared.global", copy_async},
      {"cp.async.commit_group", commit_copies},
      {"cp.async.wait_group", await_copies},
      {"bra", branch},
      {"bra.uni", branch},
      {"ret", end},
      {"brkpt", fail},
      {"call.uni", fail},
      {"st.param.b32", nothing},
      {"st.param.b64", nothing},
      {"prefetch.tensormap", nothing},
      {"fence.mbarrier_init.release.cluster", nothing},
      {"fence.proxy.async.shared::cta", nothing},
  };
}

}  // namespace

bool bind(Instruction& instruction) {
  static const auto moving = moving_rows();
  static const auto arithmetic = arithmetic_rows();
  static const auto memory = memory_rows();
  for (const auto* rows : {&moving, &arithmetic, &memory}) {
    if (const auto found = rows->find(instruction.name); found != rows->end()) instruction.run = found->second;
  }
  return instruction.run != nullptr;
}

}  // namespace pbprobe::ptx
