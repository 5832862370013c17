// See fault_order.h.
#include "topology/fault_order.h"

#include <utility>

namespace heddle::topology {
namespace {

class Changes {
 public:
  explicit Changes(const FaultOrder& order) : order_(order) {}

  LinkChange& add(LinkChangeKind kind, LinkDirection direction) {
    LinkChange change;
    change.at = order_.at;
    change.link = order_.ends.link;
    change.direction = direction;
    change.kind = kind;
    list_.push_back(change);
    return list_.back();
  }

  void add_faults(LinkDirection direction, const LinkFaults& faults) {
    add(LinkChangeKind::kFaults, direction).faults = faults;
  }

  std::vector<LinkChange> take() { return std::move(list_); }

 private:
  const FaultOrder& order_;
  std::vector<LinkChange> list_;
};

LinkDirection direction_of(const FaultOrder& order) {
  if (!order.one_way) return LinkDirection::kBoth;
  return order.ends.forward ? LinkDirection::kForward : LinkDirection::kBackward;
}

void set_share(const FaultOrder& order, LinkFaults& faults) {
  if (order.kind == "loss") faults.loss_per_million = order.per_million;
  if (order.kind == "corrupt") set_corruption(faults, order.per_million);
  if (order.kind == "reorder") set_reordering(faults, order.per_million);
}

}  // namespace

bool is_share_fault(std::string_view kind) {
  return kind == "loss" || kind == "corrupt" || kind == "reorder";
}

bool is_link_fault(std::string_view kind) {
  return kind == "down" || kind == "up" || kind == "blackhole" || kind == "rate" ||
         kind == "clear" || is_share_fault(kind);
}

bool is_host_fault(std::string_view kind) { return kind == "pause" || kind == "resume"; }

bool may_be_one_way(std::string_view kind) { return kind != "down" && kind != "clear"; }

std::vector<LinkChange> changes_of(const FaultOrder& order, const Link& original,
                                   DirectionFaults& now) {
  const LinkDirection direction = direction_of(order);
  Changes changes(order);
  if (order.kind == "down") {
    changes.add(LinkChangeKind::kDown, LinkDirection::kBoth);
    changes.add(LinkChangeKind::kNotice, LinkDirection::kBoth);
  } else if (order.kind == "blackhole") {
    changes.add(LinkChangeKind::kDown, direction);
  } else if (order.kind == "up") {
    changes.add(LinkChangeKind::kUp, direction);
  } else if (order.kind == "rate") {
    changes.add(LinkChangeKind::kRate, direction).rate = order.rate;
  } else if (order.kind == "clear") {
    changes.add(LinkChangeKind::kUp, LinkDirection::kBoth);
    changes.add(LinkChangeKind::kRate, LinkDirection::kBoth).rate = original.shape.rate;
    now = {original.forward, original.backward};
    changes.add_faults(LinkDirection::kForward, now.forward);
    changes.add_faults(LinkDirection::kBackward, now.backward);
  } else {
    if (direction != LinkDirection::kBackward) {
      set_share(order, now.forward);
      changes.add_faults(LinkDirection::kForward, now.forward);
    }
    if (direction != LinkDirection::kForward) {
      set_share(order, now.backward);
      changes.add_faults(LinkDirection::kBackward, now.backward);
    }
  }
  return changes.take();
}

void set_corruption(LinkFaults& faults, uint32_t per_million) {
  faults.corrupt_header_per_million = per_million / 2;
  faults.corrupt_payload_per_million = per_million - per_million / 2;
}

void set_reordering(LinkFaults& faults, uint32_t per_million) {
  faults.reorder_per_million = per_million;
  faults.reorder_min = per_million == 0 ? Nanos{} : micros(50);
  faults.reorder_max = per_million == 0 ? Nanos{} : micros(200);
}

}  // namespace heddle::topology
