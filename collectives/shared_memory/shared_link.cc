// SharedLink: see shared_link.h.
#include "collectives/shared_memory/shared_link.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "collectives/params.h"
#include "collectives/shared_memory/pull.h"
#include "events/events.h"

namespace heddle::collectives {

SharedLink::SharedLink(SharedPair pair, const SharedSurroundings& surroundings)
    : pair_(std::move(pair)),
      around_(surroundings),
      owner_(getpid()),
      mine_(pair_.segment.shared().sides[pair_.side]),
      theirs_(pair_.segment.shared().sides[1 - pair_.side]) {
  SegmentLayout& shared = pair_.segment.shared();
  for (uint32_t channel = 0; channel < kSharedChannels; ++channel) {
    Stream& out = shared.streams[pair_.side][channel];
    Stream& in = shared.streams[1 - pair_.side][channel];
    writers_[channel].attach(out.cells);
    readers_[channel].attach(in.cells);
    long_writers_[channel].attach(out.long_cells);
    long_readers_[channel].attach(in.long_cells);
  }
  around_.waits.add(mine_, theirs_);
}

SharedLink::~SharedLink() {
  shut();
  if (!in_child()) around_.waits.remove(mine_);
}

// A child of fork() has this memory, too, and must not speak for its parent.
bool SharedLink::in_child() const { return getpid() != owner_; }

void SharedLink::shut() {
  if (in_child()) return;
  if (mine_.closed.exchange(1, std::memory_order_seq_cst) == 0) notify_other();
}

Result<void> SharedLink::post(Message& message) {
  CHECK(message.channel < kSharedChannels);
  return {};
}

Link::Sight SharedLink::look(Message& message, uint64_t& budget) {
  return message.sends ? send(message, budget) : receive(message, budget);
}

Link::Sight SharedLink::nothing(bool moved) const {
  if (!left_ || moved) return {.moved = moved};
  return {.state = Sight::State::kFailed, .error = ErrorCode::kClosed};
}

Link::Sight SharedLink::done(const Message& message) {
  const uint32_t sequence = sequences_[message.channel][message.sends ? 0 : 1]++;
  around_.endpoint.observe(events::SharedMessageCompleted{
      {},
      around_.connection,
      message.channel,
      sequence,
      message.bytes,
      message.sends ? events::Direction::kSent : events::Direction::kReceived,
      message.cells.pulled});
  return {.state = Sight::State::kDone};
}

bool SharedLink::is_long(const Message& message) {
  return !message.cells.pulled && message.bytes > kLongFrom;
}

CellWriter& SharedLink::writer_of(const Message& message) {
  return (message.cells.begun && is_long(message) ? long_writers_ : writers_)[message.channel];
}

CellReader& SharedLink::reader_of(const Message& message) {
  return (message.cells.begun && is_long(message) ? long_readers_ : readers_)[message.channel];
}

// --- sending ---

Link::Sight SharedLink::send(Message& message, uint64_t& budget) {
  bool moved = false;
  while (!message.posted) {
    if (budget == 0) return {.moved = moved};
    CellWriter& writer = writer_of(message);
    Cell* cell = writer.room();
    if (cell == nullptr && note_blocked(message.channel, true)) {
      std::atomic_thread_fence(std::memory_order_seq_cst);
      cell = writer.room();
    }
    if (cell == nullptr) return nothing(moved);
    note_blocked(message.channel, false);
    fill(*cell, message, budget);
    message.cells.last = writer.publish();
    notify_other();
    moved = true;
  }
  if (!message.cells.pulled || writers_[message.channel].was_read(message.cells.last)) {
    return done(message);
  }
  return nothing(moved);
}

// False: it was known.
bool SharedLink::note_blocked(engine::Channel channel, bool blocked) {
  const uint32_t before = blocked_;
  const uint32_t bit = 1U << channel;
  blocked_ = blocked ? before | bit : before & ~bit;
  if (blocked_ == before) return false;
  mine_.blocked.store(blocked_, std::memory_order_relaxed);
  return true;
}

void SharedLink::fill(Cell& cell, Message& message, uint64_t& budget) {
  const bool begins = !std::exchange(message.cells.begun, true);
  if (begins) {
    message.cells.pulled = message.bytes > kPullFrom && !message.small &&
                           theirs_.pulls.load(std::memory_order_acquire) != 0;
    if (message.signs) message.signature.write(cell.signature.data());
  }
  uint64_t here = 0;
  const bool only_head = begins && is_long(message);
  if (!message.cells.pulled && !only_head) {
    here = std::min<uint64_t>(message.bytes - message.came, kCellBytes);
    if (here > 0) std::memcpy(cell.payload.data(), message.memory + message.came, here);
    message.came += here;
    budget -= std::min(budget, here);
  }
  const auto order = std::memory_order_relaxed;
  cell.begins.store(begins ? 1 : 0, order);
  cell.signs.store(begins && message.signs ? 1 : 0, order);
  cell.here_bytes.store(static_cast<uint32_t>(here), order);
  cell.message_bytes.store(message.bytes, order);
  cell.address.store(message.cells.pulled ? reinterpret_cast<uint64_t>(message.memory) : 0, order);
  message.posted = message.cells.pulled || message.came == message.bytes;
  message.touched = message.posted && !message.cells.pulled;
}

// --- receiving ---

Link::Sight SharedLink::receive(Message& message, uint64_t& budget) {
  if (!message.cells.begun) {
    if (readers_[message.channel].front() == nullptr) return nothing(false);
    if (!begin(message)) return {.state = Sight::State::kFailed};
  }
  const bool in_cells = message.stored && !message.set_aside && !message.cells.pulled;
  return in_cells ? show_cell(message) : place(message, budget);
}

// What the first cell of a message says. False: it is not the one that is waited for.
bool SharedLink::begin(Message& message) {
  const Cell& cell = readers_[message.channel].opened();
  const auto order = std::memory_order_relaxed;
  const bool signs = cell.signs.load(order) != 0;
  if (signs && message.signs) {
    message.signature = Signature::read(cell.signature.data());
    message.signature_came = true;
  }
  message.cells.address = cell.address.load(order);
  message.cells.pulled = message.cells.address != 0;
  if (message.cells.pulled && (message.bytes <= kPullFrom || message.small || !pulls()))
    return false;
  if (cell.begins.load(order) == 0 || signs != message.signs) return false;
  if (cell.message_bytes.load(order) != message.bytes) return false;
  // This cell has nothing that could be taken.
  if (message.bytes == 0 || is_long(message)) pop(message);
  message.cells.begun = true;
  return true;
}

// The payload of the next cell; its size is read once, for the other may write there at any time.
Link::Sight::State SharedLink::open_cell(Message& message) {
  const Cell* const cell = reader_of(message).front();
  if (cell == nullptr) return Sight::State::kWaiting;
  if (message.cells.bytes == 0) {
    const uint32_t here = cell->here_bytes.load(std::memory_order_relaxed);
    const uint64_t most = std::min<uint64_t>(message.bytes - message.came, kCellBytes);
    if (here != most) return Sight::State::kFailed;
    message.cells.bytes = here;
    message.cells.taken = 0;
  }
  return Sight::State::kPiece;
}

Link::Sight SharedLink::show_cell(Message& message) {
  if (message.posted) return done(message);
  const Sight::State state = open_cell(message);
  if (state == Sight::State::kWaiting) return nothing(false);
  return {.state = state,
          .piece = reader_of(message).opened().payload.data() + message.cells.taken,
          .piece_bytes = message.cells.bytes - message.cells.taken};
}

void SharedLink::take(Message& message, uint64_t bytes) {
  message.taken += bytes;
  if (message.set_aside || message.cells.pulled) return;
  take_from_cell(message, static_cast<uint32_t>(bytes));
}

void SharedLink::take_from_cell(Message& message, uint32_t bytes) {
  message.came += bytes;
  message.cells.taken += bytes;
  if (message.cells.taken == message.cells.bytes) pop(message);
}

void SharedLink::pop(Message& message) {
  reader_of(message).pop();
  message.cells.bytes = 0;
  message.posted = message.came == message.bytes;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  // Only a peer that waits for a pulled message or for a free cell needs a notification.
  if (message.cells.pulled || theirs_.blocked.load(std::memory_order_relaxed) != 0) notify_other();
}

bool SharedLink::set_aside(Message& message, uint64_t& /*budget*/) {
  if (message.set_aside || message.cells.pulled) return false;
  if (message.small) {
    Result<Slot> slot = around_.small.lend();
    if (!slot) return false;
    message.small_slot = *slot;
  }
  message.set_aside = true;
  return true;
}

std::byte* SharedLink::destination(const Message& message) {
  if (!message.stored) return message.memory;
  return message.small ? message.small_slot.start : message.chunk.start;
}

// Brings what is there to its place in this process.
Link::Sight SharedLink::place(Message& message, uint64_t& budget) {
  std::byte* const to = destination(message);
  const uint64_t before = message.came;
  while (!message.posted && budget > 0) {
    if (message.cells.pulled) {
      const Sight::State state = pull_some(message, to + message.came, budget);
      if (state == Sight::State::kFailed) return {.state = state, .error = ErrorCode::kPermission};
      if (state == Sight::State::kWaiting) break;
      continue;
    }
    const Sight::State state = open_cell(message);
    if (state == Sight::State::kFailed) return {.state = state};
    if (state == Sight::State::kWaiting) break;
    const Cell& cell = reader_of(message).opened();
    const uint32_t bytes = message.cells.bytes - message.cells.taken;
    std::memcpy(to + message.came, cell.payload.data() + message.cells.taken, bytes);
    budget -= std::min<uint64_t>(budget, bytes);
    take_from_cell(message, bytes);
  }
  if (message.stored && message.came > message.taken) {
    return {.state = Sight::State::kPiece,
            .piece = to + message.taken,
            .piece_bytes = message.came - message.taken};
  }
  if (message.posted) return done(message);
  return nothing(message.came > before);
}

// What was pulled counts only if the other had not ended its call by then: its memory may hold
// anything afterwards.
Link::Sight::State SharedLink::pull_some(Message& message, std::byte* to, uint64_t& budget) {
  const uint64_t whole_lines = std::max<uint64_t>(budget / 64, 1) * 64;
  const uint64_t bytes = std::min({message.bytes - message.came, whole_lines, params::kPullBytes});
  const bool read = pull(pair_.process, message.cells.address + message.came, to, bytes);
  const bool gone = !read && errno == ESRCH;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  // The connection reports its end.
  if (gone || theirs_.closed.load(std::memory_order_relaxed) != 0) return Sight::State::kWaiting;
  if (!read) return Sight::State::kFailed;
  message.came += bytes;
  budget -= std::min(budget, bytes);
  if (message.came == message.bytes) pop(message);
  return Sight::State::kPiece;
}

bool SharedLink::look_at_signature(Message& message) {
  if (message.sends || message.cells.begun) return false;
  if (readers_[message.channel].front() == nullptr) return false;
  static_cast<void>(begin(message));
  return message.signature_came;
}

}  // namespace heddle::collectives
