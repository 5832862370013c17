// Receiver: see receiver.h. It uses recvmmsg into frames, and recvmsg scattered over headers and
// places where a prediction is worthwhile.
#include "datapath/udp/receiver.h"

#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "datapath/udp/clock.h"
#include "datapath/udp/params.h"

namespace heddle::datapath {

using transport::Ecn;
using transport::kDataHeaderBytes;
using transport::PayloadAt;
using transport::Prediction;
using transport::RxRun;

namespace {

constexpr size_t kRowBytes = Scattering::kRowBytes;
constexpr size_t kAlign = 64;
constexpr size_t kArenaBytes = udp_params::kBatchBytes + Scattering::kReserve + kRowBytes;
constexpr size_t kControlBytes = 128;

constexpr size_t align_up(size_t bytes) { return (bytes + kAlign - 1) & ~(kAlign - 1); }

}  // namespace

struct Receiver::Scratch {
  struct alignas(cmsghdr) Control {
    std::array<std::byte, kControlBytes> bytes;
  };
  std::array<mmsghdr, udp_params::kMaxFrames> messages{};
  std::array<iovec, udp_params::kMaxFrames> frames{};
  std::array<iovec, Scattering::kMaxPieces> pieces{};  // of a predicted receive
  std::array<SocketAddress, udp_params::kMaxFrames> from{};
  std::array<Control, udp_params::kMaxFrames> control{};
  alignas(kAlign) std::array<std::byte, kArenaBytes> arena;

  explicit Scratch(size_t slot_bytes) {
    for (size_t i = 0; i < udp_params::kMaxFrames; ++i) {
      frames[i].iov_len = slot_bytes;
      messages[i].msg_hdr.msg_name = from[i].bytes.data();
      messages[i].msg_hdr.msg_control = control[i].bytes.data();
    }
  }

