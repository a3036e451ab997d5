// SPDX-FileCopyrightText: 2026 The pbprobe authors
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <unordered_map>

#include "probes/audit/host_code/data_objects.hpp"
#include "probes/audit/host_code/load_code.hpp"

namespace pbprobe {
namespace {

constexpr int kMostHelpers = 32;  // plain functions and data in a row between a guard and guarded code

// Reference of a function to a node.
struct Use {
  size_t function = 0;
  bool guarded = false;  // the function asks the CPU for what the node needs, on each path to the reference
};

// Function whose callers decide, or data that holds the address of such a node.
struct Node {
  uint64_t begin = 0;
  uint64_t end = 0;
  std::optional<size_t> function;
  std::vector<Use> uses;
  std::vector<size_t> holders;  // nodes of data that hold an address in this node
  FeatureSet needs = 0;         // features that it needs, or that what it leads to needs
  bool exposed = false;         // some references are unknown
  bool vtable = false;          // data of which all references are known
  bool guarded = false;
  bool unused = false;  // never runs, or is never read
};

class UnnamedCodeClassifier {
 public:
  UnnamedCodeClassifier(const Elf& elf, Census& census, LoadFollower& follower)
      : elf_(elf), census_(census), follower_(follower) {}

  Result<void> decide() {
    const FeatureSet everywhere = list_base_features(census_);
    for (size_t i = 0; i < functions().size(); ++i) {
      const FeatureSet features = census_.counts[i].features;
      const bool more = (features & ~everywhere) != 0;
      if (is_nameless(i) ? features != 0 : (is_inner(i) || says_it_is_chosen(i)) && more)
        nodes_[open_function(i)].needs = features & ~everywhere;
    }
    if (nodes_.empty()) return {};
    size_t fresh = 0;
    for (int step = 0; fresh < nodes_.size() && step < kMostHelpers; ++step) {
      const size_t known = nodes_.size();
      find_uses(fresh);
      PBPROBE_CHECK(find_holders());
      open_helpers(fresh, known);
      fresh = known;
    }
    for (size_t i = fresh; i < nodes_.size(); ++i) nodes_[i].exposed = true;
    settle();
    return {};
  }

 private:
  [[nodiscard]] const std::vector<Function>& functions() const { return census_.functions.all; }

  [[nodiscard]] bool is_nameless(size_t i) const { return census_.owners[i].code_class == CodeClass::unclassified; }

  // Reports whether only this file calls the function by name.
  [[nodiscard]] bool is_inner(size_t i) const {
    return census_.owners[i].code_class == CodeClass::unguarded && functions()[i].binding == Binding::local;
  }

  // Reports whether only the name states a CPU capability, for a function that other files may call.
  [[nodiscard]] bool says_it_is_chosen(size_t i) const {
    const CodeOwner& owner = census_.owners[i];
    return owner.code_class == CodeClass::dispatched && owner.label.empty() &&
           functions()[i].binding == Binding::global && !functions()[i].resolver;
  }

  size_t open_function(size_t i) {
    const auto [found, fresh] = by_function_.try_emplace(i, nodes_.size());
    if (!fresh) return found->second;
    nodes_.push_back(
        {.begin = functions()[i].address, .end = functions()[i].address + functions()[i].size, .function = i});
    // No code shows that exceptions lead to a part.
    if (const size_t main = follower_.find_main(i); main != i) nodes_.back().uses.push_back({.function = main});
    return found->second;
  }

  [[nodiscard]] std::optional<size_t> find_node(size_t function) const {
    const auto found = by_function_.find(function);
    return found == by_function_.end() ? std::nullopt : std::optional(found->second);
  }

  // Sorts the nodes from `first` on, so that find_fresh() finds them.
  void sort_fresh(size_t first) {
    fresh_.clear();
    for (size_t i = first; i < nodes_.size(); ++i) fresh_.emplace_back(nodes_[i].begin, i);
    std::ranges::sort(fresh_);
  }

  [[nodiscard]] std::optional<size_t> find_fresh(uint64_t address) const {
    if (fresh_.empty() || address < fresh_.front().first) return std::nullopt;
    const auto after = std::upper_bound(fresh_.begin(), fresh_.end(), std::pair(address, SIZE_MAX));
    const size_t node = std::prev(after)->second;
    return address < nodes_[node].end ? std::optional(node) : std::nullopt;
  }

