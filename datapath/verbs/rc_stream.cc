// See rc_stream.h; RdmaStream::open() is in datapath/rdma_stream.h.
#include "datapath/verbs/rc_stream.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <sstream>
#include <utility>

#include "base/clocks.h"
#include "base/hash.h"
#include "datapath/resolve.h"
#include "datapath/verbs/open.h"
#include "datapath/verbs/params.h"

namespace heddle::datapath {

using namespace verbs_params;  // NOLINT: the constants of this folder

namespace {

constexpr const char* kVersion = "rc2";  // of the line, of payload and of what immediates say
constexpr uint64_t kSendingId = 1;
constexpr uint64_t kReceivingId = 2;
constexpr uint32_t kStream = 1;
constexpr uint32_t kPing = 2;
constexpr uint32_t kAnswer = 3;
constexpr uint32_t kKindBits = 8;  // of an immediate; above them is the place, in chunks
constexpr size_t kHalf = size_t{kSendDepth} * kReliableChunkBytes;
static_assert(kSendDepth <= 64, "a bit of filled_ each");

struct PeerEnd {
  std::string version;
  std::string address;
  uint32_t mtu = 0;
  uint32_t sending = 0;  // numbers of its queue pairs
  uint32_t receiving = 0;
  uint32_t first_number = 0;
  uint64_t memory = 0;
  uint32_t key = 0;
};

// Payload at a place of the memory that both ends' streams fill, in bytes: what the seed makes.
void make_payload(uint32_t seed, size_t at, std::span<std::byte> bytes) {
  for (size_t i = 0; i < bytes.size(); i += sizeof(uint64_t)) {
    const uint64_t word = mix_bits((uint64_t{seed} << 32) + at + i + 1);
    std::memcpy(bytes.data() + i, &word, sizeof word);
  }
}

Unexpected failed(const char* what, const char* why) {
  return fail(ErrorCode::kSystem, what, why, "see heddle doctor rdma on both hosts");
}

}  // namespace

Result<RdmaChoice> rdma_port_of(const std::string& address) {
  VerbsOptions options;
  options.bind = address;
  const Result<VerbsPort> port = find_verbs_port(options);
  if (!port) return fail(port.error());
  return port->choice;
}

Result<std::unique_ptr<RdmaStream>> RdmaStream::open(const std::string& address,
                                                     uint8_t traffic_class) {
  VerbsOptions options;
  options.bind = address;
  const Result<VerbsPort> port = find_verbs_port(options);
  if (!port) return fail(port.error());
  Result<std::unique_ptr<VerbsDevice>> device = VerbsDevice::open(port->choice, *port->library);
  if (!device) return fail(std::move(device).error());
  Result<std::unique_ptr<RcStream>> made = RcStream::make(std::move(*device), traffic_class);
  if (!made) return fail(std::move(made).error());
  return std::unique_ptr<RdmaStream>(std::move(*made));
}

Result<std::unique_ptr<RcStream>> RcStream::make(std::unique_ptr<VerbsDevice> device,
                                                 uint8_t traffic_class) {
  std::unique_ptr<RcStream> made(new RcStream(std::move(device)));
  if (Result<void> ready = made->prepare(traffic_class); !ready) return fail(ready.error());
  return made;
}

RcStream::~RcStream() {
  receiving_.reset();
  sending_.reset();
  if (range_.memory != nullptr) device_->remove(range_);
}

Result<void> RcStream::prepare(uint8_t traffic_class) {
  memory_.resize(2 * kHalf);
  range_ = device_->add(memory_.data(), memory_.size());
  if (range_.memory == nullptr || !range_.writable) {
    return fail(ErrorCode::kExhausted, "cannot test RC", "its memory cannot be registered",
                "raise the limit of locked memory (ulimit -l); see heddle doctor rdma");
  }
  auto sending = QueuePair::create(
      *device_, {.receives = false, .id = kSendingId, .traffic_class = traffic_class});
  if (!sending) return fail(std::move(sending).error());
  sending_ = std::move(*sending);
  auto receiving = QueuePair::create(
      *device_, {.receives = true, .id = kReceivingId, .traffic_class = traffic_class});
  if (!receiving) return fail(std::move(receiving).error());
  receiving_ = std::move(*receiving);
  if (getrandom(&first_number_, sizeof first_number_, 0) != sizeof first_number_) {
    return failed("cannot test RC", "the system gives no random number");
  }
  first_number_ &= 0xff'ffff;  // a packet number has 24 bits
  make_payload(first_number_, 0, std::span(memory_).subspan(kHalf));
  return {};
}

std::string RcStream::own_end() const {
  return fmt::format("{} {} {} {} {} {} {} {}", kVersion,
                     rdma_address_text(device_->choice().gid.address), device_->mtu(),
                     sending_->number(), receiving_->number(), first_number_,
                     reinterpret_cast<uintptr_t>(memory_.data()), range_.remote_key);
}

Result<void> RcStream::connect(const std::string& peer_end) {
  PeerEnd peer;
  std::istringstream words(peer_end);
  words >> peer.version >> peer.address >> peer.mtu >> peer.sending >> peer.receiving >>
      peer.first_number >> peer.memory >> peer.key;
  const Result<transport::Address> address = parse_address(peer.address, 0);
  if (!words || peer.version != kVersion || !address || peer.mtu < 1 || peer.mtu > 5) {
    return fail(ErrorCode::kInvalid, "cannot test RC", "the other end says '" + peer_end + "'",
                "install the same version of heddle on both hosts");
  }
  peer_first_number_ = peer.first_number & 0xff'ffff;
  peer_memory_ = peer.memory;
  peer_key_ = peer.key;
  QueuePairPeer other{.address = *address,
                      .queue_pair = peer.sending,
                      .first_number = peer.first_number & 0xff'ffff,
                      .mtu = std::min(device_->mtu(), static_cast<uint8_t>(peer.mtu))};
  if (Result<void> connected = receiving_->connect(other, 0); !connected) return connected;
  if (!receiving_->post_receives(kReceiveDepth)) {
    return failed("cannot test RC", "no receive can be posted");
  }
  other.queue_pair = peer.receiving;
  return sending_->connect(other, first_number_);
}

Result<void> RcStream::write(uint32_t bytes, uint32_t kind) {
  const size_t at = size_t{in_flight_} * kReliableChunkBytes;
  const RemoteWriteRequest request{.from = memory_.data() + kHalf + at,
                                   .bytes = bytes,
                                   .local_key = range_.local_key,
                                   .to = peer_memory_ + at,
                                   .remote_key = peer_key_,
                                   .immediate = kind | in_flight_ << kKindBits};
  if (sending_->post_writes({&request, 1}) != 1) {
    return failed("cannot send over RC", "the queue pair takes no write");
  }
  ++in_flight_;
  return {};
}

Result<void> RcStream::arrive(const Completion& done) {
  ++taken_;
  const uint32_t kind = done.immediate & ((1U << kKindBits) - 1);
  if (kind == kPing && in_flight_ < kSendDepth) return write(1, kAnswer);
  if (kind == kAnswer) ++answers_;
  if (kind != kStream) return {};
  const uint32_t place = done.immediate >> kKindBits;
  if (place < kSendDepth) filled_ |= uint64_t{1} << place;
  arrived_.last = steady_now();
  if (arrived_.bytes == 0) arrived_.first = arrived_.last;
  arrived_.bytes += done.bytes;
  return {};
}

RdmaArrived RcStream::take_arrived() {
  std::vector<std::byte> sent(kReliableChunkBytes);
  for (uint32_t place = 0; place < kSendDepth; ++place) {
    if ((filled_ >> place & 1) == 0) continue;
    const size_t at = size_t{place} * kReliableChunkBytes;
    make_payload(peer_first_number_, at, sent);
    for (size_t i = 0; i < sent.size(); ++i) arrived_.changed += sent[i] != memory_[at + i] ? 1 : 0;
  }
  filled_ = 0;
  return std::exchange(arrived_, {});
}

Result<size_t> RcStream::take(size_t& arrivals) {
  std::array<Completion, kCompletionsACall> done;
  const size_t count = device_->poll(done);
  for (size_t i = 0; i < count; ++i) {
    if (!done[i].ok) return failed("RC failed", done[i].error);
    if (done[i].id == kSendingId) {
      --in_flight_;
    } else {
      ++arrivals;
      if (Result<void> taken = arrive(done[i]); !taken) return fail(taken.error());
    }
  }
  if (taken_ >= kReceiveRow) {
    if (!receiving_->post_receives(std::exchange(taken_, 0))) {
      return failed("RC failed", "no receive can be posted");
    }
  }
  return count;
}

Result<void> RcStream::send_until(Nanos end) {
  size_t arrivals = 0;
  for (;;) {
    const bool over = steady_now() >= end;
    if (over && in_flight_ == 0) return {};
    while (!over && in_flight_ < kSendDepth) {
      if (Result<void> sent = write(kReliableChunkBytes, kStream); !sent) return sent;
    }
    const Result<size_t> taken = take(arrivals);
    if (!taken) return fail(taken.error());
    if (*taken == 0) wait(-1, over ? steady_now() + kStreamWait : end);
    if (over && steady_now() > end + kStreamEnds) {
      return failed("RC failed", "the peer's NIC takes no more writes");
    }
  }
}

Result<std::vector<Nanos>> RcStream::ping_until(Nanos end, size_t most) {
  std::vector<Nanos> round_trips;
  size_t arrivals = 0;
  while (steady_now() < end && round_trips.size() < most) {
    const uint64_t before = answers_;
    const Nanos start = steady_now();
    if (Result<void> sent = write(1, kPing); !sent) return fail(sent.error());
    while (answers_ == before) {
      const Result<size_t> taken = take(arrivals);
      if (!taken) return fail(taken.error());
      if (*taken > 0) continue;
      if (steady_now() - start > kStreamSpin) wait(-1, steady_now() + kStreamWait);
      if (steady_now() > end + kStreamEnds) {
        return fail(ErrorCode::kTimeout, "RC failed", "no ping was answered",
                    "see heddle doctor rdma on both hosts");
      }
    }
    round_trips.push_back(steady_now() - start);
  }
  return round_trips;
}

Result<bool> RcStream::serve() {
  size_t arrivals = 0;
  const Nanos start = steady_now();
  do {
    const Result<size_t> taken = take(arrivals);
    if (!taken) return fail(taken.error());
  } while (arrivals == 0 && steady_now() - start < kStreamSpin);
  return arrivals > 0;
}

void RcStream::wait(int descriptor, Nanos end) {
  device_->arm();
  std::array<pollfd, 2> watched = {
      {{device_->completion_descriptor(), POLLIN, 0}, {descriptor, POLLIN, 0}}};
  // What completed before arm() makes no event.
  const Nanos left = std::clamp(end - steady_now(), Nanos{}, kStreamWait);
  const timespec time{0, left.count};
  ppoll(watched.data(), watched.size(), &time, nullptr);
  device_->take_notification();
}

}  // namespace heddle::datapath
