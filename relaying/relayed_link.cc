// RelayedLink: see relayed_link.h.
#include "relaying/relayed_link.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/quantity.h"
#include "datapath/resolve.h"
#include "engine/addresses.h"
#include "engine/host_port.h"
#include "engine/seed.h"
#include "relaying/params.h"

namespace heddle::relaying {
namespace {

SessionId new_session() {
  SessionId id;
  const Seed seed = engine::system_secret_seed();
  std::memcpy(id.data(), seed.words.data(), id.size());
  return id;
}

// A later attempt may succeed: a relay or the network is away. What a hop forbids stays forbidden.
bool is_passing(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
    case ErrorCode::kPeerDead:
    case ErrorCode::kExhausted:
      return true;
    default:
      return false;
  }
}

Result<std::string> with_port(const std::string& name, uint16_t default_port) {
  const Result<engine::HostPort> parts = engine::parse_host_port(name, default_port);
  if (!parts) return fail(parts.error());
  const bool v6 = parts->host.find(':') != std::string::npos;
  std::string text =
      fmt::format("{}{}{}:{}", v6 ? "[" : "", parts->host, v6 ? "]" : "", parts->port);
  if (text.size() <= params::kLongestHop) return text;
  return fail(ErrorCode::kInvalid, "cannot reach the destination", "a name is too long", "");
}

Error strange_frame() {
  return {ErrorCode::kInvalid, "the relayed session failed",
          "the other end sent what no end of a session sends",
          "use the same version of heddle at both ends"};
}

}  // namespace

Result<std::unique_ptr<RelayedLink>> RelayedLink::connect(engine::Endpoint& endpoint,
                                                          const std::vector<std::string>& relays,
                                                          const std::string& destination,
                                                          uint16_t default_port,
                                                          const LinkOptions& options) {
  if (relays.empty() || relays.size() + 1 > params::kMostHops) {
    return fail(
        ErrorCode::kInvalid, fmt::format("cannot reach {} through relays", destination),
        fmt::format("{} are named, and 1 to {} are possible", relays.size(), params::kMostHops - 1),
        "name the relays in their order, with commas between");
  }
  std::unique_ptr<RelayedLink> link(new RelayedLink(endpoint, options));
  Result<transport::Address> first = engine::find_address(relays.front(), params::kPort);
  if (!first) return fail(first.error());
  link->peer_ = *first;
  link->session_ = new_session();
  link->dialing_.emplace();
  for (size_t i = 1; i <= relays.size(); ++i) {
    const bool last = i == relays.size();
    Result<std::string> hop =
        with_port(last ? destination : relays[i], last ? default_port : params::kPort);
    if (!hop) return fail(hop.error());
    link->dialing_->hops.push_back(std::move(*hop));
  }
  if (Result<void> dialed = link->dial(); !dialed) return fail(dialed.error());
  return link;
}

std::unique_ptr<RelayedLink> RelayedLink::accept(engine::Endpoint& endpoint, Arrival arrival,
                                                 std::shared_ptr<SessionTable> table,
                                                 const LinkOptions& options) {
  std::unique_ptr<RelayedLink> link(new RelayedLink(endpoint, options));
  link->session_ = arrival.hello.session;
  link->table_ = std::move(table);
  link->table_->emplace(link->session_, link.get());
  link->welcome(std::move(arrival));
  return link;
}

RelayedLink::~RelayedLink() {
  abort();
  if (table_) table_->erase(session_);
}

Result<void> RelayedLink::dial() {
  Result<engine::Connection> connection = endpoint().connect(peer_);
  if (!connection) return fail(connection.error());
  auto port = FramePort::make(endpoint(), *connection, options_.frames_in, options_.frames_out);
  if (!port) {
    endpoint().abort(*connection);
    return fail(port.error());
  }
  port_ = std::move(*port);
  dialing_->welcomed = false;
  dialed_at_ = now();
  confirmed_ = inbox_.received();
  Frame hello{.kind = FrameKind::kHello};
  hello.hello = {session_, ++attempt_, confirmed_, dialing_->hops};
  port_->write(hello);
  return {};
}

std::optional<Error> RelayedLink::attach(Arrival& arrival) {
  if (end_) return *end_;
  if (arrival.hello.attempt <= attempt_ || !outbox_.rewind(arrival.hello.received)) {
    return strange_frame();
  }
  welcome(std::move(arrival));
  return std::nullopt;
}

