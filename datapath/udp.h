// UDP: the datapath over the sockets of the host's kernel. It receives on one port, of each NIC
// that it is told of, and sends from one socket a NIC and path, so that a path's source port is
// what the fabric hashes on. The peer sees these ports in RxRun::from; where to answer is the
// transport's to say. Which NIC a socket uses is its address's and the routing table's to say: no
// privilege is needed, but addresses of several NICs need a routing rule each
// (docs/how-to/several_nics.md).
// Linux only. Works without privileges, without GSO and GRO, and on IPv4, IPv6 or both.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "datapath/datapath.h"

namespace heddle::datapath {

// Whether one of the kernel's offloads is used.
enum class Offload : uint8_t {
  kAuto,  // where the kernel and the interface have it
  kOff,
  kOn,  // as kAuto, but opening fails where the kernel has it not
};

struct UdpOptions {
  // Addresses, interfaces or names of this host, with commas between: a NIC each, at most
  // transport::kMaxNics. Empty: all its addresses, IPv4 and IPv6, as one.
  std::string bind;
  uint16_t port = 0;    // to receive on; 0: any free one
  uint16_t paths = 64;  // sockets to send from, a NIC: 1 to 256
  uint32_t mtu_bytes =
      0;  // of the local link, IP header included; 0: the interface's, at most 9000
  Bytes receive_buffer = mebibytes(8);    // wanted; the system may give less
  Offload segmentation = Offload::kAuto;  // GSO: rows of segments leave in one call
  Offload coalescing = Offload::kAuto;    // GRO: rows of segments arrive in one call
  // Predictions with a smaller step are not used: scattering costs more than the copy it saves.
  uint32_t place_min_bytes = 4096;
};

// Opens the sockets. Errors: kInvalid (options), kInUse (the port), kPermission, kUnavailable (no
// such address or name here, no IPv6), kExhausted (descriptors), kSystem.
Result<std::unique_ptr<Datapath>> open_udp(const UdpOptions& options);

}  // namespace heddle::datapath
