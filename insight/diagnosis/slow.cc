// Slow ranks and slow links: see rules.h.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "insight/diagnosis/params.h"
#include "insight/diagnosis/rules.h"

namespace heddle::insight {
namespace {

double sum_in(const std::vector<double>& values, const Episode& episode) {
  const auto begin = values.begin();
  return std::accumulate(begin + static_cast<std::ptrdiff_t>(episode.begin),
                         begin + static_cast<std::ptrdiff_t>(episode.end), 0.0);
}

double over_median(const std::vector<std::vector<double>>& rows, size_t row, const Episode& in) {
  std::vector<double> sums;
  for (const std::vector<double>& each : rows) sums.push_back(sum_in(each, in));
  const double middle = median(sums);
  return middle > 0 ? sums[row] / middle : 1;
}

std::vector<double> stretch(const std::vector<double>& values, const Episode& episode) {
  return {values.begin() + static_cast<std::ptrdiff_t>(episode.begin),
          values.begin() + static_cast<std::ptrdiff_t>(episode.end)};
}

void take_times(const BlockSeries& series, const Outlier& outlier, Verdict& verdict) {
  verdict.since_ns = series.blocks[outlier.episode.begin].begin;
  if (!outlier.lasts) verdict.until_ns = series.blocks[outlier.episode.end - 1].end;
  verdict.confidence = confidence_of(outlier);
  if (outlier.from_beginning) {
    verdict.evidence.push_back(
        "it was so from the beginning: there is no baseline of this job without it");
  }
}

Verdict slow_rank(const JobFacts& facts, const BlockSeries& series, const Outlier& outlier) {
  const auto rank = static_cast<uint32_t>(outlier.candidate);
  const uint32_t process = facts.process_of(series.communicator, rank);
  const Party& party = facts.processes()[process].party;
  const bool gradual = rises_gradually(stretch(series.late[rank], outlier.episode));
  Verdict verdict;
  verdict.what = gradual ? VerdictClass::kDegradation : VerdictClass::kNonCommunicationSlow;
  verdict.place = {PlaceKind::kRank, {process}, party.host};
  verdict.cost = outlier.level;
  verdict.summary = fmt::format("the others wait for {}: {:.0f}% of the time", full_name(party),
                                100 * outlier.level);
  verdict.evidence.push_back(
      fmt::format("between its calls it computes {:.2f} times as long as the median rank",
                  over_median(series.computed_ns, rank, outlier.episode)));
  verdict.evidence.push_back(
      fmt::format("in {} of {} blocks of operations; the median rank is late by {:.1f}%",
                  outlier.episode.length(), series.blocks.size(), 100 * outlier.others));
  if (gradual) verdict.evidence.push_back("it became late bit by bit, not at once");
  verdict.action = fmt::format(
      "on {} look for other programs, throttled clocks (CPU, GPU), and a slow data loader; if it "
      "stays, replace the host",
      party.host);
  take_times(series, outlier, verdict);
  return verdict;
}

// Work that explains the time.
bool has_more_work(const BlockSeries& series, const Outlier& outlier) {
  const double computes = over_median(series.computed_ns, outlier.candidate, outlier.episode);
  const double works = over_median(series.load, outlier.candidate, outlier.episode);
  return works - 1 >= params::kExplained * (computes - 1) && works > 1;
}

}  // namespace

void find_slow_ranks(const JobFacts& facts, const BlockSeries& series, Diagnosis& diagnosis) {
  const std::vector<Outlier> outliers = find_outliers(series.late, params::kLeastLate);
  const auto ranks = static_cast<double>(series.late.size());
  const bool many =
      outliers.size() > 1 && static_cast<double>(outliers.size()) >= params::kDesignShare * ranks;
  for (const Outlier& outlier : outliers) {
    Verdict verdict = slow_rank(facts, series, outlier);
    const bool more_work = has_more_work(series, outlier);
    if (!more_work && !(many && outlier.from_beginning)) {
      diagnosis.verdicts.push_back(std::move(verdict));
      continue;
    }
    verdict.what = VerdictClass::kLoadImbalance;
    verdict.evidence.push_back(
        more_work ? fmt::format("its all-to-alls move {:.2f} times what the median rank's do",
                                over_median(series.load, outlier.candidate, outlier.episode))
                  : fmt::format("{} of {} ranks are late from the beginning", outliers.size(),
                                series.late.size()));
    verdict.action = "divide the work more evenly: experts, stages of the pipeline, or data";
    diagnosis.notes.push_back(std::move(verdict));
  }
}

// Of links that are hot together: all from one host, all to one host, or all at one host.
Place place_of_links(const JobFacts& facts,
                     const std::vector<std::pair<uint32_t, uint32_t>>& links) {
  std::set<std::string> from;
  std::set<std::string> to;
  for (const auto& [sender, receiver] : links) {
    from.insert(facts.processes()[sender].party.host);
    to.insert(facts.processes()[receiver].party.host);
  }
  const Place link = {PlaceKind::kLink, {links.front().first, links.front().second}, ""};
  if (from.size() == 1 && to.size() == 1) return link;
  if (from.size() == 1) return {PlaceKind::kSenderNic, {links.front().first}, *from.begin()};
  if (to.size() == 1) return {PlaceKind::kReceiverNic, {links.front().second}, *to.begin()};
  for (const uint32_t end : {links.front().first, links.front().second}) {
    const std::string& host = facts.processes()[end].party.host;
    const bool at_all = std::all_of(links.begin(), links.end(), [&](const auto& each) {
      return facts.processes()[each.first].party.host == host ||
             facts.processes()[each.second].party.host == host;
    });
    if (at_all) return {PlaceKind::kNic, {end}, host};
  }
  return link;
}

void find_slow_links(const JobFacts& facts, const BlockSeries& series, Diagnosis& diagnosis) {
  std::vector<Link> links;
  std::vector<std::vector<double>> values;
  // Within a host its scheduler is measured.
  const auto within_host = [&](const Link& link) {
    const uint32_t from = facts.process_of(series.communicator, link.first);
    const uint32_t to = facts.process_of(series.communicator, link.second);
    if (from == kNobody || to == kNobody) return true;
    const std::string& host = facts.processes()[from].party.host;
    return !host.empty() && host == facts.processes()[to].party.host;
  };
  for (const auto& [link, row] : series.delayed) {
    if (within_host(link)) continue;
    links.push_back(link);
    values.push_back(row);
  }
  const std::vector<Outlier> outliers = find_outliers(values, params::kLeastDelay);
  if (outliers.empty()) return;
  std::vector<std::pair<uint32_t, uint32_t>> hot;
  Verdict verdict;
  verdict.what = VerdictClass::kCommunicationSlow;
  const Outlier* worst = &outliers.front();
  for (const Outlier& outlier : outliers) {
    const Link& link = links[outlier.candidate];
    const uint32_t from = facts.process_of(series.communicator, link.first);
    const uint32_t to = facts.process_of(series.communicator, link.second);
    if (from == kNobody || to == kNobody) continue;
    hot.emplace_back(from, to);
    if (outlier.level > worst->level) worst = &outlier;
    verdict.evidence.push_back(fmt::format(
        "data from {} to {} is late by {:.0f}% of the operations' transfer, the median link's by "
        "{:.0f}%",
        full_name(facts.processes()[from].party), full_name(facts.processes()[to].party),
        100 * outlier.level, 100 * outlier.others));
  }
  if (hot.empty()) return;
  if (rises_gradually(stretch(values[worst->candidate], worst->episode))) {
    verdict.what = VerdictClass::kDegradation;
    verdict.evidence.push_back("it became late bit by bit, not at once");
  }
  verdict.place = place_of_links(facts, hot);
  verdict.summary = "data is late on the " + place_text(diagnosis, verdict.place);
  verdict.action =
      "compare both NICs' rates and error counters (ethtool), measure with `heddle perf` between "
      "these hosts, and look at the switch ports between";
  take_times(series, *worst, verdict);
  diagnosis.verdicts.push_back(std::move(verdict));
}

}  // namespace heddle::insight
