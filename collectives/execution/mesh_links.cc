// Mesh, second part: over what messages to a rank go. Where both offer it and are on one host, over
// memory that they share, else over their connection.
#include <utility>

#include "collectives/execution/carrier_link.h"
#include "collectives/execution/mesh.h"
#include "collectives/execution/network_link.h"

namespace heddle::collectives {
namespace {

std::string ranks_text(uint32_t a, uint32_t b) {
  return "ranks " + std::to_string(a) + " and " + std::to_string(b);
}

}  // namespace

void Mesh::use_network(uint32_t rank) {
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
  peer.link = std::make_unique<NetworkLink>(endpoint_, peer.connection, small_, buffered_sends_);
}

void Mesh::use_memory(uint32_t rank, SharedPair pair) {
  Peer& peer = peers_[rank];
  auto link = std::make_unique<SharedLink>(
      std::move(pair),
      SharedSurroundings{endpoint_, links_.negotiation().waits(), small_, peer.connection});
  peer.shared = link.get();
  peer.link = std::move(link);
}

// --- agreement; see shared_memory/agreement.h ---

void Mesh::decline(uint32_t rank, const MemoryAnswer& answer) {
  send_answer(rank, answer);
  handle_declined(rank, answer);
}

void Mesh::handle_declined(uint32_t rank, const MemoryAnswer& answer) {
  use_network(rank);
  if (!answer.same_host) return;
  links_.negotiation().warn_once(ranks_text(members_.rank, rank), answer.why);
}

// Of the lower rank.
void Mesh::answer_offer(uint32_t rank, const std::optional<MemoryOffer>& offer) {
  if (!offer) return use_network(rank);
  if (!options_.shares_memory) {
    return decline(rank, {.why = "shared_memory is never on one of them"});
  }
  const MemoryAnswer answer = links_.negotiation().hand(*offer, message(), peers_[rank].handed);
  if (answer.step == MemoryAnswer::Step::kDeclined) return decline(rank, answer);
  send_answer(rank, answer);
}

void Mesh::handle_answer(uint32_t rank, const MemoryAnswer& answer) {
  Peer& peer = peers_[rank];
  if (peer.link != nullptr || peer.gone || keeping_) return;  // it is settled, or of no more use
  const bool lower = members_.rank < rank;
  switch (answer.step) {
    case MemoryAnswer::Step::kDeclined:
      return handle_declined(rank, answer);
    case MemoryAnswer::Step::kHandedOver:
      if (!lower && !peer.taken) take_memory(rank);
      return;
    case MemoryAnswer::Step::kTaken:
      if (lower) return finish_memory(rank);
      if (peer.taken) use_memory(rank, std::move(*peer.taken));
  }
}

// Of the higher rank, which waits for the other's last word.
void Mesh::take_memory(uint32_t rank) {
  SharedPair pair;
  const MemoryAnswer answer = links_.negotiation().take(rank, message(), options_.pulls, pair);
  if (answer.step == MemoryAnswer::Step::kDeclined) return decline(rank, answer);
  peers_[rank].taken = std::move(pair);
  send_answer(rank, answer);
}

void Mesh::finish_memory(uint32_t rank) {
  SharedPair pair;
  const MemoryAnswer answer =
      links_.negotiation().finish(peers_[rank].handed, options_.pulls, pair);
  if (answer.step == MemoryAnswer::Step::kDeclined) return decline(rank, answer);
  peers_[rank].handed = {};
  send_answer(rank, answer);
  use_memory(rank, std::move(pair));
}

}  // namespace heddle::collectives
