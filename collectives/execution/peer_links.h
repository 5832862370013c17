// PeerLinks: over what messages to each rank of a communicator go. Where both ranks offer it and
// are on one host, over memory that they share, else over their connection. The mesh passes offers
// and answers (shared_memory/negotiation.h) and sends the answers that this returns.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/execution/buffered_sends.h"
#include "collectives/execution/link.h"
#include "collectives/execution/slots.h"
#include "collectives/links.h"
#include "collectives/members.h"
#include "collectives/message_carrier.h"
#include "collectives/shared_memory/negotiation.h"
#include "collectives/shared_memory/shared_link.h"

namespace heddle::collectives {

struct MeshOptions {
  bool shares_memory = false;
  bool pulls = false;                 // reads the memory of others where the system lets it
  MessageCarrier* carrier = nullptr;  // in place of connections; null: none
};

class PeerLinks {
 public:
  using Answer = std::optional<MemoryAnswer>;

  // All but the options must outlive it.
  PeerLinks(Links& links, const Members& members, SlotPool& small, BufferedSends& buffered_sends,
            const MeshOptions& options);

  // Null: not agreed on yet.
  Link* link(uint32_t rank) const { return peers_[rank].link.get(); }
  bool shares_memory(uint32_t rank) const { return peers_[rank].shared != nullptr; }

  // --- the agreement ---
  // The memory that this rank offers when it connects; nothing: none.
  std::optional<MemoryOffer> offer();
  void use_network(uint32_t rank, engine::Connection connection);
  // Of the lower rank.
  Answer handle_offer(uint32_t rank, engine::Connection connection,
                      const std::optional<MemoryOffer>& offer);
  // No effect where the link is agreed on.
  Answer handle_answer(uint32_t rank, engine::Connection connection, const MemoryAnswer& answer);

  // --- the end ---
  // The rank sends nothing more.
  void note_left(uint32_t rank);
  // Nothing reads this process's memory any more.
  void shut(uint32_t rank);
  void drop(uint32_t rank) { peers_[rank] = {}; }

 private:
  struct Peer {
    std::unique_ptr<Link> link;
    SharedLink* shared = nullptr;  // the same, where it is one
    SharedMemoryNegotiation::HandedOver handed;
    std::optional<SharedPair> taken;
  };

  Answer take(uint32_t rank, engine::Connection connection);
  Answer finish(uint32_t rank, engine::Connection connection);
  void use_memory(uint32_t rank, engine::Connection connection, SharedPair pair);
  void handle_declined(uint32_t rank, engine::Connection connection, const MemoryAnswer& answer);
  engine::DescriptorMessage message() const {
    return {.group = members_.communicator, .member = members_.rank};
  }

  Links& links_;
  const Members& members_;
  SlotPool& small_;
  BufferedSends& buffered_sends_;
  const MeshOptions options_;
  std::vector<Peer> peers_;  // by rank
};

}  // namespace heddle::collectives
