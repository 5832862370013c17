// Verbs: the datapath over RDMA verbs (RoCE version 2); Linux only. Payload of long messages is
// written by the NIC into the peer's memory in chunks (transport/placed.h); everything else travels
// as datagrams of a UDP datapath (datapath/udp.h) at the same address. A peer without verbs, or
// whose queue pairs fail, gets datagrams only. docs/how-to/rdma_verbs.md says when it is worth it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "datapath/datapath.h"

namespace heddle::datapath {

// The transport service of the queue pairs. A peer may use the other one.
enum class RdmaMode : uint8_t {
  kReliable,    // RC: the NIC acknowledges and repeats writes (go-back-N or selective, by model)
  kUnreliable,  // UC: a lost packet loses its chunk, which heddle repeats
  kDatagrams,   // UD: no chunks; the transport's datagrams travel as those of queue pairs
};

struct VerbsOptions {
  // One address, interface or name of this host; empty: the first usable RDMA port's. The RDMA
  // device is the one that has this address (datapath/rdma_devices.h).
  std::string bind;
  uint16_t port = 0;          // receive port of datagrams; 0: any free port
  uint16_t paths = 64;        // source ports of datagrams: 1 to 256
  uint16_t chunk_paths = 16;  // queue pairs to each peer: 1 to 255
  RdmaMode mode = RdmaMode::kReliable;
  bool hardware_only = false;           // devices in software are kUnavailable
  uint32_t mtu_bytes = 0;               // of datagrams, as UdpOptions::mtu_bytes
  uint8_t traffic_class = 0;            // as UdpOptions::traffic_class, of both
  Bytes receive_buffer = mebibytes(8);  // of the UDP datapath behind it
  uint32_t place_min_bytes = 4096;      // as UdpOptions::place_min_bytes
};

// Opens the RDMA device and the sockets. Errors: those of open_udp(); kInvalid (options);
// kUnavailable (libibverbs is missing, no port can be used), kPermission (the device's node),
// kExhausted (locked memory).
Result<std::unique_ptr<Datapath>> open_verbs(const VerbsOptions& options);

// Opens `engines` (at least 2) datapaths at one port (datapath/engines.h). Each opens the device
// for itself, so it has its own queue pairs, completion queue and registrations; memory is
// registered where a connection of that engine uses it. Errors: likewise, and those of
// open_udp_engines().
Result<std::vector<std::unique_ptr<Datapath>>> open_verbs_engines(const VerbsOptions& options,
                                                                  uint8_t engines);

}  // namespace heddle::datapath
