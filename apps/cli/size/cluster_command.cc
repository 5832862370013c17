// See cluster_command.h.
#include "apps/cli/size/cluster_command.h"

#include <memory>
#include <string>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/size/cluster_options.h"
#include "apps/cli/size/params.h"
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

int answer_cluster(const ClusterOptions& options, Answered answered) {
  const Result<AskedCluster> asked = asked_cluster(options);
  if (!asked) return finish_question(fail(asked.error()), answered);
  const auto answer = planner::size_cluster(asked->model, asked->question);
  const auto what_if = planner::what_if(asked->model, asked->question);
  if (what_if) answered.what_if = what_if_document(*what_if, asked->question);
  return finish_question(answer, answered);
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
  add_cluster_options(*cluster, *options);
  add_count(*cluster, "--sites", options->question.job.sites,
            "that share the replicas, each joined to the next, in a ring",
            params::size::kMostSites);
  add_question_options(*cluster, options->common);
  cluster->callback([options, cluster, &invocation] {
    invocation.run = [options, cluster, &invocation] {
      warn_of_lone_sites(*cluster, *options);
      return answer_cluster(*options, {*cluster, options->common, invocation.places});
    };
  });
}

}  // namespace heddle::cli