void RelayedLink::welcome(Arrival arrival) {
  port_ = std::move(arrival.port);
  attempt_ = arrival.hello.attempt;
  peer_ = port_->status().peer;
  confirmed_ = inbox_.received();
  confirm_due_ = false;
  broken_ = false;
  port_->write({.kind = FrameKind::kWelcome, .received = confirmed_});
}

Result<engine::Operation> RelayedLink::send(engine::Channel channel,
                                            const engine::MessageBytes& bytes) {
  if (Result<void> possible = check(channel, bytes, outbox_.posted()); !possible) {
    return fail(possible.error());
  }
  const engine::Operation operation = outbox_.post(channel, bytes);
  step();
  return operation;
}

Result<engine::Operation> RelayedLink::receive(engine::Channel channel,
                                               const engine::MessageBytes& bytes) {
  if (Result<void> possible = check(channel, bytes, inbox_.posted()); !possible) {
    return fail(possible.error());
  }
  const bool was_full = !inbox_.has_space();
  const engine::Operation operation = inbox_.post(channel, bytes);
  // Frames wait for the memory that the post has freed, and no event follows that says so.
  if (was_full) step();
  return operation;
}

Result<void> RelayedLink::check(engine::Channel channel, const engine::MessageBytes& bytes,
                                size_t posted) const {
  if (end_) return fail(*end_);
  if (channel >= params::kChannels || bytes.bytes > params::kLongestMessage) {
    return fail(ErrorCode::kInvalid, "cannot post a message",
                fmt::format("channels are 0 to {}, and messages have at most 1 GiB",
                            params::kChannels - 1));
  }
  if (posted < params::kMostPosted) return {};
  return fail(ErrorCode::kExhausted, "cannot post a message",
              fmt::format("{} are outstanding", posted), "take what is done first");
}

engine::Outcome RelayedLink::wait(engine::Operation operation, Nanos timeout) {
  const Nanos began = now();
  while (true) {
    step();
    const engine::Outcome outcome = book_.take(operation);
    if (outcome.done) return outcome;
    const Nanos passed = now() - began;
    if (passed >= timeout) return outcome;
    endpoint().progress(std::min(params::kSlice, timeout - passed));
  }
}

void RelayedLink::step() {
  if (end_) return;
  if (port_) {
    // Before the frames: those that came before the close are taken.
    const engine::ConnectionStatus state = port_->status();
    if (dialing_ && state.state == engine::ConnectionState::kOpen) dialing_->reached = true;
    take_frames();
    if (end_ || !port_) return;
    if (state.state == engine::ConnectionState::kClosed) {
      lose(state.error);
    } else {
      send_frames();
    }
  }
  if (!end_ && !port_) restore();
  const bool late =
      dialing_ && port_ && !dialing_->welcomed && now() - dialed_at_ > params::kWelcomeWithin;
  if (!end_ && late) {
    lose({ErrorCode::kTimeout, "cannot reach the destination through the relay",
          "it did not answer", "look at the relays in between and at the program there"});
  }
}

void RelayedLink::take_frames() {
  while (port_ && !end_) {
    const auto bytes = port_->front();
    if (!bytes) return;
    const Result<Frame> frame = read_frame(*bytes);
    if (!frame) return refuse(frame.error());
    if (frame->kind == FrameKind::kData && !inbox_.has_space()) return;
    handle(*frame);
    if (port_) port_->pop();
  }
}

void RelayedLink::handle(const Frame& frame) {
  switch (frame.kind) {
    case FrameKind::kData:
      if (!inbox_.take(frame)) return refuse(strange_frame());
      confirm_due_ = inbox_.take_message_end() || confirm_due_;
      return;
    case FrameKind::kConfirm:
      if (!outbox_.confirm(frame.received)) refuse(strange_frame());
      return;
    case FrameKind::kWelcome:
      return handle_welcome(frame.received);
    case FrameKind::kBye:
      return end({ErrorCode::kClosed, "the session is closed", "the other end closed it", ""},
                 true);
    case FrameKind::kRefuse:
      return handle_refusal(frame.error);
    case FrameKind::kHello:
      return refuse(strange_frame());
  }
}

void RelayedLink::handle_welcome(uint64_t received) {
  const bool expected = dialing_ && !dialing_->welcomed;
  const bool known =
      expected && (attempt_ == 1 ? outbox_.confirm(received) : outbox_.rewind(received));
  if (!known) return refuse(strange_frame());
  dialing_->welcomed = true;
  dialing_->ever_welcomed = true;
  broken_ = false;
  dialing_->interval = params::kFirstRetry;
}