  // Sets the fields that the call reads and may have changed.
  msghdr& prepare(size_t index, iovec* vectors, size_t count) {
    msghdr& message = messages[index].msg_hdr;
    message.msg_namelen = static_cast<socklen_t>(from[index].bytes.size());
    message.msg_iov = vectors;
    message.msg_iovlen = count;
    message.msg_controllen = kControlBytes;
    return message;
  }
};

Receiver::Receiver(Socket socket, const ReceiverOptions& options, const RegionTable& regions,
                   DatapathStatistics& statistics)
    : socket_(std::move(socket)),
      options_(options),
      regions_(regions),
      statistics_(statistics),
      // The extra byte reveals datagrams that are too large.
      slot_bytes_(options.coalesces ? kRowBytes : align_up(options.max_datagram_bytes + 1)),
      scratch_(std::make_unique<Scratch>(slot_bytes_)) {
  CHECK(options_.max_datagram_bytes < kRowBytes && options_.place_min_bytes > 0);
}

Receiver::~Receiver() = default;

size_t Receiver::receive(RxBatch& batch, const Prediction* prediction) {
  CHECK(!lent_);
  batch.count = 0;
  batch.place_filled = false;
  used_ = batch_bytes_ = 0;
  const bool predicted = prediction != nullptr && worth_placing(*prediction);
  const bool trusted = distrust_ == 0;
  const Next next = predicted && trusted ? receive_placed(batch, *prediction) : Next::kTake;
  const bool waits = next == Next::kPredict && batch_bytes_ >= udp_params::kWorthATurn;
  batch.place_filled = waits && batch_bytes_ <= udp_params::kBatchBytes / 3;
  if (next != Next::kNothing && !waits && (busy_ || batch.count == 0)) receive_frames(batch);
  if (predicted && !trusted && batch.count > 0) --distrust_;
  lent_ = batch.count > 0;
  busy_ = lent_ && (brought_ || batch_bytes_ > udp_params::kSmallBytes);
  brought_ = lent_;
  return batch.count;
}

bool Receiver::worth_placing(const Prediction& prediction) const {
  return prediction.payload_bytes <= kRowBytes &&
         std::min<uint64_t>(prediction.payload_bytes, prediction.place.length) >=
             options_.place_min_bytes;
}

void Receiver::release(RxBatch& batch) {
  batch.count = 0;
  lent_ = false;
}

uint64_t Receiver::dropped() const {
  std::array<uint32_t, SK_MEMINFO_VARS> info{};
  socklen_t length = sizeof info;
  const int done = getsockopt(socket_.descriptor(), SOL_SOCKET, SO_MEMINFO, info.data(), &length);
  return truncated_ + (done == 0 ? info[SK_MEMINFO_DROPS] : 0);
}

// For a predicted receive, which may add two runs.
bool Receiver::has_room(const RxBatch& batch) const {
  return batch.count + 2 <= RxBatch::kMaxRuns && batch_bytes_ < udp_params::kBatchBytes &&
         used_ + Scattering::kReserve <= kArenaBytes;
}

void Receiver::use_arena(const std::byte* end) {
  used_ = align_up(static_cast<size_t>(end - scratch_->arena.data()));
}

// Receives into predicted places while the predictions match.
Receiver::Next Receiver::receive_placed(RxBatch& batch, Prediction prediction) {
  Scratch& s = *scratch_;
  Scattering scattering;
  for (uint32_t calls = 0; calls < udp_params::kMaxCalls && has_room(batch); ++calls) {
    const size_t pieces =
        scattering.lay_out(prediction, s.arena.data() + used_, regions_.resolve(prediction.place),
                           options_.coalesces, s.pieces);
    msghdr& message = s.prepare(0, s.pieces.data(), pieces);
    ++statistics_.receive_calls;
    const ssize_t bytes = recvmsg(socket_.descriptor(), &message, MSG_DONTWAIT);
    if (bytes < 0) return Next::kNothing;
    Arrival arrival;
    if (!describe(0, static_cast<size_t>(bytes), arrival)) continue;
    const Next next = sort_out(prediction, scattering, arrival, batch);
    if (next != Next::kPlace || !busy_) return next;
  }
  return Next::kTake;
}

// Adds the runs of a scattered receive. kPlace: `prediction` describes the next place to try.
Receiver::Next Receiver::sort_out(Prediction& prediction, Scattering& scattering,
                                  const Arrival& arrival, RxBatch& batch) {
  const Nanos now = monotonic_now();
  if (!scattering.fits(prediction, arrival.bytes, arrival.segment_bytes)) {
    scattering.line_up(arrival.bytes);
    statistics_.payload_copied_bytes += arrival.bytes;
    add_run(batch, arrival, scattering.slots(), now);
    use_arena(scattering.slots() + arrival.bytes);
    // For example an acknowledgement between bursts.
    if (arrival.bytes <= udp_params::kCostlyBytes) return Next::kPlace;
    distrust_ = distrust_next_;
    distrust_next_ = std::min(2 * distrust_next_, udp_params::kMaxDistrust);
    return Next::kTake;
  }
  distrust_next_ = 1;
  uint32_t in_place = scattering.in_place(arrival.bytes);
  const uint32_t alike = scattering.alike(prediction, in_place);
  const bool mixed = uint64_t{alike} * scattering.datagram() < in_place;
  if (mixed) in_place = alike * scattering.datagram();
  uint64_t placed_bytes = 0;
  if (in_place > 0) {
    Arrival placed = arrival;
    placed.bytes = in_place;
    RxRun& run = add_run(batch, placed, scattering.slots(), now);
    run.header_bytes = prediction.header_bytes;
    placed_bytes = in_place - uint64_t{run.segments} * run.header_bytes;
    run.payload_at = PayloadAt::kPlaced;
    run.place = prediction.place;
    run.place.length = placed_bytes;
    statistics_.payload_placed_bytes += placed_bytes;
    use_arena(scattering.slots() + size_t{run.segments} * run.header_bytes);
  }
  if (in_place == arrival.bytes) {
    return move_on(prediction, placed_bytes) ? Next::kPlace : Next::kPredict;
  }
  Arrival behind = arrival;
  behind.bytes = arrival.bytes - in_place;
  if (mixed) scattering.line_up(arrival.bytes, alike);
  const std::byte* rest = mixed ? scattering.line(alike) : scattering.rest();
  statistics_.payload_copied_bytes += mixed ? behind.bytes : scattering.partial();
  add_run(batch, behind, rest, now);
  use_arena(rest + behind.bytes);
  return Next::kTake;
}

// Receives complete frames. True: the queue is empty.
bool Receiver::receive_frames(RxBatch& batch) {
  Scratch& s = *scratch_;
  const size_t most = !busy_               ? 1
                      : options_.coalesces ? udp_params::kMaxRowFrames
                                           : udp_params::kMaxFrames;
  for (uint32_t calls = 0; calls < udp_params::kMaxCalls && batch_bytes_ < udp_params::kBatchBytes;
       ++calls) {
    std::byte* start = s.arena.data() + used_;
    const size_t count =
        std::min({most, RxBatch::kMaxRuns - batch.count, (kArenaBytes - used_) / slot_bytes_});
    if (count == 0) return false;
    for (size_t i = 0; i < count; ++i) {
      s.frames[i].iov_base = start + i * slot_bytes_;
      s.prepare(i, &s.frames[i], 1);
    }
    const size_t got = take_messages(count);
    if (got == 0) return true;
    const Nanos now = monotonic_now();
    for (size_t i = 0; i < got; ++i) {
      Arrival arrival;
      if (!describe(i, s.messages[i].msg_len, arrival)) continue;
      std::byte* frame = start + i * slot_bytes_;
      if (arrival.bytes <= udp_params::kSmallBytes && frame != s.arena.data() + used_) {
        std::memmove(s.arena.data() + used_, frame, arrival.bytes);
        frame = s.arena.data() + used_;
      }
      add_run(batch, arrival, frame, now);
      use_arena(frame + arrival.bytes);
    }
    if (got < count) return true;
    if (!busy_) return false;
  }
  return false;
}

// Receives up to `count` available messages; recvmsg is cheaper for a single one.
size_t Receiver::take_messages(size_t count) {
  Scratch& s = *scratch_;
  ++statistics_.receive_calls;
  if (count > 1) {
    const int got = recvmmsg(socket_.descriptor(), s.messages.data(), static_cast<unsigned>(count),
                             MSG_DONTWAIT, nullptr);
    return got > 0 ? static_cast<size_t>(got) : 0;
  }
  const ssize_t bytes = recvmsg(socket_.descriptor(), &s.messages[0].msg_hdr, MSG_DONTWAIT);
  if (bytes < 0) return 0;
  s.messages[0].msg_len = static_cast<unsigned>(bytes);
  return 1;
}

// Parses message `index` of the latest call; false: nothing to deliver.
bool Receiver::describe(size_t index, size_t bytes, Arrival& arrival) {
  msghdr& message = scratch_->messages[index].msg_hdr;
  if (bytes == 0) return false;
  if ((message.msg_flags & MSG_TRUNC) != 0) {
    ++truncated_;
    return false;
  }
  arrival.bytes = arrival.segment_bytes = static_cast<uint32_t>(bytes);
  arrival.from = from_socket_address(scratch_->from[index].bytes.data());
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
      int step = 0;
      std::memcpy(&step, CMSG_DATA(c), sizeof step);
      if (step > 0) arrival.segment_bytes = static_cast<uint32_t>(step);
    } else if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) ||
               (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS)) {
      // One byte for IPv4, an int for IPv6; the low byte comes first on x86-64 and AArch64.
      arrival.ecn = static_cast<Ecn>(*CMSG_DATA(c) & IPTOS_ECN_MASK);
    }
  }
  return true;
}

RxRun& Receiver::add_run(RxBatch& batch, const Arrival& arrival, const std::byte* frame, Nanos at) {
  RxRun& run = batch.runs[batch.count++];
  run = {};  // the caller's batch may hold anything
  run.from = arrival.from;
  run.nic = options_.nic;
  run.received_at = at;
  run.ecn = arrival.ecn;
  run.segments = (arrival.bytes + arrival.segment_bytes - 1) / arrival.segment_bytes;
  run.last_segment_bytes = arrival.bytes - (run.segments - 1) * arrival.segment_bytes;
  run.segment_bytes = run.segments == 1 ? run.last_segment_bytes : arrival.segment_bytes;
  run.frame = frame;
  statistics_.datagrams_received += run.segments;
  batch_bytes_ += arrival.bytes;
  return run;
}

}  // namespace heddle::datapath
