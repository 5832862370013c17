// SharedLink: messages between two ranks of a host through shared memory. They are copied through
// cells, and combined straight out of them. Of messages longer than a stream's cells the sender
// passes the address, and the receiver pulls them if the kernel lets it read the sender's memory.
#pragma once

#include <array>
#include <cstdint>

#include "base/descriptor.h"
#include "collectives/execution/link.h"
#include "collectives/shared_memory/cells.h"
#include "collectives/shared_memory/segment.h"
#include "collectives/shared_memory/waits.h"

namespace heddle::collectives {

// What two ranks agreed on; see negotiation.h.
struct SharedPair {
  Segment segment;
  uint32_t side = 0;  // ours of the two
  Descriptor wake;    // of the other's driver
  int32_t process = 0;
};

// What a link needs beside it; all must outlive it.
struct SharedSurroundings {
  engine::Endpoint& endpoint;
  Waits& waits;
  SlotPool& small;
  engine::Connection connection = 0;  // between the same two ranks
};

class SharedLink final : public Link {
 public:
  // Messages up to this length are always copied through cells: two copies on two cores take less
  // time than one that looks each page up.
  static constexpr uint64_t kPullFrom = kLongCells * kCellBytes;
  // Longer ones have a long ring's cells.
  static constexpr uint64_t kLongFrom = kShortCells * kCellBytes;

  SharedLink(SharedPair pair, const SharedSurroundings& surroundings);
  ~SharedLink() override;
  SharedLink(const SharedLink&) = delete;
  SharedLink& operator=(const SharedLink&) = delete;

  bool names_memory() const override { return false; }
  Result<void> post(Message& message) override;
  Sight look(Message& message, uint64_t& budget) override;
  void take(Message& message, uint64_t bytes) override;
  bool set_aside(Message& message, uint64_t& budget) override;
  bool look_at_signature(Message& message) override;
  bool settled(Message& /*message*/) override { return true; }

  // The other has said goodbye: nothing comes any more but what is there.
  void note_left() { left_ = true; }
  // This side's calls end: from now on no offered message may be pulled.
  void shut();
  bool pulls() const { return mine_.pulls.load(std::memory_order_relaxed) != 0; }

 private:
  Sight send(Message& message, uint64_t& budget);
  bool note_blocked(engine::Channel channel, bool blocked);
  void fill(Cell& cell, Message& message, uint64_t& budget);
  Sight receive(Message& message, uint64_t& budget);
  bool begin(Message& message);
  Sight::State open_cell(Message& message);
  Sight show_cell(Message& message);
  void take_from_cell(Message& message, uint32_t bytes);
  Sight place(Message& message, uint64_t& budget);
  Sight::State pull_some(Message& message, std::byte* to, uint64_t& budget);
  void pop(Message& message);
  static std::byte* destination(const Message& message);
  static bool is_long(const Message& message);
  // Where its next cell is.
  CellWriter& writer_of(const Message& message);
  CellReader& reader_of(const Message& message);
  Sight done(const Message& message);
  Sight nothing(bool moved) const;
  bool in_child() const;
  void notify_other() { notify(mine_, theirs_, pair_.wake.number()); }

  const SharedPair pair_;
  const SharedSurroundings around_;
  const int32_t owner_;
  Side& mine_;
  Side& theirs_;
  std::array<CellWriter, kSharedChannels> writers_;
  std::array<CellReader, kSharedChannels> readers_;
  std::array<CellWriter, kSharedChannels> long_writers_;
  std::array<CellReader, kSharedChannels> long_readers_;
  std::array<std::array<uint32_t, 2>, kSharedChannels> sequences_{};
  uint32_t blocked_ = 0;  // channels that wait for a free cell, a bit each
  bool left_ = false;
};

}  // namespace heddle::collectives
