// Findings of a summary: see findings_of() in summary.h.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "insight/matrix.h"
#include "insight/params.h"
#include "insight/summary.h"

namespace heddle::insight {
namespace {

using events::RecoveryStep;

using namespace params::findings;

using Findings = std::vector<Finding>;

void look_at_loss(const Summary& summary, const Traffic& traffic, Findings& found) {
  uint64_t lost = 0;
  uint64_t needless = 0;
  uint64_t set_aside = 0;
  for (const ProcessSummary& process : summary.processes) {
    lost += process.segments_lost;
    needless += process.recovery[static_cast<size_t>(RecoveryStep::kSpuriousRetransmit)];
    set_aside += process.recovery[static_cast<size_t>(RecoveryStep::kPathSetAside)];
  }
  uint64_t messages = 0;
  for (const Flow& flow : traffic.flows) messages += flow.cell.messages;
  if (lost > 0 && lost * kMuchLost > messages) {
    found.push_back({fmt::format("{} segments were lost in transit", lost),
                     "look at the switches' drop counters; with many senders to one, try "
                     "`congestion = credits`"});
  }
  if (needless > 0 && needless * 2 > lost) {
    found.push_back(
        {fmt::format("{} of the repeats were needless: packets came late, not never", needless),
         "the fabric reorders; look for links that flap or spray packets"});
  }
  if (set_aside > 0) {
    found.push_back(
        {fmt::format("paths became suspect {} times", set_aside),
         "a link died or is very slow: `heddle paths HOST` lists which routes there are"});
  }
}

void look_at_processes(const Summary& summary, Findings& found) {
  for (const ProcessSummary& process : summary.processes) {
    const std::string name = full_name(process.party);
    if (process.calls_failed > 0) {
      found.push_back({fmt::format("of the calls of {} {} failed", name, process.calls_failed),
                       "see what that rank printed"});
    }
    if (process.profile_dropped > 0) {
      found.push_back({fmt::format("{} of NCCL's events of {} were not recorded",
                                   process.profile_dropped, name),
                       "set HEDDLE_NCCL_PROFILE=calls or proxy, which record less"});
    }
    if (process.peers_dead > 0) {
      found.push_back(
          {fmt::format("{} lost peers that did not answer any more: {}", name, process.peers_dead),
           "look at those hosts, and at the links between"});
    }
    if (process.refused_datagram_bytes > 0) {
      found.push_back(
          {fmt::format("datagrams of {} bytes do not pass from {}, {} do",
                       process.refused_datagram_bytes, name, process.passed_datagram_bytes),
           "set one MTU on all links in between"});
      break;  // usually the same for all
    }
  }
  std::map<int64_t, uint32_t> processes_of;
  for (const ProcessSummary& process : summary.processes) {
    if (process.party.rank >= 0 && process.calls > 0) ++processes_of[process.party.rank];
  }
  const auto twice = std::find_if(processes_of.begin(), processes_of.end(),
                                  [](const auto& each) { return each.second > 1; });
  if (twice != processes_of.end()) {
    found.push_back({fmt::format("rank {} is {} processes here: what is reported is of all of them",
                                 twice->first, twice->second),
                     "if these are two jobs, record each into a folder of its own"});
  }
  for (const auto& [number, size] : summary.communicators) {
    const uint32_t there = summary.members.at(number);
    if (there >= size) continue;
    found.push_back({fmt::format("of the {} ranks of communicator {:016x} {} were recorded", size,
                                 number, there),
                     "record all hosts, and put their files into one folder"});
  }
}

void look_at_balance(const Summary& summary, const Traffic& traffic, Findings& found) {
  std::vector<const ProcessSummary*> waited;
  for (const ProcessSummary& process : summary.processes) {
    if (process.calls > 0) waited.push_back(&process);
  }
  if (waited.size() >= 2) {
    std::sort(waited.begin(), waited.end(),
              [](const auto* a, const auto* b) { return a->exposed < b->exposed; });
    const ProcessSummary& least = *waited.front();
    const Nanos middle = waited[waited.size() / 2]->exposed;
    const Nanos span = least.span();
    if (least.exposed.count < middle.count / kStraggles && middle.count > span.count / kMatters) {
      found.push_back(
          {fmt::format(
               "the others wait for {}: it waited {:.3f} s, half of them more than {:.3f} s",
               full_name(least.party), static_cast<double>(least.exposed.count) * 1e-9,
               static_cast<double>(middle.count) * 1e-9),
           "look what else runs on its host, and how its work differs"});
    }
  }
  const Matrix matrix = make_matrix(traffic, MatrixRows::kHost);
  std::vector<uint64_t> sent(matrix.parties.size());
  uint64_t all = 0;
  for (const auto& [pair, cell] : matrix.cells) {
    if (pair.first == pair.second) continue;
    sent[pair.first] += matrix.moved(cell);
    all += matrix.moved(cell);
  }
  if (sent.size() < 2 || all == 0) return;
  const auto most = std::max_element(sent.begin(), sent.end());
  const double mean = static_cast<double>(all) / static_cast<double>(sent.size());
  if (static_cast<double>(*most) < kUneven * mean) return;
  found.push_back(
      {fmt::format("{} sends {:.1f} times what a host does on the average",
                   matrix.parties[static_cast<size_t>(most - sent.begin())].name,
                   static_cast<double>(*most) / mean),
       "for collectives with a root, spread the roots; else see `heddle matrix --by host`"});
}

void look_at_formulas(const Traffic& traffic, Findings& found) {
  const bool measured = std::any_of(traffic.flows.begin(), traffic.flows.end(),
                                    [](const Flow& flow) { return flow.cell.messages > 0; });
  if (!measured) return;
  if (!traffic.has_messages) return;
  for (const MatrixPart& part : matrix_parts(traffic, MatrixRows::kRank, MatrixParts::kOperation)) {
    const Cell total = part.matrix.total();
    if (total.expected_bytes == 0 || total.bytes == total.expected_bytes) continue;
    found.push_back({fmt::format("{} delivered {} bytes where its formula says {}", part.name,
                                 total.bytes, total.expected_bytes),
                     "calls failed, or events are missing: see `heddle record info`"});
  }
}

}  // namespace

std::vector<Finding> findings_of(const Summary& summary, const Traffic& traffic) {
  Findings found;
  look_at_processes(summary, found);
  look_at_loss(summary, traffic, found);
  look_at_balance(summary, traffic, found);
  look_at_formulas(traffic, found);
  return found;
}

}  // namespace heddle::insight
