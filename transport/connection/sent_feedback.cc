// SentFeedback: see sent_feedback.h.
#include "transport/connection/sent_feedback.h"

namespace heddle::transport {
namespace {

// Names a transmission among those of the same bytes.
uint64_t name_of(const SentBurst& sent, uint16_t path) { return sent.first_number << 16 | path; }

}  // namespace

void SentFeedback::on_acked(const SentBurst& sent, uint32_t first, uint32_t count, bool was_lost) {
  parts_.keys.on_acked(sent.sent_at);
  extensions_.on_acked(sent, first, count, was_lost);
  if (sent.data) {
    if (was_lost) count_needless(sent, first, count);
    parts_.outgoing.on_acked(sent.record, sent.start_of(first), sent.end_of(first, count));
  }
  parts_.control.on_acked(sent, was_lost);
  for (uint8_t i = 0; i < sent.control_count; ++i) {
    const ControlRecord& record = sent.control[i];
    if (record.type == FrameType::kClose) close_.note_frame_acked();  // see handle_control()
    if (record.type == FrameType::kCancelReceive) {
      parts_.incoming.forget_withdrawn(record.channel, record.sequence);
    }
  }
}

// What was declared lost has arrived. Where its retransmission has not left yet, none will.
void SentFeedback::count_needless(const SentBurst& sent, uint32_t first, uint32_t count) {
  const uint64_t sent_as = name_of(sent, parts_.sender.current_path());
  const auto again = [&](uint32_t from, uint32_t segments) {
    return parts_.outgoing.retransmitted(sent.record, sent.start_of(from),
                                         sent.end_of(from, segments), sent_as);
  };
  if (again(first, count) == 0) return;
  for (uint32_t i = first; i < first + count; ++i) spurious_retransmits_ += again(i, 1) > 0 ? 1 : 0;
}

void SentFeedback::on_lost(const SentBurst& sent, uint32_t first, uint32_t count,
                           events::LossCause cause) {
  extensions_.on_lost(sent, first, count, cause);
  const uint16_t path = parts_.sender.current_path();
  if (sent.data) {
    parts_.outgoing.on_lost(sent.record, sent.start_of(first), sent.end_of(first, count),
                            name_of(sent, path));
  }
  parts_.control.on_lost(sent, path);
}

}  // namespace heddle::transport