void RelayedLink::handle_refusal(const Error& error) {
  if (dialing_ && dialing_->ever_welcomed && is_passing(error.code)) return lose(error);
  end(error);
}

void RelayedLink::send_frames() {
  const uint64_t unconfirmed = inbox_.received() - confirmed_;
  const bool due = unconfirmed > 0 && (confirm_due_ || unconfirmed >= params::kConfirmFrames);
  if (due && port_->has_space(true)) {
    confirmed_ = inbox_.received();
    confirm_due_ = false;
    port_->write({.kind = FrameKind::kConfirm, .received = confirmed_});
  }
  // Of a first attempt it is known that the other end has nothing.
  if (dialing_ && !dialing_->welcomed && attempt_ > 1) return;
  Frame frame;
  while (outbox_.has_next() && port_->has_space() && outbox_.take_next(frame)) port_->write(frame);
}

void RelayedLink::lose(const Error& cause) {
  Error kept = cause;  // it may be the port's
  port_.reset();
  if (dialing_ && !dialing_->ever_welcomed) {
    kept.what = fmt::format("cannot open a session through the relay {}", datapath::to_text(peer_));
    kept.todo = dialing_->reached
                    ? "look at the relays behind it, and whether the program at the destination "
                      "listens with --relayed"
                    : "start 'heddle relay' there, with the same key_file or none, and let UDP "
                      "through";
    return end(kept);
  }
  last_break_ = kept;
  if (!broken_) broken_at_ = now();
  broken_ = true;
  if (!dialing_) return;
  dialing_->retry_at = now() + dialing_->interval;
  dialing_->interval = std::min(dialing_->interval * 2, params::kLongestRetry);
}

void RelayedLink::restore() {
  if (now() - broken_at_ >= options_.reconnect_timeout) {
    return end({ErrorCode::kTimeout, "the relayed session failed",
                fmt::format("no connection could be made for {}: {}",
                            duration_text(options_.reconnect_timeout), last_break_.message()),
                "start the relays in between again within that time"});
  }
  if (!dialing_ || now() < dialing_->retry_at) return;
  if (Result<void> dialed = dial(); !dialed) lose(dialed.error());
}

void RelayedLink::end(Error error, bool graceful) {
  if (end_) return;
  const engine::Outcome outcome = {.done = true, .ok = false, .error = error.code};
  end_ = std::move(error);
  graceful_ = graceful;
  outbox_.fail_all(outcome);
  inbox_.fail_all(outcome);
  port_.reset();
}

void RelayedLink::refuse(const Error& error) {
  const Error kept = error;
  if (port_ && port_->status().state == engine::ConnectionState::kOpen && port_->has_space(true)) {
    port_->write({.kind = FrameKind::kRefuse, .error = kept});
    static_cast<void>(port_->close(params::kAbortWithin));
  }
  end(kept);
}

engine::ConnectionStatus RelayedLink::status() const {
  if (end_) {
    return {.state = engine::ConnectionState::kClosed,
            .peer = peer_,
            .error = *end_,
            .graceful = graceful_};
  }
  const bool opening = dialing_ && !dialing_->ever_welcomed;
  return {.state = opening ? engine::ConnectionState::kOpening : engine::ConnectionState::kOpen,
          .peer = peer_,
          .error = {},
          .graceful = false};
}

Result<void> RelayedLink::close(Nanos timeout) {
  const Nanos began = now();
  while (!end_ && !(outbox_.empty() && port_ && port_->has_space(true))) {
    const Nanos passed = now() - began;
    if (passed >= timeout) {
      abort();
      return fail(ErrorCode::kTimeout, "cannot close the session",
                  "the other end did not confirm all messages", "");
    }
    progress(std::min(params::kSlice, timeout - passed));
  }
  if (end_) return graceful_ ? Result<void>() : fail(*end_);
  port_->write({.kind = FrameKind::kBye});
  const Result<void> closed =
      port_->close(std::max(timeout - (now() - began), params::kAbortWithin));
  end({ErrorCode::kClosed, "the session is closed", "this side closed it", ""}, true);
  return closed;
}

void RelayedLink::abort() {
  if (end_) return;
  refuse({ErrorCode::kClosed, "the session is closed", "the other end aborted it", ""});
}

}  // namespace heddle::relaying
