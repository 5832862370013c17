// See link_forecast.h.
#include "planner/link_forecast.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include "planner/params.h"
#include "planner/paths/params.h"

namespace heddle::planner {
namespace {

// How the past counts: by the weight of the newest interval, or of the newest period.
struct Method {
  double weight = 0;
  size_t period = 0;  // intervals; 0: not periodic
};

constexpr std::array kWeights = {0.1, 0.3, 0.6, 0.9};

double mean(std::span<const double> values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// What a method makes of the intervals so far, one after another.
class Forecaster {
 public:
  // `first`: the first few intervals, for a level to begin with.
  Forecaster(const Method& method, std::span<const double> first)
      : method_(method), level_(mean(first)), phases_(method.period, -1) {}

  void add(double bytes) {
    double& level = method_.period == 0 ? level_ : phases_[count_ % method_.period];
    level = level < 0 ? bytes : level + method_.weight * (bytes - level);
    ++count_;
  }
  // The mean of the next `ahead` intervals: the level, or each as the same phase before it.
  double next(size_t ahead) const {
    if (method_.period == 0) return level_;
    double sum = 0;
    for (size_t step = 0; step < ahead; ++step) {
      sum += std::max(phases_[(count_ + step) % method_.period], 0.0);
    }
    return sum / static_cast<double>(ahead);
  }

 private:
  Method method_;
  double level_;
  std::vector<double> phases_;
  size_t count_ = 0;
};

Forecaster forecaster(const Method& method, std::span<const double> bytes) {
  return {method, bytes.first(std::min(bytes.size(), params::kFirstIntervals))};
}

double forecast(std::span<const double> past, const Method& method, size_t ahead) {
  Forecaster made = forecaster(method, past);
  for (const double each : past) made.add(each);
  return made.next(ahead);
}

// At each interval of the later half that has `ahead` others behind it. Time grows with the number
// of intervals.
double backtest(const LinkHistories& histories, const Method& method, size_t ahead) {
  double off = 0;
  double all = 0;
  for (const LinkHistory& each : histories.links) {
    const std::span<const double> bytes(each.bytes);
    Forecaster made = forecaster(method, bytes);
    for (size_t at = 0; at + ahead <= bytes.size(); ++at) {
      if (at >= bytes.size() / 2) {
        const double truth = mean(bytes.subspan(at, ahead));
        off += std::abs(made.next(ahead) - truth);
        all += truth;
      }
      made.add(bytes[at]);
    }
  }
  return all > 0 ? off / all : 1;
}

std::vector<double> sum_of(const LinkHistories& histories, size_t intervals) {
  std::vector<double> sum(intervals);
  for (const LinkHistory& each : histories.links) {
    for (size_t i = 0; i < intervals; ++i) sum[i] += each.bytes[i];
  }
  return sum;
}

}  // namespace

std::string_view name_of(ForecastMethod method) {
  constexpr std::array<std::string_view, 3> kNames = {"none", "smoothed", "periodic"};
  return kNames[static_cast<size_t>(method)];
}

bool spraying_suits(const LoadForecast& forecast, double share) {
  return share * forecast.error > params::kMostUnknown;
}

size_t period_of(const std::vector<double>& series) {
  const size_t count = series.size();
  const double middle = mean(series);
  double square = 0;
  for (const double each : series) square += (each - middle) * (each - middle);
  if (square <= 0) return 0;
  std::vector<double> alike(count / 3 + 2);
  for (size_t lag = 1; lag < alike.size(); ++lag) {
    double product = 0;
    for (size_t i = lag; i < count; ++i) {
      product += (series[i] - middle) * (series[i - lag] - middle);
    }
    // A sum of fewer products counts as one of all.
    alike[lag] = product / square * static_cast<double>(count) / static_cast<double>(count - lag);
  }
  size_t best = 0;
  for (size_t lag = 2; lag + 1 < alike.size(); ++lag) {
    const bool peak = alike[lag] > alike[lag - 1] && alike[lag] >= alike[lag + 1];
    // Multiples of a period resemble it as well: the first one that is as good is it.
    if (!peak || alike[lag] < params::kPeriodic) continue;
    if (best == 0 || alike[lag] > alike[best] + params::kPeriodicGain) best = lag;
  }
  return best;
}

LoadForecast forecast_loads(const LinkHistories& histories, uint32_t links) {
  LoadForecast result;
  result.bytes_per_s.resize(links);
  result.links = histories.links.size();
  if (histories.links.empty() || histories.interval.count <= 0) return result;
  result.intervals = histories.links.front().bytes.size();
  if (result.intervals < params::kLeastIntervals) return result;
  const size_t ahead = std::min(params::kForecastAhead, result.intervals / 4);
  Method best;
  const auto consider = [&](const Method& method) {
    const double error = backtest(histories, method, ahead);
    if (best.weight > 0 && error >= result.error) return;
    best = method;
    result.error = error;
  };
  for (const double weight : kWeights) consider({weight, 0});
  result.period = period_of(sum_of(histories, result.intervals));
  if (result.period > 0) {
    for (const double weight : kWeights) consider({weight, result.period});
  }
  result.method = best.period == 0 ? ForecastMethod::kSmoothed : ForecastMethod::kPeriodic;
  result.used = std::clamp(1 - result.error, 0.0, 1.0);
  for (const LinkHistory& each : histories.links) {
    if (each.link >= links) continue;
    result.bytes_per_s[each.link] =
        std::max(forecast(each.bytes, best, ahead), 0.0) / to_seconds(histories.interval);
  }
  return result;
}

std::vector<double> LoadForecast::background(Nanos of_plan) const {
  std::vector<double> bytes = bytes_per_s;
  for (double& each : bytes) each *= used * to_seconds(of_plan);
  return bytes;
}

}  // namespace heddle::planner
