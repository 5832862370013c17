// The chart of `heddle bench --plot`: see bench_chart.h. Drawn as SVG, so that a page needs no
// script and no network.
#include "apps/cli/bench/bench_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "base/version.h"

namespace heddle::cli {
namespace {

constexpr double kWidth = 640, kHeight = 360;
constexpr double kLeft = 70, kRight = 20, kTop = 34, kBottom = 46;

constexpr const char* kStyle = R"(
body{font:15px/1.5 system-ui,sans-serif;max-width:86rem;margin:2rem auto;padding:0 1rem}
body{color:#1c2733}h1{font-size:1.4rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .4rem}
p{color:#5a6875;margin:.2rem 0}.charts{display:flex;flex-wrap:wrap;gap:1rem}
svg{width:40rem;max-width:100%;height:auto}
svg text{font:12px system-ui,sans-serif;fill:#5a6875}svg .name{font-size:14px;fill:#1c2733}
.grid{stroke:#e3e8ed}.axis{stroke:#9aa7b2}.out{stroke:#2463c8;fill:#2463c8}
.in{stroke:#d9731a;fill:#d9731a}path.out,path.in{fill:none;stroke-width:2}
svg text.out{fill:#2463c8}svg text.in{fill:#d9731a}table{border-collapse:collapse;margin-top:.6rem}
th,td{padding:.15rem .8rem;text-align:right;border-bottom:1px solid #e3e8ed}
th{color:#5a6875;font-weight:600}td:nth-child(2),th:nth-child(2){text-align:left}
@media(prefers-color-scheme:dark){body{background:#12181e;color:#dde5ec}.grid{stroke:#26313b}
svg .name{fill:#dde5ec}p,th{color:#93a3b1}td,th{border-color:#26313b}})";

std::string size_text(double bytes) {
  constexpr std::array<const char*, 4> kUnits = {"B", "KiB", "MiB", "GiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g} {}", bytes, kUnits[unit]);
}

// A logarithmic axis over what is shown, or one from zero.
struct Axis {
  double least = 0, most = 1;
  bool logarithmic = false;

  double share(double value) const {
    if (!logarithmic) return (value - least) / (most - least);
    return (std::log(value) - std::log(least)) / (std::log(most) - std::log(least));
  }
};

using Value = std::function<double(const BenchTiming&)>;
using Series = std::optional<BenchTiming> BenchRow::*;

struct Chart {
  std::string name;
  std::string unit;
  Value value;
  bool logarithmic = false;
};

Axis axis_of_sizes(const std::vector<BenchRow>& rows) {
  Axis axis{.least = 1e300, .most = 1, .logarithmic = true};
  for (const BenchRow& row : rows) {
    const auto bytes = static_cast<double>(std::max<uint64_t>(row.bytes, 1));
    axis.least = std::min(axis.least, bytes);
    axis.most = std::max(axis.most, bytes);
  }
  if (axis.least == axis.most) axis.least = axis.most / 2;
  return axis;
}

Axis axis_of_values(const std::vector<BenchRow>& rows, const Chart& chart) {
  Axis axis{.least = chart.logarithmic ? 1e300 : 0, .most = 0, .logarithmic = chart.logarithmic};
  for (const BenchRow& row : rows) {
    for (const Series series : {&BenchRow::out_of_place, &BenchRow::in_place}) {
      if (!(row.*series)) continue;
      const double value = std::max(chart.value(*(row.*series)), 1e-9);
      axis.most = std::max(axis.most, value);
      if (chart.logarithmic) axis.least = std::min(axis.least, value);
    }
  }
  if (!chart.logarithmic) {
    axis.most = std::max(axis.most * 1.05, 1e-9);
  } else {
    axis.least = std::pow(10, std::floor(std::log10(axis.least)));
    axis.most = std::pow(10, std::ceil(std::log10(axis.most) + 1e-9));
    if (axis.most <= axis.least) axis.most = 10 * axis.least;
  }
  return axis;
}

double x_of(const Axis& sizes, uint64_t bytes) {
  const double share = sizes.share(static_cast<double>(std::max<uint64_t>(bytes, 1)));
  return kLeft + share * (kWidth - kLeft - kRight);
}
double y_of(const Axis& values, double value) {
  return kHeight - kBottom - values.share(std::max(value, 1e-9)) * (kHeight - kTop - kBottom);
}

std::string value_marks(const Axis& values) {
  std::string svg;
  const auto mark = [&](double value) {
    const double y = y_of(values, value);
    svg += fmt::format("<line class=grid x1={:.1f} x2={:.1f} y1={:.1f} y2={:.1f} />", kLeft,
                       kWidth - kRight, y, y);
    svg += fmt::format("<text x={:.1f} y={:.1f} text-anchor=end>{:.6g}</text>", kLeft - 8, y + 4,
                       value);
  };
  if (values.logarithmic) {
    for (double value = values.least; value <= values.most * 1.001; value *= 10) mark(value);
    return svg;
  }
  double step = std::pow(10, std::floor(std::log10(values.most / 4)));
  for (const double more : {2.0, 2.5, 2.0}) {
    if (values.most / step > 6) step *= more;
  }
  for (double value = 0; value <= values.most; value += step) mark(value);
  return svg;
}

std::string size_marks(const std::vector<BenchRow>& rows, const Axis& sizes) {
  std::string svg;
  double last = -1e9;
  for (const BenchRow& row : rows) {
    const double x = x_of(sizes, row.bytes);
    if (x - last < 58) continue;  // their texts would touch
    last = x;
    svg += fmt::format("<text x={:.1f} y={:.1f} text-anchor=middle>{}</text>", x,
                       kHeight - kBottom + 20, size_text(static_cast<double>(row.bytes)));
  }
  return svg;
}

std::string line_of(const std::vector<BenchRow>& rows, const Chart& chart, Series series,
                    const std::pair<Axis, Axis>& axes) {
  const char* const kind = series == &BenchRow::in_place ? "in" : "out";
  std::string path;
  std::string dots;
  for (const BenchRow& row : rows) {
    if (!(row.*series)) continue;
    const double value = chart.value(*(row.*series));
    const double x = x_of(axes.first, row.bytes);
    const double y = y_of(axes.second, value);
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x, y);
    dots += fmt::format(
        "<circle class={} cx={:.1f} cy={:.1f} r=4><title>{}, {}: {:.4g} {} ({})</title></circle>",
        kind, x, y, size_text(static_cast<double>(row.bytes)),
        series == &BenchRow::in_place ? "in place" : "out of place", value, chart.unit,
        row.algorithm);
  }
  return fmt::format("<path class={} d=\"{}\" />{}", kind, path, dots);
}

std::string drawn(const std::vector<BenchRow>& rows, const Chart& chart) {
  const std::pair<Axis, Axis> axes = {axis_of_sizes(rows), axis_of_values(rows, chart)};
  std::string svg =
      fmt::format("<svg viewBox=\"0 0 {} {}\" role=img aria-label=\"{}\">", kWidth, kHeight,
                  chart.name) +
      fmt::format("<text class=name x={} y=18>{}, {}</text>", kLeft, chart.name, chart.unit);
  svg += value_marks(axes.second) + size_marks(rows, axes.first);
  svg += fmt::format("<line class=axis x1={0} x2={1} y1={2} y2={2} />", kLeft, kWidth - kRight,
                     kHeight - kBottom);
  for (const Series series : {&BenchRow::out_of_place, &BenchRow::in_place}) {
    svg += line_of(rows, chart, series, axes);
  }
  svg += fmt::format(
      "<text class=out x={0} y=18 text-anchor=end style=\"stroke:none\">out of place</text>"
      "<text class=in x={1} y=18 text-anchor=end style=\"stroke:none\">in place</text>",
      kWidth - kRight - 70, kWidth - kRight);
  return svg + "</svg>\n";
}

std::string table_of(const std::vector<BenchRow>& rows) {
  std::string html =
      "<table><tr><th>size<th>algorithm<th>out of place, µs<th>bus, GB/s<th>in place, µs<th>bus, "
      "GB/s<th>wrong</tr>\n";
  const auto cells = [](const std::optional<BenchTiming>& timing) {
    if (!timing) return std::string("<td>-<td>-");
    return fmt::format("<td>{:.2f}<td>{:.3f}", timing->time_us, timing->busbw_gbytes_per_s);
  };
  for (const BenchRow& row : rows) {
    html += fmt::format("<tr><td>{}<td>{}{}{}<td>{}</tr>\n",
                        size_text(static_cast<double>(row.bytes)), row.algorithm,
                        cells(row.out_of_place), cells(row.in_place), totals_of({&row, 1}).wrong());
  }
  return html + "</table>\n";
}

}  // namespace

std::string bench_chart(const std::vector<BenchRow>& rows, uint32_t ranks) {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport "
      "content=\"width=device-width\"><title>heddle bench, {0} ranks</title><style>{1}</style>\n"
      "<h1>heddle bench, {0} rank{2}</h1>\n<p>heddle {3}. GB is 10⁹ bytes; bus bandwidth as "
      "nccl-tests counts it, comparable with a link's. Point at a dot for its values.</p>\n",
      ranks, kStyle, ranks == 1 ? "" : "s", kVersion);
  for (size_t first = 0; first < rows.size();) {
    size_t end = first;
    while (end < rows.size() && rows[end].test == rows[first].test) ++end;
    const std::vector<BenchRow> part(rows.begin() + static_cast<int64_t>(first),
                                     rows.begin() + static_cast<int64_t>(end));
    html += fmt::format("<h2>{} of {}{}</h2>\n<div class=charts>\n", part[0].test, part[0].type,
                        part[0].op == "none" ? "" : ", " + part[0].op);
    html += drawn(part, {"bus bandwidth", "GB/s",
                         [](const BenchTiming& timing) { return timing.busbw_gbytes_per_s; }});
    html += drawn(part, {"time of a call", "µs",
                         [](const BenchTiming& timing) { return timing.time_us; }, true});
    html += "</div>\n" + table_of(part);
    first = end;
  }
  return html + "</html>\n";
}

}  // namespace heddle::cli
