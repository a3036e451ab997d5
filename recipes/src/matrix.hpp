// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The matrix of targeted builds: recipes/matrix.json, embedded at build time. It lists the pairs of SM and ISA for each
// line (torch, CUDA, pin of nixpkgs); the target table describes SMs and ISAs.
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
  std::optional<std::string> hash;  // nullopt until it was fetched; never invented
  std::string torch;                // torch version of this nixpkgs
};

// Source of torch that replaces the source in the pin.
struct SourcePin {
  std::string owner;
  std::string repo;
  std::string tag;
  bool submodules = false;
  std::optional<std::string> hash;
  bool drop_patches = false;     // drop all patches of nixpkgs, and write a stub of FindCUDAToolkit.cmake
  std::string drop_patches_why;  // reason for drop_patches
};

struct RecipePatch {
  std::string package;
  std::string name;
  std::string url;
  std::string hash;
  std::string why;
};

// Package of the CUDA set of a line that is built under its own name.
struct CudaComponent {
  std::string name;       // "cudnn-13_0"
  std::string attribute;  // attribute in the CUDA package set: "cudnn"
};

// Row of the matrix: every SM is built with every ISA.
struct MatrixRow {
  std::vector<std::string> gpus;
  std::vector<std::string> cpus;
};

struct MatrixLine {
  std::string id;             // "cuda13_0"
  std::string torch;          // "2.10.0"
  std::string cuda;           // "13.0"
  std::string cuda_release;   // "12.9.1"
  std::string cuda_packages;  // attribute of nixpkgs with minor version, because cudaPackages_13 changes with the pin
  std::string pname_prefix;   // "pytorch210"
  NixpkgsPin pin;
  std::optional<SourcePin> source;  // nullopt for the torch of the pin
  std::vector<RecipePatch> patches;
  std::vector<CudaComponent> cuda_components;
  std::vector<MatrixRow> rows;
  std::vector<std::string> cpu_only;  // ISAs that are also built without CUDA
};

// Additional settings for some variants. An empty list of SMs or ISAs selects all.
struct MatrixRule {
  std::vector<std::string> gpus;
  std::vector<std::string> cpus;
  std::map<std::string, std::string> environment;
  std::string note;
};

// Workload with its ISAs, best first.
struct Workload {
  std::string id;  // "infer-int8"
  std::vector<std::string> cpus;
  std::string why;
};

// Common error, for the documents.
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

// Returns the embedded matrix.
[[nodiscard]] const Matrix& matrix();

// Parses and checks a matrix: every id is a target, the CUDA of a line builds its SMs, every pair has a machine, names
// are unique, hashes and revisions are well-formed. Errors: malformed, with the path of the key.
[[nodiscard]] Result<Matrix> parse_matrix(std::string_view text);

// Returns recipes/matrix.schema.json.
[[nodiscard]] std::string matrix_schema();

// Returns the Nix systems of machines with both; empty for SM121 and AVX2.
[[nodiscard]] std::vector<std::string> common_platforms(const Target& gpu, const Target& cpu);

// Compares dotted numbers number by number: "12.9.1" > "12.9" > "12.8". Returns -1, 0 or 1.
[[nodiscard]] int compare_versions(std::string_view a, std::string_view b);

// Reports whether `text` has `least` to `most` dotted numbers.
[[nodiscard]] bool is_version(std::string_view text, int least, int most);

// Checks that this CUDA builds machine code for this SM. The error names the first or the last CUDA that does.
[[nodiscard]] Result<void> cuda_builds(std::string_view cuda, const Target& gpu);

void fields(auto& visit, SameAs<Choice> auto& choice) {
  visit("default", choice.default_value);
  visit("choices", choice.choices);
}

void fields(auto& visit, SameAs<NixpkgsPin> auto& pin) {
  visit("rev", pin.rev, "commit of nixpkgs");
  visit("hash", pin.hash, "hash of the download; null until `pbprobe recipes lock --fill` fetched it");
  visit("torch", pin.torch, "torch version of this nixpkgs");
}

void fields(auto& visit, SameAs<SourcePin> auto& source) {
  visit("owner", source.owner);
  visit("repo", source.repo);
  visit("tag", source.tag);
  visit("submodules", source.submodules);
  visit("hash", source.hash);
  visit("drop_patches", source.drop_patches, "drop all patches of nixpkgs, and write a stub of FindCUDAToolkit.cmake");
  visit("drop_patches_why", source.drop_patches_why, "reason for drop_patches");
}

void fields(auto& visit, SameAs<RecipePatch> auto& patch) {
  visit("package", patch.package, "attribute of the patched package in nixpkgs");
  visit("name", patch.name);
  visit("url", patch.url);
  visit("hash", patch.hash);
  visit("why", patch.why);
}

void fields(auto& visit, SameAs<CudaComponent> auto& component) {
  visit("name", component.name, "name of the package");
  visit("attribute", component.attribute, "attribute of the CUDA package set");
}

void fields(auto& visit, SameAs<MatrixRow> auto& row) {
  visit("gpus", row.gpus, "SMs; each is built with every ISA of the row");
  visit("cpus", row.cpus, "ISAs");
}

void fields(auto& visit, SameAs<MatrixLine> auto& line) {
  visit("id", line.id, "id in the names of variants: cuda13_0");
  visit("torch", line.torch);
  visit("cuda", line.cuda);
  visit("cuda_release", line.cuda_release);
  visit("cuda_packages", line.cuda_packages, "attribute of nixpkgs");
  visit("pname_prefix", line.pname_prefix, "replacement of `pytorch` in the pname");
  visit("pin", line.pin);
  visit("source", line.source, "source of torch; null for the source of the pin");
  visit("patches", line.patches);
  visit("cuda_components", line.cuda_components, "packages of the CUDA set that are built under their own names");
  visit("rows", line.rows);
  visit("cpu_only", line.cpu_only, "ISAs that are also built without CUDA");
}

void fields(auto& visit, SameAs<MatrixRule> auto& rule) {
  visit("gpus", rule.gpus, "SMs; an empty list selects all");
  visit("cpus", rule.cpus, "ISAs; an empty list selects all");
  visit("environment", rule.environment, "variables of the build");
  visit("note", rule.note);
}

void fields(auto& visit, SameAs<Workload> auto& workload) {
  visit("id", workload.id);
  visit("cpus", workload.cpus, "ISAs, best first");
  visit("why", workload.why);
}

void fields(auto& visit, SameAs<Correction> auto& correction) {
  visit("stated", correction.stated);
  visit("fact", correction.fact);
  visit("source", correction.source);
}

void fields(auto& visit, SameAs<Matrix> auto& m) {
  visit.constant("schema", "pbprobe.matrix/1");
  visit("default_line", m.default_line, "line whose recipes are in .flox/pkgs");
  visit("python", m.python);
  visit("blas", m.blas);
  visit("workloads", m.workloads, "ISAs for each workload; the first workload is the default");
  visit("drivers", m.drivers, "first driver branch of each CUDA version");
  visit("lines", m.lines);
  visit("rules", m.rules, "additional settings for some variants");
  visit("corrections", m.corrections, "common errors, for the documents");
}

}  // namespace pbprobe
