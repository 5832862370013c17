// See size_validate.h.
#include "planner/size_validate.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "planner/sizing/published.h"
#include "planner/sizing/step_time.h"

namespace heddle::planner {
namespace {

double flops_per_s_of(const PublishedStep& row) {
  const Result<JobShape> job = resolve(row.job, row.model);
  const Result<Gpu> gpu = find_gpu(row.gpu);
  CHECK(job.has_value() && gpu.has_value());
  const Machine machine{.gpu = *gpu, .nic_bits_per_s = row.nic_bits_per_s};
  const StepTime step(row.model, *job, machine);
  return (row.counts_recomputation ? step.compute_flops() : step.flops()) / step.step_s();
}

// A ring over all GPUs: the slower of NVLink and the NICs of a node.
double bus_bytes_per_s_of(const PublishedAllReduce& row) {
  const double nvlink = row.nvlink_bytes_per_s * kNvlinkShare;
  if (row.nodes < 2) return nvlink;
  const double nics = row.nic_bytes_per_s * kNicShare * row.share_of_links;
  // The rings of all of a node's NICs share its GPUs, each with NVLink of its own.
  return std::min(nics, 8 * nvlink);
}

class Rows {
 public:
  void add(const std::string& name, double published, double formula, const std::string& source,
           bool recalled) {
    const double error = formula / published - 1;
    errors_.push_back(std::abs(error));
    rows_.push_back({fmt::format("{} {}", recalled ? "*" : " ", name), published, formula,
                     std::round(1'000 * error) / 10, source});
  }

  void take_errors(std::vector<double>& errors) const {
    errors.insert(errors.end(), errors_.begin(), errors_.end());
  }
  Table table(std::string name, std::string title, Column unit) && {
    Column formula = unit;
    unit.title = "published";
    formula.name = "formula_" + unit.name;
    formula.title = "formula";
    unit.name = "published_" + unit.name;
    return {.name = std::move(name),
            .title = std::move(title),
            .columns = {{"name", "", ""},
                        unit,
                        formula,
                        {"error_percent", "error", "%"},
                        {"source", "source", ""}},
            .rows = std::move(rows_)};
  }

 private:
  std::vector<double> errors_;
  std::vector<std::vector<Cell>> rows_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Figure constant(const char* name, const char* meaning, double value, const char* source) {
  return {.name = name,
          .meaning = meaning,
          .formula = "x",
          .terms = {{"x", "constant", value, ""}},
          .value = value,
          .unit = "",
          .source = source};
}

Figure median_figure(const char* name, const char* meaning, const std::vector<double>& errors) {
  Figure figure = constant(name, meaning, 100 * median(errors), "the tables");
  figure.formula = "e * 100";
  figure.terms = {{"e", "median of the errors' absolute values", median(errors), ""}};
  figure.unit = "%";
  return figure;
}

}  // namespace

Answer size_validate() {
  Rows steps;
  for (const PublishedStep& row : published_steps()) {
    steps.add(row.name, row.flops_per_s / 1e12, flops_per_s_of(row) / 1e12, row.source,
              row.recalled);
  }
  Rows all_reduces;
  for (const PublishedAllReduce& row : published_all_reduces()) {
    all_reduces.add(row.name, row.bus_bytes_per_s / 1e9, bus_bytes_per_s_of(row) / 1e9, row.source,
                    row.recalled);
  }
  std::vector<double> of_steps;
  steps.take_errors(of_steps);
  std::vector<double> of_all_reduces;
  all_reduces.take_errors(of_all_reduces);
  std::vector<double> all = of_steps;
  all_reduces.take_errors(all);
  Answer answer;
  answer.title = fmt::format("{} published measurements beside the formulas", all.size());
  answer.figures = {
      constant("kernel_share", "what kernels reach of a GPU's best matrix product", kKernelShare,
               "one layer of 22B parameters on 8 A100, 19.6 ms (Korthikanti et al., arXiv "
               "2205.05198, table 4), less its all-reduces by formula"),
      constant("nvlink_share", "what copies reach of NVLink's rate", kNvlinkShare,
               "p2pBandwidthLatencyTest: 376 of 450 GB/s on H100, 746 of 900 on GB200 "
               "(stas00/ml-engineering, network)"),
      constant("nic_share", "payload of full RoCEv2 packets", kNicShare,
               "4,096 of 4,096 + 82 bytes"),
      median_figure("steps_error_percent", "median error, training steps", of_steps),
      median_figure("all_reduces_error_percent", "median error, all-reduces", of_all_reduces),
      median_figure("error_percent", "median error, all rows", all)};
  answer.tables.push_back(std::move(steps).table("steps", "Training steps, TFLOP/s of a GPU",
                                                 {"tflops", "", "TFLOP/s"}));
  answer.tables.push_back(std::move(all_reduces)
                              .table("all_reduces", "Large all-reduces, bus bandwidth",
                                     {"bus_gbytes_per_s", "", "GB/s"}));
  answer.assumptions = {
      "the same three constants in every row; nothing is fitted to a row",
      "attention counts every token pair (Narayanan et al.); some publications count half",
      "all-reduces are rings; reductions in the switch are not modeled",
      "* the published figure is recalled: compare it with the source before you rely on it"};
  return answer;
}

}  // namespace heddle::planner