  void find_uses(size_t first) {
    sort_fresh(first);
    for (size_t caller = 0; caller < functions().size(); ++caller) {
      if (census_.owners[caller].code_class == CodeClass::replaced) continue;
      for (const uint64_t target : census_.targets[caller]) {
        const auto node = find_fresh(target & ~kInPlace);
        if (!node || nodes_[*node].function == caller) continue;
        auto& uses = nodes_[*node].uses;
        if (uses.empty() || uses.back().function != caller) uses.push_back({.function = caller});
      }
    }
  }

  // A pointer in data is as guarded as all code that refers to the object around it.
  Result<void> find_holders() {
    std::vector<std::pair<uint64_t, size_t>> found;
    for (const auto& [place, pointer] : follower_.pointers().all()) {
      if (const auto node = find_fresh(pointer.target)) found.emplace_back(place, *node);
    }
    for (const auto& [place, node] : found) {
      const auto function = nodes_[node].function;
      if (function && !is_nameless(*function) && !is_inner(*function)) {
        nodes_[node].exposed = true;
        continue;
      }
      if (!objects_) {
        PBPROBE_TRY(DataObjects objects, DataObjects::read(elf_, follower_.pointers(), census_));
        objects_.emplace(std::move(objects));
      }
      const auto object = objects_->find(place);
      if (!object || object->exported) {
        nodes_[node].exposed = true;
        continue;
      }
      const auto [known, fresh] = by_object_.try_emplace(object->begin, nodes_.size());
      if (fresh) nodes_.push_back({.begin = object->begin, .end = object->end, .vtable = object->vtable});
      if (known->second != node) nodes_[node].holders.push_back(known->second);
    }
    return {};
  }

  // Plain functions between a guard and what it guards: their callers decide too.
  void open_helpers(size_t first, size_t last) {
    for (size_t node = first; node < last; ++node) {
      const size_t count = nodes_[node].uses.size();
      for (size_t i = 0; i < count; ++i) {
        const size_t caller = nodes_[node].uses[i].function;
        if ((is_inner(caller) || is_nameless(caller)) && !by_function_.contains(caller) && !follower_.asks(caller))
          open_function(caller);
      }
    }
  }

  // Passes on what nodes need to all that leads to them without a guard.
  void spread_needs() {
    std::vector<size_t> open(nodes_.size());
    for (size_t i = 0; i < open.size(); ++i) open[i] = i;
    const auto add = [&](size_t node, FeatureSet needs) {
      if ((needs & ~nodes_[node].needs) == 0) return;
      nodes_[node].needs |= needs;
      open.push_back(node);
    };
    while (!open.empty()) {
      Node& node = nodes_[open.back()];
      open.pop_back();
      for (const size_t holder : node.holders) add(holder, node.needs);
      for (auto& use : node.uses) {
        use.guarded = guards(use.function, node);
        const auto caller = find_node(use.function);
        if (caller && !use.guarded) add(*caller, node.needs);
      }
    }
  }

  [[nodiscard]] bool guards(size_t caller, const Node& node) {
    const CodeClass code_class = census_.owners[caller].code_class;
    const bool chosen = code_class == CodeClass::cpu_capability || code_class == CodeClass::dispatched;
    if (chosen && !functions()[caller].resolver && !census_.entered[caller]) return true;
    return follower_.asks(caller) && follower_.covers(caller, node.begin, node.end, node.needs);
  }

  [[nodiscard]] bool may_be_guarded(const Node& node) const {
    if (node.exposed || (node.uses.empty() && node.holders.empty())) return false;
    return !node.function ||
           (!census_.entered[*node.function] && (is_nameless(*node.function) || is_inner(*node.function)));
  }

