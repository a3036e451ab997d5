// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Completions for shells, from the description of the program that it parses its arguments by.
#include <algorithm>

#include <fmt/ranges.h>

#include "probes/cli/cli.hpp"

namespace pbprobe::cli {
namespace {

enum class Shell { bash, zsh, fish };

struct Words {
  std::string path;                                          // " recipes write"; "" for the program itself
  std::vector<std::string> words;                            // commands and options
  std::vector<std::pair<std::string, std::string>> choices;  // values of an option: {"--format", "text json"}
};

std::vector<const CLI::App*> list_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); });
}

std::vector<std::string> list_names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const auto& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

std::string list_choices(const CLI::Option& option) {
  std::string choices = option.get_option_text();
  if (choices.find('|') == std::string::npos) return "";
  std::replace(choices.begin(), choices.end(), '|', ' ');
  return choices;
}

void collect(const CLI::App& app, const std::string& path, std::vector<Words>& all) {
  Words own{.path = path, .words = {}, .choices = {}};
  for (const auto* command : list_commands(app)) own.words.push_back(command->get_name());
  for (const auto* option : app.get_options()) {
    const std::string choices = list_choices(*option);
    const auto names = list_names(*option);
    if (names.empty() && !choices.empty()) own.words.push_back(choices);
    for (const auto& name : names) {
      own.words.push_back(name);
      if (!choices.empty()) own.choices.emplace_back(name, choices);
    }
  }
  all.push_back(std::move(own));
  for (const auto* command : list_commands(app)) collect(*command, path + " " + command->get_name(), all);
}

std::string render_bash(const std::vector<Words>& all) {
  std::string paths;
  std::string words;
  std::string choices;
  for (const auto& one : all) {
    paths += fmt::format("'{}' ", one.path);
    words += fmt::format("    '{}') words='{}' ;;\n", one.path, fmt::join(one.words, " "));
    for (const auto& [option, values] : one.choices)
      choices += fmt::format("    '{} {}') words='{}' ;;\n", one.path, option, values);
  }
  return fmt::format(R"(# bash completion of pbprobe: source <(pbprobe completion bash)
_pbprobe() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} path='' words='' word known
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    for known in {}; do
      [ "$known" = "$path $word" ] && path="$known" && break
    done
  done
  case "$path" in
{}  esac
  case "$path $previous" in
{}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -o bashdefault -F _pbprobe pbprobe
)",
                     paths, words, choices);
}

// Follows zsh's conventions, so that a file on fpath completes at the first Tab. Avoids the name `path`, which is tied
// to PATH in zsh.
std::string render_zsh(const std::vector<Words>& all) {
  std::string paths;
  std::string words;
  std::string choices;
  for (const auto& one : all) {
    if (!one.path.empty()) paths += fmt::format("'{}' ", one.path);
    words += fmt::format("    '{}') offered=({}) ;;\n", one.path, fmt::join(one.words, " "));
    for (const auto& [option, values] : one.choices)
      choices += fmt::format("    '{} {}') compadd -- {}; return ;;\n", one.path, option, values);
  }
  return fmt::format(R"(#compdef pbprobe
# zsh completion of pbprobe: source <(pbprobe completion zsh), or this as the file _pbprobe in a folder of fpath
_pbprobe() {{
  local command='' word known
  local -a offered
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    for known in {}; do
      [[ $known == "$command $word" ]] && command=$known && break
    done
  done
  case $command in
{}  esac
  case "$command ${{words[CURRENT-1]}}" in
{}  esac
  compadd -- $offered
  [[ ${{words[CURRENT]}} == -* ]] || _files
}}
if [[ ${{funcstack[1]}} == _pbprobe ]]; then
  _pbprobe "$@"
else
  (( $+functions[compdef] )) || {{ autoload -U compinit && compinit -u; }}
  compdef _pbprobe pbprobe
fi
)",
                     paths, words, choices);
}

std::string quoted(std::string text) {
  text = text.substr(0, text.find('\n'));
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "\\'" : c == '\\' ? "\\\\" : std::string(1, c);
  return out + "'";
}

void add_fish(const CLI::App& app, const std::string& when, std::string& text) {
  const auto commands = list_commands(app);
  std::string names;
  for (const auto* command : commands) names += " " + command->get_name();
  const std::string unless = names.empty() ? "" : "; and not __fish_seen_subcommand_from" + names;
  for (const auto* command : commands)
    text += fmt::format("complete -c pbprobe -n '{}{}' -f -a {} -d {}\n", when, unless, command->get_name(),
                        quoted(command->get_description()));
  for (const auto* option : app.get_options()) {
    const std::string choices = list_choices(*option);
    if (option->get_lnames().empty() && !choices.empty())
      text += fmt::format("complete -c pbprobe -n '{}' -f -a '{}'\n", when, choices);
    for (const auto& name : option->get_lnames())
      text += fmt::format(
          "complete -c pbprobe -n '{}' -l {}{} -d {}\n", when, name,
          choices.empty() ? option->get_items_expected_max() > 0 ? " -r" : "" : fmt::format(" -x -a '{}'", choices),
          quoted(option->get_description()));
  }
  for (const auto* command : commands)
    add_fish(*command, fmt::format("{}; and __fish_seen_subcommand_from {}", when, command->get_name()), text);
}

std::string render_completion(const CLI::App& app, Shell shell) {
  std::vector<Words> all;
  collect(app, "", all);
  switch (shell) {
    case Shell::bash: return render_bash(all);
    case Shell::zsh: return render_zsh(all);
    case Shell::fish: {
      std::string text = "# fish completion of pbprobe: pbprobe completion fish | source\n";
      add_fish(app, "true", text);
      return text;
    }
  }
  return "";
}

}  // namespace

void add_completion(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("completion",
                                     "Completions of this program for a shell\n"
                                     "Examples:\n"
                                     "  source <(pbprobe completion bash)\n"
                                     "  pbprobe completion fish > ~/.config/fish/completions/pbprobe.fish\n"
                                     "Exit code: 0");
  static Shell shell = Shell::bash;
  add_choice<Shell>(*command, "SHELL", shell, {{"bash", Shell::bash}, {"zsh", Shell::zsh}, {"fish", Shell::fish}},
                    "bash, zsh or fish");
  command->get_option("SHELL")->required();
  command->callback([&app, &exit_code] { exit_code = write_output(render_completion(app, shell)); });
}

}  // namespace pbprobe::cli
