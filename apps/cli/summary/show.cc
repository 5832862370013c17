// See show.h.
#include "apps/cli/summary/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "apps/cli/matrix/show.h"
#include "apps/cli/params.h"
#include "base/printable.h"

namespace heddle::cli {
namespace {

using insight::Cell;
using insight::Finding;
using insight::Matrix;
using insight::ProcessSummary;
using insight::SlowCall;

std::string time_text(Nanos span) {
  return short_value(static_cast<uint64_t>(span.count), MatrixUnit::kTime);
}

std::string party_text(const insight::Party& party) { return printable(insight::full_name(party)); }

// Those that called something, the one that was exposed longest first.
std::vector<uint32_t> callers(const JobSummary& job) {
  std::vector<uint32_t> some;
  for (uint32_t i = 0; i < job.summary.processes.size(); ++i) {
    if (job.summary.processes[i].calls > 0) some.push_back(i);
  }
  std::stable_sort(some.begin(), some.end(), [&job](uint32_t a, uint32_t b) {
    return job.summary.processes[a].exposed > job.summary.processes[b].exposed;
  });
  return some;
}

// From the first event to the last, on the job's one clock.
struct JobSpan {
  Nanos begin;
  Nanos end;
};

JobSpan span_of(const JobSummary& job) {
  JobSpan span = {Nanos::never(), nanos(INT64_MIN)};
  for (size_t i = 0; i < job.summary.processes.size(); ++i) {
    const ProcessSummary& process = job.summary.processes[i];
    if (process.events == 0) continue;
    span.begin = std::min(span.begin, nanos(job.files[i].clock.to_job(process.first.count)));
    span.end = std::max(span.end, nanos(job.files[i].clock.to_job(process.last.count)));
  }
  return span;
}

// Time since the job's beginning.
Nanos in_job(const JobSummary& job, const SlowCall& call) {
  const Nanos began = nanos(job.files[call.process].clock.to_job(call.began.count));
  return insight::span_of(span_of(job).begin, began);
}

std::string head(const JobSummary& job) {
  std::set<std::string> hosts;
  uint64_t events = 0;
  for (const ProcessSummary& process : job.summary.processes) {
    hosts.insert(process.party.host);
    events += process.events;
  }
  const JobSpan span = span_of(job);
  std::string command = job.files.empty() ? "" : job.files.front().command;
  for (const FileFacts& file : job.files) {
    if (file.command.size() > command.size()) command = file.command;
  }
  return fmt::format("{}\n{} processes on {} host{}, {:.3f} s, {} events\n", printable(command),
                     job.summary.processes.size(), hosts.size(), hosts.size() == 1 ? "" : "s",
                     to_seconds(insight::span_of(span.begin, span.end)), events);
}

std::string communication(const JobSummary& job) {
  const std::vector<uint32_t> order = callers(job);
  if (order.empty()) {
    return job.traffic.has_messages ? "\nNo collective was called.\n"
                                    : "\nNo collective was called, or none was recorded.\n";
  }
  double communicating = 0;
  double exposed = 0;
  double span = 0;
  for (const uint32_t i : order) {
    const ProcessSummary& process = job.summary.processes[i];
    communicating += to_seconds(process.communicating);
    exposed += to_seconds(process.exposed);
    span += to_seconds(process.span());
  }
  const auto of_all = [span](double part) { return span > 0 ? 100 * part / span : 0; };
  std::string text = fmt::format(
      "\nCommunication, of all ranks' time\n  exposed {:5.1f} %  callers did nothing but wait\n"
      "  hidden  {:5.1f} %  calls were in progress while they did something else\n",
      of_all(exposed), of_all(communicating - exposed));
  text += fmt::format("\n  {:<24}{:>8}{:>12}{:>12}\n", "", "calls", "exposed", "hidden");
  for (size_t i = 0; i < order.size(); ++i) {
    // Of many, those that waited longest and shortest.
    if (order.size() > params::summary::kMostRows && i == params::summary::kMostRows / 2) {
      text += fmt::format("  … {} more\n", order.size() - params::summary::kMostRows);
      i = order.size() - params::summary::kMostRows / 2;
    }
    const ProcessSummary& process = job.summary.processes[order[i]];
    text += fmt::format("  {:<24}{:>8}{:>12}{:>12}\n", party_text(process.party), process.calls,
                        time_text(process.exposed), time_text(process.hidden()));
  }
  return text;
}

std::string operations(const JobSummary& job) {
  if (job.summary.operations.empty()) return "";
  std::string text = fmt::format("\n{:<26}{:>8}{:>12}{:>12}{:>12}\n", "Operations, over all ranks",
                                 "calls", "bytes", "mean", "longest");
  for (const auto& [operation, sum] : job.summary.operations) {
    text += fmt::format("  {:<24}{:>8}{:>12}{:>12}{:>12}\n", name_of(operation), sum.calls,
                        short_value(sum.bytes, MatrixUnit::kBytes),
                        time_text({sum.total.count / static_cast<int64_t>(sum.calls)}),
                        time_text(sum.longest));
  }
  return text;
}

std::vector<std::pair<uint64_t, std::pair<uint32_t, uint32_t>>> busiest(const Matrix& matrix) {
  std::vector<std::pair<uint64_t, std::pair<uint32_t, uint32_t>>> pairs;
  for (const auto& [pair, cell] : matrix.cells) {
    if (matrix.moved(cell) > 0) pairs.emplace_back(matrix.moved(cell), pair);
  }
  const size_t kept = std::min(pairs.size(), params::summary::kMostPairs);
  std::partial_sort(pairs.begin(), pairs.begin() + static_cast<int64_t>(kept), pairs.end(),
                    std::greater<>());
  pairs.resize(kept);
  return pairs;
}

// Most and least that a party sends, over the mean.
std::pair<double, double> imbalance(const Matrix& matrix) {
  std::vector<uint64_t> sent(matrix.parties.size());
  for (const auto& [pair, cell] : matrix.cells) sent[pair.first] += matrix.moved(cell);
  const uint64_t all = std::accumulate(sent.begin(), sent.end(), uint64_t{0});
  if (all == 0) return {0, 0};
  const auto [least, most] = std::minmax_element(sent.begin(), sent.end());
  const double mean = static_cast<double>(all) / static_cast<double>(sent.size());
  return {static_cast<double>(*least) / mean, static_cast<double>(*most) / mean};
}

// Bytes on the wire.
struct NicLoad {
  std::string name;
  std::string host;
  uint64_t sent = 0;
  uint64_t received = 0;  // as the others sent it
};

std::vector<NicLoad> busiest_nics(const JobSummary& job) {
  const Matrix matrix = insight::make_matrix(job.traffic, insight::MatrixRows::kNic);
  std::vector<NicLoad> loads(matrix.parties.size());
  for (size_t i = 0; i < loads.size(); ++i) {
    loads[i].name = matrix.parties[i].name;
    loads[i].host = matrix.parties[i].host;
  }
  for (const auto& [pair, cell] : matrix.cells) {
    loads[pair.first].sent += cell.wire_bytes;
    loads[pair.second].received += cell.wire_bytes;
  }
  const auto load = [](const NicLoad& each) { return std::max(each.sent, each.received); };
  std::erase_if(loads, [&load](const NicLoad& each) { return load(each) == 0; });
  std::stable_sort(loads.begin(), loads.end(),
                   [&load](const NicLoad& a, const NicLoad& b) { return load(a) > load(b); });
  if (loads.size() > params::summary::kMostPairs) loads.resize(params::summary::kMostPairs);
  return loads;
}

std::string nics(const JobSummary& job) {
  std::string text;
  for (const NicLoad& nic : busiest_nics(job)) {
    text += fmt::format("  {:>8}  sent on the wire by {} of {}, {} received\n",
                        short_value(nic.sent, MatrixUnit::kBytes), printable(nic.name),
                        printable(nic.host), short_value(nic.received, MatrixUnit::kBytes));
  }
  return text;
}

std::string traffic(const JobSummary& job) {
  const Matrix matrix = insight::make_matrix(job.traffic, insight::MatrixRows::kRank);
  const Cell total = matrix.total();
  std::string text = "\nTraffic: messages were not recorded";
  if (matrix.has_messages) {
    text = fmt::format("\nTraffic: {} delivered", short_value(total.bytes, MatrixUnit::kBytes));
  }
  if (total.expected_bytes > 0) {
    text += fmt::format(", {} expected of collectives by their formulas",
                        short_value(total.expected_bytes, MatrixUnit::kBytes));
  }
  if (total.wire_bytes > 0) {
    text += fmt::format(", {} on the wire", short_value(total.wire_bytes, MatrixUnit::kBytes));
  }
  text += "\n";
  const auto [least, most] = imbalance(matrix);
  if (most > 0) {  // else it is not known
    text += fmt::format("  imbalance of senders: max/mean {:.2f}, min/mean {:.2f}\n", most, least);
  }
  for (const auto& [bytes, pair] : busiest(matrix)) {
    text += fmt::format("  {:>8}  {} to {}\n", short_value(bytes, MatrixUnit::kBytes),
                        party_text(matrix.parties[pair.first]),
                        party_text(matrix.parties[pair.second]));
  }
  return text + nics(job);
}

std::string slowest(const JobSummary& job) {
  std::string text = job.summary.slowest.empty() ? "" : "\nSlowest calls\n";
  for (const SlowCall& call : job.summary.slowest) {
    const ProcessSummary& process = job.summary.processes[call.process];
    text += fmt::format("  {:>8}  {} {} of {} by {}, longest on {}, {:.3f} s from the beginning\n",
                        time_text(call.took), name_of(call.operation), call.number,
                        short_value(call.bytes, MatrixUnit::kBytes), name_of(call.algorithm),
                        party_text(process.party), to_seconds(in_job(job, call)));
  }
  return text;
}

std::string proxy_line(const char* what, const insight::ProxyWork& work) {
  const auto mean = [&work](Nanos sum) {
    return time_text({sum.count / static_cast<int64_t>(work.transfers)});
  };
  return fmt::format("    {:<22}{:>10}{:>10}{:>10}{:>10}{:>10}\n", what, work.transfers,
                     short_value(work.bytes, MatrixUnit::kBytes), mean(work.gpu_wait),
                     mean(work.peer_wait), mean(work.network_wait));
}

// NCCL's transfers: the mean time that one waited, and for what.
std::string proxies(const JobSummary& job) {
  std::string text;
  size_t rows = 0;
  for (const ProcessSummary& process : job.summary.processes) {
    const auto& [sent, received] = process.proxy;
    if (sent.transfers + received.transfers == 0 || ++rows > params::summary::kMostRows) continue;
    text += "  " + party_text(process.party) + "\n";
    if (sent.transfers > 0) text += proxy_line("sent", sent);
    if (received.transfers > 0) text += proxy_line("received", received);
  }
  if (text.empty()) return "";
  if (rows > params::summary::kMostRows)
    text += fmt::format("  … {} more\n", rows - params::summary::kMostRows);
  return fmt::format("\n{:<26}{:>10}{:>10}{:>10}{:>10}{:>10}\n", "NCCL's transfers, waits on", "",
                     "bytes", "GPU", "peer", "network") +
         text;
}

bool has_losses(const JobSummary& job) {
  return std::any_of(job.files.begin(), job.files.end(),
                     [](const FileFacts& file) { return file.has_losses(); });
}

std::string recovery(const JobSummary& job) {
  uint64_t lost = 0;
  uint64_t dropped = 0;
  std::array<uint64_t, events::kRecoveryStepCount> steps{};
  for (const ProcessSummary& process : job.summary.processes) {
    lost += process.segments_lost;
    dropped += process.segments_dropped;
    for (size_t i = 0; i < steps.size(); ++i) steps.at(i) += process.recovery.at(i);
  }
  std::string text = "\nLoss recovery: not measured, ";
  if (has_losses(job)) {
    text = fmt::format("\nLoss recovery: {} segments lost, {} dropped on arrival\n", lost, dropped);
  } else {
    const bool imported = std::any_of(job.files.begin(), job.files.end(),
                                      [](const FileFacts& file) { return !file.source.empty(); });
    text += imported ? "imported files do not have it\n" : "it is recorded from level bins on\n";
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps.at(i) == 0) continue;
    text +=
        fmt::format("  {:<24}{:>8}\n", name_of(static_cast<events::RecoveryStep>(i)), steps.at(i));
  }
  return text;
}

Json proxy_json(const insight::ProxyWork& work) {
  return {{"operations", work.operations},
          {"transfers", work.transfers},
          {"bytes", work.bytes},
          {"retransmitted_bytes", work.retransmitted_bytes},
          {"gpu_wait_ns", work.gpu_wait.count},
          {"peer_wait_ns", work.peer_wait.count},
          {"network_wait_ns", work.network_wait.count}};
}

Json row_of(const JobSummary& job, size_t number) {
  const ProcessSummary& process = job.summary.processes[number];
  const FileFacts& file = job.files[number];
  Json recovery = Json::object();
  for (size_t step = 0; step < process.recovery.size(); ++step) {
    recovery[std::string(name_of(static_cast<events::RecoveryStep>(step)))] =
        process.recovery.at(step);
  }
  const auto counted = [known = file.has_losses()](uint64_t count) {
    return known ? Json(count) : Json(nullptr);
  };
  return {{"name", process.party.name},
          {"host", process.party.host},
          {"command", file.command},
          {"ended_well", file.ended_well},
          {"events", process.events},
          {"span_ns", process.span().count},
          {"calls", process.calls},
          {"calls_failed", process.calls_failed},
          {"communicating_ns", process.communicating.count},
          {"exposed_ns", process.exposed.count},
          {"hidden_ns", process.hidden().count},
          {"segments_lost", counted(process.segments_lost)},
          {"segments_dropped", counted(process.segments_dropped)},
          {"recovery", std::move(recovery)},
          {"nccl_sent", proxy_json(process.proxy[0])},
          {"nccl_received", proxy_json(process.proxy[1])}};
}

}  // namespace

