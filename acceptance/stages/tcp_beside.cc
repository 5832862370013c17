// See tcp_beside.h.
#include "acceptance/stages/tcp_beside.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "acceptance/agent_numbers.h"
#include "acceptance/params.h"
#include "base/quantity.h"

namespace heddle::acceptance {
namespace {

// What starts it: a process of each host that receives, and one of each that sends.
class TcpRun {
 public:
  TcpRun(Session& session, const std::vector<HostPair>& pairs,
         const std::optional<HostPair>& bystander = {})
      : session_(session), span_(session.stream_time()), bystander_(bystander) {
    for (const HostPair& pair : pairs) {
      ++senders_to_[pair.to];
      receivers_of_[pair.from].push_back(session.fabric().address(pair.to));
    }
  }

  Result<TcpFlows> run() {
    for (const auto& [host, count] : senders_to_) {
      const auto id = session_.commands().start(
          session_.host(host),
          {"heddle", "agent", "streams-receive", session_.fabric().address(host), port(),
           std::to_string(count), milliseconds(limit() + 2 * span_)});
      if (!id) return fail(id.error());
      receivers_.push_back(*id);
    }
    const Nanos start_at = session_.common_start();
    for (const auto& [host, addresses] : receivers_of_) {
      std::vector<std::string> words = {
          "heddle", "agent", "streams-send", port(), milliseconds(span_), milliseconds(limit())};
      words.insert(words.end(), addresses.begin(), addresses.end());
      const auto id = session_.commands().start(session_.host(host), words, {start_at, {}});
      if (!id) return fail(id.error());
      senders_.push_back(*id);
    }
    std::vector<Commands::Id> all = receivers_;
    all.insert(all.end(), senders_.begin(), senders_.end());
    std::optional<SocketEnds> beside;
    if (bystander_) {
      const lab::SocketPlan plan{session_.latency_time_beside(span_), {}, {}, {}};
      const Result<SocketEnds> ends = start_sockets(session_, *bystander_, plan, start_at);
      if (!ends) return fail(ends.error());
      beside = *ends;
      all.insert(all.end(), {ends->server, ends->client});
    }
    session_.wait(all, span_);
    TcpFlows found = flows();
    if (beside) found.bystander = socket_result(session_, *beside);
    return found;
  }

 private:
  static std::string port() { return std::to_string(params::kSocketPort); }
  static std::string milliseconds(Nanos time) { return fmt::format("{}ms", time / millis(1)); }

  // Until all can have logged in and are connected.
  Nanos limit() const { return session_.fabric().login_time() * 4 + params::kTcpMeeting; }

  TcpFlows flows() {
    TcpFlows flows;
    for (const Commands::Id id : receivers_) {
      const CommandEnd end = session_.commands().result_of(id);
      const std::optional<Json> found = document_of(end);
      if (end.exit_status != 0 || !found) {
        add_complaint(end, flows);
        continue;
      }
      for (const Json& each : found->value("bits_per_s", Json::array())) {
        flows.bits_per_s.push_back(each.is_number() ? each.get<double>() : 0);
      }
    }
    for (const Commands::Id id : senders_) {
      const CommandEnd end = session_.commands().result_of(id);
      if (end.exit_status != 0) add_complaint(end, flows);
    }
    if (!flows.complaint.empty()) flows.bits_per_s.clear();
    return flows;
  }

  static void add_complaint(const CommandEnd& end, TcpFlows& flows) {
    if (flows.complaint.empty()) flows.complaint = complaint_of(end);
  }

