// RoutePlan: the part of a plan file (`heddle plan --addresses`) that this host follows: for each
// peer, the switches that payload crosses and their shares. The hash of real switches is unknown,
// so a plan names routes, and PlanFollower finds the paths that take them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/address.h"
#include "transport/endpoint.h"
#include "transport/fabric_routes.h"

namespace heddle::engine {

struct PlannedRoute {
  std::vector<std::string> via;  // switches, in the order of travel
  uint32_t share_per_million = 0;
};

// A connection's paths under a plan.
struct FittedPlan {
  std::vector<transport::PlannedShare> shares;  // empty: the plan does not fit
  uint32_t routes = 0;                          // planned ones that a path takes
  std::string missing;                          // the switches of one that no path takes
};

// A planned route's share, and the paths of a connection that take it.
struct TakenRoute {
  uint32_t share_per_million = 0;
  std::vector<uint16_t> paths;
};

// Divides each route's share among its paths, which then ascend. Routes that no path takes give
// theirs to the others, up to a tenth of the payload; beyond, there are no shares.
std::vector<transport::PlannedShare> shares_of_paths(std::span<const TakenRoute> routes);

// Whether what a discovery found before it met routers that do not answer is also in `earlier`, of
// the same paths: then routes are as they were, as far as is known.
bool is_part_of(const transport::FabricRoutes& found, const transport::FabricRoutes& earlier);

class RoutePlan {
 public:
  // `file`: where the text is from; `own`: the addresses of this host. Errors: kVersion; kInvalid
  // for other content, a plan without addresses, or one that this host is not in.
  static Result<RoutePlan> parse(const std::string& text, const std::string& file,
                                 std::span<const transport::Address> own);

  // The routes to the host with this address, one after another; null: the plan has none.
  const std::vector<PlannedRoute>* find(const transport::Address& peer) const;
  // Divides each route's share among the paths that were found to take it, by shares_of_paths().
  FittedPlan fit(const std::vector<PlannedRoute>& routes, const transport::FabricRoutes& found,
                 uint16_t paths) const;

 private:
  using HostAddress = std::array<uint8_t, 16>;

  std::vector<std::string> switches_of(const transport::FabricRoutes& found, uint16_t path) const;

  std::map<HostAddress, std::string> names_;                 // of hosts and switches
  std::map<std::string, std::vector<PlannedRoute>> routes_;  // by peer
};

}  // namespace heddle::engine
