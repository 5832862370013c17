// RawHost: sends numbered datagrams over a SimDatapath and records their arrival times, for tests
// of the network itself. It receives as soon as input arrives, unless `slow` is set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/nanos.h"
#include "simulator/sim_datapath.h"

namespace heddle::simulator {

struct Arrival {
  Nanos at;
  uint32_t number = 0;
  uint32_t bytes = 0;
  transport::Ecn ecn = transport::Ecn::kNotCapable;
  uint16_t from_port = 0;
  std::vector<std::byte> datagram;
};

class RawHost : private Wakeup {
 public:
  RawHost(Network& network, NicId nic, SimDatapathOptions options = {})
      : datapath_(network, at_nic(options, nic)) {
    datapath_.set_wakeup(this);
    filler_.resize(65'536);
    region_ = *datapath_.register_memory(filler_.data(), filler_.size());
  }

  SimDatapath& datapath() { return datapath_; }
  std::vector<Arrival> arrivals;
  bool slow = false;  // does not receive by itself
  bool ecn_capable = false;
  uint32_t rooms = 0;  // notifications without input

  // Sends a datagram of `bytes` (at least 44) with the next number. False: refused.
  bool send(RawHost& to, uint32_t bytes, uint16_t path = 0) {
    return send_to(to.datapath_.local_address(), bytes, path);
  }
  bool send_to(const transport::Address& to, uint32_t bytes, uint16_t path = 0) {
    std::byte header[44] = {};
    std::memcpy(header + 40, &next_number_, sizeof next_number_);
    transport::TxBurst burst;
    burst.to = to;
    burst.path = path;
    burst.segments = 1;
    burst.header_bytes = sizeof header;
    burst.headers = header;
    burst.ecn_capable = ecn_capable;
    burst.payload_bytes = burst.last_payload_bytes = bytes - sizeof header;
    if (burst.payload_bytes > 0) burst.region = region_;
    if (datapath_.transmit({&burst, 1}) == 0) return false;
    ++next_number_;
    return true;
  }

  // Receives all input.
  void receive() {
    datapath::RxBatch batch;
    const size_t before = arrivals.size();
    while (datapath_.receive(batch, nullptr) > 0) {
      for (size_t r = 0; r < batch.count; ++r) take(batch.runs[r]);
      datapath_.release(batch);
    }
    if (arrivals.size() == before) ++rooms;
  }

  std::vector<uint32_t> numbers() const {
    std::vector<uint32_t> out;
    for (const Arrival& arrival : arrivals) out.push_back(arrival.number);
    return out;
  }

 private:
  static SimDatapathOptions at_nic(SimDatapathOptions options, NicId nic) {
    options.nic = nic;
    return options;
  }

  void handle_ready() override {
    if (!slow) receive();
  }

  void take(const transport::RxRun& run) {
    for (uint32_t i = 0; i < run.segments; ++i) {
      const uint32_t bytes = i + 1 == run.segments ? run.last_segment_bytes : run.segment_bytes;
      const std::byte* start = run.frame + size_t{i} * run.segment_bytes;
      Arrival arrival{run.received_at, 0, bytes, run.ecn, run.from.port, {start, start + bytes}};
      if (bytes >= 44) std::memcpy(&arrival.number, start + 40, sizeof arrival.number);
      arrivals.push_back(std::move(arrival));
    }
  }

  SimDatapath datapath_;
  std::vector<std::byte> filler_;
  transport::RegionId region_ = transport::kNoRegion;
  uint32_t next_number_ = 0;
};

}  // namespace heddle::simulator
