// See table.h.
#include "topology/file/table.h"

#include <algorithm>

#include "topology/quantity.h"

namespace heddle::topology {
namespace {

std::string quoted(std::string_view word) { return "'" + std::string(word) + "'"; }

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_name(const std::string& text) {
  if (text.empty() || text.size() > 15 || !is_letter(text.front())) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

}  // namespace

template <typename Quantity, typename Parse>
Quantity TableReader::quantity(std::string_view key, Quantity fallback, const Words& words,
                               Parse parse) {
  const DocumentValue* value = take(key, DocumentKind::kText, words.todo);
  if (value == nullptr) return fallback;
  if (const auto parsed = parse(value->text)) return *parsed;
  wrong(key, quoted(key) + " is \"" + value->text + "\", which is no " + words.what, words.todo);
  return fallback;
}

BitsPerSec TableReader::rate(std::string_view key, BitsPerSec fallback) {
  const auto parse = [](const std::string& text) {
    return text == "unlimited" ? std::optional(BitsPerSec{}) : parse_rate(text);
  };
  return quantity(key, fallback,
                  {"rate", "give a number and a unit like \"200Mbit/s\", or \"unlimited\""}, parse);
}

Bytes TableReader::bytes(std::string_view key, Bytes fallback) {
  return quantity(key, fallback, {"size", "give a number and a unit like \"125KB\" or \"1500B\""},
                  parse_bytes);
}

Nanos TableReader::time(std::string_view key, Nanos fallback) {
  return quantity(key, fallback,
                  {"time", "give a number and a unit like \"2s\", \"5ms\" or \"10us\""},
                  parse_time);
}

uint32_t TableReader::share_per_million(std::string_view key, uint32_t fallback) {
  return quantity(key, fallback,
                  {"share", "give a share like \"1%\" or \"0.01%\", in steps of 0.0001%"},
                  parse_share);
}

std::optional<std::pair<std::string, std::string>> TableReader::pair(std::string_view key) {
  const std::string todo = "give two names like [\"leaf0\", \"spine1\"]";
  const DocumentValue* value = take(key, DocumentKind::kArray, todo);
  if (value == nullptr) return std::nullopt;
  if (value->items.size() == 2 && value->items[0].kind == DocumentKind::kText &&
      value->items[1].kind == DocumentKind::kText) {
    return std::pair{value->items[0].text, value->items[1].text};
  }
  wrong(key, quoted(key) + " is not two names", todo);
  return std::nullopt;
}

std::string TableReader::name(std::string_view key) {
  const std::string todo = "give 1 to 15 letters, digits, '-' or '_', a letter first";
  need(key, todo);
  std::string name = text(key, "");
  if (has(key) && !is_name(name)) wrong(key, "\"" + name + "\" cannot be a name", todo);
  return name;
}

}  // namespace heddle::topology
