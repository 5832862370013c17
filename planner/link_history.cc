// See link_history.h.
#include "planner/link_history.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>

#include "planner/paths/params.h"

namespace heddle::planner {
namespace {

// A counter as one that never goes back.
struct Point {
  Nanos at;
  double bytes = 0;
};
struct Counter {
  LinkId link = 0;
  std::vector<Point> points;
};

std::vector<Counter> counters_of(std::vector<CounterReading> readings) {
  std::sort(readings.begin(), readings.end(), [](const CounterReading& a, const CounterReading& b) {
    return std::tie(a.link, a.at) < std::tie(b.link, b.at);
  });
  std::vector<Counter> counters;
  uint64_t last = 0;
  for (const CounterReading& each : readings) {
    if (counters.empty() || counters.back().link != each.link) {
      counters.push_back({each.link, {{each.at, 0}}});
    } else {
      std::vector<Point>& points = counters.back().points;
      if (each.at == points.back().at) continue;
      const uint64_t more = each.bytes >= last ? each.bytes - last : each.bytes;
      points.push_back({each.at, points.back().bytes + static_cast<double>(more)});
    }
    last = each.bytes;
  }
  std::erase_if(counters, [](const Counter& each) { return each.points.size() < 2; });
  return counters;
}

// None: zero.
Nanos median(std::vector<Nanos> times) {
  if (times.empty()) return {};
  const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

Nanos median_interval(const std::vector<Counter>& counters) {
  std::vector<Nanos> between;
  for (const Counter& each : counters) {
    for (size_t i = 1; i < each.points.size(); ++i) {
      between.push_back(each.points[i].at - each.points[i - 1].at);
    }
  }
  return median(std::move(between));
}

double value_at(std::span<const Point> points, Nanos at) {
  const auto after =
      std::lower_bound(points.begin(), points.end(), at,
                       [](const Point& point, Nanos time) { return point.at < time; });
  if (after == points.end()) return points.back().bytes;
  if (after == points.begin()) return after->bytes;
  const Point& before = *(after - 1);
  const double part = to_seconds(at - before.at) / to_seconds(after->at - before.at);
  return before.bytes + part * (after->bytes - before.bytes);
}

// Links whose readings begin late or end early would shorten those of all.
void leave_out_short(std::vector<Counter>& counters, Nanos interval) {
  std::vector<Nanos> firsts;
  std::vector<Nanos> lasts;
  for (const Counter& each : counters) {
    firsts.push_back(each.points.front().at);
    lasts.push_back(each.points.back().at);
  }
  const Nanos first = median(std::move(firsts)) + interval;
  const Nanos last = median(std::move(lasts)) - interval;
  std::erase_if(counters, [&](const Counter& each) {
    return each.points.front().at > first || each.points.back().at < last;
  });
}

}  // namespace

LinkHistories histories_of(std::vector<CounterReading> readings) {
  std::vector<Counter> counters = counters_of(std::move(readings));
  LinkHistories histories{.begin = {}, .interval = median_interval(counters), .links = {}};
  if (histories.interval.count <= 0) return histories;
  leave_out_short(counters, histories.interval);
  if (counters.empty()) return histories;
  Nanos begin = counters.front().points.front().at;
  Nanos end = counters.front().points.back().at;
  for (const Counter& each : counters) {
    begin = std::max(begin, each.points.front().at);
    end = std::min(end, each.points.back().at);
  }
  const int64_t whole = std::max<int64_t>((end - begin) / histories.interval, 0);
  const auto count = std::min(static_cast<size_t>(whole), params::kMostIntervals);
  histories.begin = end - static_cast<int64_t>(count) * histories.interval;
  for (const Counter& each : counters) {
    LinkHistory history{each.link, {}};
    double before = value_at(each.points, histories.begin);
    for (size_t i = 1; i <= count; ++i) {
      const double now =
          value_at(each.points, histories.begin + static_cast<int64_t>(i) * histories.interval);
      history.bytes.push_back(now - before);
      before = now;
    }
    histories.links.push_back(std::move(history));
  }
  return histories;
}

void subtract(LinkHistories& histories, const std::vector<double>& bytes_per_s, Nanos since) {
  const double seconds_each = to_seconds(histories.interval);
  for (LinkHistory& each : histories.links) {
    if (each.link >= bytes_per_s.size()) continue;
    for (size_t i = 0; i < each.bytes.size(); ++i) {
      const Nanos begin = histories.begin + static_cast<int64_t>(i) * histories.interval;
      const Nanos end = begin + histories.interval;
      if (end <= since) continue;
      const double part = since > begin ? to_seconds(end - since) / seconds_each : 1;
      each.bytes[i] = std::max(each.bytes[i] - bytes_per_s[each.link] * seconds_each * part, 0.0);
    }
  }
}

}  // namespace heddle::planner
