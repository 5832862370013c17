// `heddle copy`: see copy_command.h. Here are the options, the sending side and its summary.
#include "apps/cli/copy_command.h"

#include <fmt/core.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/attachment.h"
#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_types.h"
#include "apps/cli/copy/receive_copies.h"
#include "apps/cli/copy/sending_link.h"
#include "apps/cli/copy/started_receiver.h"
#include "apps/cli/json.h"
#include "apps/cli/params.h"
#include "apps/cli/settings.h"
#include "apps/cli/terminal.h"
#include "base/interrupt.h"
#include "base/quantity.h"
#include "base/version.h"
#include "copying/sender.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle copy --via ssh images labels.csv node2:/data/train
  heddle copy --listen /data/train              on node2
  heddle copy images labels.csv node2:          on node1
  heddle copy --dry-run images/ node2:images
  heddle copy --relay relay-a,relay-b images node2:   the host there listens with --relayed

Of "images/" the content is copied, of "images" the folder. Without --via, 'heddle copy --listen'
runs on the host, and the folder behind the colon is relative to its folder. A copy that was
interrupted goes on when it is run again. Files of the same size and time are left as they are.)";

struct CopyOptions {
  std::vector<std::string> words;  // sources, and the destination last
  std::string listen;
  std::string receive;
  std::string via;
  bool once = false;
  bool without_keys = false;
  bool relayed = false;
  std::vector<std::string> relays;
  bool dry_run = false;
  bool json = false;
};

struct Destination {
  std::string host;
  std::string folder;
};

// "node2:/data", "[fe80::1]:data", "node2:". Errors: kInvalid.
Result<Destination> parse_destination(const std::string& text) {
  const size_t bracket = text.starts_with('[') ? text.find(']') : 0;
  const size_t colon = bracket == std::string::npos ? bracket : text.find(':', bracket);
  if (colon == std::string::npos || colon == 0) {
    return fail(ErrorCode::kInvalid, fmt::format("cannot copy to '{}'", text), "it names no host",
                "give HOST:FOLDER last; 'HOST:' is the listener's own folder");
  }
  Destination made{text.substr(0, colon), text.substr(colon + 1)};
  if (bracket > 0) made.host = text.substr(1, bracket - 1);
  return made;
}

// Entries that were not copied: counted, and the first ones kept. The reading thread adds to it.
class FailedEntries {
 public:
  void add(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (errors_.size() < params::copy::kMostErrors) errors_.push_back(error);
  }
  std::vector<Error> all() const {
    const std::lock_guard lock(mutex_);
    return errors_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Error> errors_;
};

struct CopySummary {
  std::string peer;
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t resumed = 0;
  uint64_t skipped = 0;
  uint64_t failed = 0;
  Nanos span;
  std::vector<Error> errors;

  double bits_per_s() const {
    return span.count > 0 ? static_cast<double>(bytes) * 8 / to_seconds(span) : 0;
  }
};

// "4.10 GB", "812 MB", "64 B".
std::string amount_text(uint64_t bytes) {
  const auto amount = static_cast<double>(bytes);
  if (bytes < 1'000'000) return size_text(bytes);
  return bytes < 1'000'000'000 ? digits_text(amount * 1e-6) + " MB"
                               : digits_text(amount * 1e-9) + " GB";
}

std::string summary_text(const CopySummary& summary, bool dry_run) {
  std::string text =
      fmt::format("{} of {}", counted_text(summary.files, "file"),
                  dry_run ? fmt::format("{} would be copied", amount_text(summary.bytes))
                          : amount_text(summary.bytes));
  if (!dry_run) {
    text += fmt::format(" copied to {} in {}, {}", summary.peer, duration_text(summary.span),
                        rate_text(summary.bits_per_s()));
  }
  if (summary.skipped > 0) text += fmt::format("; {} there already", count_text(summary.skipped));
  if (summary.resumed > 0) text += fmt::format("; {} resumed", amount_text(summary.resumed));
  if (summary.failed > 0) text += fmt::format("; {} NOT copied", count_text(summary.failed));
  return text + "\n";
}

Json summary_document(const CopySummary& summary, bool dry_run, const Error* error) {
  Json errors = Json::array();
  for (const Error& each : summary.errors) errors.push_back(each.message());
  Json document = {{"heddle", std::string(kVersion)},
                   {"peer", summary.peer},
                   {"dry_run", dry_run},
                   {"files", summary.files},
                   {"bytes", summary.bytes},
                   {"resumed_bytes", summary.resumed},
                   {"skipped", summary.skipped},
                   {"failed", summary.failed},
                   {"seconds", to_seconds(summary.span)},
                   {"goodput_gbits_per_s", summary.bits_per_s() * 1e-9},
                   {"interrupted", interrupted() != 0},
                   {"errors", errors}};
  if (error != nullptr) document["error"] = error->message();
  return document;
}

class Copy {
 public:
  Copy(const Config& config, const CopyOptions& options) : config_(config), options_(options) {}

