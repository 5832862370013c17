// MemoryBound: the limit of an endpoint's memory, regardless of its peers, as a function of its
// options and of its largest number of connections. Generous by a small factor, since it detects
// growth.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "tests/vopr/checkers/report.h"
#include "transport/endpoint.h"

namespace heddle::vopr {

class MemoryBound {
 public:
  // `named`: the number of receives that a hostile peer may name, as sent in its handshake.
  MemoryBound(uint32_t host, const transport::EndpointOptions& options, uint32_t named,
              Report& report)
      : host_(host), options_(options), named_(named), report_(report) {}

  // `allocated`: by the endpoint's turns, independent of its own accounting.
  void look(const transport::Endpoint& endpoint, int64_t allocated) {
    connections_most_ = std::max(connections_most_, endpoint.connections());
    const uint64_t held =
        std::max(endpoint.bytes_held(), static_cast<uint64_t>(std::max<int64_t>(allocated, 0)));
    most_ = std::max(most_, held);
    if (held <= bound() || reported_) return;
    reported_ = true;
    report_.fail("host " + std::to_string(host_) + " holds " + std::to_string(held) + " bytes; " +
                 std::to_string(bound()) + " are the most for " +
                 std::to_string(connections_most_) + " connections");
  }

  uint64_t bound() const {
    const uint64_t paths = uint64_t{2} * options_.max_paths;  // both directions
    const uint64_t posted = uint64_t{2} * options_.max_posted;
    const uint64_t connection = kConnection + kNamed * named_ + paths * kPath + posted * kPosted +
                                options_.max_channels * kChannel;
    return kEndpoint + connections_most_ * connection + options_.max_sent_runs * kSentRun;
  }
  uint64_t most() const { return most_; }

 private:
  static constexpr uint64_t kEndpoint = 64 << 10;  // replies, queues to the caller
  static constexpr uint64_t kConnection = 16 << 10;
  static constexpr uint64_t kPath = 1 << 10;
  static constexpr uint64_t kPosted = 512;
  static constexpr uint64_t kNamed = 16;
  static constexpr uint64_t kChannel = 256;
  static constexpr uint64_t kSentRun = 320;

  uint32_t host_;
  transport::EndpointOptions options_;
  uint32_t named_;
  Report& report_;
  uint32_t connections_most_ = 0;
  uint64_t most_ = 0;
  bool reported_ = false;
};

}  // namespace heddle::vopr
