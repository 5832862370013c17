// See flows.h.
#include "acceptance/stages/flows.h"

#include <fmt/format.h>

#include <cstdlib>

#include "acceptance/params.h"
#include "lab/socket_tests.h"

namespace heddle::acceptance {
namespace {

constexpr uint16_t kSocketPort = 18'702;

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

SocketResult socket_result(const CommandEnd& client, const CommandEnd& server) {
  SocketResult result;
  const std::optional<Json> found = document_of(client);
  if (client.exit_status != 0 || !found) {
    result.complaint = complaint_of(server.exit_status > 0 && !server.late ? server : client);
    return result;
  }
  result.tcp_bits_per_s = number_of(*found, "tcp_bits_per_s");
  result.tcp_us = number_of(*found, "tcp_us");
  result.udp_sent_bits_per_s = number_of(*found, "udp_sent_bits_per_s");
  result.udp_received_bits_per_s = number_of(*found, "udp_received_bits_per_s");
  result.udp_us = number_of(*found, "udp_us");
  return result;
}

// Whole milliseconds: both ends read the same.
std::string milliseconds(Nanos time) { return fmt::format("{}ms", time / millis(1)); }

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

Result<std::vector<SocketResult>> run_sockets(Session& session,
                                              const std::vector<HostPair>& pairs) {
  const Nanos flow = session.flow_time();
  const lab::SocketPlan plan{flow / 10, flow / 2, flow / 4, {}};
  const std::vector<double> rates = fluid_rates(session.topology(), pairs);
  std::vector<Commands::Id> ids;  // server, client, server, …
  const Nanos start_at = session.common_start();
  for (size_t i = 0; i < pairs.size(); ++i) {
    const std::string address = session.fabric().address(pairs[i].to);
    const std::string port = std::to_string(kSocketPort);
    const auto server = session.commands().start(
        session.host(pairs[i].to),
        {"heddle", "agent", "socket-serve", address, port,
         milliseconds(2 * plan.span() + session.fabric().login_time() * 4 + seconds(5))});
    if (!server) return fail(server.error());
    const auto client = session.commands().start(
        session.host(pairs[i].from),
        {"heddle", "agent", "socket-test", address, port, milliseconds(plan.latency),
         milliseconds(plan.stream), milliseconds(plan.datagrams), fmt::format("{:.0f}", rates[i])},
        {start_at, {}});
    if (!client) return fail(client.error());
    ids.insert(ids.end(), {*server, *client});
  }
  session.wait(ids, plan.span());
  std::vector<SocketResult> results;
  for (size_t i = 0; i < pairs.size(); ++i) {
    results.push_back(socket_result(session.commands().result_of(ids[2 * i + 1]),
                                    session.commands().result_of(ids[2 * i])));
  }
  return results;
}

}  // namespace heddle::acceptance