  Result<int> run() {
    Result<Destination> destination = parse_destination(options_.words.back());
    if (!destination) return fail(destination.error());
    catch_interrupts();
    auto port = static_cast<uint16_t>(config_.integer("port"));
    if (!options_.via.empty()) {
      if (Result<void> started = start_receiver(*destination); !started) {
        return interrupted() != 0 ? Result<int>(interrupted_exit_status()) : fail(started.error());
      }
      port = receiver_->port();
    }
    auto endpoint = receiver_ ? attach_client(config_, {receiver_->key()}) : attach_client(config_);
    if (!endpoint) return fail(endpoint.error());
    return connect_and_send(**endpoint, *destination, port);
  }

 private:
  Result<void> start_receiver(Destination& destination) {
    const std::string folder = destination.folder.empty() ? "." : destination.folder;
    auto started = StartedReceiver::start(options_.via, destination.host, folder);
    if (!started) return fail(started.error());
    receiver_.emplace(std::move(*started));
    destination.folder.clear();
    if (const size_t at = destination.host.rfind('@'); at != std::string::npos) {
      destination.host.erase(0, at + 1);  // the user's name is for ssh alone
    }
    return {};
  }

  Result<int> connect_and_send(engine::Endpoint& endpoint, const Destination& destination,
                               uint16_t port) {
    const auto opened = open_sending_link(endpoint, {.host = destination.host,
                                                     .port = port,
                                                     .relays = options_.relays,
                                                     .started = receiver_.has_value()});
    if (!opened) {
      return interrupted() != 0 ? Result<int>(interrupted_exit_status()) : fail(opened.error());
    }
    summary_.peer = opened->peer;
    const Result<void> ran = send(*opened->link, destination.folder);
    if (receiver_) receiver_->finish();
    return conclude(ran);
  }

  Result<void> send(engine::MessageLink& link, const std::string& folder) {
    const std::vector<std::string> sources(options_.words.begin(), options_.words.end() - 1);
    const Nanos began = link.now();
    auto sender =
        copying::Sender::make(link, {.sources = sources,
                                     .folder = folder.substr(0, folder.find_last_not_of('/') + 1),
                                     .dry = options_.dry_run,
                                     .failed = [this](const Error& error) { failed_.add(error); }});
    if (!sender) return fail(sender.error());
    ProgressLine line;
    const Result<void> ran = (*sender)->run([&](const copying::CopyCounts& counts) {
      const double seconds = to_seconds(link.now() - began);
      line.show(fmt::format("{}, {}, {}", counted_text(counts.files, "file"),
                            amount_text(counts.bytes),
                            rate_text(static_cast<double>(counts.bytes) * 8 / seconds)));
    });
    line.clear();
    const copying::CopyCounts& counts = (*sender)->counts();
    summary_.files = counts.files;
    summary_.bytes = counts.bytes;
    summary_.resumed = counts.resumed;
    summary_.skipped = counts.skipped;
    summary_.failed = counts.failed;
    summary_.span = link.now() - began;
    return ran;
  }

