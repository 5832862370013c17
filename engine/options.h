// Options of an engine endpoint: which thread drives it, whether threads may spin, and its memory.
#pragma once

#include <cstdint>
#include <string>

#include "base/nanos.h"
#include "base/units.h"
#include "datapath/fec.h"
#include "datapath/verbs.h"
#include "datapath/xdp.h"
#include "events/recording.h"
#include "transport/options.h"

namespace heddle::engine {

// Which thread calls the driver.
enum class Drive : uint8_t {
  kInline,    // the caller's test() and wait(); a helper thread takes over while the caller is away
  kThread,    // a thread that the endpoint starts
  kExternal,  // the owner calls turn(): the simulator, or a program with its own loop
};

// What an idle thread does. Whatever the value, no more threads spin than the process has cores.
enum class Spin : uint8_t {
  kAuto,    // spins briefly where work has been arriving soon, then sleeps
  kNever,   // sleeps at once
  kAlways,  // never sleeps
};

struct Options {
  // The endpoint sets receive_capacity, max_datagram_bytes and eager_region from the datapath, and
  // lowers max_paths to the datapath's maximum.
  transport::EndpointOptions transport;
  datapath::FecOptions fec;  // of Endpoint::open(); with verbs an error
  Drive drive = Drive::kInline;
  // Of Endpoint::open(): engines that its connections are split over, each with a thread and a
  // share of all limits on memory; 1 to transport::kMostEngines.
  uint8_t engines = 1;
  Spin spin = Spin::kAuto;
  Nanos spin_limit = micros(200);  // kAuto: spins at most this long (spin_budget.h)
  // kInline: the helper takes over after this time without a turn
  Nanos takeover_after = millis(5);
  Bytes eager_bytes = mebibytes(32);  // address space for eager messages; physical only where used
  uint64_t seed = 0;                  // of all random choices; 0: from the system
  events::Sink* sink = nullptr;       // may be null; must outlive the endpoint
  // Where this endpoint records its events; an empty directory disables recording. Endpoints of a
  // process that name the same directory share one file.
  events::RecordingOptions recording;
};

// What carries an endpoint's packets. UDP and XDP sockets are the same on the wire.
enum class DatapathKind : uint8_t {
  kUdp,    // datapath/udp.h
  kXdp,    // datapath/xdp.h: one process an interface
  kVerbs,  // datapath/verbs.h: long messages or all datagrams by RDMA, the rest over UDP
  kAuto,   // verbs where an RDMA NIC can be used, else UDP; XDP must be named
};

// The local attachment of an endpoint.
struct NetworkOptions {
  DatapathKind datapath = DatapathKind::kUdp;
  datapath::XdpMode xdp_mode = datapath::XdpMode::kAuto;
  uint32_t xdp_busy_poll_us = 0;  // 0: off (datapath/xdp.h)
  datapath::RdmaMode rdma_mode = datapath::RdmaMode::kReliable;
  // Addresses, interfaces or names of this host, separated by commas, one per NIC; empty: any.
  std::string bind;
  uint16_t port = 0;                  // 0: any free port
  uint32_t mtu_bytes = 0;             // of the local link; 0: read from the system
  uint8_t traffic_class = 0;          // IP traffic class: DSCP in the upper six bits, 0 below
  uint32_t receive_buffer_bytes = 0;  // requested; 0: the largest that the system grants
};

}  // namespace heddle::engine
