// Messages between the ranks and the store: a rank registers and receives a confirmation, then the
// group when all have registered, or the error. Decoders validate all input. Integers are
// little-endian, text is preceded by its length in 2 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "collectives/group.h"

namespace heddle::collectives {

inline constexpr uint8_t kRendezvousVersion = 2;
inline constexpr size_t kMaxText = 1'024;  // longer text is cut

// One rank of a run, as it makes itself known.
struct Registration {
  uint8_t version = kRendezvousVersion;
  uint32_t rank = 0;
  uint32_t size = 1;
  uint64_t process =
      0;  // drawn by the process: distinguishes it from another that claims the same rank
  uint64_t ticket = 0;  // of the file that named this store; 0: none did
  std::string token;    // of the run (Launch::token); empty: it has none
  Nanos patience;       // how long the rank is going to wait
  std::string run;
  std::string host;
  transport::Address reached;  // at which the rank reached the store
  transport::Address bound;    // of the rank's endpoint; of no host where it is bound to none
};

enum class AnswerKind : uint8_t {
  kWelcome,  // registered: another answer follows when all have come
  kGroup,
  kRefused,
  kLater,  // not here, or not now: come again
};

struct Answer {
  AnswerKind kind = AnswerKind::kWelcome;
  uint32_t body_bytes = 0;  // kGroup: of the message that follows
  Error error;              // kRefused, kLater: why not
};

std::vector<std::byte> encode(const Registration& registration);
std::vector<std::byte> encode(const Answer& answer);
// Without `rank`, which each reader knows.
std::vector<std::byte> encode(const Group& group);

// Nothing: it is none. Of another version than this, only the version is set.
std::optional<Registration> decode_registration(std::span<const std::byte> message);
std::optional<Answer> decode_answer(std::span<const std::byte> message);
std::optional<Group> decode_group(std::span<const std::byte> message);

}  // namespace heddle::collectives
