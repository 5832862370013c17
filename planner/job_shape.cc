// See job_shape.h.
#include "planner/job_shape.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "base/quantity.h"

namespace heddle::planner {
namespace {

Unexpected cannot(std::string why, std::string todo) {
  return fail(ErrorCode::kInvalid, "no such job", std::move(why), std::move(todo));
}

Result<void> resolve_gpus(JobShape& job) {
  const uint64_t of_replica = job.tensor * job.context * job.pipeline;
  const std::string product =
      fmt::format("tensor {} x context {} x pipeline {}", job.tensor, job.context, job.pipeline);
  if (job.data == 0 && job.gpus == 0) {
    return cannot("neither the GPUs nor the data parallel ranks are given",
                  "give --gpus or --data");
  }
  if (job.data == 0) {
    if (job.gpus % of_replica != 0) {
      const uint64_t fewer = job.gpus / of_replica * of_replica;
      return cannot(fmt::format("{} GPUs cannot be shared by replicas of {} = {}",
                                count_text(job.gpus), product, count_text(of_replica)),
                    fewer > 0 ? fmt::format("give --gpus {} or {}", fewer, fewer + of_replica)
                              : fmt::format("give --gpus {} at least", of_replica));
    }
    job.data = job.gpus / of_replica;
  }
  if (job.gpus == 0) job.gpus = of_replica * job.data;
  if (job.gpus == of_replica * job.data) return {};
  std::string todo = fmt::format("give --gpus {}", of_replica * job.data);
  if (job.gpus % of_replica == 0) todo += fmt::format(", or --data {}", job.gpus / of_replica);
  return cannot(fmt::format("{} x data {} = {}, not {} GPUs", product, job.data,
                            count_text(of_replica * job.data), count_text(job.gpus)),
                todo);
}

Result<void> resolve_batch(JobShape& job) {
  const uint64_t at_once = job.data * job.microbatch;
  if (job.batch == 0) job.batch = at_once;
  if (job.batch % at_once != 0) {
    const uint64_t fewer = job.batch / at_once * at_once;
    return cannot(fmt::format("a batch of {} sequences is not divisible by data {} x microbatch {}",
                              count_text(job.batch), job.data, job.microbatch),
                  fewer > 0 ? fmt::format("give --batch {} or {}", fewer, fewer + at_once)
                            : fmt::format("give --batch {} at least", at_once));
  }
  job.microbatches = job.batch / at_once;
  if (job.chunks > 1 && job.microbatches % job.pipeline != 0) {
    return cannot(fmt::format("an interleaved schedule needs a multiple of pipeline {} as "
                              "microbatches, and a step has {}",
                              job.pipeline, job.microbatches),
                  fmt::format("give --chunks 1, or --batch {}",
                              at_once * job.pipeline *
                                  std::max<uint64_t>(1, job.microbatches / job.pipeline)));
  }
  return {};
}

Result<void> check_experts(const JobShape& job, const ModelShape& model) {
  if (job.expert == 1) return {};
  if (model.experts == 0) {
    return cannot(fmt::format("expert parallel {}, and {} has no experts", job.expert, model.name),
                  "leave --expert out, or choose a model with experts");
  }
  if (model.experts % job.expert != 0) {
    return cannot(fmt::format("{} experts cannot be shared by {} ranks", model.experts, job.expert),
                  fmt::format("give --expert a divisor of {}", model.experts));
  }
  if (job.data * job.context % job.expert != 0) {
    return cannot(fmt::format("expert parallel groups of {} are not a part of data {} x context {}",
                              job.expert, job.data, job.context),
                  fmt::format("give --expert a divisor of {}", job.data * job.context));
  }
  return {};
}

Result<void> check_sites(const JobShape& job) {
  if (job.data % job.sites != 0) {
    return cannot(fmt::format("{} replicas cannot be shared by {} sites", job.data, job.sites),
                  fmt::format("give --sites a divisor of {}, or --gpus a multiple of {}", job.data,
                              job.sites * job.gpus / job.data));
  }
  if (job.data / job.sites * job.context % job.expert == 0) return {};
  return cannot(fmt::format("expert parallel groups of {} do not fit in a site of data {} x "
                            "context {}",
                            job.expert, job.data / job.sites, job.context),
                fmt::format("give --expert a divisor of {}", job.data / job.sites * job.context));
}

Result<void> check_model(const JobShape& job, const ModelShape& model) {
  if (!model.has_shape()) {
    if (job.tensor * job.pipeline * job.context * job.expert == 1) return {};
    return cannot(
        "only the number of parameters is known, and other than data parallel traffic "
        "depends on the model's shape",
        "give --model in place of --parameters");
  }
  if (job.pipeline * job.chunks > model.layers) {
    return cannot(fmt::format("pipeline {} x chunks {} is more than the {} layers of {}",
                              job.pipeline, job.chunks, model.layers, model.name),
                  job.pipeline > model.layers
                      ? fmt::format("give --pipeline {} at most", model.layers)
                      : fmt::format("give --chunks {} at most", model.layers / job.pipeline));
  }
  if (model.heads % job.tensor != 0) {
    return cannot(
        fmt::format("{} attention heads cannot be shared by tensor {}", model.heads, job.tensor),
        fmt::format("give --tensor a divisor of {}", model.heads));
  }
  if (job.sequence % job.context != 0) {
    return cannot(fmt::format("a sequence of {} tokens cannot be shared by context {}",
                              job.sequence, job.context),
                  fmt::format("give --sequence a multiple of {}", job.context));
  }
  return {};
}

}  // namespace

Result<JobShape> resolve(const JobShape& job, const ModelShape& model) {
  JobShape whole = job;
  if (Result<void> checked = resolve_gpus(whole); !checked) return fail(checked.error());
  if (Result<void> checked = resolve_batch(whole); !checked) return fail(checked.error());
  if (Result<void> checked = check_experts(whole, model); !checked) return fail(checked.error());
  if (Result<void> checked = check_sites(whole); !checked) return fail(checked.error());
  if (Result<void> checked = check_model(whole, model); !checked) return fail(checked.error());
  return whole;
}

GroupPlace place_group(uint64_t ranks, uint64_t stride, uint64_t gpus_per_node) {
  GroupPlace place{.ranks = ranks, .in_node = 1, .nodes = ranks};
  const uint64_t fits = std::min(ranks, gpus_per_node / std::min(stride, gpus_per_node));
  if (stride >= gpus_per_node || ranks % fits != 0) return place;
  place.in_node = fits;
  place.nodes = ranks / fits;
  return place;
}

GroupPlace place_in_sites(uint64_t ranks, uint64_t stride, uint64_t gpus_per_node, uint64_t sites) {
  GroupPlace place = place_group(ranks / sites, stride, gpus_per_node);
  place.ranks *= sites;
  place.nodes *= sites;
  place.sites = sites;
  return place;
}

}  // namespace heddle::planner
