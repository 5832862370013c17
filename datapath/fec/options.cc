// The text of FecOptions: see datapath/fec.h.
#include <charconv>

#include "datapath/fec.h"

namespace heddle::datapath {
namespace {

// The whole text as a number from 1 to `most`; 0: it is none.
uint8_t number_of(std::string_view text, uint32_t most) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value <= most ? static_cast<uint8_t>(value) : 0;
}

}  // namespace

Result<FecOptions> parse_fec(std::string_view text) {
  if (text == "off") return FecOptions{};
  const size_t colon = text.find(':');
  FecOptions options;
  if (colon != std::string_view::npos) {
    options.data = number_of(text.substr(0, colon), kMostFecData);
    options.parity = number_of(text.substr(colon + 1), kMostFecParity);
  }
  if (options.data > 0 && options.parity > 0 && options.parity <= options.data) return options;
  return fail(ErrorCode::kInvalid, "cannot use fec '" + std::string(text) + "'",
              "it is neither off nor DATA:PARITY with 1 to " + std::to_string(kMostFecData) +
                  " datagrams of data and 1 to " + std::to_string(kMostFecParity) +
                  " of parity, no more than data",
              "10:2 repairs any 2 of 12 lost datagrams, for a fifth more to send");
}

std::string to_text(const FecOptions& options) {
  if (!options.on()) return "off";
  return std::to_string(options.data) + ":" + std::to_string(options.parity);
}

}  // namespace heddle::datapath
