// Ends, for tests: two UDP datapaths that send to each other, and short functions for bursts.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "datapath/udp/udp_datapath.h"
#include "transport/tx_batch.h"

namespace heddle::datapath {

class Ends {
 public:
  static constexpr size_t kMemoryBytes = 1u << 20;

  // Opens both with these options; one source memory serves both directions.
  static Result<std::unique_ptr<Ends>> open(const UdpOptions& options) {
    std::unique_ptr<Ends> made(new Ends());
    for (std::unique_ptr<UdpDatapath>* end : {&made->a_, &made->b_}) {
      Result<std::unique_ptr<UdpDatapath>> opened = UdpDatapath::open(options);
      if (!opened) return fail(opened.error());
      *end = std::move(*opened);
    }
    made->source_ = *made->a_->register_memory(made->memory_.data(), kMemoryBytes);
    made->target_ = *made->b_->register_memory(made->memory_.data() + kMemoryBytes, kMemoryBytes);
    return made;
  }

  UdpDatapath& a() { return *a_; }
  UdpDatapath& b() { return *b_; }
  transport::RegionId target() const { return target_; }
  std::span<std::byte> source_bytes() { return {memory_.data(), kMemoryBytes}; }
  std::span<std::byte> target_bytes() { return {memory_.data() + kMemoryBytes, kMemoryBytes}; }

  // A burst from a to b. Its headers hold a type byte of 0, `number` increasing by one per segment,
  // and, at kOffsetAt, the payload's offset. The payload is at `offset` of the source.
  static constexpr uint16_t kNumberAt = 4;
  static constexpr uint16_t kOffsetAt = 32;
  transport::TxBurst row(uint32_t number, uint16_t segments, uint32_t payload_bytes,
                         uint64_t offset = 0) {
    for (uint32_t i = 0; i < segments; ++i) {
      std::array<uint8_t, transport::kDataHeaderBytes>& header = headers_[i];
      header.fill(0);
      put(header.data() + kNumberAt, number + i);
      put(header.data() + kOffsetAt, static_cast<uint32_t>(offset + i * uint64_t{payload_bytes}));
    }
    transport::TxBurst burst;
    burst.to = b_->local_address();
    burst.segments = segments;
    burst.header_bytes = transport::kDataHeaderBytes;
    burst.headers = reinterpret_cast<const std::byte*>(headers_.data());
    burst.payload_bytes = burst.last_payload_bytes = payload_bytes;
    burst.region = source_;
    burst.offset = offset;
    return burst;
  }

  bool send(const transport::TxBurst& burst) { return a_->transmit({&burst, 1}) == 1; }

  // Waits up to five seconds for input at b. It sleeps first: the kernel delivers what was sent to
  // the loopback interface within the call, or soon after in ksoftirqd on a busy host, and a batch
  // is to hold all of it.
  bool receive(RxBatch& batch, const transport::Prediction* prediction = nullptr) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const Nanos give_up = b_->now() + seconds(5);
    while (b_->receive(batch, prediction) == 0) {
      if (b_->now() > give_up) return false;
      b_->wait(b_->now() + millis(100));
    }
    return true;
  }

  // Receives until `datagrams` have arrived or nothing arrives for five seconds.
  uint64_t receive_all(uint64_t datagrams) {
    RxBatch batch;
    uint64_t got = 0;
    while (got < datagrams && receive(batch)) {
      for (size_t i = 0; i < batch.count; ++i) got += batch.runs[i].segments;
      b_->release(batch);
    }
    return got;
  }

  // Waits up to five seconds for an error at a.
  bool error(transport::NetworkError& error) {
    const Nanos give_up = a_->now() + seconds(5);
    while (!a_->poll_error(error)) {
      if (a_->now() > give_up) return false;
      a_->wait(a_->now() + millis(10));
    }
    return true;
  }

 private:
  Ends() : memory_(2 * kMemoryBytes) {}

  static void put(uint8_t* at, uint32_t value) {
    for (int i = 0; i < 4; ++i) at[i] = static_cast<uint8_t>(value >> (8 * i));
  }

  std::vector<std::byte> memory_;
  std::unique_ptr<UdpDatapath> a_;
  std::unique_ptr<UdpDatapath> b_;
  transport::RegionId source_ = transport::kNoRegion;
  transport::RegionId target_ = transport::kNoRegion;
  std::array<std::array<uint8_t, transport::kDataHeaderBytes>, transport::kMaxBurstSegments>
      headers_{};
};

}  // namespace heddle::datapath
