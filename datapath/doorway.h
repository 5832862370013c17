// Doorway: where a process takes descriptors that another of the same host and user hands over, by
// a Unix socket that has no file. Who may hand over knows the door's name, which is random and told
// over the connection between the two ranks only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"

namespace heddle::datapath {

using DoorName = std::array<std::byte, 16>;

// What the descriptors are for.
struct Parcel {
  uint64_t group = 0;    // whose, and
  uint64_t member = 0;   // from whom of it: numbers that the users choose
  uint64_t address = 0;  // in the sender's memory, where `proof` stands
  uint64_t proof = 0;    // random: whoever reads it there can read that memory
};

struct Delivery {
  Parcel parcel;
  std::vector<Descriptor> descriptors;
  int32_t process = 0;  // the sender, as this process names it; 0: it cannot
};

class Doorway {
 public:
  Doorway() = default;

  // Errors: kExhausted (descriptors), kUnavailable.
  static Result<Doorway> open();

  bool is_open() const { return listener_.valid(); }
  const DoorName& name() const { return name_; }
  // The next one who knocked and is of the same user, without waiting; none: an invalid one.
  Descriptor let_in();

 private:
  DoorName name_{};
  Descriptor listener_;
};

// Knocks at another process's door. Errors: kUnavailable (there is none, or it is another user's).
Result<Descriptor> knock(const DoorName& name);
// Whether take_over() would not have to wait: something came, or the other is gone.
bool has_handed_over(const Descriptor& socket);
// Both without waiting. Errors: kUnavailable, with the system's reason.
Result<void> hand_over(const Descriptor& socket, const Parcel& parcel,
                       const std::vector<int>& descriptors);
Result<Delivery> take_over(const Descriptor& socket);

}  // namespace heddle::datapath
