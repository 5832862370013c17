// `heddle verify`: see verify_command.h. Here are the options, the lab and the report's files; what
// is tested is in acceptance/.
#include "apps/cli/verify_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "acceptance/acceptance.h"
#include "acceptance/documents.h"
#include "acceptance/earlier.h"
#include "acceptance/fabric.h"
#include "acceptance/report_document.h"
#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/json.h"
#include "apps/cli/terminal.h"
#include "apps/cli/verify/live_metrics.h"
#include "apps/cli/verify/report_commands.h"
#include "apps/cli/verify/report_copies.h"
#include "apps/cli/verify/report_files.h"
#include "apps/cli/verify/report_signing.h"
#include "apps/cli/verify/rewrite_command.h"
#include "apps/cli/verify/signature_command.h"
#include "apps/cli/verify/tested_lab.h"
#include "apps/cli/verify/verify_options.h"
#include "base/document.h"
#include "base/temporary_folder.h"
#include "lab/lab.h"
#include "lab/rights.h"
#include "lab/run.h"
#include "launch/remote_shell.h"
#include "topology/file.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle verify --quick
  heddle verify --report rack7 --language ja --pdf
  heddle verify --hosts node1,node2,node3 --report rack7
  heddle verify --hosts node1=10.1.0.1,node2=10.1.0.2 --topology rack7.toml --report rack7
  heddle verify --via 'srun -N1 -n1 --overlap -w {host}' --hosts node1,node2
  heddle verify --topology fabric.toml --expect rack7.toml --report rack7
  heddle lab up fabric.toml --lab rack7; heddle verify --lab rack7 --stage pairs
  heddle verify --hosts node1,node2,node3 --metrics 0.0.0.0:18704
  heddle verify --resume rack7
  heddle verify diff rack7-monday rack7-friday

Stages, each only if the one before passed: inventory, reach, pairs, collectives, stress, training,
traffic. Training is of a built-in job, and of ResNet-18 where the hosts have PyTorch and
heddle_torch; with --quick only if --python, --cifar or --weights ask for it. After a failure the
rest is tested alone. --hosts tests real machines, on which heddle is installed; --via names what
starts commands there. Without --hosts and --lab a fabric of network namespaces is made for the test
and removed afterwards. The report's folder gets report.html, report.txt, report.json, junit.xml,
ctrf.json and the recordings. It is up to date after each stage: --resume keeps the stages that
passed and goes on with the first other one, after an interruption or a fault that was mended.)";

bool stopped() { return lab::noted_signal() != 0; }

int could_not(const Error& error) {
  if (stopped()) return 128 + lab::noted_signal();
  print_error(error);
  return kCouldNotRun;
}

Result<acceptance::AcceptanceOptions> acceptance_options(const VerifyOptions& options) {
  acceptance::AcceptanceOptions made{
      .stages = options.stages, .training = options.training, .interrupted = stopped};
  if (options.quick) made.depth = acceptance::Depth::kQuick;
  if (options.full) made.depth = acceptance::Depth::kFull;
  made.coverage = coverage_named(options.coverage);
  if (!options.expect.empty()) {
    Result<acceptance::Expectations> read = acceptance::read_expectations(options.expect);
    if (!read) return fail(std::move(read).error());
    made.expectations = *read;
  }
  return made;
}

// What a lab that was there should be.
Result<std::optional<topology::Topology>> plan_of(const VerifyOptions& options,
                                                  const lab::Lab& lab) {
  if (options.lab.empty() || options.topology.empty()) return std::optional<topology::Topology>();
  Result<topology::Topology> plan = topology::read_topology_file(options.topology);
  if (!plan) return fail(std::move(plan).error());
  if (auto same = acceptance::check_plan(*plan, lab.layout.topology); !same) {
    return fail(same.error());
  }
  return std::optional<topology::Topology>(std::move(*plan));
}

int exit_status(const acceptance::Report& report) {
  if (report.signal != 0) return 128 + report.signal;
  if (acceptance::is_broken(report)) return kCouldNotRun;
  return grade_of(report) == Grade::kFail ? kFoundWrong : kDone;
}

