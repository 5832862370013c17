// Acceptor: see acceptor.h.
#include "relaying/acceptor.h"

#include <fmt/core.h>

#include "base/quantity.h"
#include "datapath/resolve.h"

namespace heddle::relaying {

// It has a while to take the reason.
void Acceptor::turn_away(std::unique_ptr<FramePort> port, const Error& error) {
  ++turned_away_;
  if (!port->has_space(true)) return;
  port->write({.kind = FrameKind::kRefuse, .error = error});
  port->begin_close();
  leaving_.push_back({std::move(port), endpoint_.now()});
}

void Acceptor::take_connections() {
  std::erase_if(leaving_, [this](const Stranger& each) {
    return each.port->status().state == engine::ConnectionState::kClosed ||
           endpoint_.now() - each.came_at >= params::kGoodbye;
  });
  while (const auto connection = endpoint_.accept(Nanos{})) {
    // One at a time also where all links are in use: it may be a link's next connection.
    const size_t strangers = strangers_.size() + leaving_.size();
    const bool full = strangers >= params::kMostStrangers ||
                      (strangers > 0 && strangers + table_->size() >= most_links_);
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
    if (!frame && frame.error().code == ErrorCode::kVersion) {
      Error error = frame.error();
      error.what =
          fmt::format("{} cannot take the session", datapath::to_text(endpoint_.local_address()));
      turn_away(std::move(taken.port), error);
      continue;
    }
    if (!frame || frame->kind != FrameKind::kHello) continue;
    Arrival arrival{std::move(taken.port), frame->hello};
    arrival.port->pop();
    if (auto link = admit(std::move(arrival))) return link;
  }
  return nullptr;
}

std::unique_ptr<RelayedLink> Acceptor::admit(Arrival arrival) {
  if (!arrival.hello.hops.empty()) {
    turn_away(std::move(arrival.port),
              {ErrorCode::kInvalid, "cannot forward the session",
               "this is a program's end, and no relay", "correct the route"});
    return nullptr;
  }
  const auto known = table_->find(arrival.hello.session);
  if (known != table_->end()) {
    if (const auto refused = known->second->attach(arrival)) {
      turn_away(std::move(arrival.port), *refused);
    }
    return nullptr;
  }
  // The initiator had a session with a program that has ended: its messages cannot be continued.
  if (arrival.hello.attempt != 1) {
    turn_away(std::move(arrival.port),
              {ErrorCode::kClosed, "the relayed session has ended",
               "the program at the far end no longer knows it", "start it again at both ends"});
    return nullptr;
  }
  if (table_->size() >= most_links_) {
    turn_away(std::move(arrival.port),
              {ErrorCode::kExhausted, "the destination takes no further session",
               counted_text(most_links_, "session") + " are open there", "try again later"});
    return nullptr;
  }
  return RelayedLink::accept(endpoint_, std::move(arrival), table_, options_);
}

}  // namespace heddle::relaying
