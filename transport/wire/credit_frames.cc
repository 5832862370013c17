// Layout of the frames of receiver credits.
#include "transport/wire/credit_frames.h"

#include "transport/wire/control.h"

namespace heddle::transport {

void write_demand(const DemandFrame& frame, Writer& writer) {
  writer.put(static_cast<uint8_t>(FrameType::kDemand)).put(frame.serial.value());
  writer.put(frame.settled).put(frame.wanted);
}

void write_credit(const CreditFrame& frame, Writer& writer) {
  writer.put(static_cast<uint8_t>(FrameType::kCredit)).put(frame.limit).put(frame.allowance);
}

bool read_demand(Reader& reader, DemandFrame& frame) {
  frame.serial = reader.get<uint32_t>();
  frame.settled = reader.get<uint64_t>();
  frame.wanted = reader.get<uint64_t>();
  return reader.ok();
}

bool read_credit(Reader& reader, CreditFrame& frame) {
  frame.limit = reader.get<uint64_t>();
  frame.allowance = reader.get<uint32_t>();
  return reader.ok();
}

}  // namespace heddle::transport
