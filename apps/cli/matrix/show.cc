// See show.h.
#include "apps/cli/matrix/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace heddle::cli {
namespace {

using insight::Cell;
using insight::Matrix;
using insight::Party;

constexpr size_t kMostWithValues = 16;
constexpr size_t kMostDense = 1024;
constexpr size_t kCellWidth = 8;
// From little to much; the first is nothing at all.
constexpr std::array kShades = {"·", "░", "▒", "▓", "█"};
// Of a terminal's 256 colours: from pale to dark blue, and the text that can be read on it.
constexpr std::array kColours = {"", "\x1b[48;5;153;38;5;16m", "\x1b[48;5;111;38;5;16m",
                                 "\x1b[48;5;68;38;5;231m", "\x1b[48;5;25;38;5;231m"};

uint64_t value_of(const Cell& cell, MatrixUnit unit) {
  return unit == MatrixUnit::kBytes ? cell.bytes : cell.messages;
}

std::string short_number(uint64_t value) {
  constexpr std::array kUnits = {"", "k", "M", "G", "T", "P"};
  auto shown = static_cast<double>(value);
  size_t unit = 0;
  while (shown >= 999.5 && unit + 1 < kUnits.size()) {
    shown /= 1000;
    ++unit;
  }
  if (unit == 0) return fmt::format("{}", value);
  return fmt::format("{:.{}f}{}", shown, shown < 9.995 ? 2 : shown < 99.95 ? 1 : 0, kUnits[unit]);
}

// Which shade: nothing, then quarters of the largest value.
size_t shade(uint64_t value, uint64_t most) {
  if (value == 0) return 0;
  const double part = static_cast<double>(value) / static_cast<double>(most);
  return std::clamp<size_t>(static_cast<size_t>(part * 4) + 1, 1, kShades.size() - 1);
}

uint64_t largest(const Matrix& matrix, MatrixUnit unit) {
  uint64_t most = 1;
  for (const auto& [pair, cell] : matrix.cells) most = std::max(most, value_of(cell, unit));
  return most;
}

std::string values(const Matrix& matrix, MatrixUnit unit, bool colours) {
  const uint64_t most = largest(matrix, unit);
  std::string text = fmt::format("{:>4} ", "");
  for (size_t to = 0; to < matrix.parties.size(); ++to) {
    text += fmt::format("{:>{}}", to, kCellWidth);
  }
  text += fmt::format("{:>{}}\n", "sent", kCellWidth + 2);
  std::vector<uint64_t> received(matrix.parties.size());
  uint64_t all = 0;
  for (uint32_t from = 0; from < matrix.parties.size(); ++from) {
    text += fmt::format("{:>4} ", from);
    uint64_t sent = 0;
    for (uint32_t to = 0; to < matrix.parties.size(); ++to) {
      const uint64_t value = value_of(matrix.at(from, to), unit);
      sent += value;
      received[to] += value;
      const std::string cell =
          fmt::format("{:>{}}", value == 0 ? "." : short_number(value), kCellWidth);
      const size_t at = shade(value, most);
      text += colours && at > 0 ? std::string(kColours[at]) + cell + "\x1b[0m" : cell;
    }
    all += sent;
    text += fmt::format("{:>{}}\n", short_number(sent), kCellWidth + 2);
  }
  text += fmt::format("{:>4} ", "got");
  for (const uint64_t value : received) {
    text += fmt::format("{:>{}}", short_number(value), kCellWidth);
  }
  return text + fmt::format("{:>{}}\n", short_number(all), kCellWidth + 2);
}

std::string shades(const Matrix& matrix, MatrixUnit unit) {
  const uint64_t most = largest(matrix, unit);
  std::string text;
  for (uint32_t from = 0; from < matrix.parties.size(); ++from) {
    text += fmt::format("{:>5} ", from);
    for (uint32_t to = 0; to < matrix.parties.size(); ++to) {
      text += kShades[shade(value_of(matrix.at(from, to), unit), most)];
    }
    text += "\n";
  }
  return text + fmt::format("      {} is {}, {} up to a quarter of it\n", kShades.back(),
                            short_number(most), kShades[1]);
}

}  // namespace

std::string matrix_text(const Matrix& matrix, MatrixUnit unit, bool colours) {
  std::string text = fmt::format("{} delivered, from row to column\n\n",
                                 unit == MatrixUnit::kBytes ? "Bytes" : "Messages");
  text += matrix.parties.size() <= kMostWithValues ? values(matrix, unit, colours)
                                                   : shades(matrix, unit);
  text += "\n";
  for (size_t i = 0; i < matrix.parties.size(); ++i) {
    const Party& party = matrix.parties[i];
    const bool is_rank = party.rank >= 0;
    text += fmt::format("{:>4} {}{}\n", i,
                        is_rank ? fmt::format("rank {} on {}", party.rank, party.host) : party.name,
                        party.recorded ? "" : ", not recorded");
  }
  return text;
}

std::string matrix_csv(const Matrix& matrix) {
  std::string text = "from,to,bytes,messages\n";
  for (const auto& [pair, cell] : matrix.cells) {
    text += fmt::format("{},{},{},{}\n", matrix.parties[pair.first].name,
                        matrix.parties[pair.second].name, cell.bytes, cell.messages);
  }
  return text;
}

Json matrix_json(const Matrix& matrix, MatrixUnit unit) {
  Json parties = Json::array();
  for (const Party& party : matrix.parties) {
    Json row = {{"name", party.name}, {"host", party.host}, {"recorded", party.recorded}};
    if (party.rank >= 0) row["rank"] = party.rank;
    parties.push_back(std::move(row));
  }
  Json document = {{"ranks", matrix.parties.size()},
                   {"unit", unit == MatrixUnit::kBytes ? "bytes" : "count"},
                   {"parties", parties}};
  if (matrix.parties.size() <= kMostDense) {
    std::vector<std::vector<uint64_t>> rows(matrix.parties.size(),
                                            std::vector<uint64_t>(matrix.parties.size()));
    for (const auto& [pair, cell] : matrix.cells) {
      rows[pair.first][pair.second] = value_of(cell, unit);
    }
    document["measured"] = rows;
  } else {
    Json triples = Json::array();
    for (const auto& [pair, cell] : matrix.cells) {
      triples.push_back({pair.first, pair.second, value_of(cell, unit)});
    }
    document["measured_triples"] = std::move(triples);
  }
  document["unplaced"] = value_of(matrix.unplaced, unit);
  return document;
}

}  // namespace heddle::cli
