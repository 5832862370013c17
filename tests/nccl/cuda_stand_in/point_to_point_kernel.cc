// The kernel of ncclSend and ncclRecv, played by one thread: blocks, their batches, and transfers.
// Follows NCCL's protocol Simple with one step a chunk; a stream calls run_kernel().
#include "tests/nccl/cuda_stand_in/point_to_point_kernel.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/nccl/cuda_stand_in/device_work.h"

namespace heddle::cuda_stand_in {
namespace {

// The works of a channel's batch and of those that extend it.
struct LoadedBatch {
  std::vector<PointToPointWork> works;
  int next = -1;  // index of the channel's next batch
  bool point_to_point = true;
};

LoadedBatch load_batch(const KernelArguments& arguments, int index) {
  const char* start = reinterpret_cast<const char*>(&arguments);
  const auto* batches = reinterpret_cast<const WorkBatch*>(start + sizeof(KernelArguments));
  LoadedBatch loaded;
  for (;;) {
    const WorkBatch& batch = batches[index];
    if (batch.work_type != 0) loaded.point_to_point = false;
    for (int bit = 0; loaded.point_to_point && bit < 64; ++bit) {
      if ((batch.offset_bits >> bit & 1) == 0) continue;
      const size_t offset = batch.offset_base + bit * sizeof(PointToPointWork);
      const char* from = arguments.storage == 0 ? start + offset
                                                : arguments.works + (offset & arguments.works_mask);
      std::memcpy(&loaded.works.emplace_back(), from, sizeof(PointToPointWork));
    }
    if (batch.next_extends == 0) {
      if (batch.next_jump != 0) loaded.next = index + static_cast<int>(batch.next_jump);
      return loaded;
    }
    index += static_cast<int>(batch.next_jump);
  }
}

uint64_t load(uint64_t* counter) {
  return std::atomic_ref<uint64_t>(*counter).load(std::memory_order_acquire);
}

void store(uint64_t* counter, uint64_t value) {
  std::atomic_ref<uint64_t>(*counter).store(value, std::memory_order_release);
}

// One direction of a work, as far as one channel is responsible for it.
class Transfer {
 public:
  Transfer(ConnectionInfo& connection, char* address, size_t bytes, size_t chunk_bytes, bool send)
      : connection_(connection),
        address_(address),
        bytes_(bytes),
        chunk_bytes_(chunk_bytes),
        step_(connection.step),
        send_(send) {
    if (!send_) store(connection_.head, step_);
  }

  bool done() const { return done_; }

  // Copies at most one chunk; false if the proxy has to act first.
  bool advance() {
    if (done_) return false;
    const size_t length = std::min(chunk_bytes_, bytes_ - position_);
    if (send_) {
      if (load(connection_.head) + kSteps < step_ + 1) return false;
      FifoSlot& slot = connection_.fifo[step_ % kSteps];
      slot.size = static_cast<std::ptrdiff_t>(length);
      if (length > 0) std::memcpy(buffer(), address_ + position_, length);
    } else {
      if (load(connection_.tail) < step_ + 1) return false;
      if (length > 0) std::memcpy(address_ + position_, buffer(), length);
    }
    position_ += length;
    ++step_;
    store(send_ ? connection_.tail : connection_.head, step_);
    if (position_ == bytes_) {  // a transfer of no bytes is one step, too
      done_ = true;
      connection_.step = step_;
    }
    return true;
  }

 private:
  char* buffer() const {
    const FifoSlot* slot =
        connection_.fifo == nullptr ? nullptr : &connection_.fifo[step_ % kSteps];
    const size_t offset = slot != nullptr && slot->mode == 1
                              ? static_cast<size_t>(slot->offset)
                              : step_ % kSteps * static_cast<size_t>(connection_.step_bytes);
    return connection_.buffers[kSimple] + offset;
  }

  ConnectionInfo& connection_;
  char* address_;
  size_t bytes_;
  size_t chunk_bytes_;
  size_t position_ = 0;
  uint64_t step_;
  bool send_;
  bool done_ = false;
};

struct Part {
  size_t begin = 0;
  size_t end = 0;
};

// The bytes of a transfer that one of its channels moves: equal shares of whole 4 KiB.
Part part_of(size_t bytes, size_t parts, size_t index) {
  constexpr size_t kGrain = 4096;
  const size_t share = ((bytes + parts - 1) / parts + kGrain - 1) / kGrain * kGrain;
  return {std::min(index * share, bytes), std::min((index + 1) * share, bytes)};
}

// A block of the grid: works through the batches of one channel.
class Block {
 public:
  Block(const KernelArguments& arguments, int channel, int first_batch)
      : arguments_(arguments),
        communicator_(*arguments.communicator),
        channel_(channel),
        next_batch_(first_batch) {}

