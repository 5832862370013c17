// Session: see session.h.
#include "measure/server/session.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/quantity.h"
#include "base/version.h"
#include "datapath/resolve.h"
#include "measure/cpu_time.h"
#include "measure/params.h"

namespace heddle::measure {
namespace {

Json statistics_between(const transport::ConnectionStatistics& before,
                        const transport::ConnectionStatistics& after) {
  // A connection that replaces a broken one counts from zero (relaying/relayed_link.h).
  const auto since = [](uint64_t now, uint64_t then) { return now >= then ? now - then : now; };
  return {{"segments_sent", since(after.segments_sent, before.segments_sent)},
          {"segments_retransmitted",
           since(after.segments_retransmitted, before.segments_retransmitted)},
          {"segments_retransmitted_spuriously", since(after.segments_retransmitted_spuriously,
                                                      before.segments_retransmitted_spuriously)}};
}

Json stream_record(const StreamResult& result) {
  Json record = {{"messages", result.messages},
                 {"payload_bytes", result.payload_bytes},
                 {"seconds", to_seconds(result.ended - result.began)},
                 {"goodput_gbits_per_s", result.bits_per_s() * 1e-9},
                 {"wrong_messages", result.wrong_messages}};
  if (result.wrong_messages > 0) record["first_difference"] = result.first_difference;
  if (!result.timeline.empty()) {
    record["longest_gap_us"] = to_micros(result.timeline.longest_gap());
    record["longest_gap_after_s"] = to_seconds(result.timeline.longest_gap_after());
    record["interval_ms"] = result.timeline.interval().count / 1'000'000;
    record["interval_bytes"] = result.timeline.bytes();
  }
  return record;
}

// Memory that a test takes at the server: its messages, and what a client that leaves gaps in each
// makes the transport remember of them (IntervalSet: 16 bytes a gap, at most 4,096 of a message).
// The limits of its fields keep this from overflowing.
uint64_t memory_of(const TestOptions& options) {
  constexpr uint64_t kMostGaps = 4096;
  constexpr uint64_t kBytesAGap = 2 * 16;  // as it grows by doubling
  const uint64_t slots = options.test == "lat"   ? 2 * uint64_t{kEchoSlots}
                         : options.bidirectional ? 2 * uint64_t{options.window}
                                                 : options.window;
  const uint64_t payload = options.test == "lat" ? kEchoSlots : slots;
  const uint64_t gaps = std::min(options.message_bytes / 2, kMostGaps) * kBytesAGap;
  return payload * options.message_bytes + slots * (gaps + params::kRecordBytes);
}

}  // namespace

Session::Session(std::unique_ptr<engine::MessageLink> link, SessionReporter reporter,
                 TestMemory& memory, TestMemory::Share share)
    : link_(std::move(link)),
      reporter_(std::move(reporter)),
      peer_(datapath::to_text(link_->status().peer)),
      memory_(memory),
      share_(std::move(share)),
      came_at_(link_->now()),
      control_(*link_, params::kMaxRequestBytes) {}

Session::~Session() {
  running_.reset();
  link_->abort();
}

bool Session::step() {
  if (over_) return false;
  link_->step();
  if (!welcomed_ && link_->now() - came_at_ >= params::kIntroduceWithin) {
    end({ErrorCode::kTimeout, "cannot serve this client", "it did not introduce itself", ""});
    return false;
  }
  Result<void> stepped = busy() ? prepare() : running_ ? step_running() : Result<void>();
  if (stepped) stepped = take_messages();
  if (!stepped) end(stepped.error());
  return !over_;
}

void Session::end(const Error& error) {
  const engine::ConnectionStatus status = link_->status();
  over_ = true;
  if (status.graceful && !running_) return;
  failed_ = true;
  const Error& cause = status.state == engine::ConnectionState::kClosed ? status.error : error;
  reporter_(peer_, "gone: " + (cause.why.empty() ? cause.what : cause.why), to_json(cause));
}

Result<void> Session::take_messages() {
  while (true) {
    Result<std::optional<Json>> message = control_.poll();
    if (!message) return fail(message.error());
    if (!message->has_value()) return {};
    if (Result<void> handled = handle(**message); !handled) {
      // The client receives the reason, and decides what to do next.
      if (Result<void> sent = control_.send(to_json(handled.error())); !sent) return sent;
      reporter_(peer_, "refused: " + handled.error().message(), to_json(handled.error()));
      if (++refusals_ < params::kMostRefusals) continue;
      return fail(ErrorCode::kInvalid, "cannot serve this client",
                  fmt::format("{} of its requests were refused", refusals_));
    }
  }
}

Result<void> Session::handle(const Json& message) {
  if (message.contains("hello")) return welcome(message);
  if (!welcomed_) {
    return fail(ErrorCode::kInvalid, "cannot serve this client", "it did not introduce itself",
                "use the same version of heddle on both sides");
  }
  return start(message);
}

Result<void> Session::welcome(const Json& hello) {
  if (const Json& theirs = hello["hello"]; theirs != kControlVersion) {
    const std::string why =
        fmt::format("this server is heddle {} and speaks version {} of the test protocol", kVersion,
                    kControlVersion);
    if (!theirs.is_number_integer()) {
      return fail(ErrorCode::kVersion, "cannot serve this client", why,
                  "install the same version of heddle on both sides");
    }
    // Read as a signed number, one of 2^63 and above would be below zero.
    const bool older = theirs.get<double>() < kControlVersion;
    // The client prints it, too: "this machine" would be either.
    return fail(ErrorCode::kVersion, "cannot serve this client",
                fmt::format("{}, the client version {}", why, theirs.dump()),
                older ? "upgrade heddle on the client's machine"
                      : "upgrade heddle on the server's machine");
  }
  welcomed_ = true;
  return control_.send({{"welcome", kControlVersion}, {"heddle", std::string(kVersion)}});
}

Result<void> Session::start(const Json& request) {
  if (running_) {
    return fail(ErrorCode::kInvalid, "cannot run the test", "another one is running", "");
  }
  Result<TestOptions> options = test_options_from(request);
  if (!options) return fail(options.error());
  const uint64_t bytes = memory_of(*options);
  std::optional<TestMemory::Share> share = memory_.take(bytes);
  if (!share) {
    const bool never = bytes > memory_.total();
    return fail(
        ErrorCode::kExhausted, "cannot run the test",
        fmt::format("it needs {} MiB of memory at the server, and {} {}", (bytes >> 20) + 1,
                    never ? "all clients together may have" : "of what all may have",
                    never ? size_text(memory_.total()) : size_text(memory_.left()) + " is left"),
        "choose a smaller size with -s, or raise stranger_bytes at the server");
  }
  auto running = std::make_unique<Running>();
  running->options = std::move(*options);
  running->share = std::move(*share);
  if (Result<void> taken = take_slots(*running); !taken) return taken;
  running_ = std::move(running);
  return prepare();
}

Result<void> Session::take_slots(Running& running) {
  const TestOptions& options = running.options;
  const uint32_t window = options.test == "lat" ? kEchoSlots : options.window;
  const bool both = options.test == "bw" && options.bidirectional;
  for (int i = 0; i < (both ? 2 : 1); ++i) {
    Result<MessageSlots> slots = MessageSlots::make(link_->endpoint(), options.message_bytes,
                                                    window, SlotContent::kZerosLater);
    if (!slots) return fail(slots.error());
    running.slots.push_back(std::move(*slots));
  }
  return {};
}

Result<void> Session::prepare() {
  for (MessageSlots& slots : running_->slots) {
    if (!slots.find_memory(params::kFoundAtATime)) return {};
  }
  make_streams(*running_);
  running_->ready = true;
  running_->began = link_->now();
  running_->cpu_began = cpu_time_used();
  running_->statistics_began = statistics();
  const std::string test = running_->options.test;
  // Receives are posted before the client learns that it may send.
  if (Result<void> stepped = step_running(); !stepped) return stepped;
  return control_.send({{"ready", test}});
}

void Session::make_streams(Running& running) {
  const TestOptions& options = running.options;
  if (options.test == "lat") {
    running.echo =
        std::make_unique<EchoServer>(*link_, options.message_bytes, std::move(running.slots[0]));
    return;
  }
  running.receiving = std::make_unique<ReceiveStream>(*link_, options, std::move(running.slots[0]));
  if (!options.bidirectional) return;
  running.sending = std::make_unique<SendStream>(*link_, options, std::move(running.slots[1]),
                                                 SendStream::Filling::kLater);
}

Result<void> Session::step_running() {
  Running& running = *running_;
  bool ended = true;
  if (running.echo) {
    if (Result<void> stepped = running.echo->step(); !stepped) return stepped;
    ended = running.echo->ended();
  }
  if (running.receiving) {
    if (Result<void> stepped = running.receiving->step(); !stepped) return stepped;
    ended = running.receiving->ended();
  }
  if (running.sending) {
    const bool more = link_->now() - running.began < running.options.duration;
    if (Result<void> stepped = running.sending->step(more); !stepped) return stepped;
    ended = ended && running.sending->ended();
  }
  return ended ? finish_running() : Result<void>();
}

Result<void> Session::finish_running() {
  const Running& running = *running_;
  Json result = {{"test", running.options.test},
                 {"cpu_seconds", to_seconds(cpu_time_used() - running.cpu_began)},
                 {"sent", statistics_between(running.statistics_began, statistics())}};
  std::string text;
  if (running.receiving) {
    const StreamResult& received = running.receiving->result();
    result["received"] = stream_record(received);
    text = fmt::format("bw   {} of {}, {}", counted_text(received.messages, "message"),
                       size_text(running.options.message_bytes), rate_text(received.bits_per_s()));
    if (received.wrong_messages > 0) {
      text += fmt::format(", {} WRONG", count_text(received.wrong_messages));
    }
  }
  if (running.sending) {
    result["reverse"] = stream_record(running.sending->result());
    text += fmt::format(" in, {} out", rate_text(running.sending->result().bits_per_s()));
  }
  if (running.echo) {
    result["rounds"] = running.echo->rounds();
    text = fmt::format("lat  {} of {}", counted_text(running.echo->rounds(), "round"),
                       size_text(running.options.message_bytes));
  }
  running_.reset();
  reporter_(peer_, text, result);
  return control_.send({{"result", result}});
}

transport::ConnectionStatistics Session::statistics() const {
  return link_->endpoint()
      .statistics(link_->connection())
      .value_or(transport::ConnectionStatistics{});
}

}  // namespace heddle::measure
