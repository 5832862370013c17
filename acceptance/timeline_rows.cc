// See timeline_rows.h.
#include "acceptance/timeline_rows.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>
#include <tuple>

namespace heddle::acceptance {
namespace {

template <typename Number>
bool read(std::string_view text, Number& number) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && rest == text.data() + text.size();
}

// "process,kind,name,begin_ns,end_ns,…"; names of calls have no comma.
bool read_moment(std::string_view line, TimelineMoment& moment) {
  std::vector<std::string_view> fields;
  for (size_t from = 0; fields.size() < 5;) {
    const size_t comma = line.find(',', from);
    fields.push_back(line.substr(from, comma == std::string_view::npos ? comma : comma - from));
    if (comma == std::string_view::npos) break;
    from = comma + 1;
  }
  if (fields.size() < 5 || (fields[1] != "call" && fields[1] != "wait")) return false;
  moment.is_wait = fields[1] == "wait";
  moment.name = fields[2];
  return read(fields[0], moment.process) && read(fields[3], moment.begin_ns) &&
         read(fields[4], moment.end_ns) && moment.begin_ns <= moment.end_ns;
}

}  // namespace

Timeline timeline_of_csv(const std::string& csv, size_t most) {
  Timeline timeline;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    TimelineMoment moment;
    if (read_moment(line, moment)) timeline.moments.push_back(std::move(moment));
  }
  std::vector<TimelineMoment>& moments = timeline.moments;
  if (moments.size() > most) {
    timeline.left_out = moments.size() - most;
    std::stable_sort(moments.begin(), moments.end(), [](const auto& a, const auto& b) {
      return a.end_ns - a.begin_ns > b.end_ns - b.begin_ns;
    });
    moments.resize(most);
  }
  std::stable_sort(moments.begin(), moments.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin_ns, a.process) < std::tie(b.begin_ns, b.process);
  });
  if (moments.empty()) return timeline;
  const int64_t begin = moments.front().begin_ns;
  for (TimelineMoment& moment : moments) {
    moment.begin_ns -= begin;
    moment.end_ns -= begin;
    timeline.span_ns = std::max(timeline.span_ns, moment.end_ns);
  }
  return timeline;
}

}  // namespace heddle::acceptance
