// See surplus_hours.h.
#include "planner/sizing/surplus_hours.h"

#include <algorithm>
#include <cmath>

#include "planner/sizing/cluster_memory.h"
#include "planner/sizing/cluster_tables.h"
#include "planner/sizing/link_goodput.h"
#include "planner/sizing/step_time.h"

namespace heddle::planner {
namespace {

// What an exact number of GPUs may be off by: arithmetic of doubles.
constexpr double kExact = 1e-9;
constexpr double kSecondsOfHour = 3'600;

}  // namespace

double SurplusHours::gpu_kw() const {
  return (question_.cluster.gpu.watts + question_.host_watts) * question_.pue / 1'000;
}

double SurplusHours::state_bytes() const {
  return static_cast<double>(parameters(model_)) *
         (static_cast<double>(job_.parameter_bytes) + question_.cluster.optimizer_bytes);
}

// Groups of experts may divide fewer replicas only: one of as many numbers as a group has ranks.
uint64_t SurplusHours::gpus_of(double powered, size_t sites) {
  const auto most =
      static_cast<uint64_t>(std::floor(powered / static_cast<double>(of_replica()) + kExact));
  const uint64_t least = most > job_.expert ? most - job_.expert : 0;
  for (uint64_t each = most; each > least; --each) {
    const uint64_t gpus = each * of_replica() * sites;
    if (step_of(gpus, sites)) return gpus;
  }
  return 0;
}

const std::optional<SiteStep>& SurplusHours::step_of(uint64_t gpus, size_t sites) {
  const auto [found, missing] = steps_.try_emplace({gpus, sites});
  if (missing) found->second = calculated(gpus, sites, question_.cluster.site_link.km);
  return found->second;
}

std::optional<SiteStep> SurplusHours::calculated(uint64_t gpus, size_t sites, double km) const {
  JobShape job = job_;
  job.gpus = gpus;
  job.data = gpus / of_replica();
  job.sites = sites;
  job.batch = job.data * job.microbatch * job.microbatches;
  const Result<JobShape> resolved = resolve(job, model_);
  if (!resolved || !fits_in_memory(model_, *resolved, question_.cluster)) return std::nullopt;
  Machine machine = machine_of(question_.cluster);
  machine.site_link.km = km;
  const StepTime step(model_, *resolved, machine);
  // A copy of the state takes the cables between two sites with as many GPUs each.
  JobShape apart = *resolved;
  if (sites == 1) {
    apart.sites = 2;
    apart.gpus *= 2;
    apart.data *= 2;
    apart.batch *= 2;
  }
  const StepTime between(model_, apart, machine);
  return SiteStep{.useful = step.alone_s() / step.step_s(),
                  .site_bits = link_goodput(between.site_question(), km)};
}

double SurplusHours::powered(size_t site, size_t hour, double owned) const {
  const double node =
      owned < static_cast<double>(job_.gpus_per_node) ? 1 : static_cast<double>(job_.gpus_per_node);
  const double gpus = std::min(owned, question_.surplus[site].kwh[hour] / gpu_kw());
  return std::floor(gpus / node + kExact) * node;
}

std::vector<SurplusHour> SurplusHours::run(bool joins) {
  const double owned = static_cast<double>(job_.gpus) / static_cast<double>(sites());
  std::vector<SurplusHour> hours;
  std::vector<bool> has(sites(), true);  // the state, as it is now; all begin with it
  const auto runs = [](const SurplusHour& hour, size_t site) {
    return hour.sites > 1 || site == hour.alone;
  };
  for (size_t hour = 0; hour < this->hours(); ++hour) {
    SurplusHour best;
    for (size_t site = 0; site < sites(); ++site)
      best.powered.push_back(powered(site, hour, owned));
    const auto take = [&](uint64_t gpus, size_t of, size_t alone) {
      if (gpus == 0) return;
      const SiteStep& step = *step_of(gpus, of);
      SurplusHour made{best.powered, gpus, of, alone, static_cast<double>(gpus) * step.useful, 0};
      for (size_t site = 0; site < has.size(); ++site) {
        if (!runs(made, site) || has[site]) continue;
        made.moved = std::min(1.0, copy_s(step) / kSecondsOfHour) * made.useful;
      }
      const double gain = (made.useful - made.moved) - (best.useful - best.moved);
      // Of equal ones, the one that moves nothing.
      if (gain > kExact * made.useful || (gain >= 0 && best.gpus > 0 && made.moved < best.moved)) {
        best = std::move(made);
      }
    };
    if (joins && sites() > 1) {
      take(gpus_of(*std::min_element(best.powered.begin(), best.powered.end()), sites()), sites(),
           0);
    }
    // The sites that have the state come first: of equal ones the job stays.
    for (const bool holders : {true, false}) {
      for (size_t site = 0; site < sites(); ++site) {
        if (has[site] == holders) take(gpus_of(best.powered[site], 1), 1, site);
      }
    }
    if (best.gpus > 0) {
      for (size_t site = 0; site < has.size(); ++site) has[site] = runs(best, site);
    }
    hours.push_back(std::move(best));
  }
  return hours;
}

SurplusSum SurplusHours::sum_of(const std::vector<SurplusHour>& hours) const {
  SurplusSum sum;
  for (const SurplusHour& each : hours) {
    sum.gpu_hours += static_cast<double>(each.gpus);
    if (each.sites > 1) sum.joined_hours += static_cast<double>(each.gpus);
    sum.computing += each.useful;
    sum.move_hours += each.moved;
    if (each.moved > 0) sum.moves += 1;
  }
  return sum;
}

SurplusSum SurplusHours::one_site(size_t site) {
  SurplusSum sum;
  for (size_t hour = 0; hour < hours(); ++hour) {
    const uint64_t gpus = gpus_of(powered(site, hour, static_cast<double>(job_.gpus)), 1);
    if (gpus == 0) continue;
    sum.gpu_hours += static_cast<double>(gpus);
    sum.computing += static_cast<double>(gpus) * step_of(gpus, 1)->useful;
  }
  return sum;
}

double SurplusHours::useful_share(double km, const std::vector<SurplusHour>& hours) const {
  std::map<uint64_t, double> shares;  // by GPUs
  double gpu_hours = 0;
  double useful = 0;
  for (const SurplusHour& each : hours) {
    if (each.sites < 2) continue;
    const auto [share, missing] = shares.try_emplace(each.gpus);
    if (missing) share->second = calculated(each.gpus, each.sites, km)->useful;
    gpu_hours += static_cast<double>(each.gpus);
    useful += static_cast<double>(each.gpus) * share->second;
  }
  return gpu_hours > 0 ? useful / gpu_hours : 0;
}

}  // namespace heddle::planner
