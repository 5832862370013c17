// SharedMemoryNegotiation: how two ranks of one host come to share memory. The offer and its
// answers travel on the control channel of their connection, file descriptors on a
// DescriptorChannel:
//   the higher rank sends in its hello its host's identity and the name of its descriptor channel;
//   the lower sends memory and its wake descriptor on that channel, and reports that it did;
//   the higher maps the memory, sends its own wake descriptor and reports that it did.
// Either may decline, with a reason; then messages go over the network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/shared_memory/host_identity.h"
#include "collectives/shared_memory/shared_link.h"
#include "engine/descriptor_channel.h"

namespace heddle::collectives {

struct MemoryOffer {
  static constexpr size_t kBytes = HostIdentity::kBytes + sizeof(engine::DescriptorChannelName);

  HostIdentity where;
  engine::DescriptorChannelName channel{};

  bool operator==(const MemoryOffer&) const = default;

  void write(std::byte* bytes) const;
  static MemoryOffer read(const std::byte* bytes);
};

// The answer to an offer, or to an answer.
struct MemoryAnswer {
  enum class Step : uint8_t { kHandedOver, kTaken, kDeclined };
  Step step = Step::kDeclined;
  bool same_host = false;  // of kDeclined: both are on one host
  std::string why;         // of kDeclined
};

// One an endpoint. `pulls`: this process may read the other's memory, if the kernel permits it.
class SharedMemoryNegotiation {
 public:
  explicit SharedMemoryNegotiation(engine::Endpoint& endpoint) : waits_(endpoint) {}

  // Of the higher rank. Errors: the reason why it has nothing to offer.
  Result<MemoryOffer> offer();
  Waits& waits() { return waits_; }
  // Drops descriptors that arrived for a communicator that has ended.
  void forget(uint64_t group);

  // The lower rank's answer; `socket` stays open for the other's wake descriptor.
  struct HandedOver {
    SharedPair pair;
    Descriptor socket;
  };
  MemoryAnswer hand(const MemoryOffer& offer, const engine::DescriptorMessage& from,
                    HandedOver& made);
  // The higher rank's: `rank` has reported that its descriptors are sent.
  MemoryAnswer take(uint32_t rank, const engine::DescriptorMessage& from, bool pulls,
                    SharedPair& made);
  // The lower rank's last step: it takes the other's wake descriptor.
  MemoryAnswer finish(HandedOver& handed, bool pulls, SharedPair& made);

  // Logs the reason why ranks of one host use the network, once a process.
  void warn_once(const std::string& who, const std::string& why);

 private:
  struct Arrived {
    engine::ReceivedDescriptors received;
    Descriptor socket;
  };
  void accept_all();
  engine::DescriptorMessage signed_message(engine::DescriptorMessage message);

  Waits waits_;
  std::optional<HostIdentity> here_;
  engine::DescriptorChannel channel_;
  std::vector<Descriptor> accepted_;                           // connections without a message yet
  std::map<std::pair<uint64_t, uint64_t>, Arrived> received_;  // by communicator and rank
  uint64_t proof_ = 0;
  bool warned_ = false;
};

}  // namespace heddle::collectives
