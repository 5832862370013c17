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
      prices_(table.space().size(), 1.0F),
      best_loads_(background) {
  std::vector<uint8_t> used(table.space().size());
  uint32_t hops = 1;
  for (uint32_t lane = 0; lane < table.size(); ++lane) {
    for (const LinkId link : table.links(lane)) used[link] = 1;
    hops = std::max(hops, table.hops(lane));
  }
  for (LinkId link = 0; link < used.size(); ++link) {
    if (used[link] != 0) links_.push_back(link);
  }
  relaxation_ = static_cast<float>(params::kRelaxation) / static_cast<float>(hops);
}

void Shares::balance(double goal, uint32_t most_routes) {
  keep_all();
  least_ = std::numeric_limits<double>::infinity();
  scale(goal, params::kSweepsBeforeDraw);
  draw(most_routes);
  least_ = std::numeric_limits<double>::infinity();
  scale(goal, params::kMostSweeps);
}

void Shares::keep_all() {
  first_.assign(1, 0);
  kept_.clear();
  for (uint32_t lane = 0; lane < table_.size(); ++lane) {
    for (uint32_t option = 0; option < table_.options_of(lane); ++option) {
      kept_.push_back(static_cast<uint16_t>(option));
    }
    first_.push_back(kept_.size());
  }
  shares_.assign(kept_.size(), 0);
}

// Where the goal cannot be met, prices fall for ever and loads swing: a goal that is not neared
// rises towards the best that was seen.
void Shares::scale(double goal, uint32_t sweeps) {
  double stage_least = std::numeric_limits<double>::infinity();
  uint32_t without_gain = 0;
  for (uint32_t sweep = 0; sweep < sweeps; ++sweep) {
    divide();
    note_best();
    if (least_ <= goal * (1 + params::kShareTolerance)) return;
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
  loads_.copy(links_, background_);
  for (uint32_t lane = 0; lane < table_.size(); ++lane) divide(lane);
}

void Shares::divide(uint32_t lane) {
  // Most fabrics have two tiers: with a fixed number of hops the compiler unrolls the loops.
  if (table_.hops(lane) == 2) {
    divide_over<2>(lane, 2);
  } else {
    divide_over<0>(lane, table_.hops(lane));
  }
}

// `Hops`: links of a route; 0: as many as `hops`.
template <uint32_t Hops>
void Shares::divide_over(uint32_t lane, uint32_t hops) {
  if constexpr (Hops > 0) hops = Hops;
  const LinkId* const links = table_.links(lane).data();
  const size_t first = first_[lane];
  const size_t end = first_[lane + 1];
  float sum = 0;
  float least = std::numeric_limits<float>::infinity();
  for (size_t i = first; i < end; ++i) {
    const LinkId* const own = links + size_t{kept_[i]} * hops;
    float product = 1;
    for (uint32_t hop = 0; hop < hops; ++hop) product *= prices_[own[hop]];
    shares_[i] = product;
    sum += product;
    least = std::min(least, product);
  }
  if (least < sum * params::kLeastShare) drop_least(lane, sum);
  const auto bytes = static_cast<float>(table_.lane(lane).bytes);
  for (size_t i = first; i < end; ++i) {
    shares_[i] /= sum;
    if (shares_[i] > 0) loads_.add({links + size_t{kept_[i]} * hops, hops}, bytes * shares_[i]);
  }
}

// Of a link that others load beyond the goal a lane takes nothing, rather than next to nothing.
void Shares::drop_least(uint32_t lane, float& sum) {
  const float least = sum * params::kLeastShare;
  for (size_t i = first_[lane]; i < first_[lane + 1]; ++i) {
    if (shares_[i] >= least) continue;
    sum -= shares_[i];
    shares_[i] = 0;
  }
}

// A price falls where the table's own load is above what the goal leaves to it, and rises to 1 at
// most where it is below.
void Shares::set_prices(double goal) {
  for (const LinkId link : links_) {
    const double others = background_.bytes(link);
    const double own = loads_.bytes(link) - others;
    const double room = goal * table_.space().rates[link] - others;
    if (std::isinf(room)) continue;
    // A link that all lanes have left has room again when the goal has risen.
    if (own <= 0 && (others <= 0 || room <= 0)) continue;
    const double ratio = own > 0 ? std::clamp(room / own, 0.01, 100.0) : 100.0;
    if (ratio >= 1 && prices_[link] == 1.0F) continue;
    const float factor = std::pow(static_cast<float>(ratio), relaxation_);
    prices_[link] = std::clamp(prices_[link] * factor, kLeastPrice, 1.0F);
  }
}

void Shares::note_best() {
  double longest = 0;
  for (const LinkId link : links_) {
    if (loads_.carries(link)) longest = std::max(longest, loads_.time(link));
  }
  if (longest >= least_) return;
  least_ = longest;
  best_.swap(shares_);  // the next sweep sets all of them anew
  shares_.resize(best_.size());
  best_loads_.copy(links_, loads_);
}

// A draw without replacement with the shares as weights (Efraimidis and Spirakis, 2006), so that
// links keep their loads on average: with the largest shares alone no lane would keep the links of
// high load.
void Shares::draw(uint32_t most_routes) {
  Random random(1);
  std::vector<std::pair<double, uint16_t>> keys;
  std::vector<uint16_t> kept;
  std::vector<size_t> first = {0};
  for (uint32_t lane = 0; lane < table_.size(); ++lane) {
    keys.clear();
    for (size_t i = first_[lane]; i < first_[lane + 1]; ++i) {
      const double uniform = static_cast<double>((random.next() >> 11) + 1) * 0x1p-53;
      keys.emplace_back(-std::log(uniform) / std::max<double>(best_[i], 1e-12), kept_[i]);
    }
    if (keys.size() > most_routes) {
      std::nth_element(keys.begin(), keys.begin() + most_routes, keys.end());
      keys.resize(most_routes);
    }
    for (const auto& [key, option] : keys) kept.push_back(option);
    first.push_back(kept.size());
  }
  kept_ = std::move(kept);
  first_ = std::move(first);
  shares_.assign(kept_.size(), 0);
}

std::vector<double> Shares::lengths() const {
  std::vector<double> lengths(prices_.size());
  for (const LinkId link : links_) lengths[link] = -std::log(static_cast<double>(prices_[link]));
  return lengths;
}

}  // namespace heddle::planner
