// See operation_figures.h.
#include "insight/diagnosis/operation_figures.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>

#include "insight/diagnosis/params.h"
#include "insight/diagnosis/robust.h"

namespace heddle::insight {
namespace {

// How long each took beside the median of the others. Of many the median of all is the same, and
// less work.
std::vector<double> surplus(const std::vector<double>& values) {
  const double middle = median(values);
  std::vector<double> found(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    double usual = middle;
    if (values.size() <= params::kFewRanks) {
      std::vector<double> others = values;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      usual = median(std::move(others));
    }
    found[i] = values[i] - usual;
  }
  return found;
}

void add_computation(const JobFacts& facts, const Operation& operation, OperationFigures& figures) {
  std::vector<double> values;
  values.reserve(operation.parts.size());
  for (const Part& part : operation.parts) {
    ++figures.asked;
    const std::optional<double> value = computation_ns(facts, part);
    if (!value) return;
    values.push_back(*value);
  }
  const std::vector<double> late = surplus(values);
  figures.ranks.reserve(values.size());
  for (size_t rank = 0; rank < values.size(); ++rank) {
    figures.ranks.push_back({values[rank], late[rank]});
  }
}

OperationFigures compute(const JobFacts& facts, const Operation& operation) {
  OperationFigures figures;
  figures.waiting = facts.waiting();
  add_computation(facts, operation, figures);
  const std::map<Link, double> delays = link_delays(facts, operation);
  figures.delays_ns.assign(delays.begin(), delays.end());
  return figures;
}

}  // namespace

std::optional<double> computation_ns(const JobFacts& facts, const Part& part) {
  const bool waits = facts.processes()[part.process].has_waits;
  const int64_t ns = waits ? part.computed_ns : part.idle_ns;
  if (ns < 0) return std::nullopt;
  return static_cast<double>(ns);
}

std::optional<double> OperationFigures::delay_ns(const Link& link) const {
  const auto at = std::lower_bound(
      delays_ns.begin(), delays_ns.end(), link,
      [](const std::pair<Link, double>& each, const Link& wanted) { return each.first < wanted; });
  if (at == delays_ns.end() || at->first != link) return std::nullopt;
  return at->second;
}

const OperationFigures& figures_of(const JobFacts& facts, const Operation& operation) {
  const bool kept = operation.figures != nullptr && operation.figures->waiting == facts.waiting();
  if (!kept) {
    operation.figures = std::make_shared<const OperationFigures>(compute(facts, operation));
  }
  return *operation.figures;
}

}  // namespace heddle::insight
