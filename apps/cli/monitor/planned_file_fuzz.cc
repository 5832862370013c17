// Fuzzer: any text as a plan that a monitor is to serve. One that it accepts can be followed by
// each of its hosts: the transport reads the same text with that host's address.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "apps/cli/json.h"
#include "apps/cli/monitor/planned_file.h"
#include "base/check.h"
#include "engine/addresses.h"
#include "engine/route_plan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heddle;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (!cli::check_plan(text, "fuzz")) return 0;
  const cli::Json document = cli::Json::parse(text, nullptr, false);
  CHECK(document.is_object());
  std::set<std::string> hosts;
  for (const cli::Json& flow : document.at("flows")) {
    hosts.insert(flow.at("from").get<std::string>());
  }
  CHECK(!hosts.empty());
  for (const std::string& host : hosts) {
    const Result<transport::Address> own =
        engine::parse_address(document.at("addresses").at(host).front().get<std::string>(), 0);
    CHECK(own.has_value());
    const std::vector<transport::Address> alone = {*own};
    CHECK(engine::RoutePlan::parse(text, "fuzz", alone).has_value());
  }
  return 0;
}
