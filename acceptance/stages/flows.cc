// See flows.h.
#include "acceptance/stages/flows.h"

#include <fmt/format.h>

#include <cstdlib>
#include <functional>

#include "acceptance/agent_numbers.h"
#include "acceptance/params.h"
#include "lab/socket_tests.h"

namespace heddle::acceptance {
namespace {

std::vector<std::string> perf_words(Session& session, const HostPair& pair, const char* test,
                                    Nanos span) {
  std::vector<std::string> words = {"heddle", "perf", session.target(pair),
                                    test,     "-t",   fmt::format("{}ms", span / millis(1)),
                                    "--json"};
  const std::vector<std::string> bind = session.bind_options(pair);
  words.insert(words.end(), bind.begin(), bind.end());
  return words;
}

// The only test of a document of `heddle perf`.
std::optional<Json> test_of(const CommandEnd& end, std::string& complaint) {
  std::optional<Json> test = first_test(document_of(end));
  if (!test) complaint = complaint_of(end);
  return test;
}

std::vector<PathFigures> paths_of(const Json& test) {
  std::vector<PathFigures> paths;
  const double seconds = number_of(test, "seconds");
  const auto listed = test.find("paths");
  if (seconds <= 0 || listed == test.end() || !listed->is_array()) return paths;
  for (const Json& path : *listed) {
    paths.push_back({static_cast<uint32_t>(count_of(number_of(path, "path"), UINT32_MAX)),
                     number_of(path, "payload_bytes") * 8 / seconds,
                     number_of(path, "smoothed_rtt_us"),
                     count_of(number_of(path, "segments_lost"))});
  }
  return paths;
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
    figures.segments = count_of(test->at("segments_sent").get<double>());
    figures.retransmitted = count_of(test->at("segments_retransmitted").get<double>());
    figures.marked = count_of(number_of(*test, "segments_marked"));
    figures.paths = paths_of(*test);
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

std::string todo_of_slow_pair(const Session& session) {
  return session.disturbed()
             ? "other programs use this machine's processors: repeat it when it is idle"
             : "see the links and hosts that this stage names; else repeat it with --full";
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

Result<std::vector<FlowFigures>> run_flows_again(Session& session,
                                                 const std::vector<HostPair>& pairs,
                                                 const std::vector<double>& allowed) {
  Result<std::vector<FlowFigures>> flows = run_flows(session, pairs, session.flow_time());
  const auto any = [&](const std::function<bool(size_t)>& is) {
    for (size_t i = 0; i < pairs.size(); ++i) {
      if (is(i)) return true;
    }
    return false;
  };
  const auto is_missing = [&](size_t i) { return !(*flows)[i].complaint.empty(); };
  const auto is_below = [&](size_t i) {
    return (*flows)[i].bits_per_s < allowed[i] * session.expectations().pair_share;
  };
  // A pair without a figure is tried again, however little time there is.
  for (int again = 0; flows && ((again == 0 && any(is_missing) && !session.interrupted()) ||
                                (any(is_below) && session.may_repeat(again)));
       ++again) {
    const auto repeated = run_flows(session, pairs, session.flow_time());
    if (!repeated) return fail(repeated.error());
    for (size_t i = 0; i < pairs.size(); ++i) {
      if ((*repeated)[i].bits_per_s > (*flows)[i].bits_per_s) (*flows)[i] = (*repeated)[i];
    }
  }
  return flows;
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

Result<SocketEnds> start_sockets(Session& session, const HostPair& pair,
                                 const lab::SocketPlan& plan, Nanos start_at) {
  const std::string address = session.fabric().address(pair.to);
  const std::string port = std::to_string(params::kSocketPort);
  const auto server = session.commands().start(
      session.host(pair.to),
      {"heddle", "agent", "socket-serve", address, port,
       milliseconds(2 * plan.span() + session.fabric().login_time() * 4 + seconds(5))});
  if (!server) return fail(server.error());
  const auto client = session.commands().start(
      session.host(pair.from),
      {"heddle", "agent", "socket-test", address, port, milliseconds(plan.latency),
       milliseconds(plan.stream), milliseconds(plan.datagrams), std::to_string(plan.offered.count)},
      {start_at, {}});
  if (!client) return fail(client.error());
  return SocketEnds{*server, *client};
}

SocketResult socket_result(Session& session, const SocketEnds& ends) {
  const CommandEnd client = session.commands().result_of(ends.client);
  const CommandEnd server = session.commands().result_of(ends.server);
  SocketResult result;
  const std::optional<Json> found = document_of(client);
  if (client.exit_status != 0 || !found) {
    result.complaint = complaint_of(server.exit_status > 0 && !server.late ? server : client);
    return result;
  }
  result.tcp_bits_per_s = number_of(*found, "tcp_bits_per_s");
  result.tcp_us = number_of(*found, "tcp_us");
  result.tcp_us_p99 = number_of(*found, "tcp_us_p99");
  result.udp_sent_bits_per_s = number_of(*found, "udp_sent_bits_per_s");
  result.udp_received_bits_per_s = number_of(*found, "udp_received_bits_per_s");
  result.udp_us = number_of(*found, "udp_us");
  return result;
}

Result<std::vector<SocketResult>> run_sockets(Session& session,
                                              const std::vector<HostPair>& pairs) {
  lab::SocketPlan plan{
      session.plain_latency_time(), session.stream_time(), session.datagram_time(), {}};
  const std::vector<double> rates = fluid_rates(session.topology(), pairs);
  std::vector<SocketEnds> all;
  std::vector<Commands::Id> ids;
  const Nanos start_at = session.common_start();
  for (size_t i = 0; i < pairs.size(); ++i) {
    plan.offered = {count_of(rates[i])};
    const Result<SocketEnds> ends = start_sockets(session, pairs[i], plan, start_at);
    if (!ends) return fail(ends.error());
    all.push_back(*ends);
    ids.insert(ids.end(), {ends->server, ends->client});
  }
  session.wait(ids, plan.span());
  std::vector<SocketResult> results;
  for (size_t i = 0; i < pairs.size(); ++i) {
    results.push_back(socket_result(session, all[i]));
    results.back().udp_offered_bits_per_s = rates[i];
  }
  return results;
}

}  // namespace heddle::acceptance
