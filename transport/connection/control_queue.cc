// What happens to frames whose packet is lost.
#include "transport/connection/control_queue.h"

namespace heddle::transport {

using events::RecoveryStep;

uint32_t ControlQueue::answers_in(const SentBurst& sent) {
  uint32_t answers = 0;
  for (uint8_t i = 0; i < sent.control_count; ++i) {
    answers += is_answer(sent.control[i].type) ? 1 : 0;
  }
  return answers;
}

void ControlQueue::on_lost(const SentBurst& sent, uint16_t path) {
  answers_in_flight_ -= answers_in(sent);
  for (uint8_t i = 0; i < sent.control_count; ++i) {
    const ControlRecord& record = sent.control[i];
    const bool grant = record.type == FrameType::kGrant;
    observer_.step(sent.sent_at, connection_, path,
                   grant ? RecoveryStep::kGrantRetransmit : RecoveryStep::kControlRetransmit);
    send(record);
  }
}

}  // namespace heddle::transport
