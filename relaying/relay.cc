// Relay: see relay.h.
#include "relaying/relay.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/quantity.h"
#include "datapath/resolve.h"
#include "relaying/params.h"

namespace heddle::relaying {
namespace {

void add(RelayCounts& counts, const PipeCounts& pipe) {
  counts.frames += pipe.frames;
  counts.bytes += pipe.bytes;
  counts.most_held_bytes =
      std::max<uint64_t>(counts.most_held_bytes, pipe.most_held * params::kFrameBytes);
}

}  // namespace

uint32_t RelayOptions::frames() const {
  const uint64_t share = memory_bytes / std::max(most_sessions, 1U) / 2 / params::kFrameBytes;
  return static_cast<uint32_t>(std::min<uint64_t>(share, params::kMostFrames));
}

Result<void> Relay::check(const RelayOptions& options) {
  if (options.frames() >= params::kLeastFrames) return {};
  const uint64_t least =
      uint64_t{options.most_sessions} * 2 * params::kLeastFrames * params::kFrameBytes;
  return fail(ErrorCode::kInvalid,
              fmt::format("cannot relay {} sessions in {}", options.most_sessions,
                          size_text(options.memory_bytes)),
              fmt::format("they need at least {} MiB", (least >> 20) + 1),
              "give more --memory, or fewer --sessions");
}

// A session, from its connection to the end of both.
class Relay::Session {
 public:
  Session(Relay& relay, engine::Connection near, std::unique_ptr<Pipe> there,
          std::unique_ptr<Pipe> back, bool full)
      : relay_(relay),
        near_end_(relay.near_),
        far_end_(relay.far_),
        near_(near),
        full_(full),
        came_at_(near_end_.now()),
        there_(std::move(there)),
        back_(std::move(back)) {
    report_.from = datapath::to_text(near_end_.status(near).peer);
    there_->receive(near_);
  }
  ~Session() {
    near_end_.abort(near_);
    if (far_ != 0) far_end_.abort(far_);
  }

  // False: it is over.
  bool step();
  bool full() const { return full_; }
  bool forwarded() const { return opened_; }
  SessionReport report() const {
    SessionReport report = report_;
    report.there = there_->counts();
    report.back = back_->counts();
    report.lasted = near_end_.now() - came_at_;
    return report;
  }

 private:
  void begin();
  Result<void> connect(Frame& hello);
  void forward();
  void watch();
  void cut();
  void refuse(const Error& error);
  void start_end(const Error& cause);
  bool step_end();

