// See measurement.h.
#include "measure/measurement.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/interrupt.h"
#include "base/quantity.h"
#include "datapath/resolve.h"
#include "measure/cpu_time.h"
#include "measure/echo.h"
#include "measure/params.h"
#include "transport/rx_run.h"

namespace heddle::measure {
namespace {

// What the connection counts during a test. A connection that is closed has no counters any more,
// so the test reads them while it runs, and once more before its streams abort what is unfinished.
class Counters {
 public:
  explicit Counters(const Client& client) : client_(client), cpu_began_(cpu_time_used()) {
    look();
    began_ = latest_;
  }

  void look() {
    const engine::Endpoint& endpoint = client_.endpoint();
    const auto statistics = endpoint.statistics(client_.connection());
    if (!statistics) return;
    latest_ = {*statistics, endpoint.path_statistics(client_.connection())};
    ++looks_;
  }

  void note(Measurement& measurement) const;

 private:
  struct Look {
    transport::ConnectionStatistics connection;
    std::vector<transport::PathStatistics> paths;
  };

  const Client& client_;
  const Nanos cpu_began_;
  Look began_;
  Look latest_;
  int looks_ = 0;
};

void note_packet_sizes(const Client& client, const transport::ConnectionStatistics& statistics,
                       Measurement& measurement) {
  const transport::Address peer = client.endpoint().status(client.connection()).peer;
  const uint32_t headers = datapath::ip_udp_header_bytes(peer);
  const auto packet = [headers](uint32_t datagram) { return datagram + headers; };
  const uint32_t tag = statistics.protection ? transport::kTagBytes : 0;
  measurement.packet_bytes = packet(statistics.segment_bytes + transport::kDataHeaderBytes + tag);
  measurement.offered_packet_bytes = packet(statistics.offered_datagram_bytes);
  const uint32_t refused = statistics.refused_datagram_bytes;
  measurement.refused_packet_bytes = refused == 0 ? 0 : packet(refused);
}

void Counters::note(Measurement& measurement) const {
  measurement.cpu = cpu_time_used() - cpu_began_;
  measurement.counted = looks_ > 1;
  if (!measurement.counted) return;
  const transport::ConnectionStatistics& before = began_.connection;
  const transport::ConnectionStatistics& after = latest_.connection;
  // A connection that replaces a broken one counts from zero (relaying/relayed_link.h).
  const auto since = [](uint64_t now, uint64_t then) { return now >= then ? now - then : now; };
  measurement.segments_sent = since(after.segments_sent, before.segments_sent);
  measurement.segments_retransmitted =
      since(after.segments_retransmitted, before.segments_retransmitted);
  measurement.segments_retransmitted_spuriously =
      since(after.segments_retransmitted_spuriously, before.segments_retransmitted_spuriously);
  measurement.segments_marked = since(after.congestion_marks, before.congestion_marks);
  measurement.segment_bytes = after.segment_bytes;
  measurement.smoothed_rtt = after.smoothed_rtt;
  note_packet_sizes(client_, after, measurement);
  for (const transport::PathStatistics& path : latest_.paths) {
    uint64_t bytes = path.payload_bytes_sent;
    uint64_t lost = path.segments_lost;
    for (const transport::PathStatistics& earlier : began_.paths) {
      if (earlier.path != path.path) continue;
      bytes -= std::min(bytes, earlier.payload_bytes_sent);
      lost -= std::min(lost, earlier.segments_lost);
    }
    measurement.path_shares.push_back(
        {path.path, bytes, path.nic, path.peer_nic, lost, path.smoothed_rtt});
  }
}

Unexpected stopped() { return fail(ErrorCode::kCancelled, "stopped", "interrupted by a signal"); }

class BandwidthTest {
 public:
  BandwidthTest(Client& client, Measurement& measurement, const Progress& progress,
                Counters& counters)
      : client_(client), measurement_(measurement), progress_(progress), counters_(counters) {}

  Result<void> run() {
    if (Result<void> prepared = prepare(); !prepared) return prepared;
    Result<void> moved = move();
    counters_.look();
    measurement_.sent = sending_->result();
    if (receiving_) measurement_.reverse = receiving_->result();
    return moved;
  }

 private:
  Result<void> prepare() {
    const TestOptions& options = measurement_.options;
    engine::Endpoint& endpoint = client_.endpoint();
    if (options.bidirectional) {
      Result<MessageSlots> slots =
          MessageSlots::make(endpoint, options.message_bytes, options.window);
      if (!slots) return fail(slots.error());
      receiving_ = std::make_unique<ReceiveStream>(client_.link(), options, std::move(*slots));
      if (Result<void> posted = receiving_->step(); !posted) return posted;
    }
    Result<Json> ready = client_.ask(to_json(options), "ready");
    if (!ready) return fail(ready.error());
    Result<MessageSlots> slots = MessageSlots::make(endpoint, options.message_bytes, options.window,
                                                    SlotContent::kOverwritten);
    if (!slots) return fail(slots.error());
    sending_ = std::make_unique<SendStream>(client_.link(), options, std::move(*slots));
    return {};
  }

