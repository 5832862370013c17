// AF_XDP: the datapath over XDP sockets; Linux only, and privileged. A small BPF program steers the
// datagrams for this port from the interface's receive queues to user memory; everything else, and
// what it cannot send itself, goes through a UDP datapath (datapath/udp.h) on the same port. On the
// wire both are UDP, so a peer needs no AF_XDP. docs/how-to/af_xdp.md says when it is worth it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "datapath/datapath.h"

namespace heddle::datapath {

// How frames pass between the driver and user memory.
enum class XdpMode : uint8_t {
  kAuto,      // the first of those below that works
  kZeroCopy,  // the NIC reads and writes user memory; needs support by the driver
  kCopy,      // the program runs in the driver, the kernel copies each frame once
  kGeneric,   // the program runs behind the driver; works with every driver, and is slower
};

struct XdpOptions {
  // As UdpOptions::bind, but each NIC must be named by its address or interface; empty: the only
  // interface that is up and has an address.
  std::string bind;
  uint16_t port = 0;                    // receive port; 0: any free port
  uint16_t paths = 64;                  // source ports per NIC: 1 to 256
  uint32_t mtu_bytes = 0;               // as UdpOptions::mtu_bytes
  uint8_t traffic_class = 0;            // as UdpOptions::traffic_class
  Bytes receive_buffer = mebibytes(8);  // of the UDP datapath behind it
  XdpMode mode = XdpMode::kAuto;
  uint32_t queues = 0;        // receive queues to serve, from 0 on; 0: all of the interface
  // Microseconds, the value of SO_BUSY_POLL. Above 0: system calls of receive() and transmit() run
  // the driver's poll function, in preference to interrupts (SO_PREFER_BUSY_POLL). What the kernel
  // refuses is logged, and left out. The kernel polls once a call, whatever the value.
  uint32_t busy_poll_us = 0;
};

// Opens the sockets and attaches the program; both vanish with the process. One process per
// interface: a second one gets kInUse. Errors: kInvalid (options), kInUse (the port, an XDP program
// or socket of another process), kPermission (names the missing capabilities), kUnavailable (no
// such interface; the kernel or driver lacks the mode), kExhausted (locked memory, descriptors),
// kSystem.
Result<std::unique_ptr<Datapath>> open_xdp(const XdpOptions& options);

// Opens `engines` (at least 2) datapaths at one port (datapath/engines.h). Each has sockets of its
// own at every receive queue, and the program chooses among them, so several engines need only one
// queue. Errors: likewise, and those of open_udp_engines().
Result<std::vector<std::unique_ptr<Datapath>>> open_xdp_engines(const XdpOptions& options,
                                                                uint8_t engines);

}  // namespace heddle::datapath
