// Fec: forward error correction as a datapath around another one. To peers that read parity it
// sends parity datagrams behind each group of numbered datagrams, and from those of a peer it
// rebuilds lost datagrams, without a round trip. The datagrams themselves do not change, so peers
// without it are unaffected: they get no parity, and drop the announcement of it. What is rebuilt
// is opened and checked as if it had arrived.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "datapath/datapath.h"

namespace heddle::datapath {

// Any `parity` datagrams of a group of `data` and `parity` may be lost. Both 0: off.
struct FecOptions {
  uint8_t data = 0;    // 1 to kMostFecData
  uint8_t parity = 0;  // 1 to kMostFecParity, at most `data`

  bool on() const { return data > 0; }
};

inline constexpr uint32_t kMostFecData = 32;
inline constexpr uint32_t kMostFecParity = 8;

// Reads "off" or "DATA:PARITY". Errors: kInvalid.
Result<FecOptions> parse_fec(std::string_view text);
std::string to_text(const FecOptions& options);

// Takes over `inner`, which has the datagram shape only. CHECKs that the options are on and within
// their limits. Errors: kExhausted, those of register_memory().
Result<std::unique_ptr<Datapath>> with_fec(std::unique_ptr<Datapath> inner,
                                           const FecOptions& options);

}  // namespace heddle::datapath
