// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
// Messages about wrong command lines, worded as docs/writing.md requires. The messages of CLI11 describe its parsing
// instead.
#include <algorithm>
#include <numeric>

#include "core/printable.hpp"
#include "probes/cli/cli.hpp"

namespace pbprobe::cli {
namespace {

// Returns the number of characters to insert, delete or change.
size_t edits_between(std::string_view one, std::string_view other) {
  std::vector<size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < one.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < other.size(); ++j) {
      const size_t changed = diagonal + (one[i] == other[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, diagonal + 1, changed});
    }
  }
  return row.back();
}

// Returns ": did you mean gate?" if a known name is similar.
std::string suggest_nearest(std::string_view given, const std::vector<std::string>& known) {
  constexpr size_t kNear = 2;
  const std::string* best = nullptr;
  for (const auto& name : known) {
    if (best == nullptr || edits_between(given, name) < edits_between(given, *best)) best = &name;
  }
  const bool near = best != nullptr && edits_between(given, *best) <= std::min(kNear, best->size() - 1);
  return near ? fmt::format(": did you mean {}?", *best) : "";
}

std::vector<std::string> known_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) names.push_back(command->get_name());  // others are for the program itself
  }
  return names;
}

std::vector<std::string> known_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string surplus_word(const CLI::App& command, std::string_view word) {
  if (word.starts_with('-'))
    return fmt::format("unknown option {}{}", word, suggest_nearest(word, known_options(command)));
  const auto commands = known_commands(command);
  if (!commands.empty()) return fmt::format("unknown command {}{}", word, suggest_nearest(word, commands));
  return fmt::format("{}: unexpected argument", word);
}

// Returns the text after `mark` in a message of CLI11; the whole message if `mark` is missing.
std::string_view text_after(std::string_view message, std::string_view mark) {
  const size_t at = message.find(mark);
  return at == message.npos ? message : message.substr(at + mark.size());
}

std::string usage_words(const CLI::ParseError& error, const CLI::App& command) {
  const std::string message = error.what();
  const bool is_required = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (is_required || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    // In the order of the command line: the message reverses it.
    if (const auto words = command.remaining(); !words.empty()) return surplus_word(command, words.front());
  }
  const std::string_view name = std::string_view(message).substr(0, message.find(':'));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && message.find("missing") != message.npos)
    return fmt::format("{}: its value is missing", name);
  constexpr std::string_view kAtLeast = ": At least ";
  if (message.find(kAtLeast) != message.npos) {
    const auto count = text_after(message, kAtLeast);
    return fmt::format("{}: give at least {}", name, count.substr(0, count.find(' ')));
  }
  return message;
}

}  // namespace

std::string usage_message(const CLI::ParseError& error, const CLI::App& app) {
  const CLI::App* command = &app;
  std::string name = "pbprobe";
  for (auto given = command->get_subcommands(); !given.empty(); given = command->get_subcommands()) {
    command = given.back();
    name += " " + command->get_name();
  }
  return fmt::format("pbprobe: {}\nTry `{} --help`.\n", printable(usage_words(error, *command)), name);
}

}  // namespace pbprobe::cli
