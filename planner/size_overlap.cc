// See size_overlap.h.
#include "planner/size_overlap.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/quantity.h"
#include "planner/sizing/advised_values.h"

namespace heddle::planner {
namespace {

constexpr const char* kRingSource =
    "ring all-reduce of 2 (N - 1) steps (Patarasu and Yuan, JPDC 2009, recalled); a step lasts as "
    "long as its block, or as one chunk and its way";
constexpr const char* kBucketSource =
    "Li et al., PyTorch Distributed (VLDB 2020, arXiv 2006.15704), section 3.2.3 (recalled): a "
    "bucket is reduced when its gradients are there, in order, while the backward pass continues";
constexpr const char* kDefinition = "definition";

// The times of a step of N ranks, in seconds.
class Step {
 public:
  Step(const OverlapQuestion& question, double gradients, uint64_t gpus)
      : question_(question),
        gradients_(gradients),
        gpus_(static_cast<double>(gpus)),
        bucket_(std::min(question.bucket_bytes, gradients)) {}

  double forward() const {
    return question_.forward_s < 0 ? question_.backward_s / 2 : question_.forward_s;
  }
  double backward() const { return question_.backward_s; }
  double computation() const { return forward() + backward(); }
  double capacity() const {
    return question_.link_bits_per_s * question_.mtu_bytes /
           (question_.mtu_bytes + question_.header_bytes);
  }
  double bucket_bytes() const { return bucket_; }
  double buckets() const { return std::ceil(gradients_ / bucket_); }
  double last_bytes() const { return gradients_ - (buckets() - 1) * bucket_; }
  double all_reduce(double bytes) const {
    const double block = bytes * 8 / (gpus_ * capacity());
    const double chunk = question_.chunk_bytes * 8 / capacity();
    return 2 * (gpus_ - 1) * std::max(block, question_.step_s + std::min(block, chunk));
  }
  double bucket() const { return all_reduce(bucket_); }
  double last() const { return all_reduce(last_bytes()); }
  double bucket_backward() const { return backward() * bucket_ / gradients_; }
  double communication() const { return (buckets() - 1) * bucket() + last(); }
  // From the begin of the backward pass to the end of all but the last bucket's all-reduce.
  double before_last() const {
    if (buckets() < 2) return 0;
    return bucket_backward() + bucket() + (buckets() - 2) * std::max(bucket_backward(), bucket());
  }
  double both() const { return forward() + std::max(backward(), before_last()) + last(); }
  double exposed() const { return both() - computation(); }
  double speedup() const { return gpus_ * computation() / both(); }
  double needed_bits_per_s() const { return 2 * (gpus_ - 1) / gpus_ * gradients_ * 8 / backward(); }

