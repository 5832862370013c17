// The table of everything that can be reached, with exceptions: see reached.h.
#include "tests/vopr/reached.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "base/error_code.h"
#include "events/events.h"

namespace heddle::vopr {
namespace {

// Entries that no run can reach, with the reason.
struct Unreachable {
  const char* name;
  const char* why;
};
constexpr Unreachable kUnreachable[] = {
    {"fault forbidden write", "a NIC refuses what no open connection admitted before it looks"},
    {"drop fragmented", "the simulated network never cuts packets"},
    {"drop checksum", "heddle's packets have no checksum of their own before they are sealed"},
    {"ways too_far", "no fabric here has more than three switches on a way"},
    {"error permission", "the system's, not the transport's"},
    {"error in_use", "the system's, not the transport's"},
    {"error system", "the system's, not the transport's"},
};

}  // namespace

void Reached::add(const simulator::FateCounts& fates) {
  for (size_t i = 0; i < fates_.size(); ++i) fates_[i] += fates[static_cast<simulator::Fate>(i)];
}

void Reached::add(const events::CountingSink& events) {
  const auto take = [&events]<typename Enum>(auto& counts, Enum) {
    for (size_t i = 0; i < counts.size(); ++i) counts[i] += events.count(static_cast<Enum>(i));
  };
  take(drops_, events::DropReason{});
  take(steps_, events::RecoveryStep{});
  take(closes_, events::CloseCause{});
  take(losses_, events::LossCause{});
  take(verdicts_, events::RoutesVerdict{});
}

void Reached::add(const std::string& what, uint64_t count) {
  const auto known = std::find_if(others_.begin(), others_.end(),
                                  [&what](const Entry& entry) { return entry.name == what; });
  if (known != others_.end()) {
    known->count += count;
  } else {
    others_.push_back({what, count});
  }
}

void Reached::add(const Reached& other) {
  const auto sum = [](auto& to, const auto& from) {
    for (size_t i = 0; i < to.size(); ++i) to[i] += from[i];
  };
  sum(errors_, other.errors_);
  sum(fates_, other.fates_);
  sum(drops_, other.drops_);
  sum(steps_, other.steps_);
  sum(closes_, other.closes_);
  sum(losses_, other.losses_);
  sum(verdicts_, other.verdicts_);
  for (const Entry& entry : other.others_) add(entry.name, entry.count);
}

std::vector<Reached::Entry> Reached::entries() const {
  std::vector<Entry> all;
  const auto list = [&all]<typename Enum>(const char* kind, const auto& counts, Enum) {
    for (size_t i = 0; i < counts.size(); ++i) {
      all.push_back(
          {std::string(kind) + " " + std::string(name_of(static_cast<Enum>(i))), counts[i]});
    }
  };
  list("fault", fates_, simulator::Fate{});
  list("drop", drops_, events::DropReason{});
  list("loss", losses_, events::LossCause{});
  list("recovery", steps_, events::RecoveryStep{});
  list("close", closes_, events::CloseCause{});
  list("error", errors_, ErrorCode{});
  list("ways", verdicts_, events::RoutesVerdict{});
  std::vector<Entry> others = others_;
  std::sort(others.begin(), others.end(),
            [](const Entry& a, const Entry& b) { return a.name < b.name; });
  const size_t listed = all.size();
  for (const Entry& other : others) {
    const auto end = all.begin() + static_cast<ptrdiff_t>(listed);
    const auto same = std::find_if(
        all.begin(), end, [&other](const Entry& entry) { return entry.name == other.name; });
    if (same != end) {
      same->count += other.count;
    } else {
      all.push_back(other);
    }
  }
  return all;
}

std::string Reached::to_text() const {
  std::string text;
  for (const Entry& entry : entries()) {
    std::string line = entry.name;
    line.resize(std::max<size_t>(line.size() + 1, 34), ' ');
    text += "  " + line + std::to_string(entry.count) + "\n";
  }
  return text;
}

bool Reached::add_text(const std::string& table) {
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find_first_not_of(' ');
    const size_t last = line.rfind(' ');
    if (first == std::string::npos) continue;
    uint64_t count = 0;
    const char* digits = line.data() + last + 1;
    const char* end = line.data() + line.size();
    if (last == std::string::npos || last < first ||
        std::from_chars(digits, end, count).ptr != end) {
      return false;
    }
    const std::string name = line.substr(first, line.find_last_not_of(' ', last) + 1 - first);
    add(name, count);
  }
  return true;
}

std::vector<std::string> Reached::missing() const {
  std::vector<std::string> names;
  for (const Entry& entry : entries()) {
    const bool excused =
        std::any_of(std::begin(kUnreachable), std::end(kUnreachable),
                    [&entry](const Unreachable& known) { return entry.name == known.name; });
    if (entry.count == 0 && !excused) names.push_back(entry.name);
  }
  return names;
}

}  // namespace heddle::vopr
