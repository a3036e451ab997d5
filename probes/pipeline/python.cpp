// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include "probes/pipeline/python.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "core/json.hpp"
#include "core/open_file.hpp"
#include "core/program.hpp"
#include "core/statuses.hpp"
#include "core/strings.hpp"
#include "core/temp_folder.hpp"

namespace pbprobe {
namespace {

namespace fs = std::filesystem;

// Adds the prefix of bin/python3, which contains lib/python3.x: next to the link itself (a virtual environment), and
// next to its target (pyenv, a distribution's python3).
void add_prefixes_of_python(const fs::path& folder, std::vector<fs::path>& roots) {
  std::error_code error;
  const fs::path python = folder / "python3";
  if (!fs::exists(python, error)) return;
  roots.push_back(folder.parent_path());
  const fs::path real = fs::canonical(python, error);
  if (!error) roots.push_back(real.parent_path().parent_path());
}

}  // namespace

GetEnv system_env() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
  };
}

std::vector<std::string> move_writable_folders(const fs::path& scratch,
                                               const std::map<std::string, std::string>& changed) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const size_t mark = text.find('=');
    if (mark != text.npos) variables[text.substr(0, mark)] = text.substr(mark + 1);
  }
  const auto home = variables.find("HOME");
  if (home != variables.end()) variables.emplace("PYTHONUSERBASE", home->second + "/.local");
  for (const char* name : {"HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "TRITON_CACHE_DIR",
                           "TORCHINDUCTOR_CACHE_DIR", "HF_HOME"})
    variables[name] = scratch.string();
  variables["PYTHONDONTWRITEBYTECODE"] = "1";
  for (const auto& [name, value] : changed) variables[name] = value;
  std::vector<std::string> entries;
  for (const auto& [name, value] : variables) {
    if (!value.empty() || !changed.contains(name)) entries.push_back(fmt::format("{}={}", name, value));
  }
  return entries;
}

std::vector<fs::path> torch_search_roots(const GetEnv& env) {
  std::vector<fs::path> roots;
  for (const char* name : {"PBPROBE_TORCH", "VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (auto prefix = env(name)) roots.emplace_back(*prefix);
  }
  const std::string path = env("PATH").value_or("");
  for (const std::string_view folder : split(path, ':')) {
    if (!folder.empty()) add_prefixes_of_python(std::string(folder), roots);
  }
  if (auto home = env("HOME")) roots.push_back(fs::path(*home) / ".local");
  roots.emplace_back(".venv");
  std::vector<fs::path> unique;
  for (const auto& root : roots) {
    if (std::ranges::find(unique, root) == unique.end()) unique.push_back(root);
  }
  return unique;
}

std::vector<LibtorchArea> ask_python(const std::vector<std::string>& words, double seconds) {
  std::vector<LibtorchArea> areas;
  const auto scratch = TempFolder::make();
  if (!scratch.ok()) return {{"Python", "cpu", {}, scratch.error().message, {}}};
  const fs::path file = scratch->path() / "areas";
  std::vector<std::string> arguments = words;
  arguments.push_back(file.string());
  const auto ended = run_program({.arguments = arguments, .seconds = seconds});
  const auto read = read_whole_file(file);
  const std::string text = read.ok() ? *read : "";
  for (const std::string_view line : split_lines(text)) {
    const auto json = parse_json(line);
    auto area = json.ok() ? from_json<LibtorchArea>(*json) : Result<LibtorchArea>(json.error());
    if (!area.ok()) continue;
    if (area->problem) area->obstacle = classify_message(*area->problem);
    const bool again = !areas.empty() && areas.back().area == area->area && areas.back().device == area->device;
    if (again) areas.pop_back();
    areas.push_back(std::move(*area));
  }
  std::string why;
  if (!ended.ok()) why = ended.error().message;
  if (ended.ok() && ended->exit_code != 0)
    why = fmt::format("{} ended with exit code {}: {}", words.front(), ended->exit_code,
                      ended->err.substr(ended->err.size() > 300 ? ended->err.size() - 300 : 0));
  if (why.empty()) return areas;
  if (areas.empty()) areas.push_back({"Python", "cpu", {}, {}, {}});
  // Exceeding the remaining time is not a fault of torch.
  LibtorchArea& last = areas.back();
  const bool late = !ended.ok() && ended.error().code == ErrorCode::limit;
  last.problem = why;
  last.obstacle = late ? Obstacle::time_limit : classify_message(why);
  return areas;
}

}  // namespace pbprobe
