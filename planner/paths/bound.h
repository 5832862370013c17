// Lower bounds on the time of the most loaded link that carries something of the flows, whatever
// routes they take. Links that others load longer than that need not be among them.
#pragma once

#include <span>
#include <vector>

#include "planner/paths/loads.h"
#include "planner/paths/route_table.h"

namespace heddle::planner {

// Of the links between switches, ns: all that leaves or enters a switch with NICs crosses its
// working uplinks. `background`: bytes of others by LinkId.
double cut_bound(const RouteTable& table, std::span<const double> background);

// The same by duality of linear programs: for any lengths of links, the sum of all lanes' bytes
// times their shortest routes is at most the time times the sum of all rates times lengths.
class DualBound {
 public:
  // Of the lanes of all tables, whose fabric must be `fabric` and outlive this.
  DualBound(Fabric& fabric, std::span<const RouteTable* const> tables,
            std::span<const double> background);

  // With lengths by LinkId; those of links to NICs do not count.
  double with(std::span<const double> lengths);
  // With lengths made of a plan's loads, which are the longer the more a link carries.
  double with_lengths_of(const Loads& loads);

 private:
  struct Pair {
    uint32_t from = 0;  // switches
    uint32_t to = 0;
    double bytes = 0;
  };

  // Finds the links that routes of the pairs can take.
  void find_links();
  // The sum of all pairs' bytes times their shortest routes.
  double routed(std::span<const double> lengths);
  // The same where all routes go up and down at one place of a leaf's uplinks: see uplinks_.
  double routed_by_place(std::span<const double> lengths) const;

  Fabric& fabric_;
  std::span<const double> background_;
  std::vector<Pair> pairs_;
  std::vector<LinkId> links_;  // between switches, with a rate, that routes of the pairs can take
  // Of each switch with NICs, on a RegularClos with one cable to each spine; else 0.
  uint32_t uplinks_ = 0;
};

}  // namespace heddle::planner
