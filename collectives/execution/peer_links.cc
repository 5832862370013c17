// PeerLinks: see peer_links.h.
#include "collectives/execution/peer_links.h"

#include <string>
#include <utility>

#include "base/log.h"
#include "collectives/execution/carrier_link.h"
#include "collectives/execution/network_link.h"

namespace heddle::collectives {
namespace {

std::string ranks_text(uint32_t a, uint32_t b) {
  return "ranks " + std::to_string(a) + " and " + std::to_string(b);
}

}  // namespace

PeerLinks::PeerLinks(Links& links, const Members& members, SlotPool& small,
                     BufferedSends& buffered_sends, const MeshOptions& options)
    : links_(links),
      members_(members),
      small_(small),
      buffered_sends_(buffered_sends),
      options_(options),
      peers_(members.size()) {}

void PeerLinks::use_network(uint32_t rank, engine::Connection connection) {
  Peer& peer = peers_[rank];
  peer.handed = {};
  peer.taken.reset();
  if (options_.carrier != nullptr) {
    const MessageCarrier::Stream sent = {.communicator = members_.communicator,
                                         .from = members_.addresses[members_.rank],
                                         .to = members_.addresses[rank]};
    peer.link = std::make_unique<CarrierLink>(*options_.carrier, sent, small_);
    return;
  }
  peer.link = std::make_unique<NetworkLink>(links_.endpoint(), connection, small_, buffered_sends_);
}

void PeerLinks::use_memory(uint32_t rank, engine::Connection connection, SharedPair pair) {
  Peer& peer = peers_[rank];
  auto link = std::make_unique<SharedLink>(
      std::move(pair),
      SharedSurroundings{links_.endpoint(), links_.negotiation().waits(), small_, connection});
  peer.shared = link.get();
  peer.link = std::move(link);
}

// --- the agreement ---

std::optional<MemoryOffer> PeerLinks::offer() {
  if (!options_.shares_memory) return std::nullopt;
  const Result<MemoryOffer> offer = links_.negotiation().offer();
  if (offer) return *offer;
  log_info("rank {} offers no memory: {}", members_.rank, offer.error().message());
  return std::nullopt;
}

void PeerLinks::handle_declined(uint32_t rank, engine::Connection connection,
                                const MemoryAnswer& answer) {
  use_network(rank, connection);
  if (!answer.same_host) return;
  links_.negotiation().warn_once(ranks_text(members_.rank, rank), answer.why);
}

PeerLinks::Answer PeerLinks::handle_offer(uint32_t rank, engine::Connection connection,
                                          const std::optional<MemoryOffer>& offer) {
  if (!offer) {
    use_network(rank, connection);
    return std::nullopt;
  }
  MemoryAnswer answer = {.why = "shared_memory is never on one of them"};
  if (options_.shares_memory) {
    answer = links_.negotiation().hand(*offer, message(), peers_[rank].handed);
  }
  if (answer.step == MemoryAnswer::Step::kDeclined) handle_declined(rank, connection, answer);
  return answer;
}

PeerLinks::Answer PeerLinks::handle_answer(uint32_t rank, engine::Connection connection,
                                           const MemoryAnswer& answer) {
  Peer& peer = peers_[rank];
  if (peer.link != nullptr) return std::nullopt;
  const bool lower = members_.rank < rank;
  switch (answer.step) {
    case MemoryAnswer::Step::kDeclined:
      handle_declined(rank, connection, answer);
      break;
    case MemoryAnswer::Step::kHandedOver:
      if (!lower && !peer.taken) return take(rank, connection);
      break;
    case MemoryAnswer::Step::kTaken:
      if (lower) return finish(rank, connection);
      if (peer.taken) use_memory(rank, connection, std::move(*peer.taken));
  }
  return std::nullopt;
}

// Of the higher rank, which waits for the other's last word.
PeerLinks::Answer PeerLinks::take(uint32_t rank, engine::Connection connection) {
  SharedPair pair;
  const MemoryAnswer answer = links_.negotiation().take(rank, message(), options_.pulls, pair);
  if (answer.step == MemoryAnswer::Step::kDeclined) {
    handle_declined(rank, connection, answer);
  } else {
    peers_[rank].taken = std::move(pair);
  }
  return answer;
}

PeerLinks::Answer PeerLinks::finish(uint32_t rank, engine::Connection connection) {
  SharedPair pair;
  const MemoryAnswer answer =
      links_.negotiation().finish(peers_[rank].handed, options_.pulls, pair);
  if (answer.step == MemoryAnswer::Step::kDeclined) {
    handle_declined(rank, connection, answer);
  } else {
    peers_[rank].handed = {};
    use_memory(rank, connection, std::move(pair));
  }
  return answer;
}

// --- the end ---

void PeerLinks::note_left(uint32_t rank) {
  if (peers_[rank].shared != nullptr) peers_[rank].shared->note_left();
}

void PeerLinks::shut(uint32_t rank) {
  if (peers_[rank].shared != nullptr) peers_[rank].shared->shut();
}

}  // namespace heddle::collectives
