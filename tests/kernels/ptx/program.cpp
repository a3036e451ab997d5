// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "tests/kernels/ptx/program.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

namespace pbprobe::ptx {
namespace {

std::string_view strip(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::optional<uint64_t> parse_number(std::string_view text) {
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
      if (bracket != std::string_view::npos)
        bytes = *parse_number(line.substr(bracket + 1, line.find(']') - bracket - 1));
      program_.parameter_bytes.push_back(bytes);
    }
  }

  Result<void> read_body(std::string_view text) {
    std::string statement;
    while (!scopes_.empty() && !text.empty()) {
      const auto end = text.find_first_of("\n");
      auto line = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      line = strip(line.substr(0, line.find("//")));
      if (line.starts_with(".reg")) declare(line);
      if (line.empty() || line.starts_with('.')) continue;
      if (statement.empty() && line == "{") scopes_.push_back(++last_scope_);
      if (statement.empty() && line == "}") scopes_.pop_back();
      if (statement.empty() && (line == "{" || line == "}")) continue;
      if (statement.empty() && line.ends_with(':')) {
        labels_[qualify_label(line.substr(0, line.size() - 1))] = program_.instructions.size();
        continue;
      }
      statement += fmt::format("{} ", line);  // one may take several lines
      if (line.find(';') == std::string_view::npos) continue;
      PBPROBE_CHECK(read_statement(statement));
      statement.clear();
    }
    return {};
  }

  // Names of inline assembly: ".reg .pred P1;"
  void declare(std::string_view line) {
    const auto words = line.substr(0, line.find(';'));
    declared_.insert(std::string(strip(words.substr(words.find_last_of(" \t")))));
  }
  // Inline assembly has labels of its own in each pair of braces.
  [[nodiscard]] std::string qualify_label(std::string_view label) const {
    return label.starts_with('$') ? std::string(label) : fmt::format("{}#{}", label, scopes_.back());
  }

  Result<void> read_statement(std::string_view line) {
    Instruction made;
    std::string_view rest = strip(line.substr(0, line.find(';')));
    if (rest.starts_with('@')) {
      made.guard_wants = !rest.starts_with("@!");
      rest.remove_prefix(made.guard_wants ? 1 : 2);
      const auto space = rest.find_first_of(" \t");
      made.guard = static_cast<int64_t>(index_register(rest.substr(0, space)));
      rest = strip(rest.substr(space));
    }
    const auto space = std::min(rest.find_first_of(" \t{["), rest.size());
    made.name = rest.substr(0, space);
    rest = strip(rest.substr(space));
    if (made.name.starts_with("bra") || made.name == "call.uni" || made.name.starts_with("st.param.")) {
      if (made.name.starts_with("bra")) branches_[program_.instructions.size()] = qualify_label(rest);
      rest = {};  // a call, which prints what is wrong, is a fault
    }
    if (made.name.starts_with("mov.") && rest.find('{') != std::string_view::npos)
      made.name += rest.starts_with('{') ? ".apart" : ".together";
    while (!rest.empty()) {
      const auto comma = std::min(rest.find_first_of(",|"), rest.size());
      auto one = strip(rest.substr(0, comma));
      while (!one.empty() && (one.front() == '{' || one.front() == '[')) one = strip(one.substr(1));
      while (!one.empty() && (one.back() == '}' || one.back() == ']')) one = strip(one.substr(0, one.size() - 1));
      PBPROBE_TRY(const Operand operand, parse_operand(one), "{}", line);
      made.operands.push_back(operand);
      rest = comma < rest.size() ? strip(rest.substr(comma + 1)) : std::string_view();
    }
    if (!bind(made) && !bind_collective(made) && !bind_asynchronous(made))
      return make_error(ErrorCode::malformed, "the interpreter has no {}: {}", made.name, line);
    program_.instructions.push_back(std::move(made));
    return {};
  }

  // A register, a number, or either of them plus an offset; the name of a parameter, or of the shared memory.
  Result<Operand> parse_operand(std::string_view text) {
    Operand operand;
    if (const auto plus = text.find('+'); plus != std::string_view::npos) {
      const auto offset = parse_number(text.substr(plus + 1));
      if (!offset) return make_error(ErrorCode::malformed, "no operand: {}", text);
      PBPROBE_TRY(operand, parse_operand(text.substr(0, plus)));
      operand.number += *offset;
      return operand;
    }
    const auto special = std::find(kSpecialRegisters.begin(), kSpecialRegisters.end(), text);
    if (special != kSpecialRegisters.end()) {
      operand.kind = Operand::Kind::special;
      operand.special = static_cast<unsigned>(special - kSpecialRegisters.begin());
      return operand;
    }
    if (text.starts_with('%') || text == "_" || declared_.contains(std::string(text))) {
      operand.kind = Operand::Kind::reg;
      operand.reg = index_register(text);
      operand.predicate = !text.starts_with('%');  // inline assembly declares its own predicates
    } else if (const auto number = parse_number(text)) {
      operand.number = *number;
    } else if (const auto parameter = text.rfind("_param_"); parameter != std::string_view::npos) {
      operand.number = kParameterBase + *parse_number(text.substr(parameter + 7)) * kParameterStride;
    } else if (text.ends_with("ringE") || text.ends_with("sharedE") || text == "shared") {
      operand.kind = Operand::Kind::shared;
      operand.number = kSharedBase;
    } else if (text.starts_with("$str") || text.starts_with("__unnamed")) {
      operand.number = 0;  // text of a failed assertion
    } else {
      return make_error(ErrorCode::malformed, "no operand: {}", text);
    }
    return operand;
  }

  size_t index_register(std::string_view name) {
    return registers_.try_emplace(std::string(name), registers_.size()).first->second;
  }

  std::string_view text_;
  std::string_view kernel_;
  Program program_;
  std::map<std::string, size_t> registers_;
  std::map<std::string, size_t> labels_;
  std::map<size_t, std::string> branches_;
  std::set<std::string> declared_;
  std::vector<int> scopes_{0};
  int last_scope_ = 0;
};

}  // namespace

Result<Program> read_program(std::string_view text, std::string_view kernel) {
  return Reader(text, kernel).read();
}

}  // namespace pbprobe::ptx
