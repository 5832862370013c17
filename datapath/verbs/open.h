// What opening a datapath over verbs has in common, whatever its queue pairs are: the port that the
// options name, and the UDP datapath at its address.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "datapath/rdma_devices.h"
#include "datapath/udp.h"
#include "datapath/verbs.h"
#include "datapath/verbs/library.h"

namespace heddle::datapath {

struct VerbsPort {
  RdmaChoice choice;
  const VerbsLibrary* library = nullptr;
};

// Errors: kInvalid (options), kUnavailable (libibverbs is missing, no port can be used).
Result<VerbsPort> find_verbs_port(const VerbsOptions& options);

UdpOptions udp_beside_verbs(const VerbsOptions& options, const RdmaChoice& choice);

// As that of datapath/verbs.h, on this port.
Result<std::vector<std::unique_ptr<Datapath>>> open_verbs_engines(const VerbsOptions& options,
                                                                  const VerbsPort& port,
                                                                  uint8_t engines);

}  // namespace heddle::datapath
