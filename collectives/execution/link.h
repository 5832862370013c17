// Link: how messages go between this rank and one other, whatever carries them. Execution gives it
// one Message after the other; of a stream (a channel and a direction) in their order. A link never
// waits. The first message of a call on each stream carries the call's signature.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "collectives/call.h"
#include "collectives/execution/slots.h"
#include "collectives/execution/stream_counts.h"
#include "collectives/params.h"
#include "engine/endpoint.h"

namespace heddle::collectives {

// A first message of at most this size carries its signature, and both together may be eager.
inline constexpr uint64_t kSmallBytes = params::kSmallMessageBytes;

// One message of a step, and how far it is.
struct Message {
  // What it is.
  engine::Channel channel = 0;
  bool sends = false;
  bool signs = false;          // with a signature
  bool small = false;          // signs, and is of at most kSmallBytes
  bool stored = false;         // received in pieces that Execution combines; else into `memory`
  bool still_touched = false;  // received: until it comes, others read and write that memory
  bool copied =
      false;  // sends: sent from a copy, so the call does not wait for its acknowledgement
  bool unasked = false;  // sends: a later one's acknowledgement covers both
  uint64_t bytes = 0;
  std::byte* memory = nullptr;  // what is sent, or where it goes
  transport::Payload name;      // of that memory, where the link names memory
  Slot chunk;                   // of `bytes`: stored and not small
  Signature signature;          // sent, or, once it came, received

  // How far it is.
  bool announced = false;  // sends: its signature was sent
  bool posted = false;     // the next one of its stream may be posted
  bool touched = false;    // sends: the memory is needed no more
  bool signature_came = false;
  bool set_aside = false;  // what comes is kept in a slot
  uint64_t came = 0;       // bytes sent, or received
  uint64_t taken = 0;      // stored: bytes that Execution has combined

  // What the links keep of it.
  Slot small_slot;
  engine::Operation head;
  engine::Operation body;
  uint64_t ticket = 0;  // of a carrier
  // In shared memory.
  struct InCells {
    bool begun = false;    // its first cell was written, or read
    bool pulled = false;   // by the receiver, from `address` of the sender
    uint64_t address = 0;  //
    uint64_t last = 0;     // cell that was written
    uint32_t bytes = 0;    // in the cell that is read, and how many of them were taken
    uint32_t taken = 0;    //
  } cells;
};

class Link {
 public:
  struct Sight {
    enum class State : uint8_t { kWaiting, kPiece, kDone, kFailed };
    State state = State::kWaiting;
    bool moved = false;                       // kWaiting: not all, but something
    const std::byte* piece = nullptr;         // kPiece: bytes that follow those taken
    uint64_t piece_bytes = 0;                 //
    ErrorCode error = ErrorCode::kTruncated;  // kFailed
  };

  virtual ~Link() = default;

  // Messages that go straight from or into memory need its name.
  virtual bool names_memory() const = 0;
  // Errors: those of the engine.
  virtual Result<void> post(Message& message) = 0;
  // What of a send may go before its memory holds what is sent: its signature, where that travels
  // by itself. Errors: as post().
  virtual Result<void> announce(Message& /*message*/) { return {}; }
  // How it goes. Takes what it copies off the budget, and stops when that is used up.
  virtual Sight look(Message& message, uint64_t& budget) = 0;
  // A posted receive that was still_touched is so no more.
  virtual void untouched(Message& /*message*/) {}
  // `bytes` more of the piece were combined.
  virtual void take(Message& message, uint64_t bytes) = 0;
  // The piece cannot be combined yet: stores received data elsewhere, so that the sender does not
  // wait. False: nothing was done.
  virtual bool set_aside(Message& message, uint64_t& budget) = 0;
  // Whether the signature of a posted receive is there, before anything else of it is looked at.
  virtual bool look_at_signature(Message& message) = 0;
  // The communicator has failed: ends what was posted, as soon as the peer's side lets it.
  virtual void withdraw(Message& /*message*/) {}
  // Where posted messages must meet the peer's one for one; null: they need not.
  virtual StreamCounts* counts() { return nullptr; }
  // After the message was withdrawn or the communicator aborted: nothing touches its memory any
  // more.
  virtual bool settled(Message& message) = 0;
};

}  // namespace heddle::collectives