std::vector<Finding> findings_of_files(const JobSummary& job) {
  std::vector<Finding> found;
  uint64_t dropped = 0;
  std::string source;
  for (size_t i = 0; i < job.files.size(); ++i) {
    if (!job.files[i].source.empty()) source = job.files[i].source;
    const std::string name = party_text(job.summary.processes[i].party);
    dropped += job.files[i].dropped_events;
    if (!job.files[i].sound) {
      found.push_back({"the recording of " + name + " is damaged",
                       "what could be read of it is counted; see `heddle record info`"});
    }
    if (!job.files[i].ended_well) {
      found.push_back({name + " was killed, or still runs", "see why, or wait for its end"});
    }
  }
  if (!source.empty()) {
    found.push_back({source + " has neither waits nor what moved: all counts as hidden, and "
                              "nothing as delivered",
                     "see `heddle matrix --expected`, or record with `heddle record`"});
  }
  if (dropped > 0) {
    found.push_back({fmt::format("{} older events were dropped and are not counted", dropped),
                     "give `heddle record` a larger --max-size"});
  }
  if (job.traffic.unplaced.messages > 0) {
    found.push_back({fmt::format("of {} messages sender and receiver are unknown",
                                 job.traffic.unplaced.messages),
                     "give `heddle record` a larger --max-size"});
  }
  return found;
}

