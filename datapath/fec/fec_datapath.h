// FecDatapath: the datapath contract over another datapath. Datagrams pass as they are; the encoder
// sums up those that leave, the rebuilder keeps those that arrive. with_fec() creates it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/ring.h"
#include "datapath/datapath.h"
#include "datapath/fec.h"
#include "datapath/fec/encrypted_burst.h"
#include "datapath/fec/parity_encoder.h"
#include "datapath/fec/peers.h"
#include "datapath/fec/rebuilder.h"
#include "datapath/forwarding.h"

namespace heddle::datapath {

class FecDatapath final : public ForwardingDatapath<> {
 public:
  static Result<std::unique_ptr<Datapath>> make(std::unique_ptr<Datapath> inner,
                                                const FecOptions& options);

  const Capabilities& capabilities() const override { return capabilities_; }
  size_t transmit(std::span<const transport::TxBurst> bursts) override;
  uint32_t unsent(size_t burst) const override {
    return burst < unsent_.size() ? unsent_[burst] : 0;
  }
  size_t receive(RxBatch& batch, const transport::Prediction* prediction) override;
  void release(RxBatch& batch) override;
  void wait(Nanos until) override;
  Result<transport::RegionId> register_memory(void* start, size_t bytes) override;
  void unregister_memory(transport::RegionId region) override;
  bool poll_error(transport::NetworkError& error) override;
  const DatapathStatistics& statistics() const override;

 private:
  struct Memory {
    std::byte* start = nullptr;
    size_t bytes = 0;
  };

  // What a burst needs here.
  struct Handling {
    bool too_large = false;
    bool announce = false;
    bool covered = false;

    bool passes() const { return !too_large && !announce && !covered; }
  };

  FecDatapath(std::unique_ptr<Datapath> inner, const FecOptions& options,
              std::unique_ptr<EncryptedBurst> encrypted);
  Handling handling_of(Nanos now, const transport::TxBurst& burst);
  bool send_alone(Nanos now, const transport::TxBurst& burst, const Handling& handling,
                  uint32_t& unsent);
  bool is_too_large(const transport::TxBurst& burst) const;
  void report_too_large(const transport::TxBurst& burst);
  bool may_be_covered(const transport::TxBurst& burst) const;
  const std::byte* payload_of(const transport::TxBurst& burst) const;
  bool send(const transport::TxBurst& burst, uint32_t& unsent);
  bool send_covered(Nanos now, const transport::TxBurst& burst, uint32_t& unsent);
  void announce(Nanos now, const transport::TxBurst& burst);
  void send_parity(const transport::TxBurst& burst);
  void send_due();
  bool take_run(Nanos now, transport::RxRun& run);
  bool take_parity(Nanos now, const transport::RxRun& run, std::span<const std::byte> datagram,
                   bool takes_part);

  Capabilities capabilities_;
  FecPeers peers_;
  ParityEncoder encoder_;
  Rebuilder rebuilder_;
  const std::unique_ptr<EncryptedBurst> encrypted_;
  std::vector<Memory> memory_;  // by region
  std::vector<uint32_t> unsent_;
  Ring<transport::NetworkError> errors_;
  bool refused_ = false;     // a burst is to be offered again: nothing may leave before it
  bool inner_lent_ = false;  // a batch
  mutable DatapathStatistics statistics_;
  uint64_t parity_sent_ = 0;
  uint64_t parity_received_ = 0;
};

}  // namespace heddle::datapath
