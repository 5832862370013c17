// UDP: the datapath over kernel sockets; Linux only. It receives on one port at each configured NIC
// and sends from one socket per NIC and path, so ECMP hashes on a path's source port. The peer sees
// these ports in RxRun::from; the transport decides where to reply. It works without privileges,
// without GSO and GRO, and on IPv4, IPv6 or both.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "datapath/datapath.h"

namespace heddle::datapath {

// Whether a kernel offload is used.
enum class Offload : uint8_t {
  kAuto,  // if the kernel and the interface support it
  kOff,
  kOn,  // as kAuto, but opening fails if the kernel lacks it
};

// A socket's local address and the routing table select its NIC, so addresses of several NICs need
// one routing rule each (docs/how-to/several_nics.md).
struct UdpOptions {
  // Addresses, interfaces or names of this host, separated by commas, one per NIC, at most
  // transport::kMaxNics. Empty: all local addresses, IPv4 and IPv6, as one NIC.
  std::string bind;
  uint16_t port = 0;    // receive port; 0: any free port
  uint16_t paths = 64;  // send sockets per NIC: 1 to 256
  uint32_t mtu_bytes =
      0;  // of the local link, IP header included; 0: the interface's, at most 9000
  // IP traffic class of all packets: DSCP in the upper six bits; the lower two, ECN's, must be 0.
  uint8_t traffic_class = 0;
  Bytes receive_buffer = mebibytes(8);    // requested; the system may grant less
  Offload segmentation = Offload::kAuto;  // GSO: one call sends a burst
  Offload coalescing = Offload::kAuto;    // GRO: one call receives a run
  // Predictions with a smaller step are ignored: scattering costs more than the copy it saves.
  uint32_t place_min_bytes = 4096;
};

// Opens the sockets. Errors: kInvalid (options), kInUse (the port), kPermission, kUnavailable (no
// such local address or name, no IPv6), kExhausted (descriptors), kSystem.
Result<std::unique_ptr<Datapath>> open_udp(const UdpOptions& options);

// Opens `engines` datapaths that receive on one port (datapath/engines.h). Errors: likewise, and
// kUnavailable where the kernel cannot share a port.
Result<std::vector<std::unique_ptr<Datapath>>> open_udp_engines(const UdpOptions& options,
                                                                uint8_t engines);

}  // namespace heddle::datapath
