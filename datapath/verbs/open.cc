// See open.h; open_verbs() is in datapath/verbs.h.
#include "datapath/verbs/open.h"

#include <memory>
#include <string>
#include <utility>

#include "datapath/engines.h"
#include "datapath/interfaces.h"
#include "datapath/resolve.h"
#include "datapath/ud/ud_datapath.h"
#include "datapath/verbs/verbs_datapath.h"

namespace heddle::datapath {
namespace {

Result<void> check(const VerbsOptions& options) {
  if (options.chunk_paths < 1 || options.chunk_paths > 255) {
    return fail(ErrorCode::kInvalid, "cannot open RDMA verbs",
                std::to_string(options.chunk_paths) + " queue pairs to a peer are not possible",
                "choose 1 to 255");
  }
  if (options.bind.find(',') != std::string::npos) {
    return fail(ErrorCode::kInvalid, "cannot open RDMA verbs",
                "it uses one NIC, and bind is '" + options.bind + "'",
                "name one of them, or set datapath to udp");
  }
  return {};
}

Result<RdmaBinding> binding_of(const std::string& bind) {
  RdmaBinding binding;
  if (bind.empty()) return binding;
  for (const HostInterface& interface : host_interfaces()) {
    if (interface.name == bind) {
      binding.interface = bind;
      return binding;
    }
  }
  const Result<transport::Address> address = resolve(bind, 0);
  if (!address) return fail(address.error());
  binding.address = address->host;
  return binding;
}

template <typename Made>
Result<std::unique_ptr<Datapath>> as_datapath(Result<std::unique_ptr<Made>> made) {
  if (!made) return fail(std::move(made).error());
  return std::unique_ptr<Datapath>(std::move(made).value());
}

}  // namespace

Result<VerbsPort> find_verbs_port(const VerbsOptions& options) {
  if (Result<void> good = check(options); !good) return fail(good.error());
  const Result<RdmaBinding> binding = binding_of(options.bind);
  if (!binding) return fail(binding.error());
  const Result<RdmaChoice> choice = choose_rdma_port(read_rdma_facts(), *binding);
  if (!choice) return fail(choice.error());
  if (options.hardware_only && choice->software) {
    return fail(ErrorCode::kUnavailable, "cannot open RDMA verbs",
                choice->device + " is RDMA in software", "set datapath to verbs to use it");
  }
  const Result<const VerbsLibrary*> library = VerbsLibrary::load();
  if (!library) return fail(library.error());
  return VerbsPort{*choice, *library};
}

UdpOptions udp_beside_verbs(const VerbsOptions& options, const RdmaChoice& choice) {
  UdpOptions udp;
  udp.bind = rdma_address_text(choice.gid.address);
  udp.port = options.port;
  udp.paths = options.paths;
  udp.mtu_bytes = options.mtu_bytes;
  udp.traffic_class = options.traffic_class;
  udp.receive_buffer = options.receive_buffer;
  udp.place_min_bytes = options.place_min_bytes;
  return udp;
}

Result<std::unique_ptr<Datapath>> open_verbs(const VerbsOptions& options) {
  const Result<VerbsPort> port = find_verbs_port(options);
  if (!port) return fail(port.error());
  if (options.mode == RdmaMode::kDatagrams) {
    return as_datapath(UdDatapath::open(options, {.port = *port}));
  }
  return as_datapath(VerbsDatapath::open(options, *port));
}

Result<std::vector<std::unique_ptr<Datapath>>> open_verbs_engines(const VerbsOptions& options,
                                                                  uint8_t engines) {
  const Result<VerbsPort> port = find_verbs_port(options);
  if (!port) return fail(port.error());
  return open_verbs_engines(options, *port, engines);
}

Result<std::vector<std::unique_ptr<Datapath>>> open_verbs_engines(const VerbsOptions& options,
                                                                  const VerbsPort& port,
                                                                  uint8_t engines) {
  auto udp = UdpDatapath::open_engines(udp_beside_verbs(options, port.choice), engines);
  if (!udp) return fail(std::move(udp).error());
  std::vector<std::unique_ptr<Datapath>> all;
  for (std::unique_ptr<UdpDatapath>& each : *udp) {
    const transport::EngineShare engine{static_cast<uint8_t>(all.size()), engines};
    auto made = options.mode == RdmaMode::kDatagrams
                    ? as_datapath(UdDatapath::open(options, {.port = port, .engine = engine},
                                                   std::move(each)))
                    : as_datapath(VerbsDatapath::open(options, port, std::move(each)));
    if (!made) return fail(std::move(made).error());
    all.push_back(std::move(*made));
  }
  return with_engines(std::move(all));
}

}  // namespace heddle::datapath
