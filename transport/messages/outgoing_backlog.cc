// How much there is to send, as it is advertised to a receiver that gives credit, and the memory
// that it takes.
#include <algorithm>

#include "transport/messages/outgoing.h"
#include "transport/messages/params.h"

namespace heddle::transport {

Outgoing::Backlog Outgoing::backlog(uint32_t step) const {
  Backlog backlog;
  const auto add = [&](uint64_t bytes) {
    backlog.bytes += bytes;
    backlog.datagrams += std::max<uint64_t>((bytes + step - 1) / step, 1);
  };
  retransmissions_.for_each([&](const Retransmission& retransmission) {
    add(retransmission.end - retransmission.start);
  });
  for (size_t i = 0; i < ready_.size(); ++i) {
    const Channel& channel = channels_[ready_[i]];
    size_t at = channel.next;
    for (const size_t end =
             std::min(at + params::messages::kBacklogMessages, channel.messages.size());
         at < end; ++at) {
      const OutMessage& message = pool_[channel.messages[at]];
      const bool small = message.length() <= limits_.eager_block_bytes;
      if (message.failed || message.withdrawing) continue;
      if (!message.granted && !message.sent_ahead && !(small && ahead_ < limits_.eager_blocks)) {
        break;
      }
      if (!message.started || message.next < message.length()) add(message.length() - message.next);
    }
  }
  return backlog;
}

size_t Outgoing::bytes_held() const {
  size_t total = channels_.capacity() * sizeof(Channel);
  for (const Channel& channel : channels_) {
    total += channel.messages.capacity() * sizeof(uint32_t);
    total += channel.grants.capacity() * sizeof(Grant);
    total += channel.over_early.capacity() * sizeof(OverEarly);
  }
  return total;
}

}  // namespace heddle::transport
