// An io_uring of one socket, by the kernel's own interface (io_uring_setup(2), io_uring_enter(2)).
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "bench/p2p/raw_calls.h"

namespace heddle::bench {
namespace {

constexpr uint32_t kEntries = 8;
constexpr uint64_t kReceived = 1;  // user_data of a receive; a message that was sent has none

// A part of the kernel's memory for the ring.
class Mapping {
 public:
  Mapping() = default;
  Mapping(int ring, size_t bytes, uint64_t offset)
      : at_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
                 static_cast<off_t>(offset))),
        bytes_(bytes) {}
  ~Mapping() {
    if (at_ != MAP_FAILED) munmap(at_, bytes_);
  }
  Mapping(Mapping&& other) noexcept
      : at_(std::exchange(other.at_, MAP_FAILED)), bytes_(other.bytes_) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  bool is_valid() const { return at_ != MAP_FAILED; }
  template <typename T>
  T* at(uint32_t offset) const {
    return reinterpret_cast<T*>(static_cast<std::byte*>(at_) + offset);
  }

 private:
  void* at_ = MAP_FAILED;
  size_t bytes_ = 0;
};

class RingCalls : public RawCalls {
 public:
  explicit RingCalls(bool sleep) : sleep_(sleep) {}

  Result<void> open(const RawSocket& udp) {
    io_uring_params params{};
    params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
    ring_ = RawSocket(static_cast<int>(syscall(SYS_io_uring_setup, kEntries, &params)));
    if (ring_.get() < 0) return system_failure("cannot make an io_uring (Linux 6.1)");
    const size_t completions = params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe);
    const size_t submissions = params.sq_off.array + params.sq_entries * sizeof(uint32_t);
    rings_ = Mapping(ring_.get(), std::max(completions, submissions), IORING_OFF_SQ_RING);
    entries_ = Mapping(ring_.get(), params.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES);
    if (!rings_.is_valid() || !entries_.is_valid()) return system_failure("cannot map an io_uring");
    const int file = udp.get();
    if (syscall(SYS_io_uring_register, ring_.get(), IORING_REGISTER_FILES, &file, 1) < 0) {
      return system_failure("cannot give a socket to an io_uring");
    }
    offsets_ = params;
    return {};
  }

  bool send(const std::vector<std::byte>& message) override {
    io_uring_sqe& entry = next_entry();
    entry.opcode = IORING_OP_SEND;
    entry.flags = IOSQE_FIXED_FILE | IOSQE_CQE_SKIP_SUCCESS;
    entry.addr = reinterpret_cast<uint64_t>(message.data());
    entry.len = static_cast<uint32_t>(message.size());
    return true;
  }

  bool await(std::vector<std::byte>& buffer) override {
    if (!is_receiving_) {
      io_uring_sqe& entry = next_entry();
      entry.opcode = IORING_OP_RECV;
      entry.flags = IOSQE_FIXED_FILE;
      entry.addr = reinterpret_cast<uint64_t>(buffer.data());
      entry.len = static_cast<uint32_t>(buffer.size());
      entry.user_data = kReceived;
      is_receiving_ = true;
    }
    Nanos give_up;
    for (uint32_t tries = 0;; ++tries) {
      enter();
      if (take_received()) return true;
      if (tries == 0) {
        give_up = raw_now() + kPatience;
      } else if ((sleep_ || tries % 256 == 0) && raw_now() > give_up) {
        return false;
      }
    }
  }

 private:
  io_uring_sqe& next_entry() {
    const uint32_t mask = *rings_.at<uint32_t>(offsets_.sq_off.ring_mask);
    const uint32_t index = (submitted_ + queued_) & mask;
    rings_.at<uint32_t>(offsets_.sq_off.array)[index] = index;
    ++queued_;
    io_uring_sqe& entry = entries_.at<io_uring_sqe>(0)[index];
    entry = {};
    return entry;
  }

  // Submits what is queued, and runs what has completed. Sleeps for a completion if asked to.
  void enter() {
    submitted_ += queued_;
    std::atomic_ref(*rings_.at<uint32_t>(offsets_.sq_off.tail))
        .store(submitted_, std::memory_order_release);
    __kernel_timespec patience{.tv_sec = 0, .tv_nsec = kPatience.count};
    io_uring_getevents_arg argument{};
    argument.sigmask_sz = _NSIG / 8;
    argument.ts = reinterpret_cast<uint64_t>(&patience);
    syscall(SYS_io_uring_enter, ring_.get(), std::exchange(queued_, 0), sleep_ ? 1 : 0,
            IORING_ENTER_GETEVENTS | (sleep_ ? IORING_ENTER_EXT_ARG : 0),
            sleep_ ? &argument : nullptr, sleep_ ? sizeof argument : 0);
  }

  bool take_received() {
    bool received = false;
    auto& head = *rings_.at<uint32_t>(offsets_.cq_off.head);
    const uint32_t tail =
        std::atomic_ref(*rings_.at<uint32_t>(offsets_.cq_off.tail)).load(std::memory_order_acquire);
    const uint32_t mask = *rings_.at<uint32_t>(offsets_.cq_off.ring_mask);
    uint32_t at = head;
    for (; at != tail; ++at) {
      const io_uring_cqe& done = rings_.at<io_uring_cqe>(offsets_.cq_off.cqes)[at & mask];
      if (done.user_data != kReceived) continue;
      is_receiving_ = false;
      received |= done.res > 0;
    }
    std::atomic_ref(head).store(at, std::memory_order_release);
    return received;
  }

  const bool sleep_;
  RawSocket ring_;
  io_uring_params offsets_{};
  Mapping rings_;
  Mapping entries_;
  uint32_t submitted_ = 0;
  uint32_t queued_ = 0;
  bool is_receiving_ = false;
};

}  // namespace

Result<std::unique_ptr<RawCalls>> open_ring(const RawSocket& udp, bool sleep) {
  auto calls = std::make_unique<RingCalls>(sleep);
  if (Result<void> opened = calls->open(udp); !opened) return fail(opened.error());
  return std::unique_ptr<RawCalls>(std::move(calls));
}

}  // namespace heddle::bench
