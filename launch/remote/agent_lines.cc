// See agent_lines.h.
#include "launch/remote/agent_lines.h"

#include <nlohmann/json.hpp>

namespace heddle::launch {
namespace {

constexpr int kVersion = 1;

}  // namespace

Result<std::string> order_line(const AgentOrder& order) {
  const RemoteCommand& command = order.command;
  nlohmann::json document = {{"heddle_agent", kVersion},
                             {"words", command.words},
                             {"settings", command.settings},
                             {"secrets", command.secrets},
                             {"grace_ns", command.grace.count},
                             {"start_at_ns", command.start_at.count},
                             {"longest_wait_ns", order.longest_wait.count},
                             {"folder", order.folder}};
  // Agents that do not know it have no command that reads it.
  if (!command.input.empty()) document["input"] = command.input;
  try {
    return document.dump(-1, ' ', true) + '\n';
  } catch (const nlohmann::json::exception&) {
    return fail(ErrorCode::kInvalid, "cannot send the command to another machine",
                "a word of it, or a HEDDLE_* variable, is no UTF-8", "write it in UTF-8");
  }
}

Result<AgentOrder> parse_order(std::string_view line) {
  const auto refused = [](ErrorCode code, const std::string& why, const std::string& todo) {
    return fail(code, "cannot run what another heddle asks for", why, todo);
  };
  const auto wrong = [&refused](const std::string& why) {
    return refused(ErrorCode::kInvalid, why, "install the same version of heddle on both machines");
  };
  const nlohmann::json document = nlohmann::json::parse(line, nullptr, false);
  if (!document.is_object() || !document.contains("heddle_agent") ||
      !document["heddle_agent"].is_number()) {
    return wrong("standard input has no order of a heddle");
  }
  if (const nlohmann::json& version = document["heddle_agent"]; version != kVersion) {
    // Read as a signed number, one of 2^63 and above would be below zero.
    const bool older = version.get<double>() < kVersion;
    // The machine that calls prints it, too: "this machine" would be either.
    return refused(ErrorCode::kVersion,
                   "its order is of version " + version.dump() + ", this agent reads version " +
                       std::to_string(kVersion),
                   older ? "upgrade heddle on the machine that calls"
                         : "upgrade heddle on the machine that was called");
  }
  try {
    AgentOrder order;
    document.at("words").get_to(order.command.words);
    document.at("settings").get_to(order.command.settings);
    document.at("secrets").get_to(order.command.secrets);
    order.command.grace = nanos(document.at("grace_ns").get<int64_t>());
    order.command.start_at = nanos(document.at("start_at_ns").get<int64_t>());
    order.longest_wait = nanos(document.at("longest_wait_ns").get<int64_t>());
    document.at("folder").get_to(order.folder);
    order.command.input = document.value("input", "");
    if (order.command.words.empty()) return wrong("it names no command");
    return order;
  } catch (const nlohmann::json::exception& error) {
    return wrong(error.what());
  }
}

}  // namespace heddle::launch
