// See show.h.
#include "apps/cli/matrix/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "apps/cli/params.h"
#include "base/printable.h"

namespace heddle::cli {
namespace {

using insight::Cell;
using insight::Matrix;
using insight::MatrixPart;
using insight::Party;

// From little to much; the first is nothing at all.
constexpr std::array kShades = {"·", "░", "▒", "▓", "█"};
// Of a terminal's 256 colours: from pale to dark blue, and the text that can be read on it.
constexpr std::array kColours = {"", "\x1b[48;5;153;38;5;16m", "\x1b[48;5;111;38;5;16m",
                                 "\x1b[48;5;68;38;5;231m", "\x1b[48;5;25;38;5;231m"};

using Value = std::function<uint64_t(const Cell&)>;

std::string short_number(uint64_t value) {
  constexpr std::array kUnits = {"", "k", "M", "G", "T", "P", "E"};
  auto shown = static_cast<double>(value);
  size_t unit = 0;
  while (shown >= 999.5 && unit + 1 < kUnits.size()) {
    shown /= 1000;
    ++unit;
  }
  if (unit == 0) return fmt::format("{}", value);
  return fmt::format("{:.{}f}{}", shown, shown < 9.995 ? 2 : shown < 99.95 ? 1 : 0, kUnits[unit]);
}

std::string short_bytes(uint64_t bytes) { return short_number(bytes) + "B"; }

std::string short_time(uint64_t nanos) {
  const auto value = static_cast<double>(nanos);
  if (nanos < 1'000) return fmt::format("{}ns", nanos);
  if (nanos < 1'000'000) return fmt::format("{:.1f}us", value / 1e3);
  if (nanos < 1'000'000'000) return fmt::format("{:.1f}ms", value / 1e6);
  return fmt::format("{:.2f}s", value / 1e9);
}

// Which shade: nothing, then quarters of the largest value.
size_t shade(uint64_t value, uint64_t most) {
  if (value == 0) return 0;
  const double part = static_cast<double>(value) / static_cast<double>(most);
  return std::clamp<size_t>(static_cast<size_t>(part * 4) + 1, 1, kShades.size() - 1);
}

uint64_t largest(const Matrix& matrix, const Value& value) {
  uint64_t most = 1;
  for (const auto& [pair, cell] : matrix.cells) most = std::max(most, value(cell));
  return most;
}

std::string values(const Matrix& matrix, const Value& value_of, MatrixUnit unit, bool colours) {
  const uint64_t most = largest(matrix, value_of);
  std::string text = fmt::format("{:>4} ", "");
  for (size_t to = 0; to < matrix.parties.size(); ++to) {
    text += fmt::format("{:>{}}", to, params::matrix::kCellWidth);
  }
  text += fmt::format("{:>{}}\n", "sent", params::matrix::kCellWidth + 2);
  std::vector<uint64_t> received(matrix.parties.size());
  uint64_t all = 0;
  for (uint32_t from = 0; from < matrix.parties.size(); ++from) {
    text += fmt::format("{:>4} ", from);
    uint64_t sent = 0;
    for (uint32_t to = 0; to < matrix.parties.size(); ++to) {
      const uint64_t value = value_of(matrix.at(from, to));
      sent += value;
      received[to] += value;
      const std::string cell = fmt::format("{:>{}}", value == 0 ? "." : short_value(value, unit),
                                           params::matrix::kCellWidth);
      const size_t at = shade(value, most);
      text += colours && at > 0 ? std::string(kColours[at]) + cell + "\x1b[0m" : cell;
    }
    all += sent;
    text += fmt::format("{:>{}}\n", short_value(sent, unit), params::matrix::kCellWidth + 2);
  }
  text += fmt::format("{:>4} ", "got");
  for (const uint64_t value : received) {
    text += fmt::format("{:>{}}", short_value(value, unit), params::matrix::kCellWidth);
  }
  return text + fmt::format("{:>{}}\n", short_value(all, unit), params::matrix::kCellWidth + 2);
}

// How many parties a row of shades stands for.
size_t parties_a_row(const Matrix& matrix) {
  return matrix.parties.empty() ? 1 : (matrix.parties.size() - 1) / params::matrix::kMostRows + 1;
}

std::string shades(const Matrix& matrix, const Value& value_of, MatrixUnit unit) {
  const size_t each = parties_a_row(matrix);
  const size_t rows = (matrix.parties.size() + each - 1) / each;
  std::vector<uint64_t> sums(rows * rows);
  for (const auto& [pair, cell] : matrix.cells) {
    sums[pair.first / each * rows + pair.second / each] += value_of(cell);
  }
  const uint64_t most = std::max<uint64_t>(1, *std::max_element(sums.begin(), sums.end()));
  std::string text;
  if (each > 1) text += fmt::format("each row and column stands for {} in turn\n", each);
  for (size_t from = 0; from < rows; ++from) {
    text += fmt::format("{:>5} ", from * each);
    for (size_t to = 0; to < rows; ++to) text += kShades[shade(sums[from * rows + to], most)];
    text += "\n";
  }
  return text + fmt::format("      {} is {}, {} up to a quarter of it\n", kShades.back(),
                            short_value(most, unit), kShades[1]);
}

std::string map(const Matrix& matrix, const Value& value, MatrixUnit unit, bool colours) {
  return matrix.parties.size() <= params::matrix::kMostWithValues
             ? values(matrix, value, unit, colours)
             : shades(matrix, value, unit);
}

std::string totals(const Matrix& matrix, const MatrixView& view) {
  const Cell total = matrix.total();
  if (view.unit != MatrixUnit::kBytes) {
    return short_value(view.measured(total), view.unit) + " in all";
  }
  std::string text;
  if (view.counted == MatrixCount::kDelivered) text = short_bytes(total.bytes) + " delivered, ";
  if (view.has_expected()) text += short_bytes(total.expected_bytes) + " expected, ";
  if (total.sent_bytes > 0) {
    text += short_bytes(total.sent_bytes) + " sent with retransmissions, ";
  }
  if (total.wire_bytes > 0) text += short_bytes(total.wire_bytes) + " on the wire, ";
  if (total.memory_bytes > 0) {
    text += short_bytes(total.memory_bytes) + " through shared memory, ";
  }
  text.resize(text.size() - std::min<size_t>(text.size(), 2));
  if (matrix.own.bytes > 0) {
    text += ", " + short_bytes(matrix.own.bytes) + " of heddle's own messages besides";
  }
  return text;
}

std::string one_text(const Matrix& matrix, const MatrixView& view, bool colours) {
  const Value measured = [&view](const Cell& cell) { return view.measured(cell); };
  const Value expected = [](const Cell& cell) { return cell.expected_bytes; };
  const Value wire = [](const Cell& cell) { return cell.wire_bytes; };
  std::string text = map(matrix, measured, view.unit, colours);
  if (view.expected && view.has_expected()) {
    text += "\nexpected\n\n" + map(matrix, expected, view.unit, colours);
  }
  if (view.wire && view.has_wire()) {
    text += "\non the wire\n\n" + map(matrix, wire, view.unit, colours);
  }
  return text + "\n" + totals(matrix, view) + "\n\n";
}

// Nothing of what was asked for: of some parts only what was on the wire is known.
bool is_empty(const Matrix& matrix, const MatrixView& view) {
  const Cell total = matrix.total();
  return view.measured(total) == 0 && matrix.own == Cell{} &&
         !(view.expected && total.expected_bytes > 0) && !(view.wire && total.wire_bytes > 0);
}

Json number_rows(const Matrix& matrix, const Value& value) {
  std::vector<std::vector<uint64_t>> rows(matrix.parties.size(),
                                          std::vector<uint64_t>(matrix.parties.size()));
  for (const auto& [pair, cell] : matrix.cells) rows[pair.first][pair.second] = value(cell);
  return rows;
}

Json number_triples(const Matrix& matrix, const Value& value) {
  Json triples = Json::array();
  for (const auto& [pair, cell] : matrix.cells) {
    if (value(cell) > 0) triples.push_back({pair.first, pair.second, value(cell)});
  }
  return triples;
}

void put_numbers(Json& document, const char* name, const Matrix& matrix, const Value& value) {
  if (matrix.parties.size() <= params::matrix::kMostDense) {
    document[name] = number_rows(matrix, value);
  } else {
    document[std::string(name) + "_triples"] = number_triples(matrix, value);
  }
}

void put_matrix(Json& document, const Matrix& matrix, const MatrixView& view) {
  put_numbers(document, "measured", matrix,
              [&view](const Cell& cell) { return view.measured(cell); });
  const Cell total = matrix.total();
  Json totals = {{"measured", view.measured(total)}};
  if (view.unit != MatrixUnit::kTime) totals["heddles_own"] = view.measured(matrix.own);
  if (view.has_expected()) {
    put_numbers(document, "expected", matrix, [](const Cell& cell) { return cell.expected_bytes; });
    totals["expected"] = total.expected_bytes;
  }
  if (view.has_sent()) {
    put_numbers(document, "sent", matrix, [](const Cell& cell) { return cell.sent_bytes; });
    totals["sent"] = total.sent_bytes;
  }
  if (view.has_wire()) {
    put_numbers(document, "wire", matrix, [](const Cell& cell) { return cell.wire_bytes; });
    totals["wire"] = total.wire_bytes;
  }
  document["totals"] = std::move(totals);
}

void add_csv(std::string& text, const Matrix& matrix, const std::string& first) {
  for (const auto& [pair, cell] : matrix.cells) {
    text += fmt::format(
        "{}{},{},{},{},{},{},{},{},{},{}\n", first, csv_field(matrix.parties[pair.first].name),
        csv_field(matrix.parties[pair.second].name), cell.bytes, cell.messages, cell.nanos,
        cell.sent_bytes, cell.packets, cell.expected_bytes, cell.wire_bytes, cell.memory_bytes);
  }
}

}  // namespace

std::string csv_field(const std::string& name) {
  if (name.find_first_of(",\"\n\r") == std::string::npos) return name;
  std::string quoted = "\"";
  for (const char each : name) quoted += each == '"' ? "\"\"" : std::string(1, each);
  return quoted + "\"";
}

std::string short_value(uint64_t value, MatrixUnit unit) {
  if (unit == MatrixUnit::kTime) return short_time(value);
  return unit == MatrixUnit::kBytes ? short_bytes(value) : short_number(value);
}

std::string view_title(const MatrixView& view) {
  if (view.unit == MatrixUnit::kTime) {
    return "Time from the beginnings of calls to the last arrival";
  }
  const bool count = view.unit == MatrixUnit::kCount;
  switch (view.counted) {
    case MatrixCount::kDelivered:
      return count ? "Messages delivered" : "Bytes delivered";
    case MatrixCount::kSent:
      return count ? "Segments sent" : "Bytes sent, repeats included";
    case MatrixCount::kWire:
      if (view.parts_of == "path") {
        return count ? "Packets, or messages through shared memory"
                     : "Bytes on each path; on the wire with headers and repeats";
      }
      return count ? "Packets on the wire" : "Bytes on the wire, headers and repeats included";
  }
  return "";
}

std::string matrix_text(const MatrixView& view, bool colours) {
  std::string text = view_title(view) + ", from row to column\n\n";
  if (view.parts_of.empty()) text += one_text(view.whole, view, colours);
  for (const MatrixPart& part : view.parts) {
    if (is_empty(part.matrix, view)) continue;
    text += printable(part.name) + "\n\n" + one_text(part.matrix, view, colours);
  }
  if (view.whole.parties.size() > params::matrix::kMostRows) {
    return text + fmt::format("{} {}s; --format csv has them all, --by host fewer\n",
                              view.whole.parties.size(), view.rows);
  }
  for (size_t i = 0; i < view.whole.parties.size(); ++i) {
    const Party& party = view.whole.parties[i];
    std::string name = party.name;
    if (party.rank >= 0) name = fmt::format("rank {} on {}", party.rank, party.host);
    if (party.rank < 0 && party.host != party.name) name += " on " + party.host;
    text += fmt::format("{:>4} {}{}\n", i, printable(name), party.recorded ? "" : ", not recorded");
  }
  return text;
}

std::string matrix_csv(const MatrixView& view) {
  const bool apart = !view.parts_of.empty();
  std::string text = apart ? view.parts_of + "," : "";
  text +=
      "from,to,bytes,messages,time_ns,sent_bytes,packets,expected_bytes,wire_bytes,memory_bytes\n";
  if (!apart) add_csv(text, view.whole, "");
  for (const MatrixPart& part : view.parts) add_csv(text, part.matrix, csv_field(part.name) + ",");
  return text;
}

Json matrix_json(const MatrixView& view) {
  Json parties = Json::array();
  for (const Party& party : view.whole.parties) {
    Json row = {{"name", party.name}, {"host", party.host}, {"recorded", party.recorded}};
    if (party.rank >= 0) row["rank"] = party.rank;
    parties.push_back(std::move(row));
  }
  constexpr std::array kUnits = {"bytes", "count", "time_ns"};
  constexpr std::array kCounted = {"delivered", "sent", "wire"};
  Json document = {{"ranks", view.whole.parties.size()},
                   {"unit", kUnits.at(static_cast<size_t>(view.unit))},
                   {"counted", kCounted.at(static_cast<size_t>(view.counted))},
                   {"rows", view.rows},
                   {"parties", parties},
                   {"calls", view.calls},
                   {"calls_without_formula", view.calls_without_formula},
                   {"dropped_events", view.dropped_events}};
  put_matrix(document, view.whole, view);
  document["unplaced"] = view.measured(view.whole.unplaced);
  if (view.has_wire()) document["unplaced_wire"] = view.whole.unplaced.wire_bytes;
  if (view.parts_of.empty()) return document;
  document["by"] = view.parts_of;
  document["parts"] = Json::array();
  for (const MatrixPart& part : view.parts) {
    Json each = {{"name", part.name}};
    put_matrix(each, part.matrix, view);
    document["parts"].push_back(std::move(each));
  }
  return document;
}

}  // namespace heddle::cli
