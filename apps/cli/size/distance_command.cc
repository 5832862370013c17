// See distance_command.h.
#include "apps/cli/size/distance_command.h"

#include <memory>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/size/params.h"
#include "apps/cli/size/quantity_options.h"
#include "apps/cli/size/question_options.h"
#include "planner/size_distance.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle size distance --km 300 --message 1M --outstanding 16
  heddle size distance --km 100 --loss 0.001% --queue-pairs 8 --json)";

struct DistanceOptions {
  planner::DistanceQuestion question;
  bool selective_repeat = false;
  QuestionOptions common;
};

}  // namespace

void add_size_distance_command(CLI::App& group, Invocation& invocation) {
  CLI::App* const distance =
      group.add_subcommand("distance", "goodput of RDMA writes over a long cable");
  distance->footer(kExample + exit_status_help("", "could not run"));
  const auto options = std::make_shared<DistanceOptions>();
  planner::DistanceQuestion& question = options->question;
  add_number(*distance, "--km", question.km, "length of the cable", {0, 40'000});
  add_time(*distance, "--rtt", question.base_rtt_s, "round trip without the cable");
  add_rate(*distance, "--rate", question.link_bits_per_s, "of the link");
  add_size(*distance, "--message", question.message_bytes, "size of a message");
  add_number(*distance, "--outstanding", question.outstanding,
             "messages of a queue pair that are not acknowledged",
             {1, params::size::kMostOutstanding});
  add_number(*distance, "--queue-pairs", question.queue_pairs, "queue pairs in use",
             {1, params::size::kMostOutstanding});
  add_share(*distance, "--loss", question.loss, "share of packets that are lost");
  distance->add_flag("--selective-repeat", options->selective_repeat,
                     "a loss repeats one packet, not all that is in flight");
  add_size(*distance, "--payload", question.mtu_bytes, "payload of a full packet");
  add_question_options(*distance, options->common);
  distance->callback([options, distance, &invocation] {
    invocation.run = [options, distance, &invocation] {
      options->question.go_back_n = !options->selective_repeat;
      return finish_question(planner::size_distance(options->question),
                             {*distance, options->common, invocation.places});
    };
  });
}

}  // namespace heddle::cli
