// Receiver: see receiver.h. recvmmsg into frames; recvmsg scattered over headers and places where a
// prediction is worth trying.
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

namespace heddle::datapath {

using transport::Ecn;
using transport::kDataHeaderBytes;
using transport::PayloadAt;
using transport::Prediction;
using transport::RxRun;

namespace {

constexpr size_t kRowBytes = 65536;  // no datagram or row is larger
constexpr size_t kAlign = 64;
// A batch ends when it holds so much: more would leave the cache before it is copied, and
// acknowledgements would wait.
constexpr size_t kBatchBytes = 192 * 1024;
constexpr uint32_t kMaxPairs = 64;
constexpr size_t kHeaderSlots = kMaxPairs * kDataHeaderBytes;
// A predicted receive: header slots, room to put everything in a row again, and what is too much
// for the place.
constexpr size_t kPlacedReserve = kHeaderSlots + 2 * kRowBytes;
constexpr size_t kArenaBytes = kBatchBytes + kPlacedReserve + kRowBytes;
constexpr uint32_t kMaxFrames = 32;    // a call
constexpr uint32_t kMaxRowFrames = 4;  // a call, where each may be a row
constexpr size_t kSmallBytes = 2048;   // frames up to this are moved together
constexpr uint32_t kMaxCalls = 64;     // in one receive(), whatever arrives
constexpr size_t kControlBytes = 128;
// After a wrong prediction that cost more than this, predictions are distrusted for a while.
constexpr uint32_t kCostlyBytes = 4096;
constexpr uint32_t kMaxDistrust = 64;

constexpr size_t align_up(size_t bytes) { return (bytes + kAlign - 1) & ~(kAlign - 1); }

bool header_fits(const std::byte* header, const Prediction& prediction) {
  for (size_t i = 0; i < kDataHeaderBytes; ++i) {
    if (((header[i] ^ prediction.header[i]) & prediction.mask[i]) != std::byte{0}) return false;
  }
  return true;
}

// Adds to a little-endian number that may stand anywhere.
void add_little_endian(std::byte* at, uint32_t amount) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= static_cast<uint32_t>(at[i]) << (8 * i);
  value += amount;
  for (int i = 0; i < 4; ++i) at[i] = static_cast<std::byte>(value >> (8 * i));
}

// Moves the prediction behind `placed` bytes; false: that cannot be told, or no place is left.
bool advance(Prediction& prediction, uint64_t placed) {
  if (placed >= prediction.place.length ||
      prediction.offset_at > kDataHeaderBytes - sizeof(uint32_t)) {
    return false;
  }
  prediction.place.offset += placed;
  prediction.place.length -= placed;
  add_little_endian(prediction.header.data() + prediction.offset_at, static_cast<uint32_t>(placed));
  return true;
}

}  // namespace

struct Receiver::Scratch {
  struct alignas(cmsghdr) Control {
    std::array<std::byte, kControlBytes> bytes;
  };
  std::array<mmsghdr, kMaxFrames> messages{};
  std::array<iovec, kMaxFrames> frames{};
  std::array<iovec, 2 * kMaxPairs + 3> pieces{};  // of a predicted receive
  std::array<SocketAddress, kMaxFrames> from{};
  std::array<Control, kMaxFrames> control{};
  alignas(kAlign) std::array<std::byte, kArenaBytes> arena;

  explicit Scratch(size_t slot_bytes) {
    for (size_t i = 0; i < kMaxFrames; ++i) {
      frames[i].iov_len = slot_bytes;
      messages[i].msg_hdr.msg_name = from[i].bytes.data();
      messages[i].msg_hdr.msg_control = control[i].bytes.data();
    }
  }

  // The fields that a call reads, and may have changed.
  msghdr& prepare(size_t index, iovec* vectors, size_t count) {
    msghdr& message = messages[index].msg_hdr;
    message.msg_namelen = static_cast<socklen_t>(from[index].bytes.size());
    message.msg_iov = vectors;
    message.msg_iovlen = count;
    message.msg_controllen = kControlBytes;
    return message;
  }
};

// The memory that a predicted receive is scattered over: `pairs` times a header slot and a step of
// the place, perhaps a header slot and the `partial` step that is left of the place, then the
// spill.
struct Receiver::Layout {
  std::byte* slots = nullptr;
  std::byte* place = nullptr;
  std::byte* spill = nullptr;
  uint32_t step = 0;
  uint32_t pairs = 0;
  uint32_t partial = 0;

  uint32_t datagram() const { return kDataHeaderBytes + step; }
  uint32_t partial_datagram() const { return partial > 0 ? kDataHeaderBytes + partial : 0; }
  // What fits before the spill.
  uint32_t ahead() const { return pairs * datagram() + partial_datagram(); }
};

