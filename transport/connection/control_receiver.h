// ControlReceiver: reads one control packet that arrived. It passes each frame to the part that
// handles its type, and acknowledges the packet if all of its frames were accepted.
#pragma once

#include <optional>
#include <span>

#include "transport/connection/packet_filter.h"
#include "transport/extensions/extension_set.h"

namespace heddle::transport {

class ControlReceiver {
 public:
  ControlReceiver(ConnectionParts& parts, ExtensionSet& extensions)
      : parts_(parts), extensions_(extensions), filter_(parts) {}

  // A control packet of `run`, whose segment `index` it is; `bytes`: what of it is in the frame.
  struct Packet {
    const RxRun& run;
    uint32_t index = 0;
    std::span<const std::byte> bytes;
    ConnectionHeader header{};
  };
  // What the frames of a packet add up to.
  struct Verdict {
    std::optional<CloseReason> close;  // the peer has closed the connection
    const char* violation = nullptr;   // not null: the peer broke the protocol, and how
    bool crowded = false;              // many answers wait already: frames that need one come again
    bool refused = false;              // a frame exceeds a limit: the packet does not count
    bool comes_again = false;  // there is no room for a frame: the packet is not acknowledged
    bool acknowledges = false;
    uint32_t message_bytes = 0;  // of the message in it
    uint32_t datagram_bytes = 0;

    bool ends_connection() const { return close || violation != nullptr; }
  };
  // Reads the frames. False: the packet does not count.
  bool read(Nanos now, Packet& packet, Verdict& verdict);
  // Has the packet acknowledged, where all of it counts. Call it when the connection has taken
  // notice of the verdict.
  void conclude(Nanos now, const Packet& packet, const Verdict& verdict);

 private:
  bool admit(Nanos now, Packet& packet);
  bool read_frames(Nanos now, const Packet& packet, Verdict& verdict);
  bool read_frame(Nanos now, FrameType type, Reader& reader, const Packet& packet,
                  Verdict& verdict);
  bool read_ack_frame(Nanos now, Nanos made_at, Reader& reader, Verdict& verdict);
  bool read_message_frame(Nanos now, Reader& reader, const Packet& packet, Verdict& verdict);
  // Frames of other channels are ignored: no message meets them.
  bool sends_on(ChannelId channel) const { return channel < parts_.shared.options.max_channels; }

  ConnectionParts& parts_;
  ExtensionSet& extensions_;
  PacketFilter filter_;
};

}  // namespace heddle::transport
