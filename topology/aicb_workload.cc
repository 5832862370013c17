// See aicb_workload.h: groups of ranks, and one program for all of them.
#include "topology/aicb_workload.h"

#include <array>
#include <utility>
#include <vector>

#include "topology/aicb/header.h"
#include "topology/aicb/rows.h"

namespace heddle::topology {
namespace {

using aicb::Group;
using aicb::Header;
using aicb::Pass;
using aicb::Row;

constexpr std::array<const char*, aicb::kGroups> kNames = {"tensor", "data", "expert",
                                                           "expert_data"};

class Writer {
 public:
  Writer(const Header& header, uint32_t ranks) : header_(header), ranks_(ranks) {}

  Job write(const std::vector<Row>& rows) {
    job_.name = "aicb";
    job_.kind = "program";
    job_.ranks.resize(ranks_);
    for (uint32_t rank = 0; rank < ranks_; ++rank) job_.ranks[rank].host = rank;
    add_groups(Group::kTensor, 1, header_.tensor);
    add_groups(Group::kData, header_.tensor, ranks_ / header_.tensor);
    add_groups(Group::kExpert, header_.tensor, header_.expert);
    add_groups(Group::kDataOfExperts, header_.tensor * header_.expert,
               ranks_ / header_.tensor / header_.expert);
    program_.labels = {"gradients"};
    for (const Row& row : rows) {
      if (header_.micro) {
        pass({.call = row.passes[2].call, .group = Group::kData, .bytes = row.passes[2].bytes}, 0);
      } else {
        pass(row.passes[0], kNoLabel);
      }
    }
    for (auto row = rows.rbegin(); row != rows.rend() && !header_.micro; ++row) {
      pass(row->passes[1], kNoLabel);
      pass(row->passes[2], 0);
    }
    job_.programs.push_back(std::move(program_));
    return std::move(job_);
  }
  uint64_t alone() const { return alone_; }
  uint64_t empty() const { return empty_; }

 private:
  // Groups of ranks `stride` apart; those of stride * size ranks one after the other.
  void add_groups(Group group, uint32_t stride, uint32_t size) {
    const auto place = static_cast<size_t>(group);
    for (JobRank& rank : job_.ranks) rank.communicators.resize(aicb::kGroups, JobRank::kNone);
    if (size < 2) return;
    for (uint32_t first = 0; first < ranks_; ++first) {
      if (first / stride % size != 0) continue;
      JobCommunicator made{.name = kNames[place], .ranks = {}};
      for (uint32_t i = 0; i < size; ++i) {
        made.ranks.push_back(first + i * stride);
        job_.ranks[made.ranks.back()].communicators[place] =
            static_cast<uint32_t>(job_.communicators.size());
      }
      job_.communicators.push_back(std::move(made));
    }
  }

  void pass(const Pass& pass, uint32_t label) {
    if (pass.span > Nanos{}) {
      program_.actions.push_back({.kind = ActionKind::kCompute, .span = pass.span});
    }
    if (!pass.call) return;
    const auto place = static_cast<uint32_t>(pass.group);
    if (job_.ranks.front().communicators[place] == JobRank::kNone) {
      ++alone_;
    } else if (pass.bytes == 0) {
      ++empty_;
    } else {
      program_.actions.push_back({.kind = ActionKind::kCall,
                                  .call = *pass.call,
                                  .communicator = place,
                                  .bytes = pass.bytes,
                                  .label = label});
    }
  }

  const Header& header_;
  const uint32_t ranks_;
  Job job_;
  Program program_;
  uint64_t alone_ = 0;
  uint64_t empty_ = 0;
};

void add_notes(const Header& header, const std::vector<Row>& rows, const Writer& writer,
               ForeignJob& made) {
  const auto ranks = made.job.ranks.size();
  if (header.pipeline > 1) {
    made.notes.push_back("one of " + std::to_string(header.pipeline) +
                         " stages of the pipeline is simulated; messages of " +
                         std::to_string(header.pipeline_bytes) +
                         " bytes between them are left out");
  }
  if (header.gpus > 0 && header.gpus / header.pipeline != ranks) {
    made.notes.push_back("it has " + std::to_string(ranks) + " ranks instead of " +
                         std::to_string(header.gpus / header.pipeline) +
                         ": sizes of calls are as they were");
  }
  uint64_t update_ns = 0;
  for (const Row& row : rows) update_ns += row.update_ns;
  if (update_ns > 0) {
    made.notes.push_back("updates of weights, " + std::to_string(update_ns) +
                         " ns in all, are left out");
  }
  if (writer.alone() > 0) {
    made.notes.push_back(std::to_string(writer.alone()) + " collectives of one rank are left out");
  }
  if (writer.empty() > 0) {
    made.notes.push_back(std::to_string(writer.empty()) + " collectives of 0 bytes are left out");
  }
}

}  // namespace

Result<ForeignJob> parse_aicb_workload(std::string_view text, const std::string& name,
                                       const ForeignOptions& options) {
  WordReader reader(text, name);
  if (!reader.next()) return reader.wrong("it is empty", "give a file that AICB has made");
  const int first_line = reader.line();
  const Result<Header> header = aicb::read_header(reader);
  if (!header) return fail(header.error());
  if (options.ranks == 0 && header->gpus > 0 && header->gpus < header->pipeline) {
    return reader.wrong("its all_gpus, " + std::to_string(header->gpus) +
                            ", are fewer than the stages of its pipeline (pp), " +
                            std::to_string(header->pipeline),
                        "give all_gpus as a multiple of pp");
  }
  const Result<std::vector<Row>> rows = aicb::read_rows(reader);
  if (!rows) return fail(rows.error());
  const uint32_t described =
      header->gpus > 0 ? header->gpus / header->pipeline : options.open_ranks;
  const uint32_t ranks = options.ranks > 0 ? options.ranks : described;
  const uint64_t block = uint64_t{header->tensor} * header->expert;
  if (ranks < 2 || ranks > kMaxRanks || ranks % block != 0) {
    return reader.wrong_at(
        first_line,
        ranks == 0 ? "it does not say how many ranks there are (all_gpus)"
                   : "a stage of " + std::to_string(ranks) + " ranks cannot have " +
                         std::to_string(header->tensor) + " tensor and " +
                         std::to_string(header->expert) + " expert parallel ones",
        "give a number of ranks that they divide, 2 to 16384: heddle workload import --ranks");
  }
  Writer writer(*header, ranks);
  ForeignJob made{.job = writer.write(*rows), .notes = {}};
  add_notes(*header, *rows, writer, made);
  return made;
}

}  // namespace heddle::topology
