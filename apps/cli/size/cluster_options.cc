// See cluster_options.h.
#include "apps/cli/size/cluster_options.h"

#include <utility>

#include "apps/cli/size/params.h"
#include "apps/cli/size/quantity_options.h"
#include "planner/presets.h"

namespace heddle::cli {
namespace {

void add_state_options(CLI::App& command, ClusterOptions& options) {
  add_size(command, "--bucket", options.question.bucket_bytes,
           "gradients or parameters that are exchanged at once");
  add_number(command, "--optimizer-bytes", options.question.optimizer_bytes,
             "states of the optimizer for a parameter; 12: Adam with a float32 copy",
             {0, params::size::kMostOptimizerBytes});
  command.add_flag("--attention-scores", options.question.attention_scores,
                   "keep attention's scores for the backward pass; a fused kernel does not");
}

void add_hardware_options(CLI::App& command, ClusterOptions& options) {
  command.add_option("--gpu", options.gpu, "a preset or a TOML file: operations, NVLink, memory")
      ->type_name("NAME|FILE")
      ->capture_default_str();
  add_number(command, "--kernel-share", options.question.kernel_share,
             "what kernels reach of the GPU's best matrix product", {0.01, 1})
      ->default_str("0.65");
  add_rate(command, "--nic-rate", options.nic_bits_per_s, "of all NICs of a GPU, in one direction")
      ->default_str("of the fabric");
  add_number(command, "--oversubscription", options.oversubscription,
             "of the fabric between leaves: 2 is 2:1", {1, 1'000})
      ->default_str("of the fabric");
  add_time(command, "--rtt", options.question.base_rtt_s, "round trip of hosts and switches");
  add_number(command, "--overlap", options.question.overlap,
             "share of the possible computation that the exchange runs beside", {0.01, 1});
}

void add_site_options(CLI::App& command, ClusterOptions& options) {
  planner::SiteLink& link = options.question.site_link;
  add_number(command, "--site-km", link.km, "from a site to the next", {0, 40'000});
  add_rate(command, "--site-rate", link.bits_per_s,
           "of all cables from a site to the next, in one direction");
  add_share(command, "--site-loss", link.loss, "share of packets lost between sites");
  add_size(command, "--site-window", link.gpu_window_bytes,
           "that a GPU has in flight to the next site at most")
      ->default_str("as much as fills the link");
  command.add_flag("--site-selective-repeat", options.selective_repeat,
                   "a loss between sites repeats one packet, not all that is in flight");
}

}  // namespace

void add_cluster_options(CLI::App& command, ClusterOptions& options) {
  options.job.fabric = "roce-400g";
  add_shape_option(command, options.job.model)->required();
  add_job_options(command, options.job);
  command.get_option("--fabric")->default_str("roce-400g");
  add_state_options(command, options);
  add_hardware_options(command, options);
  add_site_options(command, options);
}

Result<AskedCluster> asked_cluster(const ClusterOptions& options) {
  Result<Job> job = job_of(options.job);
  if (!job) return fail(job.error());
  const Result<planner::Gpu> gpu = planner::find_gpu(options.gpu);
  if (!gpu) return fail(gpu.error());
  AskedCluster asked{std::move(job->model), options.question};
  planner::ClusterQuestion& question = asked.question;
  question.gpu = *gpu;
  question.fabric = job->fabric;
  if (options.nic_bits_per_s > 0) question.fabric.nic_bits_per_s = options.nic_bits_per_s;
  if (options.oversubscription > 0) question.fabric.oversubscription = options.oversubscription;
  question.job = job->shape;
  question.job.sites = options.question.job.sites;
  question.site_link.go_back_n = !options.selective_repeat;
  return asked;
}

}  // namespace heddle::cli