  Result<int> conclude(const Result<void>& ran) {
    summary_.errors = failed_.all();
    const bool stopped = interrupted() != 0;
    for (const Error& each : summary_.errors) print_error(each);
    if (summary_.failed > summary_.errors.size()) {
      print_warning(fmt::format("{} more were not copied",
                                count_text(summary_.failed - summary_.errors.size())));
    }
    if (options_.json) {
      const Error* const error = ran || stopped ? nullptr : &ran.error();
      const Json document = summary_document(summary_, options_.dry_run, error);
      print(document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
    } else {
      print(summary_text(summary_, options_.dry_run));
    }
    if (stopped) return interrupted_exit_status();
    if (!ran) {
      return fail(ran.error().code, fmt::format("the copy to {} is incomplete", summary_.peer),
                  ran.error().message(), "run the copy again: it goes on with what is missing");
    }
    return summary_.failed > 0 ? kFoundWrong : kDone;
  }

  const Config& config_;
  const CopyOptions& options_;
  std::optional<StartedReceiver> receiver_;
  FailedEntries failed_;
  CopySummary summary_;
};

int run_copy(const Settings& settings, const CopyOptions& options) {
  const Result<Config> config = settings.load();
  if (!config) {
    print_error(config.error());
    return kCouldNotRun;
  }
  if (!options.listen.empty() || !options.receive.empty()) {
    const bool started = !options.receive.empty();
    return receive_copies(*config, {.folder = started ? options.receive : options.listen,
                                    .once = options.once || started,
                                    .started = started,
                                    .without_keys = options.without_keys,
                                    .relayed = options.relayed});
  }
  const Result<int> status = Copy(*config, options).run();
  if (status) return *status;
  print_error(status.error());
  return kCouldNotRun;
}

}  // namespace

void add_copy_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const copy =
      root.add_subcommand("copy", "copy files and folders to another host, and verify them");
  copy->footer(kExample + exit_status_help("some entries were not copied", "could not run"));
  const auto options = std::make_shared<CopyOptions>();
  const auto settings = std::make_shared<Settings>(*copy);
  auto* const words =
      copy->add_option("paths", options->words, "files and folders, and where they go")
          ->type_name("SOURCE... HOST:FOLDER");
  auto* const listen =
      copy->add_option("--listen", options->listen, "receive copies into this folder")
          ->type_name("FOLDER")
          ->excludes(words);
  copy->add_flag("--once", options->once, "with --listen: end when the first sender has left")
      ->needs(listen);
  copy->add_flag("--without-keys", options->without_keys,
                 "with --listen: accept files from anyone who reaches the port")
      ->needs(listen);
  copy->add_flag("--relayed", options->relayed,
                 "with --listen: receive what comes through 'heddle relay', and nothing else")
      ->needs(listen);
  auto* const receive =
      copy->add_option("--receive", options->receive,
                       "receive one copy into this folder, at any free port; --via starts this")
          ->type_name("FOLDER")
          ->excludes(words)
          ->excludes(listen);
  auto* const via = copy->add_option(
      "--via", options->via, "start the receiver there by this shell: ssh, or words as run has");
  via->type_name("SHELL")->excludes(listen)->excludes(receive);
  copy->add_option("--relay", options->relays, "go through these relays, in their order")
      ->type_name("HOST[:PORT],...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->excludes(listen)
      ->excludes(receive)
      ->excludes(via);
  copy->add_flag("--dry-run", options->dry_run, "only find what would be copied")
      ->excludes(listen)
      ->excludes(receive);
  add_json_option(*copy, options->json);
  settings->offer("-p,--port", "port", "PORT");
  settings->offer("--bind", "bind", kAddressListType);
  settings->offer("--paths", "paths", "N");
  settings->offer("--cc", "congestion", "NAME");
  copy->callback([options, settings, &invocation] {
    if (options->listen.empty() && options->receive.empty() && options->words.size() < 2) {
      throw CLI::RequiredError("a source and HOST:FOLDER, or --listen,");
    }
    invocation.run = [options, settings] { return run_copy(*settings, *options); };
  });
}

}  // namespace heddle::cli
