// Listen: see listen.h.
#include "apps/cli/listen.h"

#include <fmt/core.h>

#include "apps/cli/attachment.h"
#include "apps/cli/drops.h"
#include "apps/cli/json.h"
#include "apps/cli/params.h"
#include "apps/cli/terminal.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/quantity.h"
#include "base/version.h"
#include "datapath/resolve.h"
#include "engine/configured.h"
#include "engine/key_file.h"
#include "measure/server.h"

namespace heddle::cli {
namespace {

// The key file has changed. Where it cannot be used, the keys stay as they are.
void reload_keys(const Config& config, engine::Endpoint& endpoint) {
  const auto keys = engine::configured_keys(config);
  const Result<void> changed = keys ? endpoint.set_keys(*keys) : fail(keys.error());
  if (!changed) {
    print_error(changed.error());
    print_warning("the keys of before stay in use");
    return;
  }
  std::string ids;
  for (const transport::ClusterKey& key : *keys) ids += " " + engine::id_text(key);
  log_info("keys read anew:{}", ids);
}

}  // namespace

int listen(const Config& config, const ListenOptions& options) {
  catch_interrupts();
  Result<std::unique_ptr<engine::Endpoint>> endpoint = attach_server(config);
  if (!endpoint) {
    print_error(endpoint.error());
    return kCouldNotRun;
  }
  // Before the address is printed: a program that reads it may then signal a reload of the keys.
  const bool keyed = !config.text("key_file").empty();
  if (keyed) catch_reload();
  const std::string address = datapath::to_text((*endpoint)->local_address());
  if (!options.json) {
    print(fmt::format("heddle {} listens on {}; Ctrl-C stops it\n", kVersion, address));
  }
  std::deque<Json> records;
  const auto report = [&](const std::string& peer, const std::string& text, const Json& record) {
    if (!options.json) {
      print(fmt::format("{:<22} {}\n", peer, text));
      return;
    }
    if (records.size() == params::kMostRecords) records.pop_front();
    records.push_back({{"peer", peer}});
    records.back().update(record);
  };
  measure::Server server(
      **endpoint, report, engine::stranger_share(config, engine::kServerTestParts),
      options.relayed ? measure::Server::Access::kRelayed : measure::Server::Access::kDirect);
  const bool all_well = server.run(options.once, [&] {
    if (keyed && take_reload()) reload_keys(config, **endpoint);
  });
  const int stopped_by = interrupted();
  if (options.json) {
    const Json document = {{"heddle", std::string(kVersion)},
                           {"address", address},
                           {"clients", server.clients()},
                           {"turned_away", server.turned_away()},
                           {"interrupted", stopped_by != 0},
                           {"dropped_datagrams", drops_of((*endpoint)->statistics())},
                           {"records", records}};
    print(document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  } else if (stopped_by != 0) {
    print(fmt::format("stopped; {} served\n", counted_text(server.clients(), "client")));
  }
  if (stopped_by != 0) return interrupted_exit_status();
  return all_well ? kDone : kCouldNotRun;
}

}  // namespace heddle::cli
