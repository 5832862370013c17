// See flows.h.
#include "acceptance/stages/flows.h"

#include <fmt/format.h>

#include <cstdlib>

#include "acceptance/params.h"

namespace heddle::acceptance {
namespace {

constexpr uint16_t kTcpPort = 18'702;

std::vector<std::string> perf_words(Session& session, const HostPair& pair, const char* test,
                                    Nanos span) {
  return {"heddle", "perf", session.fabric().target(pair.to),
          test,     "-t",   fmt::format("{}ms", span / millis(1)),
          "--json"};
}

// The only test of a document of `heddle perf`.
std::optional<Json> test_of(const CommandEnd& end, std::string& complaint) {
  const std::optional<Json> document = document_of(end);
  if (document && !document->value("tests", Json::array()).empty()) {
    return document->at("tests").front();
  }
  complaint = complaint_of(end);
  return std::nullopt;
}

FlowFigures tcp_figures(const HostPair& pair, const CommandEnd& receiver,
                        const CommandEnd& sender) {
  FlowFigures figures{.pair = pair};
  const std::optional<Json> document = document_of(receiver);
  const double span = document ? number_of(*document, "seconds") : 0;
  if (sender.exit_status != 0 || span <= 0) {
    figures.complaint = complaint_of(sender.exit_status != 0 ? sender : receiver);
    return figures;
  }
  figures.bits_per_s = number_of(*document, "bytes") * 8 / span;
  return figures;
}

// Messages that the pair's links carry in kFlowMessage: those in flight in the end take long on
// slow links.
std::string message_size(Session& session, const HostPair& pair) {
  const double rate = fluid_rates(session.topology(), {pair}).front();
  const double bytes = rate / 8 * to_seconds(params::kFlowMessage);
  uint64_t size = params::kSmallest.count;
  while (rate > 0 && size < params::kMostFlowMessage.count &&
         static_cast<double>(2 * size) < bytes) {
    size *= 2;
  }
  return std::to_string(rate > 0 ? size : params::kMostFlowMessage.count);
}

}  // namespace

Result<Commands::Id> start_flow(Session& session, const HostPair& pair, Nanos span,
                                Nanos start_at) {
  std::vector<std::string> words = perf_words(session, pair, "bw", span);
  words.insert(words.end(), {"-s", message_size(session, pair), "--window",
                             std::to_string(params::kFlowWindow)});
  return session.commands().start(session.host(pair.from), words, {start_at, {}});
}

FlowFigures flow_figures(Session& session, const HostPair& pair, Commands::Id id) {
  FlowFigures figures{.pair = pair};
  const std::optional<Json> test = test_of(session.commands().result_of(id), figures.complaint);
  if (!test) return figures;
  try {
    figures.bits_per_s =
        test->at("server").at("received").at("goodput_gbits_per_s").get<double>() * 1e9;
    figures.segments = test->at("segments_sent").get<uint64_t>();
    figures.retransmitted = test->at("segments_retransmitted").get<uint64_t>();
  } catch (const Json::exception&) {
    figures.complaint = "it received nothing";
  }
  return figures;
}

Result<Commands::Id> start_latency(Session& session, const HostPair& pair, Nanos span,
                                   Nanos start_at) {
  return session.commands().start(session.host(pair.from), perf_words(session, pair, "lat", span),
                                  {start_at, {}});
}

LatencyFigures latency_figures(Session& session, const HostPair& pair, Commands::Id id) {
  LatencyFigures figures{.pair = pair};
  const std::optional<Json> test = test_of(session.commands().result_of(id), figures.complaint);
  if (!test) return figures;
  figures.us_min = number_of(*test, "half_round_trip_us_min");
  figures.us_p50 = number_of(*test, "half_round_trip_us_p50");
  figures.us_p99 = number_of(*test, "half_round_trip_us_p99");
  if (figures.us_min <= 0) figures.complaint = "no round was complete";
  return figures;
}

Result<std::vector<FlowFigures>> run_flows(Session& session, const std::vector<HostPair>& pairs,
                                           Nanos span) {
  std::vector<Commands::Id> ids;
  const Nanos start_at = session.common_start();
  for (const HostPair& pair : pairs) {
    const Result<Commands::Id> id = start_flow(session, pair, span, start_at);
    if (!id) return fail(id.error());
    ids.push_back(*id);
  }
  session.wait(ids, span);
  std::vector<FlowFigures> figures;
  for (size_t i = 0; i < pairs.size(); ++i)
    figures.push_back(flow_figures(session, pairs[i], ids[i]));
  return figures;
}

Result<std::vector<LatencyFigures>> run_latencies(Session& session,
                                                  const std::vector<HostPair>& pairs, Nanos span) {
  std::vector<Commands::Id> ids;
  const Nanos start_at = session.common_start();
  for (const HostPair& pair : pairs) {
    const Result<Commands::Id> id = start_latency(session, pair, span, start_at);
    if (!id) return fail(id.error());
    ids.push_back(*id);
  }
  session.wait(ids, span);
  std::vector<LatencyFigures> figures;
  for (size_t i = 0; i < pairs.size(); ++i) {
    figures.push_back(latency_figures(session, pairs[i], ids[i]));
  }
  return figures;
}

Result<std::vector<FlowFigures>> run_tcp(Session& session, const std::vector<HostPair>& pairs,
                                         Nanos span) {
  std::vector<Commands::Id> ids;  // receiver, sender, receiver, …
  const Nanos start_at = session.common_start();
  for (const HostPair& pair : pairs) {
    const std::string address = session.fabric().address(pair.to);
    const std::string port = std::to_string(kTcpPort);
    const auto milliseconds = [](Nanos time) { return fmt::format("{}ms", time / millis(1)); };
    const auto receiver = session.commands().start(
        session.host(pair.to),
        {"heddle", "agent", "tcp-receive", address, port,
         milliseconds(2 * span + session.fabric().login_time() * 4 + seconds(5))});
    if (!receiver) return fail(receiver.error());
    const auto sender = session.commands().start(
        session.host(pair.from), {"heddle", "agent", "tcp-send", address, port, milliseconds(span)},
        {start_at, {}});
    if (!sender) return fail(sender.error());
    ids.insert(ids.end(), {*receiver, *sender});
  }
  session.wait(ids, span);
  std::vector<FlowFigures> figures;
  for (size_t i = 0; i < pairs.size(); ++i) {
    figures.push_back(tcp_figures(pairs[i], session.commands().result_of(ids[2 * i]),
                                  session.commands().result_of(ids[2 * i + 1])));
  }
  return figures;
}

}  // namespace heddle::acceptance
