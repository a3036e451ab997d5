// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// The matrix of targeted builds: recipes/matrix.json, embedded at build time. It lists the pairs of SM and ISA for each
// line (torch, CUDA, pin of nixpkgs); the target table describes SMs and ISAs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.hpp"
#include "core/result.hpp"
#include "core/targets.hpp"

namespace pbprobe {

struct Choice {
  FIELD_AS(std::string, default_value, "default");
  FIELD(std::vector<std::string>, choices);
};

struct NixpkgsPin {
  FIELD(std::string, rev, "commit of nixpkgs");
  FIELD(std::optional<std::string>, hash, "hash of the download; null until `pbprobe recipes lock --fill` fetched it");
  FIELD(std::string, torch, "torch version of this nixpkgs");
};

// Source of torch that replaces the source in the pin.
struct SourcePin {
  FIELD(std::string, owner);
  FIELD(std::string, repo);
  FIELD(std::string, tag);
  FIELD(bool, submodules) = false;
  FIELD(std::optional<std::string>, hash);
  FIELD(bool, drop_patches, "drop all patches of nixpkgs, and write a stub of FindCUDAToolkit.cmake") = false;
  FIELD(std::string, drop_patches_why, "reason for drop_patches");
};

struct RecipePatch {
  FIELD(std::string, package, "attribute of the patched package in nixpkgs");
  FIELD(std::string, name);
  FIELD(std::string, url);
  FIELD(std::string, hash);
  FIELD(std::string, why);
};

// Package of the CUDA set of a line that is built under its own name.
struct CudaComponent {
  FIELD(std::string, name, "name of the package");                     // "cudnn-13_0"
  FIELD(std::string, attribute, "attribute of the CUDA package set");  // "cudnn"
};

// Row of the matrix: every SM is built with every ISA.
struct MatrixRow {
  FIELD(std::vector<std::string>, gpus, "SMs; each is built with every ISA of the row");
  FIELD(std::vector<std::string>, cpus, "ISAs");
};

struct MatrixLine {
  FIELD(std::string, id, "id in the names of variants: cuda13_0");
  FIELD(std::string, torch);         // "2.10.0"
  FIELD(std::string, cuda);          // "13.0"
  FIELD(std::string, cuda_release);  // "12.9.1"
  FIELD(std::string, cuda_packages, "attribute of nixpkgs");
  FIELD(std::string, pname_prefix, "replacement of `pytorch` in the pname");  // "pytorch210"
  FIELD(NixpkgsPin, pin);
  FIELD(std::optional<SourcePin>, source, "source of torch; null for the source of the pin");
  FIELD(std::vector<RecipePatch>, patches);
  FIELD(std::vector<CudaComponent>, cuda_components, "packages of the CUDA set that are built under their own names");
  FIELD(std::vector<MatrixRow>, rows);
  FIELD(std::vector<std::string>, cpu_only, "ISAs that are also built without CUDA");
};

// Additional settings for some variants. An empty list of SMs or ISAs selects all.
struct MatrixRule {
  FIELD(std::vector<std::string>, gpus, "SMs; an empty list selects all");
  FIELD(std::vector<std::string>, cpus, "ISAs; an empty list selects all");
  FIELD(ByName<std::string>, environment, "variables of the build");
  FIELD(std::string, note);
};

// Workload with its ISAs, best first.
struct Workload {
  FIELD(std::string, id);  // "infer-int8"
  FIELD(std::vector<std::string>, cpus, "ISAs, best first");
  FIELD(std::string, why);
};

// False statement about hardware that users repeat, with the fact and its source. docs/variants.md lists them.
struct Correction {
  FIELD(std::string, stated);
  FIELD(std::string, fact);
  FIELD(std::string, source);
};

// Last driver branches of the GPUs that NVIDIA has dropped.
struct LastDrivers {
  FIELD(ByName<int64_t>, below, "last driver branch of GPUs with a lower compute capability than the key");
  FIELD(std::string, source);
  FIELD(std::string, read, "date on which the source was read");
};

// NVIDIA's index of torch for Jetsons.
struct JetsonIndex {
  FIELD(std::string, index, "address of the index, with a folder for each JetPack");
  FIELD(std::string, source);
  FIELD(std::string, read, "date on which the source was read");
};

struct Matrix {
  SCHEMA("pbprobe.matrix/1");
  FIELD(std::string, default_line, "line whose recipes are in .flox/pkgs");
  FIELD(Choice, python);
  FIELD(Choice, blas);
  FIELD(std::vector<Workload>, workloads, "ISAs for each workload; the first workload is the default");
  FIELD(ByName<int64_t>, drivers, "first driver branch of each CUDA version");
  FIELD(LastDrivers, last_drivers, "last driver branches of GPUs that NVIDIA has dropped");
  FIELD(JetsonIndex, jetson, "index of torch for Jetsons");
  FIELD(std::vector<MatrixLine>, lines);
  FIELD(std::vector<MatrixRule>, rules, "additional settings for some variants");
  FIELD(std::vector<Correction>, corrections, "common errors, for the documents");

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

}  // namespace pbprobe
