// KeptStreams: see kept_streams.h.
#include "collectives/execution/kept_streams.h"

namespace heddle::collectives {

// What is posted here ends by itself: the messages that it meets were withdrawn, or came before
// their receive. A send that came early ends only with its receive, so this does not wait for the
// end of calls.
bool KeptStreams::align(engine::Endpoint& endpoint, engine::Connection connection) {
  for (size_t i = 1; i < StreamCounts::kChannels; ++i) {
    const auto channel = static_cast<engine::Channel>(i);
    if (!post(endpoint, {connection, channel, true}, theirs_->receives[i] - posted_.sends[i])) {
      return false;
    }
    if (!post(endpoint, {connection, channel, false}, theirs_->sends[i] - posted_.receives[i])) {
      return false;
    }
  }
  aligned_ = true;
  return true;
}

bool KeptStreams::post(engine::Endpoint& endpoint, const Stream& stream, uint32_t short_of) {
  // A negative number: the other side is short of some.
  if (static_cast<int32_t>(short_of) > kMostFillers) return false;
  for (int32_t i = static_cast<int32_t>(short_of); i > 0; --i) {
    const Result<engine::Operation> filler =
        stream.sends ? endpoint.send(stream.connection, stream.channel, transport::Payload{})
                     : endpoint.receive(stream.connection, stream.channel, transport::Payload{});
    if (!filler) return false;
    endpoint.forget(*filler);
  }
  return true;
}

}  // namespace heddle::collectives
