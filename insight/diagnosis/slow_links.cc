// Slow links and NICs: see rules.h. Where hosts exchange data with several others, a NIC is late if
// most of its links are; else, and in rings, links are compared one by one.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "insight/diagnosis/companions.h"
#include "insight/diagnosis/outliers.h"
#include "insight/diagnosis/params.h"
#include "insight/diagnosis/rules.h"

namespace heddle::insight {
namespace {

OutlierRule rule_of(const BlockSeries& series) {
  return {.threshold = params::kLeastDelay,
          .usual = params::kUsualLink,
          .least_ns = params::kLeastEpisodeNs,
          .sporadic = true,
          .least_errors = series.least_errors};
}

// A rank's NIC in one direction, with its links' rows: of hosts with several ranks, many have a NIC
// for each.
struct NicSide {
  bool sends = true;
  uint32_t process = 0;
  std::vector<Link> links;
  std::vector<const std::vector<double>*> rows;  // the same
};

struct HotNic {
  uint32_t process = 0;
  bool sends = false;
  bool receives = false;
  std::vector<double> values;  // of the worse side, by block
  std::vector<Link> links;     // the same
  Outlier outlier;             // the same
};

std::vector<NicSide> sides_of(const JobFacts& facts, const BlockSeries& series) {
  std::map<std::pair<uint32_t, bool>, NicSide> sides;
  for (const auto& [link, row] : series.delayed) {
    for (const bool sends : {true, false}) {
      const uint32_t rank = sends ? link.first : link.second;
      const uint32_t process = facts.process_of(series.communicator, rank);
      if (process == kNobody) return {};
      NicSide& side = sides[{process, sends}];
      side.sends = sends;
      side.process = process;
      side.links.push_back(link);
      side.rows.push_back(&row);
    }
  }
  std::vector<NicSide> all;
  for (auto& [key, side] : sides) {
    if (side.links.size() < params::kLeastLinks || sides.size() < params::kLeastSides) return {};
    all.push_back(std::move(side));
  }
  return all;
}

// The median link's delay times the number of links, so that one slow link is not its NIC's.
std::vector<double> delay_of(const NicSide& side) {
  std::vector<double> values(side.rows.front()->size());
  for (size_t block = 0; block < values.size(); ++block) {
    std::vector<double> links;
    for (const std::vector<double>* row : side.rows) links.push_back((*row)[block]);
    const auto count = static_cast<double>(links.size());
    values[block] = count * quantile(std::move(links), params::kBelowHalf);
  }
  return values;
}

// The worst, with the other side of it where that is late, too; nothing: none is.
std::optional<HotNic> hot_nic(const JobFacts& facts, const std::vector<NicSide>& sides,
                              const BlockSeries& series, std::vector<std::string>& evidence) {
  if (sides.empty()) return std::nullopt;
  std::vector<std::vector<double>> values;
  for (const NicSide& side : sides) values.push_back(delay_of(side));
  const std::vector<Outlier> outliers = find_outliers(values, series.blocks, rule_of(series));
  if (outliers.empty()) return std::nullopt;
  const Outlier& worst =
      *std::max_element(outliers.begin(), outliers.end(),
                        [](const Outlier& a, const Outlier& b) { return a.level < b.level; });
  HotNic hot{.process = sides[worst.candidate].process,
             .values = values[worst.candidate],
             .links = sides[worst.candidate].links,
             .outlier = worst};
  for (const Outlier& outlier : outliers) {
    const NicSide& side = sides[outlier.candidate];
    evidence.push_back(fmt::format(
        "data {} {} is late by {:.0f}% of the operations' transfer, the usual rank's by {:.0f}%",
        side.sends ? "from" : "to", full_name(facts.processes()[side.process].party),
        100 * outlier.level, 100 * outlier.others));
    // A NIC that is slow both ways is about as slow both ways.
    if (side.process != hot.process || outlier.level < worst.level / 2) continue;
    (side.sends ? hot.sends : hot.receives) = true;
  }
  return hot;
}

// `values`: of all blocks.
void take(const BlockSeries& series, const Outlier& outlier, const std::vector<double>& values,
          Verdict& verdict) {
  verdict.what = VerdictClass::kCommunicationSlow;
  if (rises_gradually(values, outlier.episode)) {
    verdict.what = VerdictClass::kDegradation;
    verdict.evidence.push_back("it became late bit by bit, not at once");
  }
  verdict.action =
      "compare both NICs' rates and error counters (ethtool), measure with `heddle perf` between "
      "these hosts, and look at the switch ports between";
  take_times(series, outlier, verdict);
}

// `late`: the worst comes first; `values`: of the worst, by block.
LateLinks late_links(const JobFacts& facts, const BlockSeries& series,
                     const std::vector<Link>& late, const std::vector<double>& values) {
  LateLinks found{.communicator = series.communicator, .late = late};
  const std::set<Link> known(late.begin(), late.end());
  for (const Link& link : companions_of(facts, series, values, {late.front()})) {
    if (!known.contains(link)) found.with.push_back(link);
  }
  const std::vector<Link> all = found.all();
  const std::set<Link> named(all.begin(), all.end());
  for (const auto& [link, row] : series.delayed) {
    if (!named.contains(link)) found.others.push_back(link);
  }
  found.compared_ns = series.blocks.front().begin;
  return found;
}

LateLinks late_links(const JobFacts& facts, const BlockSeries& series,
                     const std::vector<Link>& late, const std::vector<double>& values,
                     const Outlier& worst) {
  LateLinks found = late_links(facts, series, late, values);
  found.since_ns = series.blocks[worst.episode.begin].begin;
  found.until_ns =
      series.blocks[worst.lasts ? series.blocks.size() - 1 : worst.episode.end - 1].end;
  return found;
}

// Each rank receives from one other.
bool are_of_ring(const BlockSeries& series) {
  std::set<uint32_t> receivers;
  for (const auto& [link, row] : series.delayed) receivers.insert(link.second);
  return receivers.size() == series.delayed.size();
}

// Of links that are late now and then none stands out. The worst with its companions may. Not where
// ranks exchange data with several others: the job's own messages meet in the fabric there, and
// that is no fault.
void add_suspects(const JobFacts& facts, const BlockSeries& series, std::vector<LateLinks>& late) {
  if (!are_of_ring(series)) return;
  const std::pair<const Link, std::vector<double>>* worst = nullptr;
  double most = params::kLeastSuspect;
  for (const auto& each : series.delayed) {
    const double share = late_share(each.second);
    if (share < most) continue;
    most = share;
    worst = &each;
  }
  if (worst == nullptr) return;
  LateLinks suspects = late_links(facts, series, {worst->first}, worst->second);
  if (!suspects.with.empty()) late.push_back(std::move(suspects));
}

void find_by_links(const JobFacts& facts, const BlockSeries& series, Diagnosis& diagnosis,
                   std::vector<LateLinks>& late) {
  std::vector<Link> links;
  std::vector<std::vector<double>> values;
  for (const auto& [link, row] : series.delayed) {
    links.push_back(link);
    values.push_back(row);
  }
  const std::vector<Outlier> outliers = find_outliers(values, series.blocks, rule_of(series));
  std::vector<std::pair<uint32_t, uint32_t>> hot;
  std::vector<Link> hot_links;
  Verdict verdict;
  const Outlier* worst = nullptr;
  for (const Outlier& outlier : outliers) {
    const Link& link = links[outlier.candidate];
    const uint32_t from = facts.process_of(series.communicator, link.first);
    const uint32_t to = facts.process_of(series.communicator, link.second);
    if (from == kNobody || to == kNobody) continue;
    const bool is_worst = worst == nullptr || outlier.level > worst->level;
    hot.insert(is_worst ? hot.begin() : hot.end(), {from, to});
    hot_links.insert(is_worst ? hot_links.begin() : hot_links.end(), link);
    if (is_worst) worst = &outlier;
    verdict.evidence.push_back(fmt::format(
        "data from {} to {} is late by {:.0f}% of the operations' transfer, the usual link's by "
        "{:.0f}%",
        full_name(facts.processes()[from].party), full_name(facts.processes()[to].party),
        100 * outlier.level, 100 * outlier.others));
  }
  if (worst == nullptr) return add_suspects(facts, series, late);
  verdict.place = place_of_links(facts, hot);
  verdict.summary = "data is late on the " + place_text(diagnosis, verdict.place);
  take(series, *worst, values[worst->candidate], verdict);
  const auto all = static_cast<double>(links.size());
  const bool many = hot.size() > 1 && static_cast<double>(hot.size()) >= params::kDesignShare * all;
  if (!many || !worst->from_beginning || verdict.place.kind != PlaceKind::kLink) {
    late.push_back(late_links(facts, series, hot_links, values[worst->candidate], *worst));
    late.back().verdict = diagnosis.verdicts.size();
    diagnosis.verdicts.push_back(std::move(verdict));
    return;
  }
  verdict.evidence.push_back(
      fmt::format("{} of {} links are late from the beginning: they may share an uplink, or ranks "
                  "of a host a NIC",
                  hot.size(), links.size()));
  verdict.action =
      "place the ranks so that neighbors are close, or use a fabric with faster uplinks";
  diagnosis.notes.push_back(std::move(verdict));
}

}  // namespace

// Of links that are hot together: all from one host, all to one host, or all at one host; else the
// first.
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

bool share_no_host(const JobFacts& facts, const std::vector<std::pair<uint32_t, uint32_t>>& links) {
  std::set<std::pair<std::string, std::string>> hosts;
  for (const auto& [sender, receiver] : links) {
    hosts.emplace(facts.processes()[sender].party.host, facts.processes()[receiver].party.host);
  }
  return hosts.size() > 1 && place_of_links(facts, links).kind == PlaceKind::kLink;
}

void find_slow_links(const JobFacts& facts, const BlockSeries& series, Diagnosis& diagnosis,
                     std::vector<LateLinks>& late) {
  Verdict verdict;
  const std::optional<HotNic> nic =
      hot_nic(facts, sides_of(facts, series), series, verdict.evidence);
  if (!nic) return find_by_links(facts, series, diagnosis, late);
  PlaceKind kind = nic->sends ? PlaceKind::kSenderNic : PlaceKind::kReceiverNic;
  if (nic->sends && nic->receives) kind = PlaceKind::kNic;
  verdict.place = {kind, {nic->process}, facts.processes()[nic->process].party.host};
  verdict.summary = "data is late on the " + place_text(diagnosis, verdict.place);
  take(series, nic->outlier, nic->values, verdict);
  late.push_back(late_links(facts, series, nic->links, nic->values, nic->outlier));
  late.back().of_nic = true;
  late.back().verdict = diagnosis.verdicts.size();
  diagnosis.verdicts.push_back(std::move(verdict));
}

}  // namespace heddle::insight
