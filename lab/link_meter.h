// Link meter: bytes that each direction of a lab's links carried, read often: one read visits the
// namespaces without a process for each, as read_counts() needs. Acceptance tests find a link's
// highest rate by it.
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
  // `layout` must outlive the meter. Errors: kUnavailable, kSystem.
  static Result<LinkMeter> open(const Layout& layout);

  // The thread that calls it is in other network namespaces meanwhile; threads beside it are not.
  // Errors: kPermission, kSystem.
  Result<MeterReading> read() const;

 private:
  explicit LinkMeter(const Layout& layout) : layout_(&layout) {}

  const Layout* layout_;
  Descriptor own_;
  std::vector<Descriptor> namespaces_;  // by place
};

// Adds the bytes of /proc/net/dev to the links of a place. Public for tests.
void add_device_bytes(const Layout& layout, const Place& place, const std::string& text,
                      std::vector<LinkBytes>& links);

}  // namespace heddle::lab
