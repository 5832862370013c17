// See capture_command.h.
#include "apps/cli/size/capture_command.h"

#include <signal.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/size/capture_report.h"
#include "apps/cli/terminal.h"
#include "base/interrupt.h"
#include "recordings/capture.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  tcpdump -i eth0 -s 128 -w job.pcap udp
  heddle size capture job.pcap
  tcpdump -i eth0 -s 128 -w - udp | heddle size capture - --json

Reads pcap and pcapng of Ethernet (VLANs too), raw IP and "any" interfaces. Headers are enough: 128
bytes of each packet. Of RoCEv2 it puts messages together by queue pair and PSN, of heddle by
connection, channel and sequence, which need no key. See docs/how-to/measure_messages.md.)";

constexpr uint64_t kMostPort = 65'535;

struct CaptureCommandOptions {
  std::string file;
  uint16_t roce_port = 4791;
  std::vector<uint16_t> heddle_ports;
  bool json = false;
};

// A read of the pipe goes on after a signal: what writes to it gets the same one, and ends it.
void read_on_after_interrupts() {
  for (const int signal_number : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    sigaction(signal_number, nullptr, &action);
    action.sa_flags |= SA_RESTART;
    sigaction(signal_number, &action, nullptr);
  }
}

int run(const CaptureCommandOptions& options) {
  recordings::CaptureOptions reading;
  reading.roce_port = options.roce_port;
  reading.heddle_ports = {options.heddle_ports.begin(), options.heddle_ports.end()};
  catch_interrupts();
  if (options.file == "-") {
    read_on_after_interrupts();
  } else {
    reading.interrupted = [] { return interrupted() != 0; };
  }
  const auto sizes = recordings::read_capture(options.file, reading);
  if (!sizes) {
    print_error(sizes.error());
    return kCouldNotRun;
  }
  const bool none = sizes->packets == 0 && sizes->ended_early;
  if (!none) {
    print(options.json ? capture_document(options.file, *sizes)
                                 .dump(2, ' ', false, Json::error_handler_t::replace) +
                             "\n"
                       : capture_text(*sizes));
  }
  if (!sizes->ended_early) return kDone;
  print_error(*sizes->ended_early);
  if (sizes->ended_early->code == ErrorCode::kCancelled) return interrupted_exit_status();
  return none ? kCouldNotRun : kFoundWrong;
}

}  // namespace

void add_size_capture_command(CLI::App& group, Invocation& invocation) {
  CLI::App* const command = group.add_subcommand(
      "capture", "sizes of packets and messages in a capture (pcap) of RoCEv2 or heddle");
  command->footer(kExample +
                  exit_status_help("the capture could not be read to its end", "could not run"));
  const auto options = std::make_shared<CaptureCommandOptions>();
  command->add_option("capture", options->file, "a file of pcap or pcapng; \"-\": standard input")
      ->required()
      ->type_name("FILE");
  command->add_option("--roce-port", options->roce_port, "the UDP port of RoCEv2 (default: 4791)")
      ->type_name("PORT")
      ->check(whole_number(1, kMostPort));
  command
      ->add_option("--heddle-port", options->heddle_ports,
                   "where endpoints of heddle receive; without it, packets are recognized by their "
                   "fields")
      ->type_name("PORT")
      ->check(whole_number(1, kMostPort))
      ->expected(1)
      ->take_all();
  add_json_option(*command, options->json);
  command->callback(
      [options, &invocation] { invocation.run = [options] { return run(*options); }; });
}

}  // namespace heddle::cli
