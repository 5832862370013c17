// The process's own devices and endpoints: the host's interfaces, HEDDLE_* and heddle.toml.
#include <string>
#include <vector>

#include "base/config.h"
#include "base/log.h"
#include "datapath/interfaces.h"
#include "engine/configured.h"
#include "engine/seed.h"
#include "nccl/nics.h"
#include "plugins/nccl/host_log.h"
#include "plugins/nccl/net/net.h"

namespace heddle::nccl {
namespace {

Result<Config> load_config() {
  Result<Config> config = Config::load(config_keys(), ConfigSources::of_process());
  if (config) {
    set_log_level(heddle::parse_log_level(config->text("log")).value_or(heddle::LogLevel::kWarn));
    for (const std::string& warning : config->warnings()) host_log().warn(warning);
  }
  return config;
}

Result<std::vector<Device>> host_devices() {
  const Result<Config> config = load_config();
  if (!config) return fail(config.error());
  const Result<std::vector<Nic>> nics = find_nics({.interfaces = datapath::host_interfaces(),
                                                   .selection = config->text("ifname"),
                                                   .file = config->text("nccl.nics")});
  if (!nics) return fail(nics.error());
  std::vector<Device> devices;
  for (const Nic& nic : *nics) {
    devices.push_back(device_of(nic, static_cast<int>(devices.size())));
    devices.back().threads = static_cast<int>(config->integer("nccl.threads"));
  }
  return devices;
}

Result<std::shared_ptr<engine::Endpoint>> open_device(const Device& device, int traffic_class) {
  const Result<Config> config = load_config();
  if (!config) return fail(config.error());
  Result<engine::Options> options = engine::configured_options(*config);
  if (!options) return fail(options.error());
  fit_for_links(*options);
  if (device.threads > 0) options->drive = engine::Drive::kThread;
  engine::NetworkOptions network = engine::configured_network(*config);
  network.bind.clear();
  for (const std::string& interface : device.interfaces) {
    network.bind += (network.bind.empty() ? "" : ",") + interface;
  }
  // The lowest two bits are ECN's, whatever the job names.
  if (traffic_class >= 0) network.traffic_class = static_cast<uint8_t>(traffic_class & 0xfc);
  Result<std::unique_ptr<engine::Endpoint>> opened = engine::Endpoint::open(network, *options);
  if (!opened && !options->recording.directory.empty()) {
    // A job goes on without its recording, on a full disk for example.
    const std::string why = opened.error().message();
    options->recording = {};
    opened = engine::Endpoint::open(network, *options);
    if (opened) host_log().warn("this process records nothing: " + why);
  }
  if (!opened) return fail(opened.error());
  return std::shared_ptr<engine::Endpoint>(std::move(*opened));
}

}  // namespace

NetSources host_sources() {
  return {.devices = &host_devices, .open = &open_device, .numbers = &engine::system_seed};
}

}  // namespace heddle::nccl
