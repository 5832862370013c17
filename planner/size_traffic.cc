// See size_traffic.h.
#include "planner/size_traffic.h"

#include <fmt/core.h>

#include "planner/sizing/movements.h"

namespace heddle::planner {
namespace {

constexpr const char* kRingSource =
    "NCCL's bandwidth formulas (nccl-tests, doc/PERFORMANCE.md), split at the node: reduced or "
    "gathered inside it first, one part a NIC";

struct Formulas {
  const char* nvlink;
  const char* nic;
};

Formulas formulas_of(MovementKind kind) {
  switch (kind) {
    case MovementKind::kAllReduce:
      return {"calls * 2 * (g - 1) / g * W", "calls * 2 * (k - 1) / k * W / g"};
    case MovementKind::kGather:
      return {"calls * (g - 1) / g * W", "calls * (k - 1) / k * W / g"};
    case MovementKind::kAllToAll:
      return {"calls * W * (g - 1) / (g * k)", "calls * W * (g * k - g) / (g * k)"};
    case MovementKind::kPointToPoint:
      break;
  }
  return {"calls * W * (g - 1) / g", "calls * W / g * min(1, k - 1)"};
}

void add_figures(const Movement& movement, Answer& answer) {
  answer.figures.push_back({.name = movement.name + "_buffer_bytes",
                            .meaning = movement.meaning + ": buffer of a call",
                            .formula = movement.buffer_formula,
                            .terms = movement.buffer_terms,
                            .value = movement.buffer_bytes,
                            .unit = "B",
                            .source = movement.source});
  const std::vector<Term> terms = {
      {"calls", "calls of a GPU in a step", movement.calls, ""},
      {"W", "buffer of a call", movement.buffer_bytes, "B"},
      {"g", "ranks of the group on a node", static_cast<double>(movement.place.in_node), ""},
      {"k", "nodes of the group", static_cast<double>(movement.place.nodes), ""}};
  const Formulas formulas = formulas_of(movement.kind);
  answer.figures.push_back({.name = movement.name + "_nvlink_bytes",
                            .meaning = movement.meaning + ": sent over NVLink",
                            .formula = formulas.nvlink,
                            .terms = terms,
                            .value = nvlink_bytes(movement),
                            .unit = "B",
                            .source = kRingSource});
  answer.figures.push_back({.name = movement.name + "_nic_bytes",
                            .meaning = movement.meaning + ": sent through the NIC",
                            .formula = formulas.nic,
                            .terms = terms,
                            .value = nic_bytes(movement),
                            .unit = "B",
                            .source = kRingSource});
}

void add_total(const std::vector<Movement>& all, bool nic, Answer& answer) {
  Figure total{.name = nic ? "nic_bytes" : "nvlink_bytes",
               .meaning = nic ? "all that a GPU sends through its NIC in a step"
                              : "all that a GPU sends over NVLink in a step",
               .formula = "",
               .terms = {},
               .value = 0,
               .unit = "B",
               .source = "sum of the above"};
  for (const Movement& each : all) {
    const double bytes = nic ? nic_bytes(each) : nvlink_bytes(each);
    total.formula += (total.formula.empty() ? "" : " + ") + each.name;
    total.terms.push_back({each.name, each.meaning, bytes, "B"});
    total.value += bytes;
  }
  if (all.empty()) total.formula = "0";
  answer.figures.push_back(std::move(total));
}

void add_nic_time(double nic_bits_per_s, Answer& answer) {
  const double bytes = answer.figure("nic_bytes").value;
  answer.figures.push_back({.name = "nic_s",
                            .meaning = "time that the NICs of a GPU take for it at their full rate",
                            .formula = "B * 8 / C",
                            .terms = {{"B", "sent through the NIC in a step", bytes, "B"},
                                      {"C", "rate of the NICs of a GPU", nic_bits_per_s, "b/s"}},
                            .value = bytes * 8 / nic_bits_per_s,
                            .unit = "s",
                            .source = "lower bound: payload at line rate, nothing beside it"});
}

void add_table(const std::vector<Movement>& all, Answer& answer) {
  Table table{.name = "movements",
              .title = "What a GPU sends in a step",
              .columns = {{"name", "parallel", ""},
                          {"meaning", "what", ""},
                          {"calls", "calls", ""},
                          {"buffer_bytes", "buffer", "B"},
                          {"nvlink_bytes", "NVLink", "B"},
                          {"nic_bytes", "NIC", "B"}},
              .rows = {}};
  for (const Movement& each : all) {
    table.rows.push_back({each.name, each.meaning, each.calls, each.buffer_bytes,
                          nvlink_bytes(each), nic_bytes(each)});
  }
  answer.tables.push_back(std::move(table));
}

}  // namespace

double nvlink_bytes(const Movement& movement) {
  const auto g = static_cast<double>(movement.place.in_node);
  const auto k = static_cast<double>(movement.place.nodes);
  const double sent = movement.calls * movement.buffer_bytes;
  switch (movement.kind) {
    case MovementKind::kAllReduce:
      return 2 * (g - 1) / g * sent;
    case MovementKind::kGather:
    case MovementKind::kPointToPoint:
      break;
    case MovementKind::kAllToAll:
      return sent * (g - 1) / (g * k);
  }
  return (g - 1) / g * sent;
}

double nic_bytes(const Movement& movement) {
  const auto g = static_cast<double>(movement.place.in_node);
  const auto k = static_cast<double>(movement.place.nodes);
  const double sent = movement.calls * movement.buffer_bytes;
  switch (movement.kind) {
    case MovementKind::kAllReduce:
      return 2 * (k - 1) / k * sent / g;
    case MovementKind::kGather:
      return (k - 1) / k * sent / g;
    case MovementKind::kAllToAll:
      return sent * (g * k - g) / (g * k);
    case MovementKind::kPointToPoint:
      break;
  }
  return k > 1 ? sent / g : 0;
}

double site_bytes(const Movement& movement) {
  const auto sites = static_cast<double>(movement.place.sites);
  const auto ranks = static_cast<double>(movement.place.in_node * movement.place.nodes);
  const double passes = movement.kind == MovementKind::kAllReduce ? 2 : 1;
  return passes * (sites - 1) * movement.calls * movement.buffer_bytes / ranks;
}

Result<Answer> size_traffic(const ModelShape& model, const JobShape& given, double nic_bits_per_s) {
  const Result<JobShape> job = resolve(given, model);
  if (!job) return fail(job.error());
  Answer answer;
  answer.title = fmt::format(
      "{}: {} GPUs, tensor {} x context {} x data {} x pipeline {}, {} a node", model.name,
      job->gpus, job->tensor, job->context, job->data, job->pipeline, job->gpus_per_node);
  const char* const origin =
      model.has_shape() ? "sum over its matrices, norms and biases" : "as given";
  answer.figures.push_back(
      {.name = "parameters",
       .meaning = model.has_shape() ? "parameters of the model, from the shape of " + model.name
                                    : "parameters of the model, as given",
       .formula = "P",
       .terms = {{"P", origin, static_cast<double>(parameters(model)), ""}},
       .value = static_cast<double>(parameters(model)),
       .unit = "",
       .source = model.source});
  const std::vector<Movement> all = movements(model, *job);
  for (const Movement& each : all) add_figures(each, answer);
  add_total(all, false, answer);
  add_total(all, true, answer);
  if (nic_bits_per_s > 0) add_nic_time(nic_bits_per_s, answer);
  add_table(all, answer);
  answer.assumptions = {
      "ranks are numbered tensor, context, data, pipeline, as Megatron-LM numbers them",
      "layers are spread evenly over stages; embeddings count as a part of each",
      "payload, without headers and retransmissions; figures are of the GPU that sends most"};
  if (job->expert > 1) answer.assumptions.emplace_back("tokens go to all experts alike");
  return answer;
}

}  // namespace heddle::planner
