// Shares: each lane divided over its routes in any proportion, so that the most loaded link has the
// least load. Links have prices; a route's share is proportional to the product of its links'
// prices, and prices of links above the goal fall until they meet it (generalized iterative
// scaling: Darroch and Ratcliff, 1972). A sweep visits each route once.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/paths/loads.h"
#include "planner/paths/route_table.h"

namespace heddle::planner {

class Shares {
 public:
  // `table` must outlive this. `background`: loads of the NICs' links and of others.
  Shares(const RouteTable& table, const Loads& background);

  // Divides each lane over at most `most_routes` of its routes. `goal`: time that no link between
  // switches need be below, ns.
  void balance(double goal, uint32_t most_routes);

  // Calls use(option, share) for the lane's routes that have one; they sum to 1.
  template <typename Use>
  void for_each(uint32_t lane, Use use) const {
    for (size_t i = first_[lane]; i < first_[lane + 1]; ++i) {
      if (best_[i] > 0) use(kept_[i], best_[i]);
    }
  }
  const Loads& loads() const { return best_loads_; }
  // Lengths of links for a lower bound: the prices' logarithms.
  std::vector<double> lengths() const;

 private:
  void keep_all();
  void draw(uint32_t most_routes);
  void scale(double goal, uint32_t sweeps);
  void divide();
  void divide(uint32_t lane);
  template <uint32_t Hops>
  void divide_over(uint32_t lane, uint32_t hops);
  void drop_least(uint32_t lane, float& sum);
  void set_prices(double goal);
  void note_best();

  const RouteTable& table_;
  const Loads& background_;
  Loads loads_;
  std::vector<LinkId> links_;   // between switches that a lane may use
  std::vector<float> prices_;   // by link
  std::vector<uint16_t> kept_;  // options of each lane that it may take
  std::vector<size_t> first_;   // of a lane's
  std::vector<float> shares_;   // likewise
  float relaxation_ = 1;
  std::vector<float> best_;
  Loads best_loads_;
  double least_ = 0;  // the longest time of `best_`, ns
};

}  // namespace heddle::planner
