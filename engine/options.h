// What an endpoint of the engine is made with: who drives it, whether it may spin, what memory it
// holds.
#pragma once

#include <cstdint>
#include <string>

#include "base/nanos.h"
#include "base/units.h"
#include "events/recording.h"
#include "transport/options.h"

namespace heddle::engine {

// Who calls the driver.
enum class Drive : uint8_t {
  kInline,    // the caller's test() and wait(); a helper thread takes over when they stay away
  kThread,    // a thread of the endpoint's own
  kExternal,  // the owner calls turn(): the simulator, or a program with a loop of its own
};

// What a thread does when nothing is due. No value makes threads spin that have fewer cores than
// they are.
enum class Spin : uint8_t {
  kAuto,    // spins for a short while after work where work keeps coming soon, then sleeps
  kNever,   // sleeps at once
  kAlways,  // never sleeps
};

struct Options {
  // Its receive_capacity, max_datagram_bytes and eager_region are taken from the datapath, and
  // max_paths is lowered to what the datapath has.
  transport::EndpointOptions transport;
  Drive drive = Drive::kInline;
  Spin spin = Spin::kAuto;
  Nanos spin_limit = micros(200);     // kAuto: at most so long (spin_budget.h)
  Nanos takeover_after = millis(5);   // kInline: not driven for so long, the helper thread steps in
  Bytes eager_bytes = mebibytes(32);  // address space for early messages; touched only where used
  uint64_t seed = 0;                  // of every random choice; 0: from the system
  events::Sink* sink = nullptr;       // may be null; must outlive the endpoint
  // Where the process records, this endpoint too; no directory: nothing is recorded. All endpoints
  // that name one directory share a file.
  events::RecordingOptions recording;
};

// Where a UDP endpoint is attached.
struct NetworkOptions {
  // Addresses, interfaces or names of this host, with commas between: a NIC each; empty: any.
  std::string bind;
  uint16_t port = 0;                  // 0: any free one
  uint32_t mtu_bytes = 0;             // of the local link; 0: asked from the system
  uint32_t receive_buffer_bytes = 0;  // asked for; 0: as much as the system gives
};

}  // namespace heddle::engine