// The label of metrics: the same for each test of the fabric.
std::string label_of(const VerifyOptions& options, const acceptance::Fabric& fabric) {
  if (!options.lab.empty()) return options.lab;
  if (!options.topology.empty()) return lab::name_after(options.topology);
  return options.hosts.empty() ? "emulated" : fabric.name();
}

struct Test {
  const VerifyOptions& options;
  acceptance::AcceptanceOptions& acceptance;
  LiveMetrics* live;           // none: they are not asked for
  const ReportFolder* report;  // none: it is only printed
};

// What the report calls the fabric and its plan.
struct Names {
  std::string fabric;  // empty: the fabric's own
  std::string topology;
};

Names names_of(const VerifyOptions& options, const lab::Lab* lab) {
  if (lab == nullptr) {
    return {"", options.topology.empty() ? "ports as the machines have them" : options.topology};
  }
  if (!options.lab.empty()) {
    return {"", options.topology.empty() ? lab->state.source : options.topology};
  }
  if (options.topology.empty()) {
    return {"an emulated leaf-spine fabric", "four hosts, two leaves, four spines"};
  }
  return {lab::name_after(options.topology), options.topology};
}

void complete_report(const VerifyOptions& options, const Names& names, acceptance::Report& report) {
  if (!names.fabric.empty()) report.fabric = names.fabric;
  report.topology = names.topology;
  report.asked = asked_of(options);
  report.signal = lab::noted_signal();
}

// A report that cannot be written is an error at the end; until then the test goes on.
void save_so_far(const Test& test, const Names& names, acceptance::Report report,
                 ProgressLine& line) {
  if (test.report == nullptr) return;
  complete_report(test.options, names, report);
  if (auto written = test.report->write(report); !written) {
    line.clear();
    print_warning(written.error().message());
  }
}

Result<acceptance::Report> run_test(const Test& test, const Names& names,
                                    const acceptance::Fabric& fabric) {
  acceptance::AcceptanceOptions& options = test.acceptance;
  if (test.live != nullptr) {
    if (auto served = test.live->serve(label_of(test.options, fabric)); !served) {
      return fail(std::move(served).error());
    }
    options.live = &test.live->figures();
  }
  ProgressLine line;
  options.progress = [&line](const std::string& text) { line.show(text); };
  options.stage_ended = [&](const acceptance::Report& so_far) {
    save_so_far(test, names, so_far, line);
  };
  Result<acceptance::Report> report = acceptance::run_acceptance(fabric, options);
  line.clear();
  if (report) complete_report(test.options, names, *report);
  return report;
}

Result<acceptance::Report> test_machines(const Test& test) {
  const VerifyOptions& options = test.options;
  const Result<launch::RemoteShell> shell = launch::parse_remote_shell(options.via);
  if (!shell) return fail(shell.error());
  Result<std::vector<launch::RemoteHost>> hosts = launch::parse_remote_hosts(options.hosts);
  if (!hosts) return fail(std::move(hosts).error());
  acceptance::MachinesAsked asked{.shell = *shell,
                                  .via = options.via,
                                  .hosts = std::move(*hosts),
                                  .topology = {},
                                  .interrupted = stopped};
  if (!options.topology.empty()) {
    Result<topology::Topology> topology = topology::read_topology_file(options.topology);
    if (!topology) return fail(std::move(topology).error());
    asked.topology = std::move(*topology);
  }
  Result<std::unique_ptr<acceptance::Fabric>> fabric =
      acceptance::fabric_of_machines(std::move(asked));
  if (!fabric) return fail(std::move(fabric).error());
  return run_test(test, names_of(options, nullptr), **fabric);
}

// Runs the test and takes the lab down, whatever happened.
Result<acceptance::Report> test_lab(const Test& test) {
  const VerifyOptions& options = test.options;
  Result<TestedLab> tested = TestedLab::open(options, test.acceptance.folder, stopped);
  if (!tested) return fail(std::move(tested).error());
  Result<std::optional<topology::Topology>> plan = plan_of(options, tested->lab());
  if (!plan) return fail(std::move(plan).error());
  test.acceptance.plan = std::move(*plan);
  const auto fabric = acceptance::fabric_of_lab(tested->lab());
  Result<acceptance::Report> report = run_test(test, names_of(options, &tested->lab()), *fabric);
  if (!report) return report;
  if (Result<void> down = tested->close(); !down) return fail(down.error());
  return report;
}

