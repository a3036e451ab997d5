// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The matrix of targeted builds: recipes/matrix.json, embedded at build time. Which SM is built with which ISA, on
// which line (torch, CUDA, pin of nixpkgs), is data; what an SM or an ISA is stands in the target table.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.hpp"
#include "core/result.hpp"
#include "core/targets.hpp"

namespace pbprobe {

struct Choice {
  std::string default_value;
  std::vector<std::string> choices;
};

struct NixpkgsPin {
  std::string rev;
  std::optional<std::string> hash;  // null until it was fetched: an unverified pin is a warning, an invented hash a lie
  std::string torch;                // the version that this nixpkgs builds by itself
};

// The source that replaces the pin's own.
struct SourcePin {
  std::string owner;
  std::string repo;
  std::string tag;
  bool submodules = false;
  std::optional<std::string> hash;
  bool drop_patches = false;     // all of nixpkgs' own; a stub of FindCUDAToolkit.cmake then has their place
  std::string drop_patches_why;  // so, and not the other way
};

struct RecipePatch {
  std::string package;
  std::string name;
  std::string url;
  std::string hash;
  std::string why;
};

// A package of the line's CUDA set that is built by its own name.
struct CudaComponent {
  std::string name;       // "cudnn-13_0"
  std::string attribute;  // of the CUDA package set: "cudnn"
};

// Every SM of the row is built with every ISA of the row.
struct MatrixRow {
  std::vector<std::string> gpus;
  std::vector<std::string> cpus;
};

struct MatrixLine {
  std::string id;             // "cuda13_0"
  std::string torch;          // "2.10.0"
  std::string cuda;           // "13.0"
  std::string cuda_release;   // "12.9.1"
  std::string cuda_packages;  // attribute of nixpkgs; pinned to the line, since cudaPackages_13 moves with the pin
  std::string pname_prefix;   // "pytorch210"
  NixpkgsPin pin;
  std::optional<SourcePin> source;  // null: the pin's own torch
  std::vector<RecipePatch> patches;
  std::vector<CudaComponent> cuda_components;
  std::vector<MatrixRow> rows;
  std::vector<std::string> cpu_only;  // ISAs that are also built without CUDA
};

// What certain variants are built with besides. An empty list of SMs or ISAs stands for all.
struct MatrixRule {
  std::vector<std::string> gpus;
  std::vector<std::string> cpus;
  std::map<std::string, std::string> environment;
  std::string note;
};

// Which ISA serves it best, first choice first.
struct Workload {
  std::string id;  // "infer-int8"
  std::vector<std::string> cpus;
  std::string why;
};

// A widespread error, for the documents.
struct Correction {
  std::string stated;
  std::string fact;
  std::string source;
};

struct Matrix {
  std::string default_line;
  Choice python;
  Choice blas;
  std::vector<Workload> workloads;         // the first is the default
  std::map<std::string, int64_t> drivers;  // CUDA version → first driver branch that has it
  std::vector<MatrixLine> lines;
  std::vector<MatrixRule> rules;
  std::vector<Correction> corrections;

