// See messages_command.h.
#include "apps/cli/size/messages_command.h"

#include <memory>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/size/params.h"
#include "apps/cli/size/quantity_options.h"
#include "apps/cli/size/question_options.h"
#include "planner/size_messages.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle size messages
  heddle size messages --bucket 256M --gpus 64 --channels 16 --queue-pairs 4 --split-data --json)";

struct MessagesOptions {
  planner::MessagesQuestion question;
  QuestionOptions common;
};

}  // namespace

void add_size_messages_command(CLI::App& group, Invocation& invocation) {
  CLI::App* const messages = group.add_subcommand(
      "messages", "from a bucket of gradients to packets: the units, and what measures each");
  messages->footer(kExample + exit_status_help("", "could not run"));
  const auto options = std::make_shared<MessagesOptions>();
  planner::MessagesQuestion& question = options->question;
  add_size(*messages, "--bucket", question.bucket_bytes, "gradients of one all-reduce");
  add_count(*messages, "--gpus", question.gpus, "in one ring", params::size::kMostGpus);
  add_number(*messages, "--channels", question.channels, "that NCCL uses side by side", {1, 64});
  add_size(*messages, "--nccl-buffer", question.nccl_buffer_bytes, "NCCL_BUFFSIZE");
  add_number(*messages, "--queue-pairs", question.queue_pairs, "NCCL_IB_QPS_PER_CONNECTION",
             {1, 128});
  messages->add_flag("--split-data", question.splits, "NCCL_IB_SPLIT_DATA_ON_QPS=1");
  add_size(*messages, "--payload", question.mtu_bytes, "payload of a full packet");
  add_number(*messages, "--headers", question.header_bytes, "bytes of a packet beside it",
             {0, 10'000});
  add_question_options(*messages, options->common);
  messages->callback([options, messages, &invocation] {
    invocation.run = [options, messages, &invocation] {
      return finish_question(planner::size_messages(options->question),
                             {*messages, options->common, invocation.places});
    };
  });
}

}  // namespace heddle::cli
