// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tests/kernels/ptx/program.hpp"

#include <charconv>
#include <map>
#include <optional>

namespace pbprobe::ptx {
namespace {

std::string_view strip(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::optional<uint64_t> number_of(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0f")) {  // 0f: the bits of a float
    base = 16;
    text.remove_prefix(2);
  }
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return negative ? ~value + 1 : value;
}

class Reader {
 public:
  Reader(std::string_view text, std::string_view kernel) : text_(text), kernel_(kernel) {}

  Result<Program> read() {
    const std::string head = fmt::format(".entry {}(", kernel_);
    const auto found = text_.find(head);
    if (found == std::string_view::npos) return make_error(ErrorCode::malformed, "no kernel {}", kernel_);
    const auto body = text_.find('{', found);
    read_parameters(text_.substr(found, body - found));
    PBPROBE_CHECK(read_body(text_.substr(body + 1)));
    for (const auto& [at, label] : branches_) {
      const auto place = labels_.find(label);
      if (place == labels_.end()) return make_error(ErrorCode::malformed, "no label {}", label);
      program_.instructions[at].target = place->second;
    }
    program_.registers = registers_.size();
    return std::move(program_);
  }

 private:
  // ".param .align 8 .b8 NAME_param_0[120]", ".param .u64 NAME_param_0"
  void read_parameters(std::string_view text) {
    for (size_t at = text.find(".param "); at != std::string_view::npos; at = text.find(".param ", at + 1)) {
      const auto line = text.substr(at, text.find_first_of(",)\n", at) - at);
      const auto bracket = line.find('[');
      size_t bytes = 8;
      if (bracket != std::string_view::npos) bytes = *number_of(line.substr(bracket + 1, line.find(']') - bracket - 1));
      program_.parameter_bytes.push_back(bytes);
    }
  }

  Result<void> read_body(std::string_view text) {
    int depth = 1;
    while (depth > 0 && !text.empty()) {
      const auto end = text.find_first_of("\n");
      const auto line = strip(text.substr(0, end));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      if (line.empty() || line.starts_with("//") || line.starts_with('.')) continue;
      if (line == "{") ++depth;
      if (line == "}") --depth;
      if (line == "{" || line == "}") continue;
      if (line.ends_with(':')) {
        labels_[std::string(line.substr(0, line.size() - 1))] = program_.instructions.size();
        continue;
      }
      PBPROBE_CHECK(read_statement(line));
    }
    return {};
  }

  Result<void> read_statement(std::string_view line) {
    Instruction made;
    std::string_view rest = strip(line.substr(0, line.find(';')));
    if (rest.starts_with('@')) {
      made.guard_wants = !rest.starts_with("@!");
      rest.remove_prefix(made.guard_wants ? 1 : 2);
      const auto space = rest.find_first_of(" \t");
      made.guard = static_cast<int64_t>(register_of(rest.substr(0, space)));
      rest = strip(rest.substr(space));
    }
    const auto space = std::min(rest.find_first_of(" \t"), rest.size());
    made.name = rest.substr(0, space);
    rest = strip(rest.substr(space));
    if (made.name.starts_with("bra")) {
      branches_[program_.instructions.size()] = rest;
      rest = {};
    }
    while (!rest.empty()) {
      const auto comma = std::min(rest.find(','), rest.size());
      auto one = strip(rest.substr(0, comma));
      while (!one.empty() && (one.front() == '{' || one.front() == '[')) one = strip(one.substr(1));
      while (!one.empty() && (one.back() == '}' || one.back() == ']')) one = strip(one.substr(0, one.size() - 1));
      PBPROBE_TRY(const Operand operand, operand_of(one), "{}", line);
      made.operands.push_back(operand);
      rest = comma < rest.size() ? strip(rest.substr(comma + 1)) : std::string_view();
    }
    if (!bind(made) && !bind_collective(made))
      return make_error(ErrorCode::malformed, "the interpreter has no {}: {}", made.name, line);
    program_.instructions.push_back(std::move(made));
    return {};
  }

  // A register, a number, or either of them plus an offset; the name of a parameter, or of the shared memory.
  Result<Operand> operand_of(std::string_view text) {
    Operand operand;
    if (const auto plus = text.find('+'); plus != std::string_view::npos) {
      const auto offset = number_of(text.substr(plus + 1));
      if (!offset) return make_error(ErrorCode::malformed, "no operand: {}", text);
      PBPROBE_TRY(operand, operand_of(text.substr(0, plus)));
      operand.number += *offset;
      return operand;
    }
    if (text == "%tid.x") operand.kind = Operand::Kind::tid_x;
    if (text == "%ctaid.x") operand.kind = Operand::Kind::ctaid_x;
    if (text == "%ctaid.z") operand.kind = Operand::Kind::ctaid_z;
    if (operand.kind != Operand::Kind::number) return operand;
    if (text.starts_with('%') || text == "there" || text == "absent") {
      operand.kind = Operand::Kind::reg;
      operand.reg = register_of(text);
      operand.predicate = !text.starts_with('%');  // of the inline assembly
    } else if (const auto number = number_of(text)) {
      operand.number = *number;
    } else if (const auto parameter = text.rfind("_param_"); parameter != std::string_view::npos) {
      operand.number = kParameterBase + *number_of(text.substr(parameter + 7)) * kParameterStride;
    } else if (text.ends_with("ringE")) {
      operand.number = kSharedBase;
    } else {
      return make_error(ErrorCode::malformed, "no operand: {}", text);
    }
    return operand;
  }

  size_t register_of(std::string_view name) {
    return registers_.try_emplace(std::string(name), registers_.size()).first->second;
  }

  std::string_view text_;
  std::string_view kernel_;
  Program program_;
  std::map<std::string, size_t> registers_;
  std::map<std::string, size_t> labels_;
  std::map<size_t, std::string> branches_;
};

}  // namespace

Result<Program> read_program(std::string_view text, std::string_view kernel) {
  return Reader(text, kernel).read();
}

}  // namespace pbprobe::ptx
