// Sender: sends bursts from one socket per NIC and path. A burst takes one system call where the
// kernel supports segmentation (GSO); otherwise each segment is a datagram of one sendmmsg. The
// kernel gathers headers and payload. UdpDatapath drives it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/nanos.h"
#include "datapath/datapath.h"
#include "datapath/regions.h"
#include "datapath/udp/network_errors.h"
#include "datapath/udp/path_socket.h"
#include "datapath/udp/socket.h"
#include "transport/tx_batch.h"

namespace heddle::datapath {

// Options of the sockets of one NIC.
struct SenderNic {
  Family family = Family::kIpv6;
  uint32_t max_datagram_bytes = 1472;  // larger ones are rejected unless they may be fragmented
};

struct SenderOptions {
  std::vector<SenderNic> nics;  // all have the same number of paths
  bool segments = true;         // GSO
  uint8_t traffic_class = 0;    // of all packets
};

class Sender {
 public:
  // Why the latest transmit() stopped early.
  enum class Refusal : uint8_t {
    kNone,
    kSocketFull,  // until the socket refused_socket() is writable
    kNoBuffers,   // the interface's queue is full, and no event signals room
  };

  // `sockets` holds the first NIC's paths, then the next NIC's. `regions`, `errors` and
  // `statistics` must outlive it.
  Sender(std::vector<Socket> sockets, const SenderOptions& options, const RegionTable& regions,
         NetworkErrors& errors, DatapathStatistics& statistics);
  ~Sender();

  // Returns the number of bursts accepted; see Datapath::transmit.
  size_t transmit(std::span<const transport::TxBurst> bursts);
  // See Datapath::unsent.
  uint32_t unsent(size_t burst) const { return burst < unsent_.size() ? unsent_[burst] : 0; }

  Refusal refusal() const { return refusal_; }
  size_t refused_socket() const { return refused_socket_; }
  // False after the kernel refused segmentation although it supports it (no checksum offload).
  bool segments() const { return options_.segments; }

  // Larger datagrams are rejected from now on, unless they may be fragmented.
  void limit_datagrams(uint32_t bytes);

  size_t paths() const { return paths_; }
  const PathSocket& path(size_t path, size_t nic = 0) const {
    return sockets_[nic * paths_ + path];
  }

 private:
  enum class Verdict : uint8_t { kTaken, kRefused };
  enum class Advice : uint8_t { kAgain, kOneByOne, kRefused, kGone };
  struct Scratch;  // the kernel's structures, initialized once

  // The progress of a burst whose rest the network refused; identified by its first header.
  struct Partial {
    uint32_t segments_sent = 0;
    size_t socket = 0;
    uint16_t header_bytes = 0;
    std::array<std::byte, 64> header{};
  };

  size_t socket_of(const transport::TxBurst& burst) const {
    return burst.nic * paths_ + burst.path;
  }
  Verdict send(const transport::TxBurst& burst);
  Verdict send_row(const transport::TxBurst& burst);
  Verdict send_one_by_one(const transport::TxBurst& burst, uint32_t first);
  bool prepare(const transport::TxBurst& burst);
  void gather(const transport::TxBurst& burst, uint32_t first);
  void gather_encrypted(const transport::TxBurst& burst, uint32_t first);
  void write_control(const transport::TxBurst& burst, bool row);
  Advice judge(int error, const transport::TxBurst& burst, bool row, int attempt);
  Advice judge_size(int error, const transport::TxBurst& burst, bool row);
  void stop_segmenting();
  void report(const transport::TxBurst& burst, transport::NetworkErrorKind kind, uint32_t limit);
  uint32_t resume(const transport::TxBurst& burst);
  void remember(const transport::TxBurst& burst, uint32_t segments_sent);

  std::vector<PathSocket> sockets_;
  SenderOptions options_;
  size_t paths_ = 0;  // per NIC
  const RegionTable& regions_;
  NetworkErrors& errors_;
  DatapathStatistics& statistics_;
  std::unique_ptr<Scratch> scratch_;
  Partial partial_;
  uint32_t gone_ = 0;             // segments of the current burst that can never be sent
  std::vector<uint32_t> unsent_;  // per burst of the latest transmit(), up to the last with a loss
  std::vector<std::byte> encrypted_;  // the encrypted burst; allocated on first use
  Refusal refusal_ = Refusal::kNone;
  size_t refused_socket_ = 0;
};

}  // namespace heddle::datapath
