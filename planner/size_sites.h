// Sites on surplus power: the GPU-hours that the surplus of several sites gives one training job,
// hour by hour, against what its exchange between the sites and its moves cost, beside one site on
// its own surplus and one on the grid.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "planner/answer.h"
#include "planner/model_shape.h"
#include "planner/size_cluster.h"
#include "planner/sizing/params.h"

namespace heddle::planner {

// The surplus of a region, in kWh by hour from 0 on.
struct SiteSurplus {
  std::string name;
  std::vector<double> kwh;
};

using params::sizing::kHostWatts;
using params::sizing::kPue;

struct Prices {
  double surplus_kwh = 0;
  double grid_kwh = 0;
  double gpu_hour = 0;    // of a GPU that is owned, running or not
  double link_month = 0;  // of all cables from a site to the next

  bool known() const { return grid_kwh > 0 || gpu_hour > 0 || link_month > 0; }
};

struct SitesQuestion {
  // Of the whole job at full power; its sites are as many as `surplus` has.
  ClusterQuestion cluster;
  std::vector<SiteSurplus> surplus;
  double host_watts = kHostWatts;  // of a GPU
  double pue = kPue;
  Prices prices;
};

// Not sound: no hour's surplus powers a replica, or the job does not fit in its GPUs' memory.
// Errors: kInvalid, those of resolve(); sites with different numbers of hours, GPUs without watts.
Result<Answer> size_sites(const ModelShape& model, const SitesQuestion& question);

}  // namespace heddle::planner
