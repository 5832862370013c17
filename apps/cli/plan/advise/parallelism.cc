// See parallelism.h.
#include "apps/cli/plan/advise/parallelism.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "apps/cli/plan/params.h"
#include "planner/presets.h"
#include "planner/size_cluster.h"

namespace heddle::cli {
namespace {

struct Split {
  uint64_t tensor = 1;
  uint64_t pipeline = 1;
  double step_s = 0;
};

// All NICs of a rank's host together, of the slowest host.
double nic_bits_per_s(const RecordedSetting& setting) {
  std::vector<double> rates(setting.topology.hosts.size());
  for (const topology::Link& link : setting.topology.links) {
    for (const topology::Node& end : {link.a, link.b}) {
      if (end.kind != topology::NodeKind::kNic) continue;
      rates[setting.topology.nics[end.index].host] += static_cast<double>(link.shape.rate.count);
    }
  }
  double least = rates[setting.hosts.front()];
  for (const uint32_t host : setting.hosts) least = std::min(least, rates[host]);
  return least;
}

// A step of as many sequences as there are ranks, whatever the split.
Result<double> step_s(const planner::ModelShape& model, planner::ClusterQuestion question,
                      uint64_t ranks, const Split& split) {
  question.job.gpus = ranks;
  question.job.gpus_per_node = 1;
  question.job.tensor = split.tensor;
  question.job.pipeline = split.pipeline;
  question.job.batch = ranks;
  const Result<planner::Answer> answer = planner::size_cluster(model, question);
  if (!answer) return fail(answer.error());
  return answer->figure("step_s").value;
}

}  // namespace

Result<std::vector<Candidate>> parallelism_candidates(const RecordedSetting& setting,
                                                      const ModelQuestion& question) {
  const Result<planner::ModelShape> model = planner::find_model(question.model);
  if (!model) return fail(model.error());
  const Result<planner::Gpu> gpu = planner::find_gpu(question.gpu);
  if (!gpu) return fail(gpu.error());
  planner::ClusterQuestion asked;
  asked.gpu = *gpu;
  asked.fabric.nic_bits_per_s = nic_bits_per_s(setting);
  const uint64_t ranks = setting.hosts.size();
  const Result<double> own = step_s(*model, asked, ranks, {question.tensor, question.pipeline});
  if (!own) return fail(own.error());
  std::vector<Split> splits;
  for (uint64_t tensor = 1; tensor <= ranks; ++tensor) {
    for (uint64_t pipeline = 1; tensor * pipeline <= ranks; ++pipeline) {
      if (ranks % (tensor * pipeline) != 0) continue;
      Split split{tensor, pipeline};
      const Result<double> time = step_s(*model, asked, ranks, split);
      if (!time || *time >= *own) continue;  // the model does not divide, or it is no better
      split.step_s = *time;
      splits.push_back(split);
    }
  }
  std::stable_sort(splits.begin(), splits.end(),
                   [](const Split& one, const Split& other) { return one.step_s < other.step_s; });
  splits.resize(std::min(splits.size(), params::plan::kMostSplits));
  std::vector<Candidate> candidates;
  for (const Split& split : splits) {
    const double gain = 1 - split.step_s / *own;
    const uint64_t data = ranks / split.tensor / split.pipeline;
    candidates.push_back(
        {.kind = planner::ChangeKind::kParallelism,
         .name =
             fmt::format("tensor {} x pipeline {} x data {}", split.tensor, split.pipeline, data),
         .todo = fmt::format("--tensor-model-parallel-size {} --pipeline-model-parallel-size {} "
                             "(Megatron-LM)",
                             split.tensor, split.pipeline),
         .note = fmt::format("by closed form, for {} on {}", model->name, gpu->name),
         .change = {},
         .steps = 1,
         .paths = {},
         .closed = planner::Gain{gain, gain, gain}});
  }
  return candidates;
}

}  // namespace heddle::cli