Receiver::Receiver(Socket socket, const ReceiverOptions& options, const RegionTable& regions,
                   DatapathStatistics& statistics)
    : socket_(std::move(socket)),
      options_(options),
      regions_(regions),
      statistics_(statistics),
      // One byte more shows that a datagram is too large.
      slot_bytes_(options.coalesces ? kRowBytes : align_up(options.max_datagram_bytes + 1)),
      scratch_(std::make_unique<Scratch>(slot_bytes_)) {
  CHECK(options_.max_datagram_bytes < kRowBytes && options_.place_min_bytes > 0);
}

Receiver::~Receiver() = default;

size_t Receiver::receive(RxBatch& batch, const Prediction* prediction) {
  CHECK(!lent_);
  batch.count = 0;
  used_ = batch_bytes_ = 0;
  const bool predicted = prediction != nullptr && worth_placing(*prediction);
  const bool trusted = distrust_ == 0;
  const bool drained = predicted && trusted && receive_placed(batch, *prediction);
  if (!drained && (busy_ || batch.count == 0)) receive_frames(batch);
  if (predicted && !trusted && batch.count > 0) --distrust_;
  busy_ = lent_ = batch.count > 0;
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

// For a predicted receive, which may give two runs.
bool Receiver::has_room(const RxBatch& batch) const {
  return batch.count + 2 <= RxBatch::kMaxRuns && batch_bytes_ < kBatchBytes &&
         used_ + kPlacedReserve <= kArenaBytes;
}

bool Receiver::fits(const Prediction& prediction, const Layout& layout, const Arrival& arrival) {
  const bool single = arrival.bytes <= arrival.segment_bytes;
  return arrival.bytes >= kDataHeaderBytes && header_fits(layout.slots, prediction) &&
         (arrival.segment_bytes == layout.datagram() ||
          (single && arrival.bytes <= layout.datagram()));
}

void Receiver::use_arena(const std::byte* end) {
  used_ = align_up(static_cast<size_t>(end - scratch_->arena.data()));
}

// Receives into predicted places as long as predictions hold. True: the queue is empty.
bool Receiver::receive_placed(RxBatch& batch, Prediction prediction) {
  Scratch& s = *scratch_;
  Layout layout;
  for (uint32_t calls = 0; calls < kMaxCalls && has_room(batch); ++calls) {
    const size_t count = lay_out(prediction, layout);
    msghdr& message = s.prepare(0, s.pieces.data(), count);
    ++statistics_.receive_calls;
    const ssize_t bytes = recvmsg(socket_.descriptor(), &message, MSG_DONTWAIT);
    if (bytes < 0) return true;
    Arrival arrival;
    if (!describe(0, static_cast<size_t>(bytes), arrival)) continue;
    if (!sort_out(prediction, layout, arrival, batch) || !busy_) return false;
  }
  return false;
}

// Fills scratch_->pieces; returns how many.
size_t Receiver::lay_out(const Prediction& prediction, Layout& layout) {
  Scratch& s = *scratch_;
  const uint64_t room = prediction.place.length;
  layout.step = prediction.payload_bytes;
  layout.slots = s.arena.data() + used_;
  layout.spill = layout.slots + kHeaderSlots + kRowBytes;
  layout.place = regions_.resolve(prediction.place);
  const uint64_t most =
      options_.coalesces ? std::min<uint64_t>(kMaxPairs, kRowBytes / layout.datagram() + 1) : 1;
  layout.pairs = static_cast<uint32_t>(std::min(most, room / layout.step));
  layout.partial = layout.pairs < most ? static_cast<uint32_t>(room % layout.step) : 0;
  iovec* out = s.pieces.data();
  for (uint32_t i = 0; i < layout.pairs; ++i) {
    *out++ = {layout.slots + size_t{i} * kDataHeaderBytes, kDataHeaderBytes};
    *out++ = {layout.place + size_t{i} * layout.step, layout.step};
  }
  if (layout.partial > 0) {
    *out++ = {layout.slots + size_t{layout.pairs} * kDataHeaderBytes, kDataHeaderBytes};
    *out++ = {layout.place + size_t{layout.pairs} * layout.step, layout.partial};
  }
  *out++ = {layout.spill, kRowBytes};
  return static_cast<size_t>(out - s.pieces.data());
}

// Adds the runs of a scattered receive. True: `prediction` says what is worth trying next.
bool Receiver::sort_out(Prediction& prediction, const Layout& layout, const Arrival& arrival,
                        RxBatch& batch) {
  const Nanos now = monotonic_now();
  if (!fits(prediction, layout, arrival)) {
    line_up(layout, arrival.bytes);
    add_run(batch, arrival, layout.slots, now);
    use_arena(layout.slots + arrival.bytes);
    if (arrival.bytes <= kCostlyBytes) return true;  // an acknowledgement between the rows, say
    distrust_ = distrust_next_;
    distrust_next_ = std::min(2 * distrust_next_, kMaxDistrust);
    return false;
  }
  distrust_next_ = 1;
  const bool whole = arrival.bytes <= layout.ahead();
  const uint32_t in_place = whole ? arrival.bytes : layout.pairs * layout.datagram();
  if (in_place > 0) {
    Arrival placed = arrival;
    placed.bytes = in_place;
    RxRun& run = add_run(batch, placed, layout.slots, now);
    run.payload_at = PayloadAt::kPlaced;
    run.place = prediction.place;
    run.place.length = in_place - uint64_t{run.segments} * kDataHeaderBytes;
    statistics_.payload_placed_bytes += run.place.length;
    use_arena(layout.slots + size_t{run.segments} * kDataHeaderBytes);
    if (whole) return advance(prediction, run.place.length);
  }
  // The place was too small: the segments behind it stand in the spill, the first perhaps in part.
  std::byte* rest = layout.spill - layout.partial_datagram();
  if (layout.partial > 0) {
    std::memcpy(rest, layout.slots + size_t{layout.pairs} * kDataHeaderBytes, kDataHeaderBytes);
    std::memcpy(rest + kDataHeaderBytes, layout.place + size_t{layout.pairs} * layout.step,
                layout.partial);
    statistics_.payload_copied_bytes += layout.partial;
  }
  Arrival behind = arrival;
  behind.bytes = arrival.bytes - in_place;
  add_run(batch, behind, rest, now);
  use_arena(rest + behind.bytes);
  return false;
}

// Puts the first `bytes` of a scattered receive in a row at layout.slots. From the last piece to
// the first: no piece moves down, so none is overwritten before it has moved.
void Receiver::line_up(const Layout& layout, uint32_t bytes) {
  statistics_.payload_copied_bytes += bytes;
  if (bytes > layout.ahead()) {
    std::memcpy(layout.slots + layout.ahead(), layout.spill, bytes - layout.ahead());
    bytes = layout.ahead();
  }
  const uint32_t pieces = (bytes + layout.datagram() - 1) / layout.datagram();
  for (uint32_t i = pieces; i-- > 0;) {
    std::byte* to = layout.slots + size_t{i} * layout.datagram();
    const uint32_t length = std::min(bytes - i * layout.datagram(), layout.datagram());
    if (length > kDataHeaderBytes) {
      std::memcpy(to + kDataHeaderBytes, layout.place + size_t{i} * layout.step,
                  length - kDataHeaderBytes);
    }
    std::memmove(to, layout.slots + size_t{i} * kDataHeaderBytes,
                 std::min(length, kDataHeaderBytes));
  }
}

// Receives whole frames. True: the queue is empty.
bool Receiver::receive_frames(RxBatch& batch) {
  Scratch& s = *scratch_;
  const size_t most = !busy_ ? 1 : options_.coalesces ? kMaxRowFrames : kMaxFrames;
  for (uint32_t calls = 0; calls < kMaxCalls && batch_bytes_ < kBatchBytes; ++calls) {
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
      if (arrival.bytes <= kSmallBytes && frame != s.arena.data() + used_) {
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

// The messages that are there, up to `count`; for one the simpler call is cheaper.
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

// What message `index` of the latest call is; false: nothing to hand over.
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
      // One byte for IPv4, an int for IPv6: the low byte comes first on x86-64 and AArch64.
      arrival.ecn = static_cast<Ecn>(*CMSG_DATA(c) & IPTOS_ECN_MASK);
    }
  }
  return true;
}

RxRun& Receiver::add_run(RxBatch& batch, const Arrival& arrival, const std::byte* frame, Nanos at) {
  RxRun& run = batch.runs[batch.count++];
  run.from = arrival.from;
  run.received_at = at;
  run.ecn = arrival.ecn;
  run.payload_at = PayloadAt::kFrame;
  run.segments = (arrival.bytes + arrival.segment_bytes - 1) / arrival.segment_bytes;
  run.last_segment_bytes = arrival.bytes - (run.segments - 1) * arrival.segment_bytes;
  run.segment_bytes = run.segments == 1 ? run.last_segment_bytes : arrival.segment_bytes;
  run.frame = frame;
  run.header_bytes = kDataHeaderBytes;
  run.place = {};
  statistics_.datagrams_received += run.segments;
  batch_bytes_ += arrival.bytes;
  return run;
}

}  // namespace heddle::datapath
