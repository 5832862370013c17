// See headroom_command.h.
#include "apps/cli/size/headroom_command.h"

#include <memory>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/size/quantity_options.h"
#include "apps/cli/size/question_options.h"
#include "planner/size_headroom.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle size headroom --rate 400Gbit/s --meters 100
  heddle size headroom --rate 100Gbit/s --km 40 --ports 4 --buffer 64M)";

constexpr NumberRange kBits{0, 1e9};

struct HeadroomOptions {
  planner::HeadroomQuestion question;
  double km = 0;
  QuestionOptions common;
};

}  // namespace

void add_size_headroom_command(CLI::App& group, Invocation& invocation) {
  CLI::App* const headroom =
      group.add_subcommand("headroom", "buffer that PFC needs behind its threshold");
  headroom->footer(kExample +
                   exit_status_help("the headroom is more than the buffer", "could not run"));
  const auto options = std::make_shared<HeadroomOptions>();
  planner::HeadroomQuestion& question = options->question;
  add_rate(*headroom, "--rate", question.link_bits_per_s, "of the link");
  auto* const meters =
      add_number(*headroom, "--meters", question.meters, "length of the cable", {0, 4e7});
  auto* const km = add_number(*headroom, "--km", options->km, "the same in kilometers", {0, 40'000})
                       ->default_str("as --meters")
                       ->excludes(meters);
  add_size(*headroom, "--largest-frame", question.largest_frame_bytes,
           "that the receiver may be sending when it wants to pause");
  add_size(*headroom, "--lossless-frame", question.lossless_frame_bytes,
           "that the sender may just have begun");
  add_number(*headroom, "--response-bits", question.response_bits,
             "bit times until the sender obeys a pause", kBits)
      ->default_str("of the rate, by IEEE 802.3");
  add_number(*headroom, "--interface-bits", question.interface_bits,
             "bit times of the four crossings of MAC and PHY together", kBits);
  add_number(*headroom, "--ports", question.ports, "of the switch", {1, 1e6});
  add_number(*headroom, "--classes", question.classes, "that are lossless", {1, 8});
  add_number(*headroom, "--pool-share", question.pool_share,
             "share of all headroom that is reserved as a shared pool", {0.000'001, 1});
  add_size(*headroom, "--buffer", question.buffer_bytes, "of the switch, to compare with");
  add_question_options(*headroom, options->common);
  headroom->callback([options, headroom, km, &invocation] {
    if (km->count() > 0) options->question.meters = 1'000 * options->km;
    invocation.run = [options, headroom, &invocation] {
      return finish_question(planner::size_headroom(options->question),
                             {*headroom, options->common, invocation.places});
    };
  });
}

}  // namespace heddle::cli