// The folder of the report, or a passing one where none is asked for.
struct Place {
  std::optional<ReportFolder> report;
  std::optional<TemporaryFolder> passing;

  const std::string& path() const { return report ? report->path() : passing->path(); }
};

Result<Place> make_place(const VerifyOptions& options) {
  Place place;
  if (options.report.empty() && options.resume.empty()) {
    Result<TemporaryFolder> made = TemporaryFolder::make("heddle-verify");
    if (!made) return fail(made.error());
    place.passing = std::move(*made);
    return place;
  }
  Result<ReportFolder> made = options.resume.empty() ? ReportFolder::make(options.report)
                                                     : ReportFolder::open(options.resume);
  if (!made) return fail(std::move(made).error());
  place.report = std::move(*made);
  return place;
}

// The test that is gone on with; it replaces the options by those that it was asked for with.
Result<acceptance::Report> read_earlier(VerifyOptions& options) {
  Result<acceptance::Json> document = acceptance::read_report(options.resume);
  if (!document) return fail(std::move(document).error());
  Result<acceptance::Report> earlier = acceptance::report_of(*document);
  if (!earlier) return earlier;
  if (Result<void> read = read_asked(earlier->asked, options); !read) return fail(read.error());
  options.report = options.resume;
  const std::string machines =
      options.hosts.empty() ? "" : fmt::format(", machines {} by {}", options.hosts, options.via);
  print_progress(fmt::format("going on with the test of {}{}", earlier->started, machines));
  return earlier;
}

int print_report(const VerifyOptions& options, const acceptance::Report& report) {
  // In ASCII: a terminal obeys control characters above it, too.
  print(options.json
            ? acceptance::json_of(report).dump(2, ' ', true, Json::error_handler_t::replace) + "\n"
            : acceptance::text_of(report));
  return exit_status(report);
}

int run_in_place(const VerifyOptions& options, const Place& place,
                 const acceptance::Report* earlier, LiveMetrics* live,
                 const std::optional<acceptance::PrivateKey>& key) {
  Result<acceptance::AcceptanceOptions> made = acceptance_options(options);
  if (!made) return could_not(made.error());
  made->folder = place.path();
  made->earlier = earlier;
  const ReportFolder* const folder = place.report ? &*place.report : nullptr;
  const Test test{options, *made, live, folder};
  const Result<acceptance::Report> report =
      options.hosts.empty() ? test_lab(test) : test_machines(test);
  if (!report) return could_not(report.error());
  const int status = print_report(options, *report);
  if (folder == nullptr) return status;
  const auto could_not_write = [](const Error& error) {
    print_error(error);
    return stopped() ? 128 + lab::noted_signal() : kCouldNotRun;
  };
  if (auto written = folder->write(*report); !written) return could_not_write(written.error());
  if (!options.json) print(fmt::format("report: {}/report.html\n", options.report));
  const Result<void> copies = write_copies(options, *folder, *report);
  if (key) {
    const auto done = sign_report(options, *folder, *key, report->complete);
    if (!done) return could_not_write(done.error());
  }
  if (options.json) return copies ? status : could_not_write(copies.error());
  if (key) print(fmt::format("signed: by the key {}\n", key->public_key().id()));
  if (!report->complete) {
    print(fmt::format("go on:  {}\n", launch::shell_line(resume_words(options.report, options))));
  }
  return copies ? status : could_not_write(copies.error());
}

int run_verify(VerifyOptions options) {
  lab::note_signals();
  const Result<std::optional<acceptance::PrivateKey>> key = read_sign_key(options);
  if (!key) return could_not(key.error());
  if (auto fine = check_copies(options); !fine) return could_not(fine.error());
  std::unique_ptr<LiveMetrics> live;
  if (!options.metrics.empty()) {
    Result<std::unique_ptr<LiveMetrics>> opened = LiveMetrics::open(options.metrics);
    if (!opened) return could_not(opened.error());
    live = std::move(*opened);
    print_progress(fmt::format("metrics are at {}", live->url()));
  }
  const Result<Place> place = make_place(options);
  if (!place) return could_not(place.error());
  if (*key) {
    const Result<void> fine = place->report->check_signable(options.sign);
    if (!fine) return could_not(fine.error());
  }
  std::optional<acceptance::Report> earlier;
  if (!options.resume.empty()) {
    Result<acceptance::Report> read = read_earlier(options);
    if (!read) return could_not(read.error());
    earlier = std::move(*read);
  }
  return run_in_place(options, *place, earlier ? &*earlier : nullptr, live.get(), *key);
}

