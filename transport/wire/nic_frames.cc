// Layout of the frames between NICs.
#include "transport/wire/nic_frames.h"

#include "transport/wire/control.h"

namespace heddle::transport {

void write_nic_frame(FrameType type, const NicFrame& frame, Writer& writer) {
  writer.put(static_cast<uint8_t>(type)).put(frame.token);
}

bool read_nic_frame(Reader& reader, NicFrame& frame) {
  frame.token = reader.get<uint64_t>();
  return reader.ok();
}

}  // namespace heddle::transport
