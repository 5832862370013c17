// Shared: what the connections of one endpoint use together: pools, queues to the caller, the
// seeded generator, options and counters. The endpoint owns it; it outlives its connections.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "base/random.h"
#include "base/ring.h"
#include "base/seed.h"
#include "transport/connection/observer.h"
#include "transport/credits/credit_source.h"
#include "transport/endpoint.h"
#include "transport/engine_budget.h"
#include "transport/messages/incoming.h"
#include "transport/messages/outgoing.h"
#include "transport/recovery/received_numbers.h"
#include "transport/recovery/sent_bursts.h"
#include "transport/security/secrets.h"
#include "transport/security/session.h"
#include "transport/wire/handshake.h"

namespace heddle::transport {

struct Shared {
  Shared(const EndpointOptions& given, const Seed& seed, events::Sink* sink)
      : options(given),
        budget(given.budget ? given.budget : std::make_shared<EngineBudget>()),
        secrets(seed),
        random(secrets.draw(SecretUse::kChoice)),
        observer(sink, statistics),
        sent(given.max_sent_runs),
        out(UINT32_MAX),
        in(UINT32_MAX),
        eager(given.eager_region, given.eager_bytes, given.eager_block_bytes),
        credits(
            {given.receive_rate, given.receive_capacity, given.max_datagram_bytes, budget.get()}),
        ring(given.keys),
        keyed(!ring.empty()) {
    options.max_posted = std::min(options.max_posted, kMostPosted);
    for (ClusterKey& key : options.keys) wipe(key.secret);
    options.keys.clear();
    if (options.nics.size() > kMaxNics) options.nics.resize(kMaxNics);
    for (const Address& nic : options.nics) {
      if (options.nics.size() == 1) break;
      const auto host = std::as_bytes(std::span(nic.host));
      advertised_nics.insert(advertised_nics.end(), host.begin(), host.end());
    }
  }

  EndpointOptions options;
  const std::shared_ptr<EngineBudget> budget;
  std::vector<std::byte> advertised_nics;  // as handshakes carry them; none where there is one
  Secrets secrets;                         // what strangers must not guess
  Random random;                           // which path is chosen
  Statistics statistics;
  Observer observer;
  SentBurstPool sent;
  OutPool out;  // bounded by max_posted a connection
  RetransmissionPool retransmissions{UINT32_MAX};
  InPool in;  // bounded by max_posted a connection
  EagerBlocks eager;
  CreditSource credits;  // for all peers that send to this endpoint
  // Room for the end of everything that is posted: then nothing is allocated when much ends at
  // once.
  void reserve_completions() {
    completions.reserve(completions.size() + out.lent() + in.lent() + 1);
  }

  // Payload travels in datagrams only, so credits and several NICs are possible.
  bool payload_in_datagrams = true;

  OlderPool ranges{UINT32_MAX};  // bounded by the connections' paths
  Ring<Completion> completions;
  Nanos latest;  // when something last came that may complete operations
  Ring<Notice> notices;
  std::vector<Placement> placements;
  TokenTable tokens;
  Ring<NicRequest> nic_requests;  // for the datapath
  KeyRing ring;
  const bool keyed;        // whether there are keys does not change; which, may
  RetiredKeys retired;     // keys that bursts of the latest batch may still name
  uint32_t receiving = 0;  // connections that lately received payload: they share the capacity
};

}  // namespace heddle::transport
