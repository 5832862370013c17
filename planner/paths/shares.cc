// Iterative scaling of links' prices: see shares.h.
#include "planner/paths/shares.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/random.h"
#include "planner/paths/params.h"

namespace heddle::planner {
namespace {

constexpr float kLeastPrice = 1e-12F;

}  // namespace

Shares::Shares(const RouteTable& table, const Loads& background)
    : table_(table),
      background_(background),
      loads_(background),
      prices_(table.fabric().links(), 1.0F),
      shares_(table.all_options()),
      dropped_(table.all_options()),
      best_loads_(background) {
  std::vector<uint8_t> used(table.fabric().links());
  uint32_t hops = 1;
  for (uint32_t lane = 0; lane < table.size(); ++lane) {
    for (const LinkId link : table.links(lane)) used[link] = 1;
    hops = std::max(hops, table.hops(lane));
  }
  for (LinkId link = 0; link < used.size(); ++link) {
    if (used[link] != 0) links_.push_back(link);
  }
  relaxation_ = params::kRelaxation / hops;
}

void Shares::balance(double goal, uint32_t most_routes) {
  least_ = std::numeric_limits<double>::infinity();
  scale(goal, params::kMostSweeps);
  draw(most_routes);
  least_ = std::numeric_limits<double>::infinity();
  scale(goal, params::kMostSweeps);
}

// Where the goal cannot be met, prices fall for ever and loads swing: a goal that is not neared
// rises towards the best that was seen.
void Shares::scale(double goal, uint32_t sweeps) {
  double stage_least = std::numeric_limits<double>::infinity();
  uint32_t without_gain = 0;
  for (uint32_t sweep = 0; sweep < sweeps; ++sweep) {
    divide();
    note_best();
    if (least_ <= goal * (1 + params::kTolerance)) return;
    if (least_ < stage_least * (1 - params::kTolerance)) {
      stage_least = least_;
      without_gain = 0;
    } else if (++without_gain == params::kPatience_sweeps) {
      goal = (goal + least_) / 2;
      without_gain = 0;
    }
    set_prices(goal);
  }
}

void Shares::divide() {
  loads_ = background_;
  for (uint32_t lane = 0; lane < table_.size(); ++lane) divide(lane);
}

void Shares::divide(uint32_t lane) {
  const uint32_t options = table_.options_of(lane);
  const uint32_t hops = table_.hops(lane);
  float* const shares = shares_.data() + table_.first_option(lane);
  const uint8_t* const dropped = dropped_.data() + table_.first_option(lane);
  const LinkId* link = table_.links(lane).data();
  float sum = 0;
  for (uint32_t option = 0; option < options; ++option) {
    float product = dropped[option] != 0 ? 0.0F : 1.0F;
    for (uint32_t hop = 0; hop < hops; ++hop) product *= prices_[*link++];
    shares[option] = product;
    sum += product;
  }
  if (sum <= 0) return;
  link = table_.links(lane).data();
  const auto bytes = static_cast<float>(table_.lane(lane).bytes);
  for (uint32_t option = 0; option < options; ++option) {
    shares[option] /= sum;
    loads_.add({link, hops}, bytes * shares[option]);
    link += hops;
  }
}

// A price falls where the table's own load is above what the goal leaves to it, and rises to 1 at
// most where it is below.
void Shares::set_prices(double goal) {
  for (const LinkId link : links_) {
    const double others = background_.bytes(link);
    const double own = loads_.bytes(link) - others;
    const double room = goal * table_.fabric().rate(link) - others;
    if (own <= 0 || std::isinf(room)) continue;
    const double factor = std::pow(std::clamp(room / own, 0.01, 100.0), relaxation_);
    prices_[link] = std::clamp(static_cast<float>(prices_[link] * factor), kLeastPrice, 1.0F);
  }
}

bool Shares::note_best() {
  double longest = 0;
  for (const LinkId link : links_) longest = std::max(longest, loads_.time(link));
  if (longest >= least_) return false;
  least_ = longest;
  best_ = shares_;
  best_loads_ = loads_;
  return true;
}

// A draw without replacement with the shares as weights (Efraimidis and Spirakis, 2006), so that
// links keep their loads on average: with the largest shares alone no lane would keep the links of
// high load.
void Shares::draw(uint32_t most_routes) {
  Random random(1);
  std::vector<std::pair<double, uint32_t>> keys;
  for (uint32_t lane = 0; lane < table_.size(); ++lane) {
    const uint32_t options = table_.options_of(lane);
    if (options <= most_routes) continue;
    const float* const shares = best_.data() + table_.first_option(lane);
    keys.clear();
    for (uint32_t option = 0; option < options; ++option) {
      const double weight = std::max<double>(shares[option], 1e-12);
      const double uniform = static_cast<double>((random.next() >> 11) + 1) * 0x1p-53;
      keys.emplace_back(-std::log(uniform) / weight, option);
    }
    std::nth_element(keys.begin(), keys.begin() + most_routes, keys.end());
    for (auto key = keys.begin() + most_routes; key != keys.end(); ++key) {
      dropped_[table_.first_option(lane) + key->second] = 1;
    }
  }
}

std::vector<double> Shares::lengths() const {
  std::vector<double> lengths(prices_.size());
  for (const LinkId link : links_) lengths[link] = -std::log(static_cast<double>(prices_[link]));
  return lengths;
}

}  // namespace heddle::planner
