// MeasuredNetwork: rate and delay between two nodes as heddle measured them, and the small TOML
// file that holds them. `heddle perf --save` writes it; the NCCL tuner reads it.
#pragma once

#include <string>
#include <string_view>

#include "base/nanos.h"
#include "base/result.h"
#include "base/units.h"
#include "nccl/params.h"

namespace heddle::nccl {

struct MeasuredNetwork {
  BitsPerSec goodput;             // payload of a node to other nodes, all its NICs together
  BitsPerSec connection_goodput;  // of one connection, at most `goodput`; zero: unknown
  Nanos one_way;                  // latency of a small message

  bool operator==(const MeasuredNetwork&) const = default;
};

// Bounds of what a network can be; a figure outside is a mistake.
using params::kLeastGoodput;
using params::kLeastOneWay;
using params::kMostGoodput;
using params::kMostOneWay;

// Errors: kInvalid, naming the figure that no network has, or that is missing.
Result<void> validate(const MeasuredNetwork& network);

// The file's text. `source`: the command and the peer that the figures are of.
std::string network_text(const MeasuredNetwork& network, const std::string& source);

// `name` is the file's name in errors. Errors: kInvalid with file and line; also for figures that
// validate() refuses.
Result<MeasuredNetwork> parse_network(std::string_view text, const std::string& name);

// Errors: those of parse_network(); kUnavailable where the file cannot be read.
Result<MeasuredNetwork> read_network(const std::string& path);

}  // namespace heddle::nccl
