// See size_cluster.h.
#include "planner/size_cluster.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/quantity.h"
#include "planner/sizing/cluster_needs.h"
#include "planner/sizing/link_goodput.h"
#include "planner/sizing/movements.h"
#include "planner/sizing/step_time.h"
#include "planner/what_if.h"

namespace heddle::planner {
namespace {

constexpr std::array kRates = {50e9, 100e9, 200e9, 400e9, 800e9, 1'600e9};
constexpr const char* kStepSource =
    "1F1B, interleaved with more than one chunk (Narayanan et al., SC 2021, section 2.2); "
    "gradients "
    "beside the backward pass of the last microbatch, ZeRO 1 and 2 a whole one, ZeRO 3 all";
constexpr const char* kDefinition = "definition";

Machine machine_of(const ClusterQuestion& question) {
  return {.gpu = question.gpu,
          .nic_bits_per_s = question.fabric.nic_bits_per_s,
          .oversubscription = question.fabric.oversubscription,
          .kernel_share = question.kernel_share,
          .overlap = question.overlap,
          .base_rtt_s = question.base_rtt_s,
          .site_link = question.site_link};
}

// What nccl-tests counts for a call: its bus bandwidth is this over the time.
double bus_bytes(const Movement& movement) {
  const auto ranks = static_cast<double>(movement.place.ranks);
  const double factor = (movement.kind == MovementKind::kAllReduce ? 2 : 1) * (ranks - 1) / ranks;
  return movement.calls * factor * movement.buffer_bytes;
}

// A sum of `value_of` the movements, as a figure.
template <typename ValueOf>
Figure sum_of(Figure figure, const std::vector<Movement>& all, const ValueOf& value_of) {
  for (const Movement& each : all) {
    figure.formula += (figure.formula.empty() ? "" : " + ") + each.name;
    figure.terms.push_back({each.name, each.meaning, value_of(each), figure.unit});
    figure.value += value_of(each);
  }
  if (figure.formula.empty()) figure.formula = "0";
  return figure;
}

void add_computation(const ModelShape& model, const JobShape& job, const ClusterQuestion& question,
                     const StepTime& step, Answer& answer) {
  const double of_token = training_flops_of_token(model, job.sequence);
  const Term operations{"F", "operations of a GPU in a step", step.flops(), ""};
  const double share = question.kernel_share > 0 ? question.kernel_share : kKernelShare;
  answer.figures = {
      {"operations",
       "floating-point operations of a GPU in a step, without recomputation",
       "f * s * b / N",
       {{"f", "operations for a token", of_token, ""},
        {"s", "tokens of a sequence", static_cast<double>(job.sequence), ""},
        {"b", "sequences of a step", static_cast<double>(job.batch), ""},
        {"N", "GPUs", static_cast<double>(job.gpus), ""}},
       step.flops(),
       "",
       "Narayanan et al. (SC 2021), section 5.1"},
      {"compute_s",
       "computation of a step",
       "F * r / (A * x)",
       {operations,
        {"r", "with recomputation of activations", step.compute_flops() / step.flops(), ""},
        {"A", "operations a second of the best matrix product", step.flops_per_s_possible() / share,
         ""},
        {"x", "share of it that kernels reach", share, ""}},
       step.compute_s(),
       "s",
       question.gpu.source}};
}

void add_communication(const ModelShape& model, const JobShape& job, const StepTime& step,
                       Answer& answer) {
  const std::vector<Movement> layers = awaited_movements(model, job);
  std::vector<Movement> data;
  add_data_movements(model, job, data);
  const auto seconds = [&step](const Movement& each) { return step.seconds(each); };
  const char* const slower = "the slower of NVLink and NIC, each at what it reaches";
  answer.figures.push_back(sum_of(
      {"layers_s", "communication inside layers, which the GPU waits for", "", {}, 0, "s", slower},
      layers, seconds));
  answer.figures.push_back(
      sum_of({"data_s", "exchange of gradients and parameters, alone", "", {}, 0, "s", slower},
             data, seconds));
  answer.figures.push_back(sum_of({"data_nic_bytes",
                                   "gradients and parameters that a GPU sends through its NIC",
                                   "",
                                   {},
                                   0,
                                   "B",
                                   "heddle size traffic"},
                                  data, [](const Movement& each) { return nic_bytes(each); }));
  answer.figures.push_back(sum_of({"data_bus_bytes",
                                   "the same as nccl-tests counts it for its bus bandwidth",
                                   "",
                                   {},
                                   0,
                                   "B",
                                   "nccl-tests, doc/PERFORMANCE.md"},
                                  data, bus_bytes));
}

void add_step(const JobShape& job, const StepTime& step, Answer& answer) {
  const Term compute{"c", "computation", step.compute_s(), "s"};
  const Term layers{"l", "communication inside layers", step.layers_s(), "s"};
  const Term window{"w", "computation beside the exchange", step.window_s(), "s"};
  answer.figures.push_back({"window_s",
                            "computation beside which gradients and parameters are exchanged",
                            "x * (c + l)",
                            {{"x", "share of a step", step.window_share(), ""}, compute, layers},
                            step.window_s(),
                            "s",
                            kStepSource});
  answer.figures.push_back({"exposed_s",
                            "exchange that does not fit beside it",
                            "max(0, d - w)",
                            {{"d", "exchange, alone", step.data_s(), "s"}, window},
                            step.exposed_s(),
                            "s",
                            kStepSource});
  answer.figures.push_back({"step_s",
                            "step",
                            "(c + l) * (1 + (p - 1) / (v * m)) + e",
                            {compute,
                             layers,
                             {"p", "pipeline stages", static_cast<double>(job.pipeline), ""},
                             {"v", "chunks of a stage", static_cast<double>(job.chunks), ""},
                             {"m", "microbatches", static_cast<double>(job.microbatches), ""},
                             {"e", "exposed", step.exposed_s(), "s"}},
                            step.step_s(),
                            "s",
                            kStepSource});
}

void add_rates(const JobShape& job, const ClusterQuestion& question, const StepTime& step,
               Answer& answer) {
  const Term whole{"S", "step", step.step_s(), "s"};
  const Term window{"w", "computation beside the exchange", step.window_s(), "s"};
  const double wire =
      8 * step.data_nic_bytes() / step.window_s() / kNicShare * question.fabric.oversubscription;
  answer.figures.push_back({"tokens_per_s",
                            "tokens a second of the job",
                            "b * s / S",
                            {{"b", "sequences of a step", static_cast<double>(job.batch), ""},
                             {"s", "tokens of a sequence", static_cast<double>(job.sequence), ""},
                             whole},
                            step.tokens_per_s(),
                            "",
                            kDefinition});
  answer.figures.push_back({"mfu",
                            "operations a second over the GPU's peak",
                            "F / (S * P)",
                            {{"F", "operations of a GPU in a step", step.flops(), ""},
                             whole,
                             {"P", "peak operations a second", question.gpu.peak_flops, ""}},
                            step.flops_per_s() / question.gpu.peak_flops,
                            "",
                            "PaLM (arXiv 2204.02311), appendix B"});
  const double bus = answer.figure("data_bus_bytes").value;
  answer.figures.push_back({"needed_bus_bytes_per_s",
                            "bus bandwidth, as nccl-tests prints it, at which the exchange fits",
                            "D / w",
                            {{"D", "bytes as nccl-tests counts them", bus, "B"}, window},
                            bus / step.window_s(),
                            "B/s",
                            "compare it with nccl-tests' busbw, never with a NIC's rate"});
  answer.figures.push_back(
      {"needed_wire_bits_per_s",
       "rate of a GPU's NICs, with headers, at which the exchange fits: above it the network is "
       "not the bottleneck",
       "8 * B / w / y * o",
       {{"B", "sent through the NIC", step.data_nic_bytes(), "B"},
        window,
        {"y", "payload of full packets", kNicShare, ""},
        {"o", "oversubscription", question.fabric.oversubscription, ""}},
       wire,
       "b/s",
       "compare it with a NIC's rate, never with a bus bandwidth"});
}

// The step with `replicas` of the model and as many sequences for each.
Result<JobShape> with_replicas(const JobShape& job, uint64_t replicas, const ModelShape& model) {
  JobShape other = job;
  other.data = replicas;
  other.gpus = 0;
  other.batch = job.batch / job.data * replicas;
  return resolve(other, model);
}

void add_scaling(const ModelShape& model, const JobShape& job, const ClusterQuestion& question,
                 Answer& answer) {
  Table table{.name = "scaling",
              .title = "By number of replicas, with as many sequences for each",
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
              .curves = {{"1:1", {}}, {"2:1", {}}, {"linear", {}}}};
  Machine even = machine_of(question);
  even.oversubscription = 1;
  Machine half = even;
  half.oversubscription = 2;
  std::set<uint64_t> numbers{job.data};
  for (uint64_t replicas = 1; replicas < job.data; replicas *= 2) numbers.insert(replicas);
  double of_gpu = 0;  // of the fewest replicas
  for (const uint64_t replicas : numbers) {
    const Result<JobShape> other = with_replicas(job, replicas, model);
    if (!other) continue;  // expert parallel groups larger than these replicas
    const StepTime at_even(model, *other, even);
    const StepTime at_half(model, *other, half);
    const auto gpus = static_cast<double>(other->gpus);
    if (of_gpu == 0) of_gpu = at_even.tokens_per_s() / gpus;
    table.rows.push_back({gpus, static_cast<double>(replicas), at_even.tokens_per_s(),
                          at_even.exposed_s(), at_even.tokens_per_s() / gpus / of_gpu,
                          at_half.exposed_s(), at_half.tokens_per_s() / gpus / of_gpu});
    chart.curves[0].points.emplace_back(gpus, at_even.tokens_per_s());
    chart.curves[1].points.emplace_back(gpus, at_half.tokens_per_s());
    chart.curves[2].points.emplace_back(gpus, of_gpu * gpus);
  }
  answer.tables.push_back(std::move(table));
  answer.charts.push_back(std::move(chart));
}

void add_nics(const ModelShape& model, const JobShape& job, const ClusterQuestion& question,
              Answer& answer) {
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

Result<void> check_sites(const ClusterQuestion& question) {
  const SiteLink& link = question.site_link;
  if (question.job.sites == 0 || !(link.km >= 0) || link.km > 40'000 || !(link.bits_per_s > 0) ||
      !(link.loss >= 0) || link.loss >= 1 || !(link.gpu_window_bytes >= 0)) {
    return fail(
        ErrorCode::kInvalid, "no such sites",
        "sites are 1 at least, 0 to 40,000 km apart, their links' rate is above 0 and their "
        "loss below 1",
        "correct the one that is not");
  }
  return {};
}

Result<void> check_question(const ModelShape& model, const ClusterQuestion& question) {
  if (!model.has_shape()) {
    return fail(ErrorCode::kInvalid, "no time of a step",
                "only the number of parameters is known, and computation depends on the shape",
                "give --model");
  }
  if (!(question.fabric.nic_bits_per_s > 0) || !(question.fabric.oversubscription >= 1) ||
      !(question.gpu.peak_flops > 0) || question.kernel_share < 0 || question.kernel_share > 1 ||
      !(question.overlap > 0) || question.overlap > 1 || !(question.base_rtt_s >= 0)) {
    return fail(ErrorCode::kInvalid, "no such cluster",
                "rates are above 0, oversubscription is 1 at least, and shares are 0 to 1",
                "correct the one that is not");
  }
  return check_sites(question);
}

}  // namespace

Result<WhatIf> what_if(const ModelShape& model, const ClusterQuestion& question) {
  if (Result<void> checked = check_question(model, question); !checked) {
    return fail(checked.error());
  }
  Result<JobShape> job = resolve(question.job, model);
  if (!job) return fail(job.error());
  Machine machine = machine_of(question);
  machine.overlap = 1;
  const StepTime step(model, *job, machine);
  WhatIf all{.job = *job,
             .compute_s = step.compute_s(),
             .bubble_share = step.bubble_share(),
             .window_share = step.window_share(),
             .nvlink_bits_per_s = question.gpu.nvlink_bits_per_s * kNvlinkShare,
             .nic_share = kNicShare,
             .header_bytes = kHeaderBytes,
             .mtu_bytes = step.site_question().mtu_bytes,
             .seconds_a_km = kSecondsAKm,
             .layers = awaited_movements(model, *job),
             .data = {}};
  // A job of one replica exchanges nothing; with more of them it would.
  JobShape several = *job;
  several.data *= 2 * job->expert;
  std::vector<Movement> data;
  add_data_movements(model, several, data);
  for (Movement& each : data) {
    const uint64_t divisor = each.name.starts_with("expert_") ? job->expert : 1;
    all.data.push_back({std::move(each), divisor, job->tensor * divisor});
  }
  return all;
}

Result<Answer> size_cluster(const ModelShape& model, const ClusterQuestion& question) {
  if (Result<void> checked = check_question(model, question); !checked) {
    return fail(checked.error());
  }
  const Result<JobShape> job = resolve(question.job, model);
  if (!job) return fail(job.error());
  const Machine machine = machine_of(question);
  const StepTime step(model, *job, machine);
  Answer answer;
  answer.title =
      fmt::format("{} on {} {}{} with {} each, {:g}:1 oversubscribed", model.name,
                  count_text(job->gpus), question.gpu.name,
                  job->sites > 1 ? fmt::format(" in {} sites", job->sites) : "",
                  rate_text(question.fabric.nic_bits_per_s), question.fabric.oversubscription);
  add_computation(model, *job, question, step, answer);
  add_communication(model, *job, step, answer);
  add_step(*job, step, answer);
  add_rates(*job, question, step, answer);
  std::vector<Movement> data;
  add_data_movements(model, *job, data);
  const ClusterPlan plan{question, *job, data, step};
  add_fabric_needs(plan, answer);
  if (job->sites > 1) add_site_needs(plan, answer);
  add_limits(plan, answer);
  add_scaling(model, *job, question, answer);
  add_nics(model, *job, question, answer);
  add_cluster_advice(plan, answer);
  answer.assumptions = {
      fmt::format("kernels reach {:g} of the best matrix product, copies {:g} of NVLink: heddle "
                  "size --validate has what the formulas are worth",
                  question.kernel_share > 0 ? question.kernel_share : kKernelShare, kNvlinkShare),
      "oversubscription: all that NICs send crosses the spines; a placement in pods needs less",
      "stages send while they compute; optimizer, loading of data and stragglers take no time"};
  if (job->sites > 1) {
    answer.assumptions.emplace_back(
        "sites form a ring and have equal shares of the replicas; gradients are reduced within a "
        "node, then a site, then between sites, bucket behind bucket");
  }
  return answer;
}

}  // namespace heddle::planner