void add_training_options(CLI::App& command, acceptance::TrainingOptions& training) {
  const auto add = [&](const char* name, std::string& value, const char* help) {
    return command.add_option(name, value, help)->each([&training](const std::string& /*value*/) {
      training.wanted = true;
    });
  };
  add("--python", training.python, "train ResNet-18 with this Python of the hosts")
      ->type_name("PROGRAM")
      ->capture_default_str();
  add("--cifar", training.cifar, "train with CIFAR-10's binary files in this folder of the hosts")
      ->type_name("FOLDER")
      ->default_str("images made there");
  add("--weights", training.weights, "train from these weights of ResNet-18, a file on the hosts")
      ->type_name("FILE")
      ->default_str("random ones");
}

}  // namespace

void add_verify_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const command =
      root.add_subcommand("verify", "test a fabric from cables to collectives, and write a report");
  command->footer(kExample + exit_status_help("a check failed", "a stage could not measure"));
  const auto options = std::make_shared<VerifyOptions>();
  auto* const lab = add_lab_option(*command, options->lab);
  lab->default_str("a new one, for the test");
  auto* const hosts = add_hosts_option(*command, options->hosts, "test these machines");
  hosts->default_str("")->excludes(lab);
  add_via_option(*command, options->via)->capture_default_str()->needs(hosts);
  add_topology_option(*command, options->topology,
                      "the fabric to make; with --lab or --hosts, what that one should be");
  command->add_option("--stage", options->stages, "run only this stage; may be given several times")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->check(one_of(acceptance::stage_names()))
      ->default_str("all");
  auto* const quick = command->add_flag("--quick", options->quick,
                                        "short measurements, about a minute if nothing fails");
  command
      ->add_flag("--full", options->full,
                 "60 s for each bandwidth, latency and large collective: for four hosts about 50 "
                 "minutes, and 12 more for each further host")
      ->excludes(quick);
  command->add_option("--expect", options->expect, "read what the fabric must reach from this file")
      ->type_name("FILE")
      ->default_str("shares of the links' rates");
  command
      ->add_option("--coverage", options->coverage,
                   "measure pairs of hosts: each host and the next one, a sample, or all of them")
      ->type_name("ring|sample|full")
      ->check(one_of(coverage_names()))
      ->default_str("full; a sample if --quick meets many hosts");
  add_training_options(*command, options->training);
  command->add_option("--report", options->report, "write the report to this new folder")
      ->type_name("FOLDER");
  auto* const resume =
      command
          ->add_option("--resume", options->resume,
                       "go on with the test whose report is in this folder, with its options; "
                       "--hosts, --via and --python must be given again")
          ->type_name("FOLDER");
  const std::array<std::string_view, 5> with_it = {"--help", "--resume", "--hosts", "--via",
                                                   "--python"};
  for (CLI::Option* const other : command->get_options()) {
    if (std::find(with_it.begin(), with_it.end(), other->get_name()) == with_it.end()) {
      resume->excludes(other);
    }
  }
  command
      ->add_option("--metrics", options->metrics,
                   "serve live metrics to Prometheus, on 127.0.0.1; for other hosts give an "
                   "address, as 0.0.0.0:18704")
      ->type_name("[ADDRESS:]PORT")
      ->check(listen_address_value());
  command->add_option("--sign", options->sign, "sign the report with this Ed25519 key, a PEM file")
      ->type_name("FILE");
  add_copy_options(*command, *options);
  add_json_option(*command, options->json);
  add_report_commands(*command, invocation);
  add_rewrite_command(*command, invocation);
  add_signature_command(*command, invocation);
  command->callback([options, command, &invocation] {
    if (!command->get_subcommands().empty()) return;
    invocation.run = [options] { return run_verify(*options); };
  });
}

}  // namespace heddle::cli