  bool done() const { return next_batch_ < 0 && transfers_.empty(); }

  bool advance() {
    if (done()) return false;
    if (transfers_.empty()) {
      start_batch();
      return true;
    }
    bool moved = false;
    for (Transfer& transfer : transfers_) moved |= transfer.advance();
    if (std::all_of(transfers_.begin(), transfers_.end(), [](auto& t) { return t.done(); })) {
      finish_batch();
    }
    return moved;
  }

 private:
  void start_batch() {
    batch_ = load_batch(arguments_, next_batch_);
    next_batch_ = batch_.next;
    stamp(communicator_.started);
    for (const PointToPointWork& work : batch_.works) add(work);
    if (transfers_.empty()) finish_batch();
  }

  void finish_batch() {
    transfers_.clear();
    stamp(communicator_.completed);
    communicator_.channels[channel_].work_counter += batch_.works.size();
  }

  void add(const PointToPointWork& work) {
    const auto index = static_cast<size_t>((channel_ - work.first_channel) & (work.channels - 1));
    const Part sent = part_of(work.send_bytes, std::max<size_t>(work.send_channels, 1), index);
    const Part received =
        part_of(work.receive_bytes, std::max<size_t>(work.receive_channels, 1), index);
    const bool sends = index < work.send_channels;
    if (work.send_rank == communicator_.rank) {
      if (sends) {
        std::memmove(work.receive_address + sent.begin, work.send_address + sent.begin,
                     sent.end - sent.begin);
      }
      return;
    }
    ChannelPeer** peers = communicator_.channels[channel_].peers;
    if (sends) {
      transfers_.emplace_back(peers[work.send_rank]->send[kPointToPointIndex],
                              work.send_address + sent.begin, sent.end - sent.begin,
                              decode_chunk_bytes(work.send_chunk), true);
    }
    if (index < work.receive_channels) {
      transfers_.emplace_back(peers[work.receive_rank]->receive[kPointToPointIndex],
                              work.receive_address + received.begin, received.end - received.begin,
                              decode_chunk_bytes(work.receive_chunk), false);
    }
  }

  // The times by which NCCL's profiler plugins learn when a channel of a kernel was busy.
  void stamp(WorkTimes* times) const {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    uint64_t counter = communicator_.channels[channel_].work_counter;
    for (const PointToPointWork& work : batch_.works) {
      ++counter;
      if ((work.flags & kProfiled) == 0) continue;
      auto& event = times[channel_].events[counter % 64];
      event.timestamp_ns =
          static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
      store(&event.counter, counter);
    }
  }

  const KernelArguments& arguments_;
  KernelCommunicator& communicator_;
  int channel_;
  int next_batch_;
  LoadedBatch batch_;
  std::vector<Transfer> transfers_;
};

// The channels of a launch, in the order of the grid's blocks.
std::vector<int> channels_of(const KernelArguments& arguments) {
  std::vector<int> channels;
  for (int channel = 0; channel < kMaxChannels; ++channel) {
    if (arguments.channel_mask >> channel & 1) channels.push_back(channel);
  }
  return channels;
}

}  // namespace

std::string unsupported_reason(const char* arguments, size_t bytes) {
  if (bytes < sizeof(KernelArguments)) return "these are not the arguments of a kernel of NCCL";
  const auto& launch = *reinterpret_cast<const KernelArguments*>(arguments);
  const int blocks = std::popcount(launch.channel_mask);
  for (int block = 0; block < blocks; ++block) {
    for (int index = block; index >= 0;) {
      const LoadedBatch batch = load_batch(launch, index);
      if (!batch.point_to_point) return "only ncclSend and ncclRecv are supported, no collectives";
      for (const PointToPointWork& work : batch.works) {
        if ((work.flags & kUnsupportedFlags) != 0) {
          return "protocol LL and registered buffers are not supported (NCCL_P2P_LL_THRESHOLD=0)";
        }
      }
      index = batch.next;
    }
  }
  return "";
}

void run_kernel(const char* arguments) {
  const auto& launch = *reinterpret_cast<const KernelArguments*>(arguments);
  std::vector<Block> blocks;
  for (int channel : channels_of(launch)) {
    blocks.emplace_back(launch, channel, static_cast<int>(blocks.size()));
  }
  for (;;) {
    bool moved = false;
    bool done = true;
    for (Block& block : blocks) {
      moved |= block.advance();
      done &= block.done();
    }
    if (done || *launch.communicator->abort_flag != 0) return;
    if (!moved) std::this_thread::yield();
  }
}

}  // namespace heddle::cuda_stand_in
