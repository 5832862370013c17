// See receiver.h.
#include "datapath/xdp/receiver.h"

#include <algorithm>

#include "base/check.h"
#include "datapath/udp/clock.h"
#include "datapath/xdp/params.h"

namespace heddle::datapath {

using transport::kMaxBurstSegments;
using transport::PayloadAt;
using transport::Prediction;
using transport::RxRun;

namespace {

// The frames of the packet whose first descriptor is `first`; 0: it is not complete yet.
uint32_t frames_of(XdpSocket& socket, uint32_t first, uint32_t available) {
  for (uint32_t i = first; i < available; ++i) {
    if ((socket.received_at(i).options & XdpDescriptor::kContinued) == 0) return i + 1 - first;
  }
  return 0;
}

std::span<const std::byte> frame_at(XdpSocket& socket, uint32_t index) {
  const XdpDescriptor& entry = socket.received_at(index);
  return {socket.memory() + entry.address, entry.bytes};
}

uint32_t packet_bytes(XdpSocket& socket, uint32_t first, uint32_t frames) {
  uint32_t bytes = 0;
  for (uint32_t i = 0; i < frames; ++i) bytes += socket.received_at(first + i).bytes;
  return bytes;
}

// The datagram without what is before and behind it in its frames.
PacketPieces pieces_of(XdpSocket& socket, uint32_t first, uint32_t frames,
                       const ParsedFrame& parsed) {
  PacketPieces datagram;
  uint32_t skip = parsed.payload_at;
  uint32_t left = parsed.payload_bytes;
  for (uint32_t i = 0; i < frames && left > 0; ++i) {
    const auto part = frame_at(socket, first + i).subspan(skip);
    datagram.add(part.first(std::min<size_t>(left, part.size())));
    left -= static_cast<uint32_t>(datagram.pieces[datagram.count - 1].size());
    skip = 0;
  }
  return datagram;
}

}  // namespace

XdpReceiver::XdpReceiver(std::span<const std::unique_ptr<XdpSocket>> sockets,
                         const XdpReceiverOptions& options, const RegionTable& regions,
                         DatapathStatistics& statistics)
    : sockets_(sockets), options_(options), statistics_(statistics), placer_(regions) {}

size_t XdpReceiver::receive(RxBatch& batch, const Prediction* prediction) {
  CHECK(lent_ == nullptr);
  for (size_t tried = 0; tried < sockets_.size(); ++tried) {
    XdpSocket& socket = *sockets_[turn_];
    turn_ = turn_ + 1 < sockets_.size() ? turn_ + 1 : 0;
    if (socket.received() == 0 && socket.busy_polls()) socket.poll_driver();
    if (socket.received() == 0) continue;
    socket.settle_busy_poll();
    if (take(socket, batch, prediction) > 0) return batch.count;
  }
  return 0;
}

size_t XdpReceiver::take(XdpSocket& socket, RxBatch& batch, const Prediction* prediction) {
  const Nanos now = monotonic_now();
  batch.count = 0;
  batch.place_filled = false;
  batch_bytes_ = 0;
  ++statistics_.receive_calls;
  if (options_.places) placer_.start(prediction);
  const uint32_t available = socket.received();
  uint32_t taken = 0;
  while (taken < available && batch.count < RxBatch::kMaxRuns &&
         batch_bytes_ < xdp_params::kBatchBytes) {
    const uint32_t frames = frames_of(socket, taken, available);
    if (frames == 0) break;
    const uint32_t first = taken;
    ParsedFrame parsed;
    const FrameFault fault =
        frames > PacketPieces::kMost
            ? FrameFault::kForeign
            : parse_frame(frame_at(socket, first), packet_bytes(socket, first, frames),
                          options_.port, options_.scope, parsed);
    if (fault != FrameFault::kNone) {
      ++faulty_;
      taken += frames;
      continue;
    }
    const PacketPieces datagram = pieces_of(socket, first, frames, parsed);
    if (datagram.count > 1 && !placer_.has_room(datagram.bytes)) break;
    taken += frames;
    if (!holds(parsed, datagram)) {
      ++faulty_;
      continue;
    }
    add(batch, parsed, datagram, now);
  }
  lent_ = &socket;
  lent_entries_ = taken;
  if (batch.count == 0) release(batch);
  return batch.count;
}

bool XdpReceiver::holds(const ParsedFrame& parsed, const PacketPieces& datagram) const {
  if (parsed.checked) return true;
  ChecksumSum sum = parsed.header_sum;
  bool odd = false;
  for (size_t i = 0; i < datagram.count; ++i) sum.add_part(datagram.pieces[i], odd);
  return ParsedFrame::holds(sum);
}

void XdpReceiver::add(RxBatch& batch, const ParsedFrame& parsed, const PacketPieces& datagram,
                      Nanos now) {
  statistics_.datagrams_received += 1;
  batch_bytes_ += datagram.bytes;
  transport::Payload place;
  const std::byte* header = options_.places ? placer_.put(datagram, place) : nullptr;
  if (header != nullptr) {
    statistics_.payload_placed_bytes += place.length;
    add_placed(batch, parsed, header, place, now);
    return;
  }
  if (datagram.count == 1) {
    add_whole(batch, parsed, datagram.pieces[0].data(), now);
    return;
  }
  statistics_.payload_copied_bytes += datagram.bytes;
  add_whole(batch, parsed, placer_.gather(datagram), now);
}

// Joins the datagram to the last run if it is its next segment, at a constant distance.
void XdpReceiver::add_whole(RxBatch& batch, const ParsedFrame& parsed, const std::byte* at,
                            Nanos now) {
  const uint32_t bytes = parsed.payload_bytes;
  if (batch.count > 0) {
    RxRun& last = batch.runs[batch.count - 1];
    const bool joins = last.payload_at == PayloadAt::kFrame && last.segments < kMaxBurstSegments &&
                       last.last_segment_bytes == last.segment_bytes &&
                       bytes <= last.segment_bytes && last.from == parsed.from &&
                       last.ecn == parsed.ecn && at > last.frame;
    const auto step = static_cast<uint64_t>(at - last.frame);
    const bool in_step = last.segments > 1 ? step == uint64_t{last.segments} * last.frame_step
                                           : step >= last.segment_bytes && step <= UINT16_MAX;
    if (joins && in_step) {
      if (last.segments == 1) last.frame_step = static_cast<uint32_t>(step);
      ++last.segments;
      last.last_segment_bytes = bytes;
      return;
    }
  }
  start_run(batch, parsed, now).frame = at;
}

void XdpReceiver::add_placed(RxBatch& batch, const ParsedFrame& parsed, const std::byte* header,
                             const transport::Payload& place, Nanos now) {
  const uint32_t header_bytes = placer_.header_bytes();
  if (batch.count > 0) {
    RxRun& last = batch.runs[batch.count - 1];
    const bool joins = last.payload_at == PayloadAt::kPlaced && last.segments < kMaxBurstSegments &&
                       last.last_segment_bytes == last.segment_bytes &&
                       parsed.payload_bytes <= last.segment_bytes && last.from == parsed.from &&
                       last.ecn == parsed.ecn &&
                       header == last.frame + size_t{last.segments} * header_bytes;
    if (joins) {
      ++last.segments;
      last.last_segment_bytes = parsed.payload_bytes;
      last.place.length += place.length;
      return;
    }
  }
  RxRun& run = start_run(batch, parsed, now);
  run.frame = header;
  run.payload_at = PayloadAt::kPlaced;
  run.header_bytes = header_bytes;
  run.place = place;
}

RxRun& XdpReceiver::start_run(RxBatch& batch, const ParsedFrame& parsed, Nanos now) {
  RxRun& run = batch.runs[batch.count++];
  run = {};
  run.from = parsed.from;
  run.received_at = now;
  run.ecn = parsed.ecn;
  run.nic = options_.nic;
  run.segments = 1;
  run.segment_bytes = run.last_segment_bytes = parsed.payload_bytes;
  return run;
}

void XdpReceiver::release(RxBatch& batch) {
  batch.count = 0;
  if (lent_ == nullptr) return;
  lent_->give_back(lent_entries_);
  if (lent_->receive_needs_wakeup()) lent_->poll_driver();
  lent_ = nullptr;
}

}  // namespace heddle::datapath
