// LivePlan: a plan that is kept while its fabric and its flows change: a cable fails, works again
// or has another rate, a flow begins or ends. A change plans anew the lanes that it concerns beside
// the loads of all others, and takes time by these: neither the topology nor the other flows are
// looked at again. replan_paths() does the like from two files, in time by all flows.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "base/units.h"
#include "planner/path_plan.h"
#include "planner/paths/lane_index.h"
#include "planner/paths/loads.h"
#include "planner/paths/longest_times.h"
#include "planner/paths/route_table.h"

namespace heddle::planner {

class RouteChoice;

// What a change of a plan did.
struct Replanned {
  std::vector<uint32_t> moved;  // flows whose paths are others now, ascending
  uint32_t begun = kNone;       // the flow that began
  uint64_t considered = 0;      // lanes that were planned anew
  uint64_t unreachable = 0;     // of these, lanes without a route
  LongestTimes planned;         // of all flows, with the change
  double bound_between = 0;     // lower bound with the other lanes as they are, ns
};

class LivePlan {
 public:
  // Plans all flows. `topology` must outlive it. Errors: those of plan_paths().
  static Result<std::unique_ptr<LivePlan>> make(const topology::Topology& topology, Demand demand,
                                                const PathPlanOptions& options);

  // By the flows' numbers in the demand; one that has ended has no paths. A flow that began later
  // has the number of one that had ended, or else the next: there are as many as ever were at once.
  const std::vector<PlannedFlow>& flows() const { return flows_; }
  LongestTimes planned() const { return {between_.longest(), of_nics_.longest()}; }
  // Lanes of flows without a route.
  uint64_t unreachable() const;
  uint16_t paths() const { return options_.paths; }
  // Bytes by LinkId, those of the background included.
  std::span<const double> loads() const { return loads_.all(); }

  // Of a cable, its number in the topology. Nothing moves where it is so already. The lanes of
  // which a shortest route crosses the cable are planned anew; of a NIC's cable, its host's flows.
  Replanned set_down(uint32_t cable, bool down);
  // The lanes that the cable could carry move only if their most loaded link is faster then.
  Replanned set_rate(uint32_t cable, BitsPerSec rate);
  // `flow`: between endpoints of the demand.
  Replanned add_flow(const FlowDemand& flow);
  // Others stay where they are. A flow that has ended already stays so.
  Replanned remove_flow(uint32_t flow);

 private:
  // Lanes that are planned anew. A flow that is whole has all its lanes here, and its bytes are
  // divided among them anew; the lanes of another flow keep their parts of it.
  struct Concerned {
    std::vector<LaneRef> lanes;   // ascending, each once
    std::vector<uint32_t> whole;  // flows, likewise
  };

  LivePlan(const topology::Topology& topology, Demand demand, const PathPlanOptions& options);
  void keep(PathPlan plan);

  Concerned concerned_by(uint32_t cable) const;
  void add_whole(Concerned& concerned, std::vector<uint32_t> flows) const;
  uint32_t lanes_of_flow(uint32_t flow) const;
  uint32_t share_of(LaneRef lane) const;  // per million of the flow's bytes

  // Puts the paths of the lanes on the links, or takes them off: `sign` is 1 or -1.
  void load(std::span<const LaneRef> lanes, int sign);
  template <typename Use>
  void for_each_route(LaneRef lane, Use use);
  double longest_on_routes(std::span<const LaneRef> lanes);

  // Of lanes that are off the links. Their earlier paths stay unless the most loaded of their links
  // is faster than `worth_below`, ns; 0: new ones in any case.
  Replanned plan(Concerned concerned, double worth_below);
  RouteTable table_of(const Concerned& concerned);
  RouteTable reachable_table_of(Concerned& concerned);
  double longest_of_nics(const RouteTable& table);
  void adopt(const Concerned& concerned, const RouteTable& table, const RouteChoice& choice,
             Replanned& replanned);
  std::vector<PlannedPath> kept_paths(std::span<const LaneRef> without) const;
  void note_detours(const Concerned& concerned, const RouteTable& table);
  bool is_shortest(const Lane& lane, uint32_t hops);
  void refresh();
  Replanned finish(Replanned replanned);

  Fabric fabric_;
  Demand demand_;
  PathPlanOptions options_;
  std::vector<PlannedFlow> flows_;
  std::vector<bool> ended_;       // by flow
  std::vector<uint32_t> vacant_;  // numbers of those that have ended
  Loads loads_;
  LongestTimesOfLinks between_;
  LongestTimesOfLinks of_nics_;
  LaneIndex index_;
  // Lanes whose routes are longer than the shortest over all cables, or that have none: any cable
  // may concern them.
  std::set<LaneRef> detoured_;
  std::vector<LinkId> touched_;  // links whose loads the present change has changed
  LinkScratch scratch_;
};

}  // namespace heddle::planner
