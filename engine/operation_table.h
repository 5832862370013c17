// OperationTable: the state of every posted operation. The driving thread writes outcomes, posters
// read them by id. Reading an outcome needs no endpoint lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/own_mutex.h"
#include "base/result.h"
#include "engine/params.h"
#include "transport/endpoint.h"
#include "transport/payload.h"

namespace heddle::engine {

// A posted send or receive. Its id is invalid after the test() or wait() that returns `done`.
struct Operation {
  uint64_t id = 0;  // 0: none
  explicit operator bool() const { return id != 0; }
};

struct Outcome {
  bool done = false;  // false: in flight, and the other fields are undefined
  bool ok = false;
  ErrorCode error = ErrorCode::kSystem;  // where done and not ok
  uint64_t bytes = 0;                    // of the message
};

// Where an operation was posted; needed to cancel it.
struct OperationPlace {
  transport::ConnectionId connection = 0;
  transport::ChannelId channel = 0;
  transport::Direction direction = transport::Direction::kSend;
  transport::RegionId temporary = transport::kNoRegion;  // unregistered when the operation ends
};

class OperationTable {
 public:
  static constexpr uint32_t kMaxOperations = params::kMaxOperations;

  // `engine` becomes part of every id (transport/engine_share.h).
  explicit OperationTable(uint8_t engine = 0) : engine_(uint32_t{engine} << kEngineShift) {}
  ~OperationTable();

  // The engine that an id names.
  static uint32_t engine_of(Operation operation) {
    return static_cast<uint32_t>(operation.id) >> kEngineShift;
  }

  // Opens a pending operation; id 0 if kMaxOperations are in use.
  Operation open(const OperationPlace& place);
  // Frees an operation whose post failed.
  void abandon(Operation operation);

  // Marks the operation as ended; called by the driving thread. Returns where it was posted.
  OperationPlace finish(uint64_t id, const Outcome& outcome);

  // If done, returns the outcome and frees the operation. An unknown id returns done with kInvalid.
  Outcome take(Operation operation);
  // As take(), but does not free it.
  bool is_done(Operation operation) const;
  // Discards the outcome: the operation is freed when it ends.
  void forget(Operation operation);
  // False: unknown or done.
  bool find(Operation operation, OperationPlace& place) const;

 private:
  enum State : uint64_t { kFree, kPending, kForgotten, kDone };
  static constexpr uint32_t kSlab = params::kOperationsSlab;
  static constexpr uint32_t kEngineShift = 24;

  struct Slot {
    std::atomic<uint64_t> word{0};  // generation << 2 | State
    OperationPlace place;
    Outcome outcome;
  };

  static uint32_t index_of(uint64_t id) {
    return static_cast<uint32_t>(id) & ((1U << kEngineShift) - 1);
  }
  static uint64_t word(uint64_t id, State state) { return (id >> 32) << 2 | state; }
  Slot* slot(uint64_t id) const;
  void release(uint64_t id, Slot& slot);

  const uint32_t engine_;
  std::array<std::atomic<Slot*>, kMaxOperations / kSlab> slabs_{};
  OwnMutex free_mutex_;
  std::vector<uint32_t> free_;
  uint32_t slots_ = 0;
};

}  // namespace heddle::engine
