// See size_cluster.h.
#include "planner/size_cluster.h"

#include <fmt/core.h>

#include "base/quantity.h"
#include "planner/sizing/cluster_memory.h"
#include "planner/sizing/cluster_needs.h"
#include "planner/sizing/cluster_tables.h"
#include "planner/sizing/link_goodput.h"
#include "planner/sizing/movements.h"
#include "planner/sizing/step_time.h"
#include "planner/what_if.h"

namespace heddle::planner {
namespace {

constexpr const char* kStepSource =
    "1F1B, interleaved with more than one chunk (Narayanan et al., SC 2021, section 2.2); "
    "gradients "
    "beside the backward pass of the last microbatch, ZeRO 1 and 2 a whole one, ZeRO 3 all";
constexpr const char* kBucketSource =
    "Li et al., PyTorch Distributed (VLDB 2020, arXiv 2006.15704), section 3.2.3 (recalled): a "
    "bucket is exchanged when its gradients are there; heddle size overlap";
constexpr const char* kDefinition = "definition";

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
  answer.figures.push_back(sum_of(
      {"buckets", "buckets of gradients and parameters in a step", "", {}, 0, "", kBucketSource},
      data, [&step](const Movement& each) { return step.buckets(each); }));
  answer.figures.push_back(sum_of({"last_bucket_s",
                                   "the last bucket of gradients, and the first of parameters, "
                                   "beside which nothing is computed",
                                   "",
                                   {},
                                   0,
                                   "s",
                                   kBucketSource},
                                  data,
                                  [&step](const Movement& each) { return step.bucket_s(each); }));
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
  Figure exposed{"exposed_s",
                 "exchange that is exposed: the last bucket, or all that does not fit beside it",
                 "max(l, d - w + w / n)",
                 {{"l", "last bucket", step.last_bucket_s(), "s"},
                  {"d", "exchange, alone", step.data_s(), "s"},
                  window,
                  {"n", "buckets, the first of which waits for its gradients", step.buckets(), ""}},
                 step.exposed_s(),
                 "s",
                 kBucketSource};
  if (step.buckets() == 0) {
    exposed.formula = "d";
    exposed.terms = {{"d", "exchange, alone", step.data_s(), "s"}};
  }
  answer.figures.push_back(std::move(exposed));
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
       "rate of a GPU's NICs, with headers, at which the exchange fits: above it only the last "
       "bucket is exposed",
       "8 * B / w / y * o",
       {{"B", "sent through the NIC", step.data_nic_bytes(), "B"},
        window,
        {"y", "payload of full packets", kNicShare, ""},
        {"o", "oversubscription", question.fabric.oversubscription, ""}},
       wire,
       "b/s",
       "compare it with a NIC's rate, never with a bus bandwidth"});
}

// GPUs that fill no whole nodes: groups then count as spread over all of them.
void add_odd_nodes(const JobShape& job, Answer& answer) {
  const uint64_t of_site = job.gpus / job.sites;
  const uint64_t node = job.gpus_per_node;
  if (of_site < node || of_site % node == 0) return;
  const uint64_t fewer = of_site / node * node;
  answer.advice.push_back(fmt::format(
      "{} GPUs{} fill no whole nodes of {}, so that groups of ranks are spread over more nodes: "
      "give --gpus {} or {}",
      of_site, job.sites > 1 ? " of a site" : "", node, fewer * job.sites,
      (fewer + node) * job.sites));
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
      !(question.overlap > 0) || question.overlap > 1 || !(question.base_rtt_s >= 0) ||
      !(question.bucket_bytes >= 1) || !(question.optimizer_bytes >= 0)) {
    return fail(
        ErrorCode::kInvalid, "no such cluster",
        "rates are above 0, oversubscription is 1 at least, shares are 0 to 1, a bucket has "
        "1 byte at least, and states of the optimizer none or more",
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
      fmt::format("{} on {} {}{} with {} each, fabric {:g}:1", model.name, count_text(job->gpus),
                  question.gpu.name, job->sites > 1 ? fmt::format(" in {} sites", job->sites) : "",
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
  add_memory(model, *job, question, answer);
  add_limits(plan, answer);
  add_scaling(model, *job, question, answer);
  add_rates_of_nics(model, *job, question, answer);
  add_cluster_advice(plan, answer);
  add_odd_nodes(*job, answer);
  answer.assumptions = {
      fmt::format("kernels reach {:g} of the best matrix product, copies {:g} of NVLink: heddle "
                  "size --validate has what the formulas are worth",
                  question.kernel_share > 0 ? question.kernel_share : kKernelShare, kNvlinkShare),
      "oversubscription: all that NICs send crosses the spines; a placement in pods needs less",
      fmt::format("buckets of {} B at most, of equal size; stages send while they compute",
                  count_text(static_cast<uint64_t>(question.bucket_bytes))),
      "left out: the latency of a collective's steps within a site, optimizer, loading of data, "
      "stragglers"};
  add_memory_assumptions(question, answer);
  if (job->sites > 1) {
    answer.assumptions.emplace_back(
        "sites form a ring and have equal shares of the replicas; gradients are reduced within a "
        "node, then a site, then between sites, bucket behind bucket");
  }
  return answer;
}

}  // namespace heddle::planner
