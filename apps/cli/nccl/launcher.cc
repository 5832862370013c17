// Launcher: see launcher.h.
#include "apps/cli/nccl/launcher.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "nccl/exchange.h"

namespace heddle::cli {

std::optional<int> environment_number(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits(text);
  int number = 0;
  const char* const end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return number;
}

std::string launcher_folder() {
  constexpr std::string_view kScheme = "file://";
  const char* const store = std::getenv("HEDDLE_STORE");
  if (store == nullptr || !std::string_view(store).starts_with(kScheme)) return "";
  return std::string(store).substr(kScheme.size()) + ".nccl";
}

bool first_to_report(std::string_view text) {
  const std::string folder = launcher_folder();
  if (folder.empty()) return true;
  Result<nccl::ExchangeFolder> exchange = nccl::ExchangeFolder::open(folder);
  if (!exchange) return true;
  const Result<void> claimed =
      exchange->put(fmt::format("reported.{:016x}", std::hash<std::string_view>()(text)), text);
  return claimed || claimed.error().code != ErrorCode::kInUse;
}

}  // namespace heddle::cli
