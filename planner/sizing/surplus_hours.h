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
  double useful = 0;            // GPU-hours, without what a move takes
  double moved = 0;             // of them, lost while the state is copied to a site that joins
};

// Hours in sum. Energy is of the GPUs that run.
struct SurplusSum {
  double gpu_hours = 0;
  double joined_hours = 0;  // of them, with all sites joined
  double computing = 0;     // without what moves take
  double moves = 0;
  double move_hours = 0;  // GPU-hours lost for them

  double useful() const { return computing - move_hours; }
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
  // At another distance. Nothing: these GPUs make no job, or it does not fit in their memory.
  std::optional<SiteStep> calculated(uint64_t gpus, size_t sites, double km) const;

  // Each hour the best of: all sites with equal shares (if `joins`), or one of them; less what a
  // move takes, where a site runs that did not run in the hour before. A move must pay within its
  // hour.
  std::vector<SurplusHour> run(bool joins);
  SurplusSum sum_of(const std::vector<SurplusHour>& hours) const;
  // All the job's GPUs at one site, on its surplus.
  SurplusSum one_site(size_t site);
  // The share of powered GPU-hours that is useful at another distance, where all sites are joined.
  double useful_share(double km, const std::vector<SurplusHour>& hours) const;

 private:
  // GPUs of whole replicas, at most `powered` of them on each of `sites`, that make a job; 0: none
  // do.
  uint64_t gpus_of(double powered, size_t sites);
  // GPUs that a site's surplus powers, of those that it has: whole nodes.
  double powered(size_t site, size_t hour, double owned) const;
  double copy_s(const SiteStep& step) const { return 8 * state_bytes() / step.site_bits; }

  const ModelShape& model_;
  const JobShape& job_;
  const SitesQuestion& question_;
  std::map<std::pair<uint64_t, size_t>, std::optional<SiteStep>> steps_;  // by GPUs and sites
};

}  // namespace heddle::planner
