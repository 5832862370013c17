// See incast.h. Both ends of an incast, one thread each. Channel 0 carries messages, channel 1 the
// requests.
#include "bench/incast/incast.h"

#include <algorithm>
#include <memory>

#include "engine/endpoint.h"

namespace heddle::bench {
namespace {

constexpr engine::Channel kMessages = 0;
constexpr engine::Channel kRequests = 1;
constexpr uint32_t kRequestBytes = 8;

Result<std::unique_ptr<engine::Endpoint>> open(const IncastRequest& request, bool accepts) {
  engine::Options options;
  options.spin = engine::Spin::kNever;
  options.transport.accept = accepts;
  options.transport.congestion = request.congestion;
  options.transport.receive_rate = request.receive_rate;
  options.transport.default_paths = request.paths;
  engine::NetworkOptions network;
  network.port = accepts ? request.port : uint16_t{0};
  return engine::Endpoint::open(network, options);
}

Unexpected late(const char* what) {
  return fail(ErrorCode::kTimeout, what, "the other side did not answer in time",
              "look at its output");
}

// The receiver's state for one sender.
struct Sender {
  engine::Connection connection = 0;
  engine::Memory memory;
  std::vector<std::byte> bytes;
  engine::Operation message;
  bool done = false;
};

// Returns true when everything has arrived.
bool take_arrived(engine::Endpoint& endpoint, std::vector<Sender>& senders, Nanos began,
                  std::vector<Nanos>& times) {
  bool all = true;
  for (size_t i = 0; i < senders.size(); ++i) {
    if (senders[i].done) continue;
    const engine::Outcome outcome = endpoint.peek(senders[i].message);
    if (outcome.done && outcome.ok) {
      senders[i].done = true;
      times[i] = endpoint.now() - began;
    }
    all &= senders[i].done;
  }
  return all;
}

Result<std::vector<Nanos>> run_round(engine::Endpoint& endpoint, const IncastRequest& request,
                                     std::vector<Sender>& senders) {
  static constexpr std::byte kAsk[kRequestBytes] = {};
  for (Sender& sender : senders) {
    auto posted = endpoint.receive(sender.connection, kMessages,
                                   sender.memory.slice(0, request.message_bytes));
    if (!posted) return fail(posted.error());
    sender.message = *posted;
    sender.done = false;
  }
  const Nanos began = endpoint.now();
  for (Sender& sender : senders) {
    auto asked =
        endpoint.send(sender.connection, kRequests, const_cast<std::byte*>(kAsk), kRequestBytes);
    if (!asked) return fail(asked.error());
    endpoint.forget(*asked);
  }
  std::vector<Nanos> times(senders.size());
  while (!take_arrived(endpoint, senders, began, times)) {
    if (endpoint.now() - began > request.patience) return late("a round does not end");
    endpoint.progress(millis(100));
  }
  return times;
}

}  // namespace

Result<IncastOutcome> receive_incast(const IncastRequest& request, void (*listening)()) {
  auto endpoint = open(request, true);
  if (!endpoint) return fail(endpoint.error());
  listening();
  std::vector<Sender> senders(request.senders);
  for (Sender& sender : senders) {
    const auto connection = (*endpoint)->accept(request.patience);
    if (!connection) return late("not all senders came");
    sender.connection = *connection;
    sender.bytes.resize(request.message_bytes);
    auto memory = (*endpoint)->register_memory(sender.bytes.data(), sender.bytes.size());
    if (!memory) return fail(memory.error());
    sender.memory = std::move(*memory);
  }
  IncastOutcome outcome;
  for (uint32_t round = 0; round <= request.rounds; ++round) {
    auto times = run_round(**endpoint, request, senders);
    if (!times) return fail(times.error());
    if (round > 0) outcome.times.push_back(std::move(*times));
  }
  for (Sender& sender : senders) (*endpoint)->begin_close(sender.connection);
  for (Sender& sender : senders) {
    (void)(*endpoint)->close(sender.connection, seconds(2)).has_value();
  }
  return outcome;
}

Result<transport::ConnectionStatistics> send_incast(const IncastRequest& request,
                                                    const std::string& host) {
  auto endpoint = open(request, false);
  if (!endpoint) return fail(endpoint.error());
  auto connection = (*endpoint)->connect(host, request.port);
  if (!connection) return fail(connection.error());
  std::vector<std::byte> bytes(request.message_bytes, std::byte{0x5a});
  auto memory = (*endpoint)->register_memory(bytes.data(), bytes.size());
  if (!memory) return fail(memory.error());
  std::byte ask[kRequestBytes] = {};
  for (uint32_t round = 0; round <= request.rounds; ++round) {
    auto asked = (*endpoint)->receive(*connection, kRequests, ask, kRequestBytes);
    if (!asked) return fail(asked.error());
    const engine::Outcome heard = (*endpoint)->wait(*asked, request.patience);
    if (!heard.done || !heard.ok) return late("the receiver asks for nothing");
    auto sent = (*endpoint)->send(*connection, kMessages, memory->slice(0, bytes.size()));
    if (!sent) return fail(sent.error());
    const engine::Outcome done = (*endpoint)->wait(*sent, request.patience);
    // The receiver may close before its last acknowledgement arrives here.
    if (round < request.rounds && !done.ok) return late("the receiver takes nothing");
  }
  const auto statistics = (*endpoint)->statistics(*connection);
  (void)(*endpoint)->close(*connection, seconds(5)).has_value();
  return statistics.value_or(transport::ConnectionStatistics{});
}

}  // namespace heddle::bench
