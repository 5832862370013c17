// StartedReceiver: a receiver that this command starts on another host, by ssh or another shell.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "launch/remote_stream.h"
#include "transport/cluster_key.h"

namespace heddle::cli {

class StartedReceiver {
 public:
  // It receives one copy into `folder`, with a key that only it and this process have. Waits until
  // it listens. Errors: kUnavailable (it could not be started; why), kCancelled, kSystem.
  static Result<StartedReceiver> start(const std::string& via, const std::string& host,
                                       const std::string& folder);

  uint16_t port() const { return port_; }
  const transport::ClusterKey& key() const { return key_; }
  // Waits for its end, a short while; its last complaint, if any.
  std::string finish();

 private:
  StartedReceiver(launch::RemoteStream stream, const transport::ClusterKey& key)
      : stream_(std::move(stream)), key_(key) {}
  Result<void> read_port(const std::string& host);

  launch::RemoteStream stream_;
  transport::ClusterKey key_;
  uint16_t port_ = 0;
};

}  // namespace heddle::cli