  // Functions that ask the CPU are guarded, as are functions that only guarded code reaches. A claim in a name without
  // evidence counts as no name.
  void settle() {
    for (const auto& node : nodes_) {
      if (node.function && says_it_is_chosen(*node.function) && node.uses.empty() && !node.exposed &&
          !follower_.asks(*node.function))
        census_.owners[*node.function] = {CodeClass::unclassified, {}};
    }
    for (const auto& node : nodes_) {
      if (node.function && is_nameless(*node.function) && follower_.find_question(*node.function))
        census_.owners[*node.function] = {CodeClass::dispatched, {}};
    }
    spread_needs();
    find_unused();
    keep_guarded();
    const std::vector<bool> entered = find_entered_by_guards();
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].function) continue;
      if (entered[i]) census_.owners[*nodes_[i].function] = {CodeClass::dispatched, {}};
      if (!entered[i] && may_be_guarded(nodes_[i]) && is_behind_getters(nodes_[i]))
        census_.owners[*nodes_[i].function] = {CodeClass::unclassified, {}};
    }
  }

  [[nodiscard]] bool is_behind_getters(const Node& node) {
    return node.holders.empty() && std::ranges::all_of(node.uses, [&](const Use& use) {
             return use.guarded || follower_.calls_getter(use.function);
           });
  }

  [[nodiscard]] bool may_be_unused(const Node& node) const {
    if (node.exposed || elf_.header.e_machine != EM_X86_64 || elf_.header.e_type != ET_DYN) return false;
    if (!node.function) return node.vtable;
    const size_t i = *node.function;
    const auto& starts = census_.functions.initializers;
    const bool starts_itself = functions()[i].resolver || functions()[i].address == elf_.header.e_entry ||
                               std::ranges::find(starts, functions()[i].address) != starts.end();
    return is_inner(i) && !census_.entered[i] && !starts_itself;
  }

  // Marks vtables and functions that no other code leads to: compilers keep the methods of objects that they no longer
  // make, and linkers keep the hidden functions of archives.
  void find_unused() {
    // The large code model computes addresses from constants.
    constexpr std::string_view kLarge[] = {".ltext", ".lrodata", ".ldata", ".lbss"};
    const bool large = std::ranges::any_of(elf_.sections, [&](const ElfSection& section) {
      return std::any_of(std::begin(kLarge), std::end(kLarge),
                         [&](std::string_view name) { return section.name.starts_with(name); });
    });
    if (large) return;
    for (auto& node : nodes_) node.unused = may_be_unused(node);
    keep_unused();
    std::vector<size_t> unused;
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].unused) continue;
      unused.push_back(i);
      ranges.emplace_back(nodes_[i].begin, nodes_[i].function ? nodes_[i].begin + 1 : nodes_[i].end);
    }
    if (unused.empty()) return;
    const std::vector<bool> used = find_table_targets(elf_, ranges);
    for (size_t i = 0; i < unused.size(); ++i) {
      if (used[i]) nodes_[unused[i]].unused = false;
    }
    keep_unused();
  }

  // Unmarks unused nodes that other nodes lead to, until none changes.
  void keep_unused() {
    const auto is_unused = [&](const Use& use) {
      const auto caller = find_node(use.function);
      return caller && nodes_[*caller].unused;
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (auto& node : nodes_) {
        if (!node.unused) continue;
        node.unused = std::ranges::all_of(node.uses, is_unused) &&
                      std::ranges::all_of(node.holders, [&](size_t holder) { return nodes_[holder].unused; });
        changed = changed || !node.unused;
      }
    }
  }

  // Marks all nodes as guarded; unmarks nodes with another reference, until none changes. A destructor refers to the
  // vtable with its own address, and makes nothing new: it runs only if an object exists.
  void keep_guarded() {
    for (auto& node : nodes_) node.guarded = may_be_guarded(node);
    const auto is_guarded = [&](const Use& use) {
      const auto caller = find_node(use.function);
      return use.guarded || (caller && (nodes_[*caller].guarded || nodes_[*caller].unused));
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (auto& node : nodes_) {
        if (!node.guarded) continue;
        node.guarded =
            std::ranges::all_of(node.uses, is_guarded) && std::ranges::all_of(node.holders, [&](size_t holder) {
              return nodes_[holder].guarded || nodes_[holder].unused;
            });
        changed = changed || !node.guarded;
      }
    }
  }

  // Returns which guarded nodes a guard leads to. Others only lead to each other: it is unknown what enters them.
  [[nodiscard]] std::vector<bool> find_entered_by_guards() const {
    std::vector<bool> entered(nodes_.size());
    const auto enters = [&](const Use& use) {
      const auto caller = find_node(use.function);
      return use.guarded || (caller && entered[*caller]);
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < nodes_.size(); ++i) {
        const Node& node = nodes_[i];
        if (!node.guarded || entered[i]) continue;
        entered[i] = std::ranges::any_of(node.uses, enters) ||
                     std::ranges::any_of(node.holders, [&](size_t holder) { return entered[holder]; });
        changed = changed || entered[i];
      }
    }
    return entered;
  }

  const Elf& elf_;
  Census& census_;
  LoadFollower& follower_;
  std::vector<Node> nodes_;
  std::unordered_map<size_t, size_t> by_function_;  // nodes by function
  std::unordered_map<uint64_t, size_t> by_object_;  // nodes of data by their first address
  std::vector<std::pair<uint64_t, size_t>> fresh_;  // nodes whose references are not known yet, by their addresses
  std::optional<DataObjects> objects_;
};

}  // namespace

Result<void> decide_nameless(const Elf& elf, Census& census, LoadFollower& follower) {
  return UnnamedCodeClassifier(elf, census, follower).decide();
}

}  // namespace pbprobe