  [[nodiscard]] const MatrixLine* find_line(std::string_view id) const;
  [[nodiscard]] const MatrixLine& default_matrix_line() const;
};

// The embedded matrix.
[[nodiscard]] const Matrix& matrix();

// Reads and checks a matrix: every id is a target's, every SM is built by the line's CUDA, every combination has a
// machine, no name twice, hashes and revisions well-formed. Errors: malformed, with the path of the key.
[[nodiscard]] Result<Matrix> parse_matrix(std::string_view text);

// JSON Schema of recipes/matrix.json, as recipes/matrix.schema.json holds it.
[[nodiscard]] std::string matrix_schema();

// Nix systems of machines that have both; none for SM121 and AVX2.
[[nodiscard]] std::vector<std::string> common_platforms(const Target& gpu, const Target& cpu);

// -1, 0, 1: dotted numbers compared number by number. "12.9.1" > "12.9" > "12.8".
[[nodiscard]] int compare_versions(std::string_view a, std::string_view b);

// Is `text` dotted numbers, with at least `least` and at most `most` of them?
[[nodiscard]] bool is_version(std::string_view text, int least, int most);

// Can this CUDA build machine code for this SM? The error names the first or the last CUDA that can.
[[nodiscard]] Result<void> cuda_builds(std::string_view cuda, const Target& gpu);

template <class Visitor, SameAs<Choice> T>
void fields(Visitor& visit, T& choice) {
  visit("default", choice.default_value);
  visit("choices", choice.choices);
}

template <class Visitor, SameAs<NixpkgsPin> T>
void fields(Visitor& visit, T& pin) {
  visit("rev", pin.rev, "commit of nixpkgs");
  visit("hash", pin.hash, "null until `pbprobe recipes lock --fill` has run where there is a network");
  visit("torch", pin.torch, "the torch that this nixpkgs builds by itself");
}

template <class Visitor, SameAs<SourcePin> T>
void fields(Visitor& visit, T& source) {
  visit("owner", source.owner);
  visit("repo", source.repo);
  visit("tag", source.tag);
  visit("submodules", source.submodules);
  visit("hash", source.hash);
  visit("drop_patches", source.drop_patches,
        "all of nixpkgs' own; a stub of FindCUDAToolkit.cmake then has their place");
  visit("drop_patches_why", source.drop_patches_why, "so, and not the other way");
}

template <class Visitor, SameAs<RecipePatch> T>
void fields(Visitor& visit, T& patch) {
  visit("package", patch.package, "attribute of nixpkgs that is patched");
  visit("name", patch.name);
  visit("url", patch.url);
  visit("hash", patch.hash);
  visit("why", patch.why);
}

template <class Visitor, SameAs<CudaComponent> T>
void fields(Visitor& visit, T& component) {
  visit("name", component.name, "the package's own name");
  visit("attribute", component.attribute, "attribute of the CUDA package set");
}

template <class Visitor, SameAs<MatrixRow> T>
void fields(Visitor& visit, T& row) {
  visit("gpus", row.gpus, "every SM of the row is built …");
  visit("cpus", row.cpus, "… with every ISA of the row");
}

template <class Visitor, SameAs<MatrixLine> T>
void fields(Visitor& visit, T& line) {
  visit("id", line.id, "as in the variants' names: cuda13_0");
  visit("torch", line.torch);
  visit("cuda", line.cuda);
  visit("cuda_release", line.cuda_release);
  visit("cuda_packages", line.cuda_packages, "attribute of nixpkgs");
  visit("pname_prefix", line.pname_prefix, "what stands for `pytorch` in the pname");
  visit("pin", line.pin);
  visit("source", line.source, "the source that replaces the pin's own; null: the pin's own");
  visit("patches", line.patches);
  visit("cuda_components", line.cuda_components, "packages of the CUDA set that are built by their own names");
  visit("rows", line.rows);
  visit("cpu_only", line.cpu_only, "ISAs that are also built without CUDA");
}

template <class Visitor, SameAs<MatrixRule> T>
void fields(Visitor& visit, T& rule) {
  visit("gpus", rule.gpus, "empty: all");
  visit("cpus", rule.cpus, "empty: all");
  visit("environment", rule.environment, "variables of the build");
  visit("note", rule.note);
}

template <class Visitor, SameAs<Workload> T>
void fields(Visitor& visit, T& workload) {
  visit("id", workload.id);
  visit("cpus", workload.cpus, "first choice first");
  visit("why", workload.why);
}

template <class Visitor, SameAs<Correction> T>
void fields(Visitor& visit, T& correction) {
  visit("stated", correction.stated);
  visit("fact", correction.fact);
  visit("source", correction.source);
}

template <class Visitor, SameAs<Matrix> T>
void fields(Visitor& visit, T& m) {
  visit.constant("schema", "pbprobe.matrix/1");
  visit("default_line", m.default_line, "the line whose recipes are written to .flox/pkgs");
  visit("python", m.python);
  visit("blas", m.blas);
  visit("workloads", m.workloads, "which ISA serves what best; the first is the default");
  visit("drivers", m.drivers, "CUDA version: first driver branch that has it");
  visit("lines", m.lines);
  visit("rules", m.rules, "what certain variants are built with besides");
  visit("corrections", m.corrections, "widespread errors, for the documents");
}

}  // namespace pbprobe
