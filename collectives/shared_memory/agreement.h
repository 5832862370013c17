// Agreement: how two ranks come to share memory. It is offered and answered over the connection
// between them, on its control channel; descriptors go from one to the other through a doorway.
//   the higher rank, in its hello:  where it is, and the name of its door
//   the lower:   hands memory and its bell over at that door, and says so; or declines, and why
//   the higher:  takes them, hands its own bell over and says so; or declines, and why
// Where one declines, messages go over the network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/shared_memory/shared_link.h"
#include "collectives/shared_memory/whereabouts.h"
#include "engine/doorway.h"

namespace heddle::collectives {

struct MemoryOffer {
  static constexpr size_t kBytes = Whereabouts::kBytes + sizeof(engine::DoorName);

  Whereabouts where;
  engine::DoorName door{};

  bool operator==(const MemoryOffer&) const = default;

  void write(std::byte* bytes) const;
  static MemoryOffer read(const std::byte* bytes);
};

// What one of them said to the offer, or to what came of it.
struct MemoryAnswer {
  enum class Step : uint8_t { kHandedOver, kTaken, kDeclined };
  Step step = Step::kDeclined;
  bool same_host = false;  // kDeclined: and yet not
  std::string why;         // kDeclined
};

// The part of a process, one an endpoint. `pulls`: it may read the other's memory where it can.
class Neighbourhood {
 public:
  explicit Neighbourhood(engine::Endpoint& endpoint) : waits_(endpoint) {}

  // What the higher rank says. Errors: why it cannot offer anything.
  Result<MemoryOffer> offer();
  Waits& waits() { return waits_; }
  // What was handed over for a communicator that is no more.
  void forget(uint64_t group);

  // The lower rank's part; it keeps `socket` for the bell.
  struct HandedOver {
    SharedPair pair;
    Descriptor socket;
  };
  MemoryAnswer hand(const MemoryOffer& offer, const engine::Parcel& from, HandedOver& made);
  // The higher rank's part: from `rank`, which said that it handed over.
  MemoryAnswer take(uint32_t rank, const engine::Parcel& from, bool pulls, SharedPair& made);
  // And the lower's end of it.
  MemoryAnswer finish(HandedOver& handed, bool pulls, SharedPair& made);

  // Says once a process why ranks of one host use the network.
  void tell_once(const std::string& who, const std::string& why);

 private:
  struct Guest {
    engine::Delivery delivery;
    Descriptor socket;
  };
  void let_in_all();
  engine::Parcel signed_parcel(engine::Parcel parcel);

  Waits waits_;
  std::optional<Whereabouts> here_;
  engine::Doorway door_;
  std::vector<Descriptor> at_door_;  // let in, and have handed over nothing yet
  std::map<std::pair<uint64_t, uint64_t>, Guest> guests_;  // by communicator and rank
  uint64_t proof_ = 0;
  bool told_ = false;
};

}  // namespace heddle::collectives
