// See page.h. Cells travel as rows of from, to, bytes, messages, nanoseconds, sent, expected, wire
// and shared memory's bytes.
#include "apps/cli/matrix/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "apps/cli/matrix/show.h"
#include "apps/cli/pages/pages.h"

namespace heddle::cli {
namespace {

using insight::Cell;
using insight::Matrix;
using insight::MatrixPart;
using insight::Party;

struct Colour {
  double red;
  double green;
  double blue;
};
constexpr std::array<Colour, 5> kRamp = {
    {{234, 241, 251}, {185, 211, 243}, {111, 168, 226}, {47, 116, 192}, {10, 31, 82}}};

Json cells_of(const Matrix& matrix) {
  Json cells = Json::array();
  for (const auto& [pair, cell] : matrix.cells) {
    cells.push_back({pair.first, pair.second, cell.bytes, cell.messages, cell.nanos,
                     cell.sent_bytes, cell.expected_bytes, cell.wire_bytes, cell.memory_bytes});
  }
  return cells;
}

std::string colour_at(double part) {
  const double at = std::clamp(part, 0.0, 1.0) * (kRamp.size() - 1);
  const auto low = std::min(static_cast<size_t>(at), kRamp.size() - 2);
  const double rest = at - static_cast<double>(low);
  const auto mix = [rest](double a, double b) { return std::lround(a + (b - a) * rest); };
  const Colour& from = kRamp.at(low);
  const Colour& to = kRamp.at(low + 1);
  return fmt::format("#{:02x}{:02x}{:02x}", mix(from.red, to.red), mix(from.green, to.green),
                     mix(from.blue, to.blue));
}

std::string label_of(const Party& party) {
  return party.rank >= 0 ? fmt::format("{}", party.rank) : party.name;
}

// Positions of cells in the drawing.
struct Grid {
  double side;
  double margin;
  double x(uint32_t column) const { return margin + column * side; }
  double y(uint32_t row) const { return margin + row * side; }
};

std::string svg_labels(const Matrix& matrix, const Grid& grid) {
  std::string text;
  const auto step = static_cast<uint32_t>(std::ceil(13 / grid.side));
  for (uint32_t i = 0; i < matrix.parties.size(); i += step) {
    const std::string label = html_text(label_of(matrix.parties[i]));
    text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                        grid.margin - 6, grid.y(i) + grid.side / 2 + 4, label);
    text += fmt::format("<text transform=\"translate({:.1f},{:.1f}) rotate(-90)\">{}</text>\n",
                        grid.x(i) + grid.side / 2 + 4, grid.margin - 6, label);
  }
  return text;
}

}  // namespace

std::string matrix_page(const MatrixView& view, const std::string& title) {
  Json parties = Json::array();
  for (const Party& party : view.whole.parties) {
    Json row = {{"name", party.name}, {"host", party.host}};
    if (party.rank >= 0) row["rank"] = party.rank;
    parties.push_back(std::move(row));
  }
  Json parts = Json::array({{{"name", "all"}, {"cells", cells_of(view.whole)}}});
  for (const MatrixPart& part : view.parts) {
    parts.push_back({{"name", part.name}, {"cells", cells_of(part.matrix)}});
  }
  const std::string about =
      fmt::format("{} {}{}, {} calls; {} delivered, {} on the wire", view.whole.parties.size(),
                  view.rows, view.whole.parties.size() == 1 ? "" : "s", view.calls,
                  short_value(view.whole.total().bytes, MatrixUnit::kBytes),
                  short_value(view.whole.total().wire_bytes, MatrixUnit::kBytes)) +
      (view.dropped_events == 0 ? ""
                                : fmt::format("; {} older events were dropped and are missing here",
                                              view.dropped_events));
  constexpr std::array kCounted = {"delivered", "sent", "wire"};
  return fill_page(kMatrixPage, title,
                   {{"about", about},
                    {"counted", kCounted.at(static_cast<size_t>(view.counted))},
                    {"parties", parties},
                    {"parts", parts},
                    {"fabric", view.fabric}});
}

std::string matrix_svg(const MatrixView& view, const std::string& title) {
  const Matrix& matrix = view.whole;
  const auto count = static_cast<double>(std::max<size_t>(matrix.parties.size(), 1));
  size_t longest = 2;
  for (const Party& party : matrix.parties) longest = std::max(longest, label_of(party).size());
  const Grid grid = {std::clamp(640 / count, 2.0, 64.0), 24 + 7 * static_cast<double>(longest)};
  const double width = grid.margin + count * grid.side + 16;
  uint64_t most = 1;
  for (const auto& [pair, cell] : matrix.cells) most = std::max(most, view.measured(cell));
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 -24 {0:.0f} {1:.0f}\" "
      "width=\"{0:.0f}\""
      " height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"11\">\n"
      "<rect x=\"0\" y=\"-24\" width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
      "<text x=\"8\" y=\"-8\" font-size=\"14\">{2}: {3}, from row to column</text>\n",
      std::max(width, 420.0), width + 44, html_text(title), view_title(view));
  text += svg_labels(matrix, grid);
  for (const auto& [pair, cell] : matrix.cells) {
    const uint64_t value = view.measured(cell);
    if (value == 0) continue;
    const double part = static_cast<double>(value) / static_cast<double>(most);
    text += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\">"
        "<title>{} to {}: {}</title></rect>\n",
        grid.x(pair.second), grid.y(pair.first), grid.side * 0.96, grid.side * 0.96,
        colour_at(part), html_text(matrix.parties[pair.first].name),
        html_text(matrix.parties[pair.second].name), short_value(value, view.unit));
    if (grid.side < 40) continue;
    text += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"{}\">{}</text>\n",
        grid.x(pair.second) + grid.side * 0.48, grid.y(pair.first) + grid.side / 2 + 4,
        part > 0.55 ? "#fff" : "#1c2330", short_value(value, view.unit));
  }
  text += fmt::format("<text x=\"8\" y=\"{:.0f}\" fill=\"#667085\">darkest: {}</text>\n</svg>\n",
                      width + 12, short_value(most, view.unit));
  return text;
}

}  // namespace heddle::cli
