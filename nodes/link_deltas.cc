// See link_deltas.h.
#include "nodes/link_deltas.h"

#include <algorithm>
#include <utility>

#include "nodes/params.h"

namespace heddle::nodes {
namespace {

events::NicSampled delta_of(const LinkState& before, const LinkState& now, Nanos at, Nanos span) {
  events::NicSampled event;
  event.time = at;
  event.interface = events::Text(now.name);
  event.span = span;
  event.carrier = now.up;
  event.received_bytes = counted_since(before.received_bytes, now.received_bytes);
  event.sent_bytes = counted_since(before.sent_bytes, now.sent_bytes);
  event.received_packets = counted_since(before.received_packets, now.received_packets);
  event.sent_packets = counted_since(before.sent_packets, now.sent_packets);
  event.received_errors = counted_since(before.received_errors, now.received_errors);
  event.sent_errors = counted_since(before.sent_errors, now.sent_errors);
  event.received_drops = counted_since(before.received_drops, now.received_drops);
  event.sent_drops = counted_since(before.sent_drops, now.sent_drops);
  event.carrier_losses =
      static_cast<uint32_t>(counted_since(before.carrier_losses, now.carrier_losses));
  return event;
}

bool did_anything(const events::NicSampled& event) {
  return event.received_packets > 0 || event.sent_packets > 0 || event.received_errors > 0 ||
         event.sent_errors > 0 || event.received_drops > 0 || event.sent_drops > 0 ||
         event.carrier_losses > 0;
}

}  // namespace

LinkDeltas::Taken LinkDeltas::take(std::vector<LinkState> links, Nanos now,
                                   const HasAddress& has_address) {
  std::erase_if(links, [](const LinkState& each) { return each.is_loopback; });
  std::stable_sort(links.begin(), links.end(), [](const LinkState& a, const LinkState& b) {
    return a.is_virtual < b.is_virtual;
  });
  links.resize(std::min(links.size(), params::kMostInterfaces));
  Taken taken;
  std::map<int, Known> known;
  for (LinkState& link : links) {
    const auto before = links_.find(link.index);
    if (before != links_.end()) {
      auto& [state, up, noted] = before->second;
      const auto event = delta_of(state, link, now, now - taken_at_);
      if (did_anything(event) || state.up != link.up) taken.samples.push_back(event);
      if (up != link.up) noted.push_back({now, events::Text(link.name), link.up});
      const bool is_of_interest =
          !link.is_virtual || (!link.is_bridge && !noted.empty() && has_address(link.name));
      if (is_of_interest) {
        taken.changes.insert(taken.changes.end(), noted.begin(), noted.end());
      }
    }
    const int index = link.index;
    const bool up = link.up;
    known.emplace(index, Known{std::move(link), up, {}});
  }
  links_ = std::move(known);
  taken_at_ = now;
  return taken;
}

std::optional<events::NicLinkChanged> LinkDeltas::note(const LinkState& link, Nanos now) {
  const auto known = links_.find(link.index);
  if (known == links_.end() || link.is_removed || known->second.up == link.up) return std::nullopt;
  known->second.up = link.up;
  const events::NicLinkChanged changed{now, events::Text(link.name), link.up};
  if (!known->second.state.is_virtual) return changed;
  known->second.noted.push_back(changed);
  return std::nullopt;
}

}  // namespace heddle::nodes
