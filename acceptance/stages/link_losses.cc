// See link_losses.h.
#include "acceptance/stages/link_losses.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/quantity.h"
#include "topology/names.h"

namespace heddle::acceptance {
namespace {

std::string direction_of(const topology::Topology& fabric, uint32_t link, bool forward) {
  const topology::Link& found = fabric.links[link];
  return fmt::format("{} to {}", topology::node_name(fabric, forward ? found.a : found.b),
                     topology::node_name(fabric, forward ? found.b : found.a));
}

}  // namespace

Result<LinkLosses> take_losses(Session& session) {
  const Result<std::vector<CarriedLoad>> loads = session.take_loads();
  if (!loads) return fail(loads.error());
  LinkLosses losses;
  uint64_t most = 0;
  for (uint32_t i = 0; i < loads->size(); ++i) {
    const CarriedLoad& link = (*loads)[i];
    losses.links += link.known ? 1 : 0;
    losses.packets += link.forward_packets + link.backward_packets;
    for (const bool forward : {true, false}) {
      const LinkLoad& load = forward ? link.forward : link.backward;
      losses.dropped += load.dropped;
      losses.marked += load.marked;
      if (load.dropped <= most) continue;
      most = load.dropped;
      losses.most = direction_of(session.topology(), i, forward);
    }
  }
  return losses;
}

std::optional<Row> losses_row(const std::string& load, const LinkLosses& losses) {
  if (losses.packets == 0) return std::nullopt;
  std::string measured =
      fmt::format("{} of {} packets", count_text(losses.dropped), count_text(losses.packets));
  if (losses.dropped > 0) measured += fmt::format(", most at {}", losses.most);
  return Row{load + ", dropped by queues", fmt::format("{} links", losses.links),
             std::move(measured), ""};
}

}  // namespace heddle::acceptance
