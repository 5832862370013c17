// See cluster_tables.h.
#include "planner/sizing/cluster_tables.h"

#include <array>
#include <set>
#include <utility>

namespace heddle::planner {
namespace {

constexpr std::array kRates = {50e9, 100e9, 200e9, 400e9, 800e9, 1'600e9};

// The step with `replicas` of the model and as many sequences for each.
Result<JobShape> with_replicas(const JobShape& job, uint64_t replicas, const ModelShape& model) {
  JobShape other = job;
  other.data = replicas;
  other.gpus = 0;
  other.batch = job.batch / job.data * replicas;
  return resolve(other, model);
}

}  // namespace

Machine machine_of(const ClusterQuestion& question) {
  return {.gpu = question.gpu,
          .nic_bits_per_s = question.fabric.nic_bits_per_s,
          .oversubscription = question.fabric.oversubscription,
          .kernel_share = question.kernel_share,
          .overlap = question.overlap,
          .base_rtt_s = question.base_rtt_s,
          .bucket_bytes = question.bucket_bytes,
          .site_link = question.site_link};
}

void add_scaling(const ModelShape& model, const JobShape& job, const ClusterQuestion& question,
                 Answer& answer) {
  Table table{.name = "scaling",
              .title =
                  "By number of replicas, with as many sequences for each; efficiency: tokens/s "
                  "over those of the same GPUs at 1:1 if the exchange took no time",
              .columns = {{"gpus", "GPUs", ""},
                          {"replicas", "replicas", ""},
                          {"tokens_per_s", "tokens/s at 1:1", ""},
                          {"exposed_s", "exposed at 1:1", "s"},
                          {"efficiency", "efficiency at 1:1", ""},
                          {"exposed_2to1_s", "exposed at 2:1", "s"},
                          {"efficiency_2to1", "efficiency at 2:1", ""}},
              .rows = {}};
  Chart chart{.title = "Tokens a second over GPUs",
              .x = {"GPUs", "", true},
              .y = {"tokens a second", "", true},
              .curves = {{"1:1", {}}, {"2:1", {}}, {"no exchange", {}}}};
  Machine even = machine_of(question);
  even.oversubscription = 1;
  Machine half = even;
  half.oversubscription = 2;
  std::set<uint64_t> numbers{job.data};
  for (uint64_t replicas = 1; replicas < job.data; replicas *= 2) numbers.insert(replicas);
  for (const uint64_t replicas : numbers) {
    const Result<JobShape> other = with_replicas(job, replicas, model);
    if (!other) continue;  // expert parallel groups larger than these replicas
    const StepTime at_even(model, *other, even);
    const StepTime at_half(model, *other, half);
    const auto gpus = static_cast<double>(other->gpus);
    table.rows.push_back({gpus, static_cast<double>(replicas), at_even.tokens_per_s(),
                          at_even.exposed_s(), at_even.alone_s() / at_even.step_s(),
                          at_half.exposed_s(), at_even.alone_s() / at_half.step_s()});
    chart.curves[0].points.emplace_back(gpus, at_even.tokens_per_s());
    chart.curves[1].points.emplace_back(gpus, at_half.tokens_per_s());
    chart.curves[2].points.emplace_back(
        gpus, at_even.tokens_per_s() * at_even.step_s() / at_even.alone_s());
  }
  answer.tables.push_back(std::move(table));
  answer.charts.push_back(std::move(chart));
}

void add_rates_of_nics(const ModelShape& model, const JobShape& job,
                       const ClusterQuestion& question, Answer& answer) {
  Table table{.name = "rates",
              .title = "By rate of a GPU's NICs, in one direction",
              .columns = {{"wire_bits_per_s", "NICs of a GPU", "b/s"},
                          {"payload_bits_per_s", "payload", "b/s"},
                          {"exposed_s", "exposed at 1:1", "s"},
                          {"step_s", "step at 1:1", "s"},
                          {"exposed_2to1_s", "exposed at 2:1", "s"},
                          {"step_2to1_s", "step at 2:1", "s"}},
              .rows = {}};
  for (const double rate : kRates) {
    Machine even = machine_of(question);
    even.nic_bits_per_s = rate;
    even.oversubscription = 1;
    Machine half = even;
    half.oversubscription = 2;
    const StepTime at_even(model, job, even);
    const StepTime at_half(model, job, half);
    table.rows.push_back({rate, rate * kNicShare, at_even.exposed_s(), at_even.step_s(),
                          at_half.exposed_s(), at_half.step_s()});
  }
  answer.tables.push_back(std::move(table));
}

}  // namespace heddle::planner
