// Reports of trimmed packets. None is retransmitted: where one is lost, the gap is noticed as any
// other.
#include "transport/extensions/trimming.h"

#include "transport/connection/parts.h"

namespace heddle::transport {

void Trimming::propose(const HandshakeParameters* /*offered*/, HandshakeParameters& own,
                       std::string& /*congestion*/) {
  if (!parts().shared.keyed) own.features |= kFeatureTrims;
}

void Trimming::on_open(Nanos /*now*/, const Agreement& agreement) {
  peer_reads_reports_ = (agreement.peer.features & kFeatureTrims) != 0;
}

void Trimming::on_truncated_packet(const ConnectionHeader& header) {
  const Novelty novelty = parts().acks.judge(header.path, header.number, header.number);
  if (novelty != Novelty::kNew) return;
  ++parts().statistics.segments_trimmed;
  if (peer_reads_reports_ && reports_.size() < kMostReports) {
    reports_.push_back({header.path, header.number});
    parts().reports_due = true;
  }
}

void Trimming::write_frames(Nanos /*now*/, Writer& writer) {
  while (!reports_.empty() && writer.left() >= kTrimBytes) {
    write_trim(reports_.back(), writer);
    reports_.pop_back();
  }
  if (!reports_.empty()) parts().reports_due = true;
}

FrameResult Trimming::on_frame(Nanos now, FrameType /*type*/, Reader& reader,
                               const FrameOrigin& /*from*/) {
  TrimFrame frame;
  if (!read_trim(reader, frame)) return kMalformedFrame;
  if (parts().sender.on_trimmed(now, frame.path, frame.number)) return {};
  return {true, "the peer reported as trimmed what was never sent to it"};
}

void Trimming::release_memory(Nanos /*now*/) {
  if (reports_.empty()) std::vector<TrimFrame>().swap(reports_);
}

size_t Trimming::bytes_held() const {
  return sizeof(*this) + reports_.capacity() * sizeof(TrimFrame);
}

}  // namespace heddle::transport
