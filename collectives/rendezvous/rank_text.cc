// Rank texts: see rank_text.h.
#include "collectives/rendezvous/rank_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

#include "base/printable.h"
#include "collectives/params.h"
#include "collectives/rendezvous/messages.h"

namespace heddle::collectives {
namespace {

constexpr std::string_view kName = "heddle";

// Nothing: `text` does not begin with a word of this kind.
std::optional<uint64_t> version_of(std::string_view text) {
  std::string_view word = text.substr(0, text.find(' '));
  if (!word.starts_with(kName)) return std::nullopt;
  word.remove_prefix(kName.size());
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

}  // namespace

std::string version_word() { return fmt::format("{}{}", kName, kRendezvousVersion); }

std::optional<Error> version_error(const std::string& what, std::string_view text,
                                   const std::string& writer) {
  const std::optional<uint64_t> version = version_of(text);
  if (!version || *version == kRendezvousVersion) return std::nullopt;
  return Error{ErrorCode::kVersion, what,
               fmt::format("it is of version {} of the rendezvous of ranks, this process has "
                           "version {}",
                           *version, kRendezvousVersion),
               "upgrade heddle on " + (*version < kRendezvousVersion ? writer : "this host")};
}

std::string quoted(std::string_view text) {
  return "'" + printable(std::string(text.substr(0, params::kMostQuotedBytes))) +
         (text.size() > params::kMostQuotedBytes ? "...'" : "'");
}

}  // namespace heddle::collectives
