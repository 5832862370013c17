// `heddle plan leases`: see leases_command.h.
#include "apps/cli/plan/leases_command.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/json.h"
#include "apps/cli/terminal.h"
#include "base/printable.h"
#include "base/quantity.h"
#include "base/version.h"
#include "leases/store.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle plan leases --leases /shared/leases
  heddle plan leases --leases etcd:10.0.0.1:2379 --json

Lists the jobs that hold leases, and the links that each of them loads most: the time that the link
takes for the job's bytes.)";

struct LeasesOptions {
  std::string store;
  bool json = false;
};

Json document_of(const leases::Snapshot& snapshot) {
  Json list = Json::array();
  for (const leases::StoredLease& each : snapshot.live) {
    const leases::Lease& lease = each.lease;
    Json links = Json::array();
    for (const leases::BusyLink& link : lease.busiest) {
      links.push_back({{"link", link.name}, {"busy_us", link.busy_us}});
    }
    list.push_back({{"job", lease.job},
                    {"host", lease.host},
                    {"process", lease.process},
                    {"since", fmt::format("{:%FT%TZ}", fmt::gmtime(lease.since_s))},
                    {"expires_in_s", to_seconds(each.left)},
                    {"ttl_s", to_seconds(lease.ttl)},
                    {"payload_bytes", lease.bytes},
                    {"period_s", to_seconds(lease.period)},
                    {"plans", lease.plans},
                    {"fabric", lease.fabric},
                    {"busiest", std::move(links)}});
  }
  return {{"heddle", kVersion}, {"leases", std::move(list)}, {"ignored", snapshot.ignored}};
}

std::string text_of(const leases::Snapshot& snapshot) {
  if (snapshot.live.empty()) return "no job holds a lease\n";
  std::string text = fmt::format("{:<20} {:<16} {:<20} {:>8} {:>10}  {}\n", "job", "host", "since",
                                 "expires", "bytes", "most loaded links");
  for (const leases::StoredLease& each : snapshot.live) {
    const leases::Lease& lease = each.lease;
    std::string links;
    for (const leases::BusyLink& link : lease.busiest) {
      links += fmt::format("{}{} {}", links.empty() ? "" : ", ", link.name,
                           duration_text(nanos(static_cast<int64_t>(link.busy_us * 1e3))));
    }
    text +=
        fmt::format("{:<20} {:<16} {:<20} {:>7.0f}s {:>10}  {}\n", lease.job, printable(lease.host),
                    fmt::format("{:%F %T}", fmt::gmtime(lease.since_s)), to_seconds(each.left),
                    lease.bytes, links.empty() ? "none between switches" : printable(links));
  }
  return text;
}

int run_leases(const LeasesOptions& options) {
  const auto store = leases::open_store_to_read(options.store);
  const Result<leases::Snapshot> snapshot =
      store ? (*store)->read() : Result<leases::Snapshot>(fail(store.error()));
  if (!snapshot) {
    print_error(snapshot.error());
    return kCouldNotRun;
  }
  for (const std::string& each : snapshot->ignored) print_warning(each);
  // Names of foreign files may have any bytes.
  print(options.json
            ? document_of(*snapshot).dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
            : text_of(*snapshot));
  return snapshot->ignored.empty() ? kDone : kFoundWrong;
}

}  // namespace

void add_leases_command(CLI::App& plan, Invocation& invocation) {
  CLI::App* const command = plan.add_subcommand("leases", "list the jobs that hold leases");
  command->footer(kExample + exit_status_help("something in the store is no lease",
                                              "the store could not be read"));
  const auto options = std::make_shared<LeasesOptions>();
  command
      ->add_option("--leases", options->store,
                   "where jobs publish: a folder, or etcd:HOST:PORT (required)")
      ->type_name("FOLDER|etcd:HOST:PORT");
  add_json_option(*command, options->json);
  command->callback([options, &invocation] {
    if (options->store.empty()) throw CLI::RequiredError("--leases");
    invocation.run = [options] { return run_leases(*options); };
  });
}

}  // namespace heddle::cli
