// See companions.h.
#include "insight/diagnosis/companions.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "insight/diagnosis/params.h"

namespace heddle::insight {
namespace {

// No block counts for more than an operation of which all is delay.
double share_of(double value) { return std::clamp(value, 0.0, 1.0); }

double correlation(const std::vector<double>& one, const std::vector<double>& other) {
  const auto count = static_cast<double>(one.size());
  double first = 0;
  double second = 0;
  for (size_t i = 0; i < one.size(); ++i) {
    first += share_of(one[i]) / count;
    second += share_of(other[i]) / count;
  }
  double products = 0;
  double squares = 0;
  double others = 0;
  for (size_t i = 0; i < one.size(); ++i) {
    const double a = share_of(one[i]) - first;
    const double b = share_of(other[i]) - second;
    products += a * b;
    squares += a * a;
    others += b * b;
  }
  return squares > 0 && others > 0 ? products / std::sqrt(squares * others) : 0;
}

std::ptrdiff_t late_blocks(const std::vector<double>& row) {
  return std::count_if(row.begin(), row.end(),
                       [](double value) { return value >= params::kLeastDelay; });
}

const std::string& host_of(const JobFacts& facts, const BlockSeries& series, uint32_t rank) {
  static const std::string kUnknown;
  const uint32_t process = facts.process_of(series.communicator, rank);
  return process == kNobody ? kUnknown : facts.processes()[process].party.host;
}

}  // namespace

double late_share(const std::vector<double>& row) {
  return static_cast<double>(late_blocks(row)) / static_cast<double>(row.size());
}

std::vector<Link> companions_of(const JobFacts& facts, const BlockSeries& series,
                                const std::vector<double>& values, const std::vector<Link>& late) {
  std::set<std::string> hosts;
  for (const auto& [from, to] : late) {
    hosts.insert({host_of(facts, series, from), host_of(facts, series, to)});
  }
  std::vector<Link> found;
  for (const auto& [link, row] : series.delayed) {
    if (hosts.contains(host_of(facts, series, link.first))) continue;
    if (hosts.contains(host_of(facts, series, link.second))) continue;
    if (late_blocks(row) < std::ptrdiff_t{params::kLeastEpisode}) continue;
    if (correlation(values, row) >= params::kLeastCompanion) found.push_back(link);
  }
  return found;
}

}  // namespace heddle::insight
