// Call: one collective as a rank asked for it, and the signature by which ranks find out whether
// they mean the same one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/collective.h"
#include "collectives/data_type.h"

namespace heddle::collectives {

// Counts and offsets in elements, one a rank.
struct ExchangeCounts {
  std::vector<uint64_t> send_counts;
  std::vector<uint64_t> send_offsets;
  std::vector<uint64_t> receive_counts;
  std::vector<uint64_t> receive_offsets;
};

// communicator.h defines `count`, `input` and `output` for each collective.
struct Call {
  Collective collective = Collective::kBarrier;
  DataType type = DataType::kUint8;
  ReduceOp op = ReduceOp::kSum;
  uint32_t root = 0;  // the peer of a send or receive
  uint64_t count = 0;
  const void* input = nullptr;
  void* output = nullptr;
  ExchangeCounts exchange;  // kAllToAllV
  // Instead of what the tuning chooses; all ranks ask for the same. Nothing for messages between
  // two.
  std::optional<Algorithm> algorithm = std::nullopt;
  // With kTwoLevel: ranks of a group. 0: as many as the tuning says; where they do not divide the
  // ranks of the communicator, all are in one group.
  uint32_t group_ranks = 0;

  // A message between two ranks; all other calls are collectives.
  bool between_two() const {
    return collective == Collective::kSend || collective == Collective::kReceive;
  }
};

// Travels with the first message of a call from each rank to each other.
struct Signature {
  static constexpr size_t kBytes = 24;

  uint64_t number = 0;  // of the call on its communicator; of a message between two ranks
  uint64_t count = 0;
  uint32_t root = 0;
  Collective collective = Collective::kBarrier;
  DataType type = DataType::kUint8;
  ReduceOp op = ReduceOp::kSum;

  bool operator==(const Signature&) const = default;

  void write(std::byte* bytes) const;
  static Signature read(const std::byte* bytes);
  // "call 17, allreduce of 1024 float, sum".
  std::string text() const;
};

// What `call` is for the messages between this rank and `peer`, seen from either end.
Signature signature_of(const Call& call, uint64_t number, uint32_t peer, bool sends);

}  // namespace heddle::collectives
