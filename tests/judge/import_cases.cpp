// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// PB541 and later: imports by Python.
#include "tests/judge/planted.hpp"

namespace pbprobe::test {
namespace {

template <class Change>
Report imported(Change change) {
  Report report = h200();
  Import torch{.module = "torch", .path = "/site/torch/_C.so", .predicted = {"/lib/x.so.1"}, .loaded = {"/lib/x.so.1"}};
  Import extension = torch;
  extension.module = "ext._C";
  extension.path = "/site/ext/_C.so";
  report.imports = {{torch, extension}};
  change(*report.imports);
  return report;
}

void sound_imports(std::vector<Import>&) {}

}  // namespace

void add_import_cases(std::vector<Case>& cases) {
  const auto ends = [](size_t which, std::string how, std::optional<Obstacle> obstacle = {}) {
    return [=](std::vector<Import>& all) {
      all[which].problem = how;
      all[which].obstacle = obstacle;
    };
  };
  cases.push_back({"PB541", "importing torch: ModuleNotFoundError: No module named 'typing_extensions'",
                   imported(ends(0, "ModuleNotFoundError: No module named 'typing_extensions'")),
                   imported(sound_imports)});
  cases.push_back({"PB542", "importing ext._C: it was ended by SIGSEGV", imported(ends(1, "it was ended by SIGSEGV")),
                   imported(ends(1, "it wanted to write a file: read-only", Obstacle::not_permitted))});
  cases.push_back({"PB542", "importing ext._C: OSError: undefined symbol; by its files: c10::f() is lacking",
                   imported([&](std::vector<Import>& all) {
                     ends(1, "OSError: undefined symbol")(all);
                     all[1].refused_by_files = "c10::f() is lacking";
                   }),
                   imported(sound_imports)});
  const auto comes = [](std::optional<std::string> from) {
    return [=](std::vector<Import>& all) {
      for (auto& one : all) one.others = {{"x.so.1", "/lib/x.so.1", from}};
    };
  };
  cases.push_back({"PB543", "x.so.1 of /lib/x.so.1: a process that imported torch has loaded /opt/x.so.1",
                   imported(comes("/opt/x.so.1")), imported(sound_imports)});
  cases.push_back({"PB543", "a process that imported torch has loaded no library of this name", imported(comes({})),
                   imported([&](std::vector<Import>& all) {  // imports with unknown progress
                     comes({})(all);
                     for (size_t i : {0, 1}) ends(i, "it took too long", Obstacle::time_limit)(all);
                   })});
  cases.push_back({"PB544", "/opt/jemalloc.so is loaded by the import of torch, and no file of that module needs it",
                   imported([](std::vector<Import>& all) {
                     for (auto& one : all) one.unpredicted = {"/opt/jemalloc.so"};
                   }),
                   imported(sound_imports)});
  cases.push_back(
      {"PB544", "the import of ext._C succeeded, though pbprobe predicts from its files that it fails: it needs libx",
       imported([](std::vector<Import>& all) { all[1].refused_by_files = "it needs libx"; }), imported(sound_imports)});
}

}  // namespace pbprobe::test
