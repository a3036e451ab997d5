// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Checks that Python imports torch and the modules that link torch, with the libraries that their files predict.
#include <algorithm>

#include "probes/judge/subjects.hpp"

namespace pbprobe {
namespace {

constexpr std::string_view kTorchModule = "torch";

bool is_torch(const Import& import) {
  return import.module == kTorchModule;
}

// Judges the import of torch, or of the modules that link torch.
Answer ask_imports(const Facts& facts, bool torch) {
  Answer answer;
  for (const auto& import : *facts.report.imports) {
    if (is_torch(import) != torch || !import.problem) continue;
    if (import.obstacle) {
      answer.unknown =
          Seen{.what = say("the trial import of {} could not be completed: {}", import.module, *import.problem)};
      continue;
    }
    const std::string expected = import.refused_by_files ? "; by its files: " + *import.refused_by_files : "";
    answer.seen.push_back({.what = say("importing {}: {}{}", import.module, *import.problem, make_words(expected)),
                           .where = import.path});
  }
  return answer;
}

Answer torch_is_imported(const Facts& facts) {
  return ask_imports(facts, true);
}

Answer extensions_are_imported(const Facts& facts) {
  return ask_imports(facts, false);
}

Answer libraries_come_as_predicted(const Facts& facts) {
  Answer answer;
  std::vector<std::string> named;  // reported once for all processes
  for (const auto& import : *facts.report.imports) {
    if (import.problem) continue;
    for (const auto& library : import.others) {
      if (std::ranges::find(named, library.name) != named.end()) continue;
      named.push_back(library.name);
      const std::string instead =
          library.loaded ? "has loaded " + *library.loaded : "has loaded no library of this name";
      answer.seen.push_back({.what = say("{} of {}: a process that imported {} {}", library.name, library.predicted,
                                         import.module, make_words(instead)),
                             .where = library.predicted});
    }
  }
  return answer;
}

Answer nothing_else_comes(const Facts& facts) {
  Answer answer;
  std::vector<std::string> named;
  for (const auto& import : *facts.report.imports) {
    if (import.problem) continue;
    if (import.refused_by_files)
      answer.seen.push_back(
          {.what = say("the import of {} succeeded, though pbprobe predicts from its files that it fails: {}",
                       import.module, *import.refused_by_files),
           .where = import.path});
    for (const auto& path : import.unpredicted) {
      if (std::ranges::find(named, path) != named.end()) continue;
      named.push_back(path);
      answer.seen.push_back(
          {.what = say("{} is loaded by the import of {}, and no file of that module needs it", path, import.module),
           .where = path});
    }
  }
  return answer;
}

Check make_imports_check(Check check) {
  using enum Need;
  check.subject = Subject::running;
  check.level = Level::loaded;
  check.needs = {inventory, imports};
  return check;
}

}  // namespace

std::vector<Check> imports_checks() {
  return {
      make_imports_check(
          {.id = "PB541",
           .remedy =
               "try `python -c \"import torch\"`, and install the missing library or package that the error names",
           .ask = torch_is_imported}),
      make_imports_check(
          {.id = "PB542",
           .severity = Severity::warn,
           .remedy =
               "install the build of that package for this torch; if it is installed, report the crash to its project",
           .ask = extensions_are_imported}),
      make_imports_check(
          {.id = "PB543",
           .severity = Severity::warn,
           .remedy =
               "look at LD_PRELOAD and LD_LIBRARY_PATH, and at what runs as Python starts: sitecustomize.py, *.pth",
           .ask = libraries_come_as_predicted}),
      make_imports_check({.id = "PB544",
                          .severity = Severity::note,
                          .remedy = "look at LD_PRELOAD, and at what runs as Python starts: sitecustomize.py, *.pth",
                          .ask = nothing_else_comes}),
  };
}

}  // namespace pbprobe
