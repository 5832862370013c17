// DrivenEndpoint: what a process needs once to be a rank of any number of communicators: an
// endpoint as the configuration says, its progress thread, and the options of communicators. Used
// by the C library and the plugins. It lives as long as the last of those who share it.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/config.h"
#include "base/result.h"
#include "collectives/communicator.h"
#include "collectives/group.h"
#include "collectives/progress_thread.h"
#include "engine/endpoint.h"

namespace heddle::collectives {

class DrivenEndpoint {
 public:
  // Errors: those of configured options, and of opening an endpoint.
  static Result<std::shared_ptr<DrivenEndpoint>> open(const Config& config);
  // The same once its ranks have met, by the rank and store that `environment` names. Errors: those
  // of collectives::meet_options() and meet() too.
  struct Met;
  static Result<Met> meet(const Config& config, std::span<const std::string> environment);
  DrivenEndpoint(const DrivenEndpoint&) = delete;
  DrivenEndpoint& operator=(const DrivenEndpoint&) = delete;

  const Config& config() const { return config_; }
  const CommunicatorOptions& communicator_options() const { return options_; }
  transport::Address address() const { return endpoint_->local_address(); }
  // This process will never be in the communicator of this number: ranks that wait for it there
  // find that it is gone.
  void refuse(uint64_t communicator) { thread_->refuse(communicator); }
  // Keeps `self` alive as well.
  static std::shared_ptr<ProgressThread> thread_of(const std::shared_ptr<DrivenEndpoint>& self) {
    return {self, self->thread_.get()};
  }

 private:
  static Result<std::unique_ptr<engine::Endpoint>> open_endpoint(const Config& config);
  static Result<std::shared_ptr<DrivenEndpoint>> drive(const Config& config,
                                                       const CommunicatorOptions& options,
                                                       std::unique_ptr<engine::Endpoint> endpoint);
  DrivenEndpoint(Config config, CommunicatorOptions options,
                 std::unique_ptr<engine::Endpoint> endpoint,
                 std::unique_ptr<ProgressThread> thread);

  const Config config_;
  const CommunicatorOptions options_;
  const std::unique_ptr<engine::Endpoint> endpoint_;
  const std::unique_ptr<ProgressThread> thread_;  // goes before the endpoint
};

struct DrivenEndpoint::Met {
  std::shared_ptr<DrivenEndpoint> endpoint;
  Group group;
};

}  // namespace heddle::collectives
