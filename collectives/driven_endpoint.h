// DrivenEndpoint: what a process needs once to be a rank of any number of communicators: an
// endpoint as the configuration says, its progress thread, and the options of communicators. For
// faces that other programs load; it lives as long as the last of those who share it.
#pragma once

#include <memory>

#include "base/config.h"
#include "base/result.h"
#include "collectives/communicator.h"
#include "collectives/progress_thread.h"
#include "engine/endpoint.h"

namespace heddle::collectives {

class DrivenEndpoint {
 public:
  // Errors: those of configured options, and of opening an endpoint.
  static Result<std::shared_ptr<DrivenEndpoint>> open(const Config& config);
  DrivenEndpoint(const DrivenEndpoint&) = delete;
  DrivenEndpoint& operator=(const DrivenEndpoint&) = delete;

  const Config& config() const { return config_; }
  const CommunicatorOptions& communicator_options() const { return options_; }
  transport::Address address() const { return endpoint_->local_address(); }
  // Keeps `self` alive as well.
  static std::shared_ptr<ProgressThread> thread_of(const std::shared_ptr<DrivenEndpoint>& self) {
    return {self, self->thread_.get()};
  }

 private:
  DrivenEndpoint(Config config, CommunicatorOptions options,
                 std::unique_ptr<engine::Endpoint> endpoint);

  const Config config_;
  const CommunicatorOptions options_;
  const std::unique_ptr<engine::Endpoint> endpoint_;
  const std::unique_ptr<ProgressThread> thread_;  // goes before the endpoint
};

}  // namespace heddle::collectives
