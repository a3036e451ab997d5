// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
//
// PB16x: what the loader answers to a package beside a torch.
#include <functional>

#include "tests/judge/planted.hpp"

namespace pbprobe::test {
namespace {

// Another package's, beside a torch.
Report beside_torch(const std::function<void(Inventory&)>& change) {
  Report report;
  Inventory& inventory = report.inventory.emplace();
  inventory.artifact = "site-packages";
  inventory.layout = "distribution";
  inventory.packages = {{.folder = "ext-1.0.dist-info", .name = "ext", .version = "1.0", .torch = "==2.11.0"}};
  inventory.torch_beside = "2.11.0+cu130";
  inventory.loading = {{.path = "ext/_C.so"}};
  change(inventory);
  return report;
}

}  // namespace

void add_loading_cases(std::vector<Case>& cases) {
  const Report sound = beside_torch([](Inventory&) {});
  cases.push_back({"PB161", "ext 1.0: _C.so needs libcudart.so.7, which neither the environment nor the system has",
                   beside_torch([](Inventory& i) {
                     i.loading->front().missing_libraries = {{"libcudart.so.7", "/env/ext/_C.so"}};
                   }),
                   beside_torch([](Inventory& i) {  // another file of that name but for its number loads
                     i.loading = {{.path = "ext/core6.so", .missing_libraries = {{"libav.so.6", "/env/ext/core6.so"}}},
                                  {.path = "ext/core7.so"}};
                   })});
  cases.push_back({"PB162", "_C.so needs GLIBC_2.99, which /lib/libc.so.6 does not define",
                   beside_torch([](Inventory& i) {
                     i.loading->front().missing_versions = {{"GLIBC_2.99", "/lib/libc.so.6", "/env/ext/_C.so"}};
                   }),
                   sound});
  cases.push_back({"PB163", "/env/libx.so, which _C.so loads, needs f(), which nothing defines",
                   beside_torch([](Inventory& i) {
                     i.loading->front().unresolved = {{.name = "_Z1fv", .needed_by = "/env/libx.so"}};
                   }),
                   sound});
  cases.push_back({"PB163", "which torch 2.11.0+cu130 lacks: it loads with torch 2.9 only; its METADATA asks",
                   beside_torch([](Inventory& i) {
                     i.loading->front().unresolved = {
                         {.name = "_ZN3c101fEv", .needed_by = "/env/ext/_C.so", .releases = {"2.9"}}};
                   }),
                   sound});
  cases.push_back({"PB164", "ext 1.0 asks for torch >=2.9,<2.11, and 2.11.0+cu130 is installed",
                   beside_torch([](Inventory& i) { i.packages.front().torch = ">=2.9,<2.11"; }),
                   beside_torch([](Inventory& i) { i.packages.front().torch = ">=2.9,<2.12"; })});
}

}  // namespace pbprobe::test