std::string summary_text(const JobSummary& job) {
  std::string text = head(job) + communication(job) + operations(job) + traffic(job) +
                     proxies(job) + slowest(job) + recovery(job);
  if (job.findings.empty()) return text + "\nNothing stands out.\n";
  text += "\nWorth a look\n";
  for (const Finding& finding : job.findings) {
    text += "  " + printable(finding.what) + "\n    try: " + printable(finding.todo) + "\n";
  }
  return text;
}

Json summary_json(const JobSummary& job) {
  Json processes = Json::array();
  for (size_t i = 0; i < job.summary.processes.size(); ++i) processes.push_back(row_of(job, i));
  Json operations = Json::object();
  for (const auto& [operation, sum] : job.summary.operations) {
    operations[std::string(name_of(operation))] = {{"calls", sum.calls},
                                                   {"bytes", sum.bytes},
                                                   {"total_ns", sum.total.count},
                                                   {"longest_ns", sum.longest.count}};
  }
  Json slow = Json::array();
  for (const SlowCall& call : job.summary.slowest) {
    slow.push_back({{"operation", name_of(call.operation)},
                    {"algorithm", name_of(call.algorithm)},
                    {"communicator", fmt::format("{:016x}", call.communicator)},
                    {"number", call.number},
                    {"bytes", call.bytes},
                    {"process", job.summary.processes[call.process].party.name},
                    {"took_ns", call.took.count},
                    {"began_ns", call.began.count},
                    {"from_beginning_ns", in_job(job, call).count}});
  }
  const Matrix matrix = insight::make_matrix(job.traffic, insight::MatrixRows::kRank);
  Json pairs = Json::array();
  for (const auto& [bytes, pair] : busiest(matrix)) {
    pairs.push_back({{"from", matrix.parties[pair.first].name},
                     {"to", matrix.parties[pair.second].name},
                     {"bytes", bytes}});
  }
  Json loads = Json::array();
  for (const NicLoad& nic : busiest_nics(job)) {
    loads.push_back({{"name", nic.name},
                     {"host", nic.host},
                     {"wire_sent_bytes", nic.sent},
                     {"wire_received_bytes", nic.received}});
  }
  Json findings = Json::array();
  for (const Finding& finding : job.findings) {
    findings.push_back({{"what", finding.what}, {"try", finding.todo}});
  }
  const Cell total = matrix.total();
  const JobSpan span = span_of(job);
  return {{"began_realtime_ns", span.begin.count},
          {"span_ns", insight::span_of(span.begin, span.end).count},
          {"processes", processes},
          {"operations", operations},
          {"slowest", slow},
          {"delivered_bytes", total.bytes},
          {"expected_bytes", total.expected_bytes},
          {"wire_bytes", total.wire_bytes},
          {"messages_recorded", matrix.has_messages},
          {"losses_recorded", has_losses(job)},
          {"busiest_pairs", pairs},
          {"busiest_nics", loads},
          {"findings", findings}};
}

}  // namespace heddle::cli
