// Acceptor: see acceptor.h.
#include "relaying/acceptor.h"

namespace heddle::relaying {
namespace {

void turn_away(FramePort& port, const Error& error) {
  port.write({.kind = FrameKind::kRefuse, .error = error});
  static_cast<void>(port.close(millis(300)));
}

}  // namespace

void Acceptor::take_connections() {
  while (const auto connection = endpoint_.accept(Nanos{})) {
    const bool full = strangers_.size() >= params::kMostStrangers ||
                      strangers_.size() + table_->size() >= most_links_;
    auto port =
        full ? Result<std::unique_ptr<FramePort>>(fail(ErrorCode::kExhausted, "full"))
             : FramePort::make(endpoint_, *connection, options_.frames_in, options_.frames_out);
    if (!port) {
      endpoint_.abort(*connection);
      ++turned_away_;
      continue;
    }
    strangers_.push_back({std::move(*port), endpoint_.now()});
  }
}

std::unique_ptr<RelayedLink> Acceptor::accept() {
  take_connections();
  for (size_t i = 0; i < strangers_.size(); ++i) {
    Stranger& stranger = strangers_[i];
    const bool closed = stranger.port->status().state == engine::ConnectionState::kClosed;
    const bool late = endpoint_.now() - stranger.came_at >= params::kIntroduceWithin;
    const auto bytes = stranger.port->front();
    if (!bytes && !closed && !late) continue;
    Stranger taken = std::move(stranger);
    strangers_.erase(strangers_.begin() + static_cast<ptrdiff_t>(i--));
    if (!bytes) continue;
    const Result<Frame> frame = read_frame(*bytes);
    if (!frame || frame->kind != FrameKind::kHello) continue;
    Arrival arrival{std::move(taken.port), frame->hello};
    arrival.port->pop();
    if (auto link = admit(std::move(arrival))) return link;
  }
  return nullptr;
}

std::unique_ptr<RelayedLink> Acceptor::admit(Arrival arrival) {
  if (!arrival.hello.hops.empty()) {
    turn_away(*arrival.port, {ErrorCode::kInvalid, "cannot forward the session",
                              "this is a program's end, and no relay", "correct the route"});
    return nullptr;
  }
  const auto known = table_->find(arrival.hello.session);
  if (known != table_->end()) {
    if (const auto refused = known->second->attach(arrival)) turn_away(*arrival.port, *refused);
    return nullptr;
  }
  // The initiator had a session with a program that has ended: its messages cannot be continued.
  if (arrival.hello.attempt != 1) {
    turn_away(*arrival.port,
              {ErrorCode::kClosed, "the relayed session has ended",
               "the program at the far end no longer knows it", "start it again at both ends"});
    return nullptr;
  }
  return RelayedLink::accept(endpoint_, std::move(arrival), table_, options_);
}

}  // namespace heddle::relaying
