// See surplus_hours.h.
#include "planner/sizing/surplus_hours.h"

#include <algorithm>
#include <cmath>

#include "planner/sizing/cluster_tables.h"
#include "planner/sizing/link_goodput.h"
#include "planner/sizing/step_time.h"

namespace heddle::planner {

double SurplusHours::gpu_kw() const {
  return (question_.cluster.gpu.watts + question_.host_watts) * question_.pue / 1'000;
}

double SurplusHours::state_bytes() const {
  return static_cast<double>(parameters(model_)) *
         (static_cast<double>(job_.parameter_bytes) + question_.cluster.optimizer_bytes);
}

uint64_t SurplusHours::gpus_of(double powered, size_t sites) {
  const double replicas = std::floor(powered / static_cast<double>(of_replica()));
  for (auto each = static_cast<uint64_t>(std::max(0.0, replicas)); each > 0; --each) {
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
  if (!resolved) return std::nullopt;
  Machine machine = machine_of(question_.cluster);
  machine.site_link.km = km;
  const StepTime step(model_, *resolved, machine);
  SiteStep made{.useful = step.alone_s() / step.step_s(), .site_bits = 0};
  // A copy of the state moves over the same cables, also where the job is at one site.
  JobShape apart = *resolved;
  apart.sites = std::max<uint64_t>(2, sites);
  const StepTime between(model_, apart, machine);
  made.site_bits = link_goodput(between.site_question(), km);
  return made;
}

double SurplusHours::powered(size_t site, size_t hour, double owned) const {
  return std::min(owned, std::floor(question_.surplus[site].kwh[hour] / gpu_kw()));
}

SurplusHour SurplusHours::hour_of(size_t hour) {
  SurplusHour made;
  const double owned = static_cast<double>(job_.gpus) / static_cast<double>(sites());
  for (size_t site = 0; site < sites(); ++site) made.powered.push_back(powered(site, hour, owned));
  if (sites() > 1) {
    const double least = *std::min_element(made.powered.begin(), made.powered.end());
    take(made, gpus_of(least, sites()), sites(), 0);
  }
  for (size_t site = 0; site < sites(); ++site) {
    take(made, gpus_of(made.powered[site], 1), 1, site);
  }
  return made;
}

SurplusSum SurplusHours::one_site(size_t site) {
  SurplusSum sum;
  for (size_t hour = 0; hour < hours(); ++hour) {
    const uint64_t gpus = gpus_of(powered(site, hour, static_cast<double>(job_.gpus)), 1);
    if (gpus == 0) continue;
    sum.gpu_hours += static_cast<double>(gpus);
    sum.useful += static_cast<double>(gpus) * step_of(gpus, 1)->useful;
  }
  return sum;
}

double SurplusHours::useful_share(double km, const std::vector<SurplusHour>& hours) const {
  double gpu_hours = 0;
  double useful = 0;
  for (const SurplusHour& each : hours) {
    if (each.sites < 2) continue;
    const std::optional<SiteStep> step = calculated(each.gpus, each.sites, km);
    gpu_hours += static_cast<double>(each.gpus);
    useful += static_cast<double>(each.gpus) * step->useful;
  }
  return gpu_hours > 0 ? useful / gpu_hours : 0;
}

void SurplusHours::take(SurplusHour& made, uint64_t gpus, size_t sites, size_t alone) {
  if (gpus == 0) return;
  const double useful = static_cast<double>(gpus) * step_of(gpus, sites)->useful;
  if (useful <= made.useful) return;
  made.gpus = gpus;
  made.sites = sites;
  made.alone = alone;
  made.useful = useful;
}

SurplusSum SurplusHours::sum_of(const std::vector<SurplusHour>& hours) {
  SurplusSum sum;
  std::vector<bool> has(sites(), false);
  bool first = true;
  for (const SurplusHour& each : hours) {
    if (each.gpus == 0) continue;
    sum.gpu_hours += static_cast<double>(each.gpus);
    if (each.sites > 1) sum.joined_hours += static_cast<double>(each.gpus);
    sum.useful += each.useful;
    bool joins = false;
    for (size_t site = 0; site < has.size(); ++site) {
      const bool runs = each.sites > 1 || site == each.alone;
      joins = joins || (runs && !has[site]);
      has[site] = runs;
    }
    if (joins && !first) {
      const double move_s = 8 * state_bytes() / step_of(each.gpus, each.sites)->site_bits;
      sum.moves += 1;
      sum.move_hours += std::min(1.0, move_s / 3'600) * each.useful;
    }
    first = false;
  }
  return sum;
}

}  // namespace heddle::planner