  Session& session_;
  Nanos span_;
  std::optional<HostPair> bystander_;
  std::map<uint32_t, size_t> senders_to_;
  std::map<uint32_t, std::vector<std::string>> receivers_of_;
  std::vector<Commands::Id> receivers_;
  std::vector<Commands::Id> senders_;
};

std::string beside(double heddle, double tcp) {
  return fmt::format("; heddle {:.2f}x", heddle / tcp);
}

std::string beside_load(const TcpLoad& load, const TcpFlows& flows) {
  if (!load.as_slowest) return beside(load.heddle_bits_per_s, flows.sum());
  const double each = load.heddle_bits_per_s / static_cast<double>(load.pairs.size());
  return fmt::format("; heddle {} each, {:.2f}x the slowest, with which it ends", rate_text(each),
                     each / flows.least());
}

}  // namespace

double TcpFlows::sum() const { return std::accumulate(bits_per_s.begin(), bits_per_s.end(), 0.0); }

double TcpFlows::least() const {
  return bits_per_s.empty() ? 0 : *std::min_element(bits_per_s.begin(), bits_per_s.end());
}

Row tcp_ring_row(const std::string& where, const TcpFlows& flows, double heddle_bits_per_s) {
  Row row{"all-reduce over TCP, at most", where, "", ""};
  row.measured = flows.least() > 0 ? fmt::format("{}, the slowest connection of its ring{}",
                                                 rate_text(flows.least()),
                                                 beside(heddle_bits_per_s, flows.least()))
                                   : "no figure of TCP: " + flows.complaint;
  return row;
}

Row tcp_load_row(const TcpLoad& load, const TcpFlows& flows) {
  Row row{load.check + " over TCP", fmt::format("{} flows", load.pairs.size()), "", ""};
  row.measured =
      flows.least() > 0
          ? fmt::format(
                "{} together, {} to {} each{}", rate_text(flows.sum()), rate_text(flows.least()),
                rate_text(*std::max_element(flows.bits_per_s.begin(), flows.bits_per_s.end())),
                beside_load(load, flows))
          : "no figure of TCP: " + flows.complaint;
  return row;
}

Row tcp_bystander_row(const std::string& where, const SocketResult& tcp, double heddle_us_p99) {
  Row row{"latency beside it over TCP", where, "", ""};
  if (tcp.tcp_us_p99 <= 0) {
    row.measured = tcp.complaint.empty() ? "no figure of TCP: nothing came back"
                                         : "no figure of TCP: " + tcp.complaint;
    return row;
  }
  row.measured = us_text(tcp.tcp_us_p99) + " at p99";
  if (heddle_us_p99 > 0) row.measured += "; heddle " + us_text(heddle_us_p99);
  return row;
}

Result<void> add_tcp_ring(Session& session, double heddle_bits_per_s, StageReport& report) {
  std::vector<HostPair> ring;
  for (uint32_t i = 0; i < session.hosts(); ++i) ring.push_back({i, (i + 1) % session.hosts()});
  const Result<TcpFlows> flows = TcpRun(session, ring).run();
  if (!flows) return fail(flows.error());
  if (session.interrupted()) return {};
  report.rows.push_back(
      tcp_ring_row(fmt::format("{} hosts", session.hosts()), *flows, heddle_bits_per_s));
  report.data["tcp_ring"] = {{"least_bits_per_s", flows->least()}};
  return {};
}

Result<void> add_tcp_load(Session& session, const TcpLoad& load, StageReport& report) {
  if (load.pairs.size() > params::kMostTcpFlows) {
    report.rows.push_back(tcp_load_row(
        load, {{}, fmt::format("not measured with more than {} flows", params::kMostTcpFlows)}));
    return {};
  }
  const Result<TcpFlows> flows = TcpRun(session, load.pairs, load.bystander).run();
  if (!flows) return fail(flows.error());
  if (session.interrupted()) return {};
  report.rows.push_back(tcp_load_row(load, *flows));
  report.data[load.data]["tcp_bits_per_s"] = flows->sum();
  if (load.as_slowest) {
    report.data[load.data]["tcp_at_slowest_bits_per_s"] =
        flows->least() * static_cast<double>(load.pairs.size());
  }
  if (!load.bystander) return {};
  report.rows.push_back(
      tcp_bystander_row(session.pair_name(*load.bystander), flows->bystander, load.heddle_us_p99));
  report.data[load.data]["bystander_tcp_us_p50"] = flows->bystander.tcp_us;
  report.data[load.data]["bystander_tcp_us_p99"] = flows->bystander.tcp_us_p99;
  return {};
}

}  // namespace heddle::acceptance
