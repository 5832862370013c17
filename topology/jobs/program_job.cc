// Jobs with explicit programs for their ranks, read and written: see reading.h and job_text.h.
#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "topology/job_text.h"
#include "topology/jobs/action_text.h"
#include "topology/jobs/reading.h"
#include "topology/params.h"

namespace heddle::topology {
namespace {

constexpr const char* kRanksTodo = R"(give numbers or ranges in quotes, like ["0..7", "12"])";

class ProgramReader {
 public:
  ProgramReader(TableReader& table, FileErrors& errors, Job& job)
      : table_(table), errors_(errors), job_(job) {}

  void read() {
    const auto* communicators =
        table_.list("communicator", "write [[job.communicator]] before each");
    if (communicators == nullptr) {
      names_.emplace_back("world");
      add_world(job_);
    } else {
      for (const DocumentValue& each : *communicators) read_communicator(each);
    }
    const std::string todo = "write [[job.program]] before each";
    table_.need("program", todo);
    for (JobRank& rank : job_.ranks) rank.program = JobRank::kNone;
    if (const auto* programs = table_.list("program", todo)) {
      for (const DocumentValue& each : *programs) read_program(each);
    }
  }

 private:
  void read_communicator(const DocumentValue& value) {
    TableReader table(value, errors_);
    const std::string name = table.name("name");
    table.need("ranks", kRanksTodo);
    const std::vector<uint32_t> ranks = ranks_of(table);
    table.finish();
    if (errors_.any()) return;
    auto known = std::find(names_.begin(), names_.end(), name);
    if (known == names_.end()) {
      for (JobRank& rank : job_.ranks) rank.communicators.push_back(JobRank::kNone);
      known = names_.insert(names_.end(), name);
    }
    const auto place = static_cast<size_t>(known - names_.begin());
    for (const uint32_t rank : ranks) {
      uint32_t& slot = job_.ranks[rank].communicators[place];
      if (slot != JobRank::kNone) {
        return table.wrong("ranks", "rank " + std::to_string(rank) + " is of two named " + name,
                           "give one of them another name");
      }
      slot = static_cast<uint32_t>(job_.communicators.size());
    }
    job_.communicators.push_back({name, ranks});
  }

  void read_program(const DocumentValue& value) {
    TableReader table(value, errors_);
    table.need("ranks", kRanksTodo);
    const std::vector<uint32_t> ranks = ranks_of(table);
    Program program;
    LabelPlaces labels;
    program.repeat =
        static_cast<uint32_t>(table.integer("repeat", 1, 1, params::jobs::kMostRepeats));
    const std::string todo = R"(give a list of words like "compute 3ms")";
    table.need("actions", todo);
    if (const auto* actions = table.list("actions", todo)) {
      for (const DocumentValue& each : *actions) {
        const Result<Action> action = parse_action(each.text, names_, program, labels);
        if (!action) errors_.add(each.line, action.error().why, action.error().todo);
        if (errors_.any()) return;
        program.actions.push_back(*action);
      }
    }
    table.finish();
    for (const uint32_t rank : ranks) {
      if (job_.ranks[rank].program != JobRank::kNone) {
        table.wrong("ranks", "rank " + std::to_string(rank) + " has two programs", kRanksTodo);
      }
      job_.ranks[rank].program = static_cast<uint32_t>(job_.programs.size());
    }
    job_.programs.push_back(std::move(program));
  }

  // The ranks of a table's `ranks`, with ranges expanded in order.
  std::vector<uint32_t> ranks_of(TableReader& table) {
    std::vector<uint32_t> ranks;
    const auto names = table.names("ranks", kRanksTodo);
    if (!names) return ranks;
    for (const std::string& name : *names) {
      uint32_t first = 0;
      uint32_t last = 0;
      const size_t dots = name.find("..");
      const bool one = dots == std::string::npos;
      const bool read =
          number(name.substr(0, dots), first) && (one || number(name.substr(dots + 2), last));
      if (one) last = first;
      if (!read || last < first || last >= job_.ranks.size()) {
        table.wrong("ranks",
                    "\"" + name + "\" are no ranks of this job, which has " +
                        std::to_string(job_.ranks.size()),
                    kRanksTodo);
        return {};
      }
      // A list longer than the job has a duplicate, which is refused later; the limit bounds the
      // list's memory.
      for (uint32_t rank = first; rank <= last && ranks.size() <= job_.ranks.size(); ++rank) {
        ranks.push_back(rank);
      }
    }
    return ranks;
  }

  static bool number(const std::string& text, uint32_t& value) {
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value);
    return error == std::errc() && at == end;
  }

  TableReader& table_;
  FileErrors& errors_;
  Job& job_;
  std::vector<std::string> names_;  // of communicators, by a rank's index
};

// Returns "0..7", "12" and so on, with quotes and commas.
std::string ranges(const std::vector<uint32_t>& ranks) {
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    text += (text.empty() ? "\"" : ", \"") + std::to_string(ranks[i]);
    if (end > i + 1) text += ".." + std::to_string(ranks[end - 1]);
    text += "\"";
    i = end;
  }
  return text;
}

}  // namespace

Job read_program_job(TableReader& table, FileErrors& errors, const std::vector<uint32_t>& hosts) {
  const uint64_t count =
      table.integer("ranks", std::min<uint64_t>(hosts.size(), kMaxRanks), 2, kMaxRanks);
  if (count > hosts.size() || (table.has("hosts") && count != hosts.size())) {
    table.wrong("ranks",
                "the job has " + std::to_string(count) + " ranks, and there are " +
                    std::to_string(hosts.size()) + " hosts",
                "name a host for each, or use a larger topology");
  }
  const auto used = static_cast<std::ptrdiff_t>(std::min<uint64_t>(count, hosts.size()));
  Job job = read_job_basics(table, "program", {hosts.begin(), hosts.begin() + used});
  if (!errors.any()) ProgramReader(table, errors, job).read();
  return job;
}

std::string job_text(const Job& job) {
  std::string text = "[[job]]\nkind = \"program\"\nname = \"" + job.name +
                     "\"\nranks = " + std::to_string(job.ranks.size()) + "\n";
  if (job.chunk.count > 0) text += "chunk = \"" + std::to_string(job.chunk.count) + "B\"\n";
  if (job.start != Nanos{}) text += "start = \"" + std::to_string(job.start.count) + "ns\"\n";
  for (const JobCommunicator& each : job.communicators) {
    text += "\n[[job.communicator]]\nname = \"" + each.name + "\"\nranks = [" + ranges(each.ranks) +
            "]\n";
  }
  for (uint32_t number = 0; number < job.programs.size(); ++number) {
    const Program& program = job.programs[number];
    std::vector<uint32_t> ranks;
    std::vector<std::string> names;
    for (uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
      if (job.ranks[rank].program != number) continue;
      ranks.push_back(rank);
      names.resize(std::max(names.size(), job.ranks[rank].communicators.size()));
      for (size_t i = 0; i < job.ranks[rank].communicators.size(); ++i) {
        const uint32_t slot = job.ranks[rank].communicators[i];
        if (slot != JobRank::kNone) names[i] = job.communicators[slot].name;
      }
    }
    text += "\n[[job.program]]\nranks = [" + ranges(ranks) + "]\n";
    if (program.repeat > 1) text += "repeat = " + std::to_string(program.repeat) + "\n";
    text += "actions = [\n";
    for (const Action& action : program.actions) {
      text += "  \"" + text_of(action, names, program) + "\",\n";
    }
    text += "]\n";
  }
  return text;
}

}  // namespace heddle::topology
