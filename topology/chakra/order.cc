// See order.h. Kahn's algorithm with a heap of node ids.
#include "topology/chakra/order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <unordered_map>
#include <utility>

namespace heddle::topology::chakra {
namespace {

constexpr const char* kTodo = "correct the trace, or write it again";

class Sorter {
 public:
  explicit Sorter(const Trace& trace) : trace_(trace), nodes_(trace.nodes.size()) {}

  Result<NodeOrder> sort() {
    if (Result<void> numbered = number(); !numbered) return fail(numbered.error());
    if (Result<void> linked = link(); !linked) return fail(linked.error());
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].unmet == 0) ready_.emplace(trace_.nodes[i].id, i);
    }
    while (!ready_.empty()) {
      const uint32_t next = ready_.top().second;
      ready_.pop();
      emit(next);
    }
    if (order_.nodes.size() < nodes_.size()) return cycle();
    return std::move(order_);
  }

 private:
  struct Links {
    uint32_t unmet = 0;
    uint32_t unlisted = 0;  // dependents that are not in the order yet
    uint32_t label = 0;
    std::vector<uint32_t> parents;
    std::vector<uint32_t> dependents;
  };

  std::string name(uint32_t node) const {
    return "node " + std::to_string(trace_.nodes[node].id) + " (" +
           std::string(name_of(trace_.nodes[node].type)) + ")";
  }

  Result<void> number() {
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      if (numbers_.emplace(trace_.nodes[i].id, i).second) continue;
      return wrong(trace_.file, name(i), "another node has this id", kTodo);
    }
    return {};
  }

  Result<void> link() {
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      std::vector<uint32_t>& parents = nodes_[i].parents;
      for (const auto* ids : {&trace_.nodes[i].control, &trace_.nodes[i].data}) {
        for (const uint64_t id : *ids) {
          const auto found = numbers_.find(id);
          if (found == numbers_.end()) {
            return wrong(trace_.file, name(i),
                         "it depends on node " + std::to_string(id) + ", which is not there",
                         kTodo);
          }
          parents.push_back(found->second);
        }
      }
      std::sort(parents.begin(), parents.end());
      parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
      nodes_[i].unmet = static_cast<uint32_t>(parents.size());
      for (const uint32_t parent : parents) nodes_[parent].dependents.push_back(i);
    }
    for (Links& each : nodes_) each.unlisted = static_cast<uint32_t>(each.dependents.size());
    return {};
  }

  void emit(uint32_t node) {
    Links& links = nodes_[node];
    OrderedNode made{.node = node, .label = 0, .after = {}};
    for (const uint32_t parent : links.parents) made.after.push_back(nodes_[parent].label);
    std::sort(made.after.begin(), made.after.end());
    // The node's own label may be that of a parent which it is the last one to wait for.
    for (const uint32_t parent : links.parents) {
      if (--nodes_[parent].unlisted == 0) free_.insert(nodes_[parent].label);
    }
    if (free_.empty()) free_.insert(order_.labels++);
    links.label = made.label = *free_.begin();
    if (links.unlisted > 0) free_.erase(free_.begin());
    order_.nodes.push_back(std::move(made));
    for (const uint32_t each : links.dependents) {
      if (--nodes_[each].unmet == 0) ready_.emplace(trace_.nodes[each].id, each);
    }
  }

  Unexpected cycle() const {
    uint32_t first = 0;
    while (nodes_[first].unmet == 0) ++first;
    return wrong(trace_.file, name(first),
                 "its dependencies lead back to itself, or to nodes that depend on themselves",
                 kTodo);
  }

  using Next = std::pair<uint64_t, uint32_t>;  // id and index

  const Trace& trace_;
  std::vector<Links> nodes_;
  std::unordered_map<uint64_t, uint32_t> numbers_;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> ready_;
  std::set<uint32_t> free_;  // labels
  NodeOrder order_;
};

}  // namespace

Result<NodeOrder> order_of(const Trace& trace) { return Sorter(trace).sort(); }

}  // namespace heddle::topology::chakra
