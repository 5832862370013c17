// Attachment: see attachment.h. A link to another process is opened by the first comm that connects
// there and closed with the last.
#include "plugins/nccl/net/attachment.h"

#include <algorithm>
#include <utility>

#include "plugins/nccl/host_log.h"
#include "plugins/nccl/net/receive_comm.h"
#include "plugins/nccl/net/send_comm.h"
#include "plugins/nccl/params.h"
#include "transport/refusal.h"

namespace heddle::nccl {
namespace {

// The peer refused because it has as many connections as it may.
bool is_full(const Error& error) {
  return error.why == transport::text_of(transport::RefuseReason::kFull);
}

}  // namespace

Attachment::Attachment(std::string name, std::shared_ptr<engine::Endpoint> endpoint,
                       Numbers numbers)
    : name_(std::move(name)),
      endpoint_(std::move(endpoint)),
      numbers_(std::move(numbers)),
      process_(numbers_()) {}

Attachment::~Attachment() = default;

uint64_t Attachment::listen(HandleBytes handle) {
  const OwnMutex::Lock lock = mutex_.lock();
  const uint64_t listener = numbers_();
  listeners_[listener];
  write_handle(handle,
               {.process = process_, .listener = listener, .address = endpoint_->local_address()});
  return listener;
}

void Attachment::close_listener(uint64_t listener) {
  const OwnMutex::Lock lock = mutex_.enter();
  const auto found = lock.owns_lock() ? listeners_.find(listener) : listeners_.end();
  if (found == listeners_.end()) return;
  for (const Arrived& each : found->second) static_cast<void>(each.link->refuse_comm(each.comm));
  listeners_.erase(found);
}

Result<std::shared_ptr<OutgoingLink>> Attachment::link_to(const Handle& handle) {
  const auto [first, last] = outgoing_.equal_range(handle.process);
  for (auto it = first; it != last; ++it) {
    // The process is what a handle claims: a link carries comms to its own destination only.
    const OutgoingLink& link = *it->second;
    if (link.destination() == handle.address && link.has_room() && !link.closed()) {
      return it->second;
    }
  }
  Result<std::shared_ptr<OutgoingLink>> opened = OutgoingLink::open(endpoint_, handle.address);
  if (opened) outgoing_.emplace(handle.process, *opened);
  return opened;
}

Result<std::unique_ptr<SendComm>> Attachment::connect(HandleBytes bytes) {
  turn();
  const OwnMutex::Lock lock = mutex_.lock();
  drop_closed_links();
  const Result<Handle> handle = read_handle(bytes);
  if (!handle) return fail(handle.error());
  auto found = connects_.find(pending_connect(bytes));
  if (found == connects_.end()) {
    Result<std::shared_ptr<OutgoingLink>> link = link_to(*handle);
    if (!link) return fail(link.error());
    // Unpredictable: the bytes come from the listener, which must not name another connect.
    const uint64_t number = numbers_();
    set_pending_connect(bytes, number);
    found = connects_.emplace(number, Connect{handle->listener, *link, now(), {}, {}}).first;
  }
  found->second.called_at = now();
  const Connect connect = found->second;
  const engine::ConnectionStatus status = connect.link->status();
  if (status.state == engine::ConnectionState::kClosed) {
    std::erase_if(outgoing_, [&](const auto& each) { return each.second == connect.link; });
    if (is_full(status.error) && now() - connect.began < params::net::kFullPatience) {
      if (now() < connect.again_at) return std::unique_ptr<SendComm>();
      Result<std::shared_ptr<OutgoingLink>> link = link_to(*handle);
      if (!link) return fail(link.error());
      found->second.link = std::move(*link);
      found->second.again_at = now() + params::net::kFullPause;
      return std::unique_ptr<SendComm>();
    }
    connects_.erase(found);
    const bool silent = status.error.code == ErrorCode::kTimeout;
    return fail(status.error.code, "cannot connect over " + name_, connect.link->failure(),
                silent ? "is the peer's process running, and does a firewall pass UDP between the "
                         "hosts?"
                       : "");
  }
  if (status.state == engine::ConnectionState::kOpening) return std::unique_ptr<SendComm>();
  const std::optional<uint32_t> comm = connect.link->open_comm(connect.listener);
  if (!comm) return std::unique_ptr<SendComm>();
  connects_.erase(found);
  return std::make_unique<SendComm>(shared_from_this(), connect.link, *comm);
}

Result<std::unique_ptr<ReceiveComm>> Attachment::accept(uint64_t listener) {
  pump();
  const OwnMutex::Lock lock = mutex_.enter();
  const auto found = lock.owns_lock() ? listeners_.find(listener) : listeners_.end();
  if (found == listeners_.end()) {
    return fail(ErrorCode::kInvalid, "cannot accept a peer", "the listen comm is closed");
  }
  if (found->second.empty()) return std::unique_ptr<ReceiveComm>();
  Arrived arrived = std::move(found->second.front());
  found->second.pop_front();
  return std::make_unique<ReceiveComm>(shared_from_this(), std::move(arrived.link), arrived.comm);
}

void Attachment::keep(std::unique_ptr<Registration> memory) {
  const OwnMutex::Lock lock = mutex_.enter();
  if (lock.owns_lock()) {
    kept_.push_back(std::move(memory));
  } else {
    static_cast<void>(memory.release());  // a child has no endpoint to unregister it from
  }
}

void Attachment::turn() { static_cast<void>(endpoint_->progress(Nanos{})); }

void Attachment::pump() {
  turn();
  const OwnMutex::Lock lock = mutex_.enter();
  if (!lock.owns_lock()) return;
  while (const std::optional<engine::Connection> accepted = endpoint_->take_accepted()) {
    Result<std::shared_ptr<IncomingLink>> link = IncomingLink::accept(endpoint_, *accepted);
    if (link) {
      incoming_.push_back(std::move(*link));
    } else {
      endpoint_->abort(*accepted);
    }
  }
  for (const std::shared_ptr<IncomingLink>& link : incoming_) {
    for (const IncomingLink::Opened& opened : link->poll()) {
      const auto listener = listeners_.find(opened.listener);
      if (listener == listeners_.end()) {
        // Once, so that a stranger cannot fill the log.
        if (link->refuse_comm(opened.comm)) {
          host_log().info(kLogNet, link->peer() + " connected to a listen comm that is closed");
        }
      } else {
        listener->second.push_back({.link = link, .comm = opened.comm});
      }
    }
  }
  drop_closed_links();
}

void Attachment::wait_closed(Nanos deadline) {
  const auto closed = [this] {
    const OwnMutex::Lock lock = mutex_.lock();
    drop_closed_links();
    return closing_.empty() &&
           std::ranges::none_of(incoming_, [](const auto& link) { return link->had_comms(); });
  };
  while (!closed() && now() < deadline) static_cast<void>(endpoint_->progress(millis(5)));
}

// Also those of strangers that open no comm, and connects that NCCL does not poll any more.
void Attachment::drop_closed_links() {
  const Nanos long_ago = now() - params::net::kIdlePatience;
  std::erase_if(connects_, [&](const auto& each) { return each.second.called_at < long_ago; });
  for (const auto& link : incoming_) {
    const std::optional<Nanos> idle = link->had_comms() ? std::nullopt : link->idle_since();
    if (idle && *idle < long_ago && !is_awaited(*link)) {
      link->give_up("it opened no comm");
    }
  }
  std::erase_if(closing_, [](const auto& link) { return link->closed(); });
  std::erase_if(incoming_,
                [](const auto& link) { return link.use_count() == 1 && link->closed(); });
}

bool Attachment::is_awaited(const IncomingLink& link) const {
  return std::ranges::any_of(listeners_, [&](const auto& listener) {
    return std::ranges::any_of(listener.second,
                               [&](const Arrived& each) { return each.link.get() == &link; });
  });
}

void Attachment::release(const std::shared_ptr<OutgoingLink>& link) {
  const OwnMutex::Lock lock = mutex_.enter();
  if (!lock.owns_lock()) return;
  const bool connecting =
      std::ranges::any_of(connects_, [&](const auto& each) { return each.second.link == link; });
  if (connecting || link->comms() > 0) return;
  std::erase_if(outgoing_, [&](const auto& each) { return each.second == link; });
  if (!link->closed()) endpoint_->begin_close(link->connection());
  closing_.push_back(link);
}

}  // namespace heddle::nccl
