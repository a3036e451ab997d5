// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// Nix in a scratch store: neither a daemon nor a network.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <sys/wait.h>

#include "paths.hpp"
#include "tests/temp_folder.hpp"

namespace pbprobe::nix {

namespace fs = std::filesystem;
using test::TempFolder;

inline std::string read(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

inline bool present() {
  return std::system("command -v nix-instantiate >/dev/null 2>&1") == 0;
}

struct Evaluated {
  int exit_code = 0;
  std::string output;
  std::string errors;
};

// A working copy of what recipes import, with the folder of recipes beside it.
struct Tree {
  explicit Tree(const fs::path& folder) : root(folder), recipes(folder / ".flox" / "pkgs") {
    fs::create_directories(recipes);
    const fs::path source = PBPROBE_SOURCE_DIR;
    fs::create_directories(root / "recipes");
    fs::copy(source / "recipes" / "nix", root / "recipes" / "nix", fs::copy_options::recursive);
    for (const char* file : {"recipes/matrix.json", "recipes/targets.json", "CMakeLists.txt"})
      fs::copy_file(source / file, root / file);
  }

  // Evaluates a Nix expression, with `evaluate` and `dir` in scope.
  [[nodiscard]] Evaluated eval(const std::string& expression, const std::string& environment = "") const {
    write(root / "expression.nix", "let evaluate = import " + (root / "recipes/nix/stand-in/evaluate.nix").string() +
                                       "; dir = " + recipes.string() + "; in " + expression);
    const auto store = root / "nix";
    fs::create_directories(store / "etc");
    const std::string command = "env NIX_STORE_DIR='" + (store / "store").string() + "' NIX_STATE_DIR='" +
                                (store / "var").string() + "' NIX_LOG_DIR='" + (store / "log").string() +
                                "' NIX_CONF_DIR='" + (store / "etc").string() + "' NIX_REMOTE= " + environment +
                                " nix-instantiate --eval --strict --json '" + (root / "expression.nix").string() +
                                "' >'" + (root / "out").string() + "' 2>'" + (root / "err").string() + "'";
    const int status = std::system(command.c_str());
    return {WEXITSTATUS(status), read(root / "out"), read(root / "err")};
  }

  [[nodiscard]] Evaluated eval_file(const std::string& name, const std::string& system,
                                    const std::string& environment = "") const {
    return eval("builtins.head (evaluate { files = [ (dir + \"/" + name + "\") ]; systems = [ \"" + system + "\" ]; })",
                environment);
  }

  fs::path root;
  fs::path recipes;
};

}  // namespace pbprobe::nix
