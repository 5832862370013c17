// What both ends of a link share: see link.h.
#include "plugins/nccl/net/link.h"

#include <utility>

#include "engine/addresses.h"
#include "plugins/nccl/status.h"

namespace heddle::nccl {

Link::Link(std::shared_ptr<engine::Endpoint> endpoint, engine::Connection connection)
    : endpoint_(std::move(endpoint)),
      connection_(connection),
      peer_(engine::address_text(endpoint_->status(connection).peer)) {}

void Link::give_up(const std::string& why) {
  {
    const OwnMutex::Lock lock = reason_mutex_.lock();
    if (closed() || !given_up_.empty()) return;
    given_up_ = why;
  }
  endpoint_->abort(connection_);
}

Status Link::failure_status() const {
  const OwnMutex::Lock lock = reason_mutex_.lock();
  const engine::ConnectionStatus now = status();
  return now.graceful || !given_up_.empty() ? kRemoteError : status_of(now.error.code);
}

std::string Link::failure() const {
  const OwnMutex::Lock lock = reason_mutex_.lock();
  if (!given_up_.empty()) return peer_ + ": " + given_up_;
  const engine::ConnectionStatus now = status();
  return peer_ + ": " + (now.graceful ? "the peer closed the connection" : now.error.message());
}

void Link::end(std::span<const engine::Operation> operations) {
  endpoint_->abort(connection_);
  for (const engine::Operation operation : operations) {
    if (operation) endpoint_->forget(operation);
  }
}

}  // namespace heddle::nccl
