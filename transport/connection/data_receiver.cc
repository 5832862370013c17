// From a burst of data segments to its message and its acknowledgement.
#include "transport/connection/data_receiver.h"

#include <algorithm>

namespace heddle::transport {

void DataReceiver::handle(Nanos now, const DataBurst& burst) {
  const ConnectionHeader& base = burst.header.base;
  const uint64_t last = base.number + burst.segments - 1;
  if (filter_.is_impossible(now, base, last)) return;
  if (burst.segments > 1 && parts_.acks.judge(base.path, base.number, last) == Novelty::kMixed) {
    handle_apart(now, burst);
    return;
  }
  // An authenticated packet that comes again may be a replay: it does not show that the peer lives.
  const bool keyed = parts_.keys.active();
  if (keyed && filter_.is_duplicate(now, base.path, base.number, last)) return;
  parts_.keep_alive.on_heard(now);
  if (!keyed && filter_.is_duplicate(now, base.path, base.number, last)) return;
  const BurstVerdict verdict = parts_.incoming.accept(burst);
  if (verdict.drop) {
    filter_.drop(now, *verdict.drop);
    if (*verdict.drop == events::DropReason::kDuplicate) {
      parts_.statistics.segments_duplicate += burst.segments;
    }
  }
  if (!verdict.acknowledge) return;
  parts_.statistics.segments_received += burst.segments;
  if (burst.segments > 1) parts_.arriving_step = burst.step;
  const uint64_t bytes = burst.bytes();
  const uint32_t whole = burst.header.message_bytes;
  parts_.acks.note(now, base,
                   {.low = base.number,
                    .high = last,
                    .ecn = burst.run->ecn,
                    .bytes = std::max<uint64_t>(bytes, 1),
                    .within_message = burst.header.offset + bytes < whole,
                    .completes = verdict.completes && whole > AckRules::kLargeMessage,
                    .round_trip = parts_.sender.smoothed_rtt()});
  if (parts_.flow_control != nullptr) {
    const uint64_t headers = uint64_t{parts_.keys.data_header_bytes()} * burst.segments;
    parts_.flow_control->on_arrival(now, bytes + headers, burst.segments,
                                    (base.flags & kFlagRetransmission) != 0);
  }
  parts_.payload->on_data(now);
  parts_.share.note_payload(now);
}

// Part of the burst arrived before: its segments are processed one by one.
void DataReceiver::handle_apart(Nanos now, const DataBurst& burst) {
  for (uint32_t i = 0; i < burst.segments; ++i) {
    DataBurst one = burst;
    one.header.base.number += i;
    one.header.offset += i * burst.step;
    one.first = burst.first + i;
    one.segments = 1;
    one.step = one.last = i + 1 == burst.segments ? burst.last : burst.step;
    handle(now, one);
  }
}

bool predict_arrival(const ConnectionParts& parts, Prediction& prediction) {
  if (parts.arriving_step == 0) return false;
  DataHeader expected;
  if (!parts.incoming.predict(expected.channel, expected.sequence, expected.offset,
                              prediction.place)) {
    return false;
  }
  expected.base.type = PacketType::kData;
  expected.base.connection = parts.identity.wire_id;
  write_data_header(expected, prediction.header.data());
  prediction.mask.fill(std::byte{0});
  const auto compare = [&prediction](size_t at, size_t bytes) {
    std::fill_n(prediction.mask.begin() + static_cast<ptrdiff_t>(at), bytes, std::byte{0xff});
  };
  compare(0, 1);
  compare(kConnectionAt, sizeof(WireId));
  compare(kChannelAt, 10);  // channel, sequence, offset
  prediction.payload_bytes = parts.arriving_step;
  prediction.offset_at = kOffsetAt;
  prediction.header_bytes = parts.keys.written_header_bytes();
  return true;
}

}  // namespace heddle::transport
