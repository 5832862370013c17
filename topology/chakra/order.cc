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

constexpr uint32_t kNone = UINT32_MAX;

class Sorter {
 public:
  explicit Sorter(const Trace& trace) : trace_(trace), nodes_(trace.nodes.size()) {}

  Result<NodeOrder> sort() {
    if (Result<void> numbered = number(); !numbered) return fail(numbered.error());
    link();
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].unmet == 0) ready_.emplace(trace_.nodes[i].id, i);
    }
    size_t listed = 0;
    for (; !ready_.empty(); ++listed) {
      const uint32_t next = ready_.top().second;
      ready_.pop();
      list(next);
    }
    if (listed < nodes_.size()) return cycle();
    add_labels();
    return std::move(order_);
  }

 private:
  struct Links {
    uint32_t unmet = 0;
    uint32_t awaited = kNone;  // place in the order that dependents wait for; kNone: nothing
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

  void link() {
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      std::vector<uint32_t>& parents = nodes_[i].parents;
      for (const auto* ids : {&trace_.nodes[i].control, &trace_.nodes[i].data}) {
        for (const uint64_t id : *ids) {
          const auto found = numbers_.find(id);
          if (found == numbers_.end()) {
            ++order_.missing;
          } else {
            parents.push_back(found->second);
          }
        }
      }
      make_unique(parents);
      nodes_[i].unmet = static_cast<uint32_t>(parents.size());
      for (const uint32_t parent : parents) nodes_[parent].dependents.push_back(i);
    }
  }

  static void make_unique(std::vector<uint32_t>& numbers) {
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  }

  // Whether dependents do not wait for the node's end: see NodeOrder::freed.
  bool ends_here(uint32_t node) const {
    return trace_.nodes[node].type == NodeType::kSend &&
           trace_.nodes[node].blocking.value_or(0) == 0;
  }

  void list(uint32_t node) {
    Links& links = nodes_[node];
    std::vector<uint32_t> waits;
    bool freed = false;
    for (const uint32_t parent : links.parents) {
      freed |= ends_here(parent);
      if (nodes_[parent].awaited != kNone) waits.push_back(nodes_[parent].awaited);
    }
    make_unique(waits);
    order_.freed += freed ? 1 : 0;
    const bool passes_on = ends_here(node);
    // Dependents of a send wait for what it waits for: one place, or the lists would multiply.
    if (passes_on && waits.size() > 1 && !links.dependents.empty()) {
      waits = {add(OrderedNode::kJoin, std::move(waits))};
    }
    const uint32_t first = waits.empty() ? kNone : waits.front();
    const uint32_t place = add(node, std::move(waits));
    links.awaited = passes_on ? first : place;
    for (const uint32_t each : links.dependents) {
      if (--nodes_[each].unmet == 0) ready_.emplace(trace_.nodes[each].id, each);
    }
  }

  uint32_t add(uint32_t node, std::vector<uint32_t> waits) {
    order_.nodes.push_back({.node = node, .label = 0, .after = std::move(waits)});
    return static_cast<uint32_t>(order_.nodes.size() - 1);
  }

  // Replaces places in the order by labels.
  void add_labels() {
    std::vector<uint32_t> last_use(order_.nodes.size(), kNone);
    for (uint32_t i = 0; i < order_.nodes.size(); ++i) {
      for (const uint32_t place : order_.nodes[i].after) last_use[place] = i;
    }
    std::set<uint32_t> free;
    for (uint32_t i = 0; i < order_.nodes.size(); ++i) {
      OrderedNode& each = order_.nodes[i];
      for (uint32_t& after : each.after) {
        const uint32_t place = after;
        after = order_.nodes[place].label;
        // The node's own label may be that of a parent which it is the last one to wait for.
        if (last_use[place] == i) free.insert(after);
      }
      std::sort(each.after.begin(), each.after.end());
      if (free.empty()) free.insert(order_.labels++);
      each.label = *free.begin();
      if (last_use[i] != kNone) free.erase(free.begin());
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
  NodeOrder order_;  // `after` has places in the order until add_labels()
};

}  // namespace

Result<NodeOrder> order_of(const Trace& trace) { return Sorter(trace).sort(); }

}  // namespace heddle::topology::chakra
