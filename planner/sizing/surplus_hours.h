// A job on surplus power, hour by hour: on which sites it runs, on how many GPUs, and what of its
// GPU-hours computes. size_sites.h has the question.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "planner/job_shape.h"
#include "planner/model_shape.h"
#include "planner/size_sites.h"

namespace heddle::planner {

// A job of some GPUs at some sites: what of its time computes.
struct SiteStep {
  double useful = 0;     // share of a step, of the same GPUs without any exchange between replicas
  double site_bits = 0;  // goodput of the link between sites
};

// What a job is at in an hour.
struct SurplusHour {
  std::vector<double> powered;  // GPUs, by site
  uint64_t gpus = 0;            // of the job, in all sites
  size_t sites = 0;             // where it runs
  size_t alone = 0;             // the site, where it is one
  double useful = 0;            // GPU-hours
};

// Hours in sum. Energy is of the GPUs that run.
struct SurplusSum {
  double gpu_hours = 0;
  double joined_hours = 0;  // of them, with all sites joined
  double useful = 0;
  double moves = 0;       // a site joins that has no copy of the model's state
  double move_hours = 0;  // GPU-hours lost for it
};

class SurplusHours {
 public:
  // `job` is resolved. All three must outlive it.
  SurplusHours(const ModelShape& model, const JobShape& job, const SitesQuestion& question)
      : model_(model), job_(job), question_(question) {}

  double gpu_kw() const;
  size_t sites() const { return question_.surplus.size(); }
  size_t hours() const { return question_.surplus.front().kwh.size(); }
  uint64_t of_replica() const { return job_.tensor * job_.context * job_.pipeline; }
  double state_bytes() const;  // of the model and its optimizer

  const std::optional<SiteStep>& step_of(uint64_t gpus, size_t sites);
  // At another distance. Nothing: these GPUs make no job.
  std::optional<SiteStep> calculated(uint64_t gpus, size_t sites, double km) const;

  // The best of: all sites with equal shares, or one of them.
  SurplusHour hour_of(size_t hour);
  // All the job's GPUs at one site, on its surplus.
  SurplusSum one_site(size_t site);
  // Adds hours up, with a copy of the state wherever a site joins.
  SurplusSum sum_of(const std::vector<SurplusHour>& hours);
  // The share of powered GPU-hours that is useful at another distance, where all sites are joined.
  double useful_share(double km, const std::vector<SurplusHour>& hours) const;

 private:
  // GPUs of whole replicas, at most `powered` of them on each of `sites`, that make a job; 0: none
  // do.
  uint64_t gpus_of(double powered, size_t sites);
  // GPUs that a site's surplus powers, of those that it has.
  double powered(size_t site, size_t hour, double owned) const;
  void take(SurplusHour& made, uint64_t gpus, size_t sites, size_t alone);

  const ModelShape& model_;
  const JobShape& job_;
  const SitesQuestion& question_;
  std::map<std::pair<uint64_t, size_t>, std::optional<SiteStep>> steps_;  // by GPUs and sites
};

}  // namespace heddle::planner