  Result<void> move() {
    engine::Endpoint& endpoint = client_.endpoint();
    const Nanos began_at = endpoint.now();
    Nanos shown_at = began_at;
    bool began = false;
    while (!sending_->ended() || (receiving_ && !receiving_->ended())) {
      const Nanos now = endpoint.now();
      if (interrupted() != 0) return stopped();
      const bool more = now - began_at < measurement_.options.duration;
      if (Result<void> stepped = sending_->step(more); !stepped) return stepped;
      if (receiving_) {
        if (Result<void> stepped = receiving_->step(); !stepped) return stepped;
      }
      if (sending_->result().messages > 0 && !began) {
        began = true;
        counters_.look();  // so that there are figures if the peer dies soon
      }
      if (now - shown_at >= params::kShowEvery) {
        shown_at = now;
        counters_.look();
        progress_(fmt::format("{:.1f} of {:.1f} s  {}", to_seconds(now - began_at),
                              to_seconds(measurement_.options.duration),
                              rate_text(sending_->result().bits_per_s())));
      }
      client_.link().progress(millis(100));
    }
    return {};
  }

  Client& client_;
  Measurement& measurement_;
  const Progress& progress_;
  Counters& counters_;
  std::unique_ptr<SendStream> sending_;
  std::unique_ptr<ReceiveStream> receiving_;
};

Result<void> run_rounds(EchoClient& echo, const engine::Endpoint& endpoint,
                        Measurement& measurement, const Progress& progress, Counters& counters) {
  const TestOptions& options = measurement.options;
  const Nanos began = endpoint.now();
  Nanos now = began;
  Nanos shown_at = began;
  for (int round = 0; now - began < options.duration; ++round) {
    const Result<Nanos> round_trip = echo.round();
    if (!round_trip) return fail(round_trip.error());
    now = endpoint.now();
    // Slow networks with short tests are measured from the first round on.
    if (round >= params::kWarmUpRounds || now - began > options.duration / 10) {
      measurement.round_trips.add(*round_trip);
    }
    if (round == 0) counters.look();  // so that there are figures if the peer dies soon
    if (now - shown_at < params::kShowEvery) continue;
    shown_at = now;
    counters.look();
    progress(fmt::format("{:.1f} of {:.1f} s  {} one-way (RTT/2)", to_seconds(now - began),
                         to_seconds(options.duration),
                         duration_text(measurement.round_trips.percentile(500) / 2)));
  }
  return echo.finish();
}

Result<void> run_latency(Client& client, Measurement& measurement, const Progress& progress,
                         Counters& counters) {
  const TestOptions& options = measurement.options;
  engine::Endpoint& endpoint = client.endpoint();
  Result<Json> ready = client.ask(to_json(options), "ready");
  if (!ready) return fail(ready.error());
  Result<MessageSlots> sending = MessageSlots::make(endpoint, options.message_bytes, 1);
  if (!sending) return fail(sending.error());
  Result<MessageSlots> receiving = MessageSlots::make(endpoint, options.message_bytes, kEchoWindow);
  if (!receiving) return fail(receiving.error());
  EchoClient echo(client.link(), options.message_bytes, std::move(*sending), std::move(*receiving));
  Result<void> ran = run_rounds(echo, endpoint, measurement, progress, counters);
  counters.look();
  return ran;
}

}  // namespace

uint64_t Measurement::payload_bytes() const {
  return sent.payload_bytes + (reverse ? reverse->payload_bytes : 0);
}

uint64_t Measurement::wrong_messages() const {
  uint64_t wrong = reverse ? reverse->wrong_messages : 0;
  if (server.is_object() && server.contains("received") && server["received"].is_object()) {
    wrong += server["received"].value("wrong_messages", uint64_t{0});
  }
  return wrong;
}

uint32_t window_for(uint64_t message_bytes) {
  if (message_bytes > params::kLargeMessage) return 1;
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(params::kBytesInFlight / message_bytes, 2, params::kMostMessages));
}

Result<void> run_test(Client& client, Measurement& measurement, const Progress& progress) {
  Counters counters(client);
  Result<void> ran = measurement.options.test == "bw"
                         ? BandwidthTest(client, measurement, progress, counters).run()
                         : run_latency(client, measurement, progress, counters);
  counters.note(measurement);
  if (!ran) return ran;
  const Result<Json> result = client.hear("result");
  if (!result) return fail(result.error());
  measurement.server = (*result)["result"];
  measurement.complete = true;
  return {};
}

}  // namespace heddle::measure
