// Link meter: bytes that each direction of a lab's links carried, read often: one read costs a
// system call or two a namespace, and no process as read_counts() does. Acceptance tests find a
// link's highest rate by it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/descriptor.h"
#include "base/nanos.h"
#include "base/result.h"
#include "lab/layout.h"

namespace heddle::lab {

// Sent by the end of a link, with Ethernet headers, since the lab was made.
struct LinkBytes {
  uint64_t forward = 0;
  uint64_t backward = 0;
};

// The clock of readings.
Nanos meter_now();

struct MeterReading {
  Nanos at;  // by a monotonic clock
  std::vector<LinkBytes> links;
};

class LinkMeter {
 public:
  // `layout` must outlive the meter. Errors: kUnavailable, kPermission, kSystem, kExhausted.
  static Result<LinkMeter> open(const Layout& layout);

  // Enters no namespace, so a pause of a host does not stop its caller. Errors: kSystem.
  Result<MeterReading> read() const;

 private:
  explicit LinkMeter(const Layout& layout) : layout_(&layout) {}

  const Layout* layout_;
  std::vector<Descriptor> tables_;  // by place
};

// Adds the bytes of /proc/net/dev to the links of a place. Public for tests.
void add_device_bytes(const Layout& layout, const Place& place, const std::string& text,
                      std::vector<LinkBytes>& links);

}  // namespace heddle::lab
