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

namespace heddle::planner {

// The surplus of a region, in kWh by hour from 0 on.
struct SiteSurplus {
  std::string name;
  std::vector<double> kwh;
};

// What a GPU takes besides itself: its share of the host, NICs and fans of a DGX H100, whose 8 GPUs
// of 700 W are in a system of at most 10.2 kW (NVIDIA data sheet).
inline constexpr double kHostWatts = 10'200.0 / 8 - 700;
// Power of the building over that of the hosts. Chosen: between new halls with liquid cooling, 1.1,
// and the average of 1.56 (Uptime Institute, Global Data Center Survey 2024, recalled).
inline constexpr double kPue = 1.2;

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
