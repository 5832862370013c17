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
    link();
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
    }
    free_receives();
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      nodes_[i].unmet = static_cast<uint32_t>(nodes_[i].parents.size());
      for (const uint32_t parent : nodes_[i].parents) nodes_[parent].dependents.push_back(i);
    }
    for (Links& each : nodes_) each.unlisted = static_cast<uint32_t>(each.dependents.size());
  }

  bool is(uint32_t node, NodeType type) const { return trace_.nodes[node].type == type; }
  static void make_unique(std::vector<uint32_t>& nodes) {
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  }

  // In ASTRA-sim a send ends when it has left; heddle's ends at the receiver, which has to have
  // posted. So a receive waits for what its sends wait for instead of the sends, and what waits for
  // it waits for those sends, too: ranks that send to each other before they receive get on.
  void free_receives() {
    std::vector<std::vector<uint32_t>> sends(nodes_.size());  // that a receive depends on
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      if (!is(i, NodeType::kReceive)) continue;
      for (const uint32_t parent : nodes_[i].parents) {
        if (is(parent, NodeType::kSend)) sends[i].push_back(parent);
      }
    }
    std::vector<std::vector<uint32_t>> changed(nodes_.size());
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      std::vector<uint32_t>& parents = changed[i] = nodes_[i].parents;
      if (is(i, NodeType::kReceive)) {
        std::erase_if(parents, [&](uint32_t each) { return is(each, NodeType::kSend); });
        for (const uint32_t send : sends[i]) {
          for (const uint32_t each : nodes_[send].parents) {
            if (!is(each, NodeType::kSend)) parents.push_back(each);
          }
        }
        order_.freed += sends[i].empty() ? 0 : 1;
      } else {
        for (const uint32_t parent : nodes_[i].parents) {
          for (const uint32_t send : sends[parent]) {
            if (send != i) parents.push_back(send);
          }
        }
      }
      make_unique(parents);
    }
    for (uint32_t i = 0; i < nodes_.size(); ++i) nodes_[i].parents = std::move(changed[i]);
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
