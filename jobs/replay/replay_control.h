// ReplayControl: how the processes of a replay find each other, agree on time 0 and bring what they
// saw to the first of them. On an endpoint of its own, which is not recorded, so that a recording
// has what the workload did.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/nanos.h"
#include "base/result.h"
#include "collectives/communicator.h"
#include "collectives/group.h"
#include "collectives/rendezvous.h"
#include "engine/endpoint.h"

namespace heddle::jobs {

class ReplayControl {
 public:
  // Every process of the run calls each of these, in the same order. Errors: those of meet(), of
  // communicators, and kCancelled when a signal came.
  static Result<std::unique_ptr<ReplayControl>> meet(const Config& config,
                                                     collectives::MeetOptions options);

  const collectives::Group& group() const { return group_; }
  // Exchanges the port of a second endpoint of each process; returns the addresses of all.
  Result<std::vector<transport::Address>> exchange(uint16_t port);
  // Waits for all, and returns a time shortly in the future by this host's clock: the same for all
  // if they share a clock, else equal within a one-way latency.
  Result<Nanos> agree_on_start();
  // Collects the text of each process at the first one, by rank. Empty on the others.
  Result<std::vector<std::string>> gather(const std::string& mine);

 private:
  ReplayControl() = default;
  Result<void> finish(const Result<collectives::Request>& request);
  Nanos lead() const;

  collectives::Group group_;
  std::unique_ptr<engine::Endpoint> endpoint_;
  std::unique_ptr<collectives::Communicator> all_;
};

}  // namespace heddle::jobs