 private:
  const OverlapQuestion& question_;
  const double gradients_;
  const double gpus_;
  const double bucket_;
};

Figure all_reduce_figure(const Step& step, const OverlapQuestion& question, bool last) {
  return {
      .name = last ? "last_bucket_s" : "bucket_s",
      .meaning = last ? "all-reduce of the last bucket, alone" : "all-reduce of a bucket, alone",
      .formula = "2 * (N - 1) * max(W * 8 / (N * X), a + min(W * 8 / (N * X), K * 8 / X))",
      .terms = {{"N", "GPUs", static_cast<double>(question.gpus), ""},
                {"W", last ? "last bucket" : "bucket",
                 last ? step.last_bytes() : step.bucket_bytes(), "B"},
                {"X", "payload that the NIC carries at most", step.capacity(), "b/s"},
                {"a", "way of a chunk beside its transmission", question.step_s, "s"},
                {"K", "chunk", question.chunk_bytes, "B"}},
      .value = last ? step.last() : step.bucket(),
      .unit = "s",
      .source = kRingSource};
}

void add_bytes(const ModelShape& model, const OverlapQuestion& question, const Step& step,
               Answer& answer) {
  const auto count = static_cast<double>(parameters(model));
  answer.figures = {
      {"gradients_bytes",
       "gradients of a step, on each GPU",
       "P * b",
       {{"P", "parameters", count, ""}, {"b", "bytes of a gradient", question.gradient_bytes, "B"}},
       count * question.gradient_bytes,
       "B",
       model.source},
      {"buckets",
       "buckets of a step",
       "ceil(G / W)",
       {{"G", "gradients", count * question.gradient_bytes, "B"},
        {"W", "bucket", step.bucket_bytes(), "B"}},
       step.buckets(),
       "",
       kBucketSource},
      {"capacity_bits_per_s",
       "payload that the NIC carries at most",
       "C * m / (m + h)",
       {{"C", "rate of the NIC", question.link_bits_per_s, "b/s"},
        {"m", "payload of a packet", question.mtu_bytes, "B"},
        {"h", "headers of a packet", question.header_bytes, "B"}},
       step.capacity(),
       "b/s",
       "payload of full packets; RoCEv2 over Ethernet has 82 bytes beside it"}};
}

void add_alone(const OverlapQuestion& question, const Step& step, double gradients,
               Answer& answer) {
  answer.figures.push_back(all_reduce_figure(step, question, false));
  answer.figures.push_back(all_reduce_figure(step, question, true));
  answer.figures.push_back({"bucket_backward_s",
                            "backward computation that produces the gradients of a bucket",
                            "B * W / G",
                            {{"B", "backward pass", step.backward(), "s"},
                             {"W", "bucket", step.bucket_bytes(), "B"},
                             {"G", "gradients", gradients, "B"}},
                            step.bucket_backward(),
                            "s",
                            "gradients are produced evenly over the backward pass"});
  answer.figures.push_back(
      {"computation_s",
       "computation of a step, alone",
       "F + B",
       {{"F", "forward pass", step.forward(), "s"}, {"B", "backward pass", step.backward(), "s"}},
       step.computation(),
       "s",
       kDefinition});
  answer.figures.push_back({"communication_s",
                            "communication of a step, alone",
                            "(n - 1) * c + l",
                            {{"n", "buckets", step.buckets(), ""},
                             {"c", "all-reduce of a bucket", step.bucket(), "s"},
                             {"l", "all-reduce of the last bucket", step.last(), "s"}},
                            step.communication(),
                            "s",
                            "all-reduces one after the other"});
}

Figure step_figure(const Step& step) {
  const bool several = step.buckets() > 1;
  Figure figure{.name = "step_s",
                .meaning = "step, with computation and communication side by side",
                .formula = several ? "F + max(B, w + c + (n - 2) * max(w, c)) + l" : "F + B + l",
                .terms = {{"F", "forward pass", step.forward(), "s"},
                          {"B", "backward pass", step.backward(), "s"}},
                .value = step.both(),
                .unit = "s",
                .source = kBucketSource};
  if (several) {
    figure.terms.push_back({"w", "backward computation of a bucket", step.bucket_backward(), "s"});
    figure.terms.push_back({"c", "all-reduce of a bucket", step.bucket(), "s"});
    figure.terms.push_back({"n", "buckets", step.buckets(), ""});
  }
  figure.terms.push_back({"l", "all-reduce of the last bucket", step.last(), "s"});
  return figure;
}

void add_together(const OverlapQuestion& question, const Step& step, double gradients,
                  Answer& answer) {
  const Term both{"S", "step", step.both(), "s"};
  const Term computation{"K", "computation of a step", step.computation(), "s"};
  const Term gpus{"N", "GPUs", static_cast<double>(question.gpus), ""};
  answer.figures.push_back(step_figure(step));
  answer.figures.push_back({"exposed_s",
                            "communication that is exposed: the GPU is idle",
                            "S - K",
                            {both, computation},
                            step.exposed(),
                            "s",
                            kDefinition});
  answer.figures.push_back({"speedup",
                            "speed-up over one GPU, with as much work on each",
                            "N * K / S",
                            {gpus, computation, both},
                            step.speedup(),
                            "",
                            kDefinition});
  answer.figures.push_back(
      {"needed_bits_per_s",
       "payload rate at which the communication lasts as long as the backward "
       "pass",
       "2 * (N - 1) / N * G * 8 / B",
       {gpus, {"G", "gradients", gradients, "B"}, {"B", "backward pass", step.backward(), "s"}},
       step.needed_bits_per_s(),
       "b/s",
       "linear scaling needs a backward pass longer than data to send over "
       "bandwidth"});
}

void add_rows(const OverlapQuestion& question, double gradients, Answer& answer) {
  Table table{.name = "gpus",
              .title = "By number of GPUs",
              .columns = {{"gpus", "GPUs", ""},
                          {"bucket_s", "a bucket", "s"},
                          {"computation_s", "computation", "s"},
                          {"communication_s", "communication", "s"},
                          {"step_s", "both at once", "s"},
                          {"exposed_s", "exposed", "s"},
                          {"idle_share", "idle", ""},
                          {"speedup", "speed-up", ""},
                          {"overlaps", "a bucket fits", ""}},
              .rows = {}};
  Chart chart{.title = "Speed-up over GPUs",
              .x = {"GPUs", "", true},
              .y = {"speed-up", "", true},
              .curves = {{"with communication", {}}, {"linear", {}}}};
  std::set<uint64_t> numbers{question.gpus};
  for (uint64_t gpus = 2; gpus <= std::max<uint64_t>(16, question.gpus); gpus *= 2) {
    numbers.insert(gpus);
  }
  for (const uint64_t gpus : numbers) {
    const Step step(question, gradients, gpus);
    const auto count = static_cast<double>(gpus);
    table.rows.push_back({count, step.bucket(), step.computation(), step.communication(),
                          step.both(), step.exposed(), step.exposed() / step.both(), step.speedup(),
                          step.bucket() <= step.bucket_backward() ? "yes" : "no"});
    chart.curves[0].points.emplace_back(count, step.speedup());
    chart.curves[1].points.emplace_back(count, count);
  }
  answer.tables.push_back(std::move(table));
  answer.charts.push_back(std::move(chart));
}

void add_advice(const Step& step, const OverlapQuestion& question, Answer& answer) {
  if (step.bucket() <= step.bucket_backward()) {
    answer.advice.push_back(
        fmt::format("the overlap condition holds: a bucket is reduced in {} and its gradients "
                    "take {}; only the last bucket is exposed",
                    duration_text(nanos(std::llround(step.bucket() * 1e9))),
                    duration_text(nanos(std::llround(step.bucket_backward() * 1e9)))));
    return;
  }
  const double share = question.mtu_bytes / (question.mtu_bytes + question.header_bytes);
  answer.advice.push_back(fmt::format(
      "the overlap condition fails: give each GPU NICs of {} at least, or {} times the "
      "computation for each exchange of gradients (larger or accumulated batches), or gradients "
      "of fewer bytes",
      rate_at_least_text(step.needed_bits_per_s() / share),
      times_at_least_text(step.bucket() / step.bucket_backward())));
}

Result<void> check(const ModelShape& model, const OverlapQuestion& question) {
  const auto wrong = [](const char* why, const char* todo) {
    return fail(ErrorCode::kInvalid, "no such step", why, todo);
  };
  if (parameters(model) == 0) return wrong("the model has no parameters", "correct the model");
  if (question.gpus < 2) return wrong("one GPU exchanges nothing", "give --gpus 2 or more");
  if (!(question.backward_s > 0)) {
    return wrong("the time of the backward pass is not above 0", "give --backward, as measured");
  }
  if (!(question.link_bits_per_s > 0) || !(question.bucket_bytes >= 1) ||
      !(question.gradient_bytes >= 1) || !(question.chunk_bytes >= 1) ||
      !(question.mtu_bytes >= 1) || !(question.header_bytes >= 0) || !(question.step_s >= 0)) {
    return wrong("rates, sizes and times are above 0", "correct the one that is not");
  }
  return {};
}

}  // namespace

Result<Answer> size_overlap(const ModelShape& model, const OverlapQuestion& question) {
  if (Result<void> checked = check(model, question); !checked) return fail(checked.error());
  const double gradients = static_cast<double>(parameters(model)) * question.gradient_bytes;
  const Step step(question, gradients, question.gpus);
  Answer answer;
  answer.title = fmt::format("{}: {} GPUs, {} each, buckets of {} bytes", model.name, question.gpus,
                             rate_text(question.link_bits_per_s),
                             count_text(static_cast<uint64_t>(step.bucket_bytes())));
  add_bytes(model, question, step, answer);
  add_alone(question, step, gradients, answer);
  add_together(question, step, gradients, answer);
  add_rows(question, gradients, answer);
  add_advice(step, question, answer);
  answer.assumptions = {
      "each GPU is a rank with a NIC of its own, on a fabric without other load",
      "gradients are produced evenly; a bucket's all-reduce waits for that of the bucket before it",
      "communication takes nothing from computation: no cores or memory bandwidth of the GPU"};
  return answer;
}

}  // namespace heddle::planner