  Relay& relay_;
  engine::Endpoint& near_end_;
  engine::Endpoint& far_end_;
  const engine::Connection near_;
  const bool full_;
  const Nanos came_at_;
  engine::Connection far_ = 0;
  bool opened_ = false;  // far_ has been open
  const std::unique_ptr<Pipe> there_;
  const std::unique_ptr<Pipe> back_;
  std::optional<Nanos> ending_at_;  // since when
  bool closing_ = false;
  SessionReport report_;
};

bool Relay::Session::step() {
  if (!ending_at_) watch();
  forward();
  return !ending_at_ || step_end();
}

// Looks at the connections before frames are taken: what came before a close is forwarded.
void Relay::Session::watch() {
  const engine::ConnectionStatus near = near_end_.status(near_);
  if (near.state == engine::ConnectionState::kClosed) return start_end(near.error);
  if (there_->broken()) return cut();
  if (far_ == 0) {
    if (near_end_.now() - came_at_ < params::kIntroduceWithin) return;
    return start_end({ErrorCode::kTimeout, "the session did not begin", "it sent no hello", ""});
  }
  const engine::ConnectionStatus far = far_end_.status(far_);
  if (far.state == engine::ConnectionState::kOpen) opened_ = true;
  if (far.state != engine::ConnectionState::kClosed) return back_->broken() ? cut() : void();
  if (opened_) return start_end(far.error);
  // The cause may be over a moment later: the client tries again.
  Error error = far.error;
  error.code = ErrorCode::kUnavailable;
  error.what = fmt::format("the relay {} cannot connect to {}",
                           datapath::to_text(near_end_.local_address()), report_.to);
  if (error.todo.empty()) error.todo = "start what should listen there, with the same keys";
  refuse(error);
}

void Relay::Session::cut() {
  near_end_.abort(near_);
  if (far_ != 0) far_end_.abort(far_);
  start_end({ErrorCode::kInvalid, "the relay cannot forward this",
             "a frame is longer than frames are",
             "use the same version of heddle at both ends and on the relays between them"});
}

void Relay::Session::forward() {
  there_->receive(near_);
  if (far_ == 0 && !ending_at_ && there_->waits()) begin();
  if (far_ != 0) {
    there_->send(far_);
    back_->receive(far_);
  }
  back_->send(near_);
}

void Relay::Session::begin() {
  Result<Frame> hello = read_frame(there_->front());
  if (!hello) {
    Error error = hello.error();
    if (error.code == ErrorCode::kVersion) {
      error.what = fmt::format("the relay {} cannot take the session",
                               datapath::to_text(near_end_.local_address()));
    }
    return refuse(error);
  }
  if (hello->kind != FrameKind::kHello || hello->hello.hops.empty()) {
    return refuse({ErrorCode::kInvalid, "the relay cannot forward this",
                   "its first frame names no destination",
                   "use the same version of heddle at both ends and on the relays between them"});
  }
  report_.to = hello->hello.hops.front();
  if (full_) {
    return refuse({ErrorCode::kExhausted, fmt::format("the relay cannot connect to {}", report_.to),
                   fmt::format("it forwards {} already, which is its limit",
                               counted_text(relay_.options_.most_sessions, "session")),
                   "try again later, or give the relay more --sessions"});
  }
  if (Result<void> connected = connect(*hello); !connected) refuse(connected.error());
}

Result<void> Relay::Session::connect(Frame& hello) {
  const auto address = relay_.destinations_.find(report_.to);
  if (!address) {
    return fail(ErrorCode::kPermission, fmt::format("the relay does not forward to {}", report_.to),
                "it is not among the relay's destinations",
                fmt::format("start the relay with --to {} if it should", report_.to));
  }
  Result<engine::Connection> connection = far_end_.connect(*address);
  if (!connection) return fail(connection.error());
  far_ = *connection;
  hello.hello.hops.erase(hello.hello.hops.begin());
  there_->replace_front(hello);
  return {};
}

void Relay::Session::refuse(const Error& error) {
  if (far_ != 0) far_end_.abort(far_);
  far_ = 0;
  report_.refused = true;
  if (back_->empty()) back_->add({.kind = FrameKind::kRefuse, .error = error});
  start_end(error);
}

void Relay::Session::start_end(const Error& cause) {
  ending_at_ = near_end_.now();
  report_.cause = cause;
}

// What is held goes on to the side that lives; then both connections are closed.
bool Relay::Session::step_end() {
  const auto closed = engine::ConnectionState::kClosed;
  const bool near_closed = near_end_.status(near_).state == closed;
  const bool far_closed = far_ == 0 || far_end_.status(far_).state == closed;
  if (!closing_ && (near_closed || back_->empty()) && (far_closed || there_->empty())) {
    closing_ = true;
    near_end_.begin_close(near_);
    if (far_ != 0) far_end_.begin_close(far_);
  }
  if (near_end_.now() - *ending_at_ >= params::kGoodbye) return false;
  return !(near_closed && far_closed);
}

Relay::Relay(engine::Endpoint& near, engine::Endpoint& far, Destinations destinations,
             const RelayOptions& options, std::function<void(const SessionReport&)> report)
    : near_(near),
      far_(far),
      destinations_(std::move(destinations)),
      options_(options),
      report_(std::move(report)) {}

Relay::~Relay() = default;

void Relay::step() {
  accept();
  std::erase_if(sessions_, [this](const std::unique_ptr<Session>& session) {
    if (session->step()) return false;
    note_end(*session);
    return true;
  });
}

void Relay::accept() {
  while (const auto connection = near_.take_accepted()) {
    const bool full = sessions_.size() >= options_.most_sessions;
    const uint32_t frames = full ? params::kFramesToRefuse : options_.frames();
    auto there = Pipe::make(near_, far_, frames);
    auto back = Pipe::make(far_, near_, frames);
    if (sessions_.size() >= options_.most_sessions + params::kMostRefusing || !there || !back) {
      near_.abort(*connection);
      ++counts_.turned_away;
      continue;
    }
    sessions_.push_back(
        std::make_unique<Session>(*this, *connection, std::move(*there), std::move(*back), full));
  }
}

void Relay::note_end(const Session& session) {
  const SessionReport report = session.report();
  if (session.forwarded()) ++counts_.sessions;
  if (report.refused) ++counts_.refused;
  add(counts_, report.there);
  add(counts_, report.back);
  report_(report);
}

RelayCounts Relay::counts() const {
  RelayCounts counts = counts_;
  for (const auto& each : sessions_) {
    const SessionReport report = each->report();
    if (each->forwarded()) ++counts.sessions;
    add(counts, report.there);
    add(counts, report.back);
  }
  return counts;
}

}  // namespace heddle::relaying
