// Kernel messages: records of /dev/kmsg, and which of them can explain a fault of a job. Pure
// functions; the text is untrusted, since programs may have their names in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/nanos.h"
#include "events/events.h"

namespace heddle::nodes {

// A record of /dev/kmsg: "4,1234,5678901,-;text", and lines of a dictionary, which are left out.
struct KernelRecord {
  uint8_t severity = 0;   // 0 emergency to 7 debug
  uint32_t facility = 0;  // 0: of the kernel itself, which no writer of /dev/kmsg can give
  uint64_t sequence = 0;
  Nanos stamp;  // of the kernel's clock of messages, which begins with the system
  std::string_view text;
};

// Nothing: it is no record.
std::optional<KernelRecord> parse_kernel_record(std::string_view record);

// The event of a message's text, without time and severity. Nothing: it is of no class.
std::optional<events::KernelMessage> classify_kernel_message(std::string_view text);

}  // namespace heddle::nodes
