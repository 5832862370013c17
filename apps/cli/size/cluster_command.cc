// See cluster_command.h.
#include "apps/cli/size/cluster_command.h"

#include <memory>
#include <string>
#include <utility>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/size/job_options.h"
#include "apps/cli/size/quantity_options.h"
#include "apps/cli/size/question_options.h"
#include "apps/cli/size/what_if_document.h"
#include "apps/cli/terminal.h"
#include "planner/size_cluster.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle size cluster --model llama-3-8b --gpus 64 --zero 2 --gpu h100 --fabric roce-400g
  heddle size cluster --model llama-3-70b --gpus 512 --tensor 8 --sequence-parallel --zero 1
  heddle size cluster --model llama-3-8b --gpus 64 --zero 2 --sites 2 --site-km 80 --site-rate 1T)";

struct ClusterOptions {
  JobOptions job;
  std::string gpu = "h100";
  double nic_bits_per_s = 0;    // 0: the fabric's
  double oversubscription = 0;  // 0: the fabric's
  planner::ClusterQuestion question;
  bool selective_repeat = false;
  QuestionOptions common;
};

// What the options ask; its model beside it.
struct Asked {
  planner::ModelShape model;
  planner::ClusterQuestion question;
};

Result<Asked> asked_of(const ClusterOptions& options) {
  Result<Job> job = job_of(options.job);
  if (!job) return fail(job.error());
  const Result<planner::Gpu> gpu = planner::find_gpu(options.gpu);
  if (!gpu) return fail(gpu.error());
  Asked asked{std::move(job->model), options.question};
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

int answer_cluster(const ClusterOptions& options, Answered answered) {
  const Result<Asked> asked = asked_of(options);
  if (!asked) return finish_question(fail(asked.error()), answered);
  const auto answer = planner::size_cluster(asked->model, asked->question);
  const auto what_if = planner::what_if(asked->model, asked->question);
  if (what_if) answered.what_if = what_if_document(*what_if, asked->question);
  return finish_question(answer, answered);
}

void add_state_options(CLI::App& command, ClusterOptions& options) {
  constexpr double kMostBytes = 64;
  add_size(command, "--bucket", options.question.bucket_bytes,
           "gradients or parameters that are exchanged at once");
  add_number(command, "--optimizer-bytes", options.question.optimizer_bytes,
             "states of the optimizer for a parameter; 12: Adam with a float32 copy",
             {0, kMostBytes});
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
  constexpr uint64_t kMostSites = 64;
  add_count(command, "--sites", options.question.job.sites,
            "that share the replicas, each joined to the next, in a ring", kMostSites);
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

// A link between sites is left out of the answer without them. A page's sliders may add sites.
void warn_of_lone_sites(const CLI::App& command, const ClusterOptions& options) {
  if (options.question.job.sites > 1 || command.get_option("--sites")->count() > 0) return;
  for (const char* name :
       {"--site-km", "--site-rate", "--site-loss", "--site-window", "--site-selective-repeat"}) {
    if (command.get_option(name)->count() == 0) continue;
    print_warning(std::string(name) + " has no effect without --sites 2 or more");
  }
}

}  // namespace

void add_size_cluster_command(CLI::App& group, Invocation& invocation) {
  CLI::App* const cluster = group.add_subcommand(
      "cluster", "time of a training step, and the network at which it is no bottleneck");
  cluster->footer(kExample +
                  exit_status_help("the job does not fit in a GPU's memory", "could not run"));
  const auto options = std::make_shared<ClusterOptions>();
  options->job.fabric = "roce-400g";
  add_shape_option(*cluster, options->job.model)->required();
  add_job_options(*cluster, options->job);
  cluster->get_option("--fabric")->default_str("roce-400g");
  add_state_options(*cluster, *options);
  add_hardware_options(*cluster, *options);
  add_site_options(*cluster, *options);
  add_question_options(*cluster, options->common);
  cluster->callback([options, cluster, &invocation] {
    invocation.run = [options, cluster, &invocation] {
      warn_of_lone_sites(*cluster, *options);
      return answer_cluster(*options, {*cluster, options->common, invocation.places});
    };
  });
}

}  // namespace heddle::cli
