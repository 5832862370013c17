// Options about what carries flows: see transport_options.h.
#include "apps/cli/sim/transport_options.h"

#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/sim/size_option.h"
#include "base/quantity.h"
#include "transport/names.h"

namespace heddle::cli {
namespace {

constexpr const char* kGroup = "Transport";
constexpr const char* kRoceGroup = "RoCE NICs (--transport roce)";

Unexpected bad(const std::string& why, const std::string& todo) {
  return fail(ErrorCode::kInvalid, "cannot read the command line", why, todo);
}

std::vector<std::string> congestion_names() {
  const auto of_heddle = transport::controller_names();
  std::vector<std::string> names(of_heddle.begin(), of_heddle.end());
  names.insert(names.end(), {"dcqcn", "none"});
  return names;
}

Result<void> take_heddle(TransportOptions& options) {
  for (const CLI::Option* option : options.of_roce) {
    if (option->count() == 0) continue;
    return bad(option->get_name() + " is for RoCE NICs", "give --transport roce, too");
  }
  simulator::FlowRunOptions& run = *options.run;
  if (run.congestion == "dcqcn" || run.congestion == "none") {
    return bad("--cc " + run.congestion + " is for RoCE NICs", "give --transport roce, too");
  }
  const SizeOption sizes[] = {{"--initial-window", options.initial_window, run.initial_window, 1},
                              {"--window-limit", options.window_limit, run.window_limit, 1},
                              {"--burst", options.burst, run.longest_burst, 1}};
  for (const SizeOption& each : sizes) {
    if (Result<void> taken = take_size(each); !taken) return taken;
  }
  return {};
}

Result<void> take_roce(TransportOptions& options) {
  for (const CLI::Option* option : options.of_heddle) {
    if (option->count() == 0) continue;
    return bad(option->get_name() + " is for heddle's transport: a RoCE NIC has none",
               "leave it out with --transport roce");
  }
  simulator::FlowRunOptions& run = *options.run;
  if (options.congestion->count() == 0) run.congestion = "dcqcn";
  if (run.congestion != "dcqcn" && run.congestion != "none") {
    return bad("--cc " + run.congestion + " is for heddle's transport",
               "give dcqcn or none with --transport roce");
  }
  simulator::RoceOptions roce;
  roce.dcqcn = run.congestion == "dcqcn";
  roce.mtu_bytes = options.rdma_mtu;
  if (!options.ack_timeout.empty()) {
    const Result<Nanos> timeout = parse_duration(options.ack_timeout);
    if (!timeout) return fail(timeout.error());
    roce.ack_timeout = *timeout;
  }
  run.roce = roce;
  run.paths = 1;  // a queue pair
  return {};
}

}  // namespace

void add_transport_options(CLI::App& sim, TransportOptions& options) {
  simulator::FlowRunOptions& run = *options.run;
  const auto size = [&](const char* name, std::string& value, const char* about,
                        const char* fallback) {
    options.of_heddle.push_back(sim.add_option(name, value, about)
                                    ->type_name("SIZE")
                                    ->check(size_value(1))
                                    ->default_str(fallback)
                                    ->group(kGroup));
  };
  sim.add_option("--transport", options.transport,
                 "what carries flows: heddle, or a model of RoCE NICs to compare with")
      ->type_name("heddle|roce")
      ->check(one_of({"heddle", "roce"}))
      ->capture_default_str()
      ->group(kGroup);
  options.congestion =
      sim.add_option("--cc", run.congestion, "congestion control; of RoCE NICs dcqcn or none")
          ->type_name(choices_text(congestion_names()))
          ->check(one_of(congestion_names()))
          ->default_str("cubic; of RoCE NICs dcqcn")
          ->group(kGroup);
  const auto selectors = transport::selector_names();
  options.of_heddle.push_back(sim.add_option("--selector", run.selector, "path selection")
                                  ->type_name(choices_text(selectors))
                                  ->check(one_of({selectors.begin(), selectors.end()}))
                                  ->capture_default_str()
                                  ->group(kGroup));
  options.of_heddle.push_back(
      sim.add_option("--paths", run.paths, "paths of a connection, 1 to 256")
          ->type_name("N")
          ->check(whole_number(1, 256))
          ->capture_default_str()
          ->group(kGroup));
  size("--initial-window", options.initial_window, "initial congestion window",
       "twice the bandwidth-delay product");
  size("--window-limit", options.window_limit, "largest congestion window", "64M");
  size("--burst", options.burst, "most bytes sent at once on one of several paths", "a segment");
  options.of_roce.push_back(
      sim.add_option("--rdma-mtu", options.rdma_mtu,
                     "most payload of a packet, 256, 512, 1024, 2048 or 4096; the fabric's MTU may "
                     "lower it")
          ->type_name("N")
          ->check(one_of({"256", "512", "1024", "2048", "4096"}))
          ->capture_default_str()
          ->group(kRoceGroup));
  options.of_roce.push_back(
      sim.add_option("--ack-timeout", options.ack_timeout,
                     "a queue pair retransmits after this time without an acknowledgement")
          ->type_name("DURATION")
          ->check(duration_value())
          ->default_str("4.194304ms")
          ->group(kRoceGroup));
}

Result<void> take_transport_options(TransportOptions& options) {
  return options.transport == "roce" ? take_roce(options) : take_heddle(options);
}

}  // namespace heddle::cli
