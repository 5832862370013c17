// See block_series.h.
#include "insight/diagnosis/block_series.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "insight/diagnosis/operation_figures.h"
#include "insight/diagnosis/params.h"

namespace heddle::insight {
namespace {

// By number, and not by end. Of a damaged recording the ranks may be more later.
void put_in_order(Collectives& operations) {
  const auto before = [](const Operation* one, const Operation* other) {
    return one->key < other->key;
  };
  if (!std::is_sorted(operations.begin(), operations.end(), before)) {
    std::sort(operations.begin(), operations.end(), before);
  }
  const size_t ranks = operations.front()->parts.size();
  std::erase_if(operations, [ranks](const Operation* each) { return each->parts.size() != ranks; });
}

// None if the operations together are shorter than one block.
size_t blocks_of(const Collectives& operations) {
  int64_t ended = operations.front()->ended;
  for (const Operation* each : operations) ended = std::max(ended, each->ended);
  const int64_t began = std::min(ended, operations.front()->began);
  const uint64_t span = static_cast<uint64_t>(ended) - static_cast<uint64_t>(began);
  return std::min<uint64_t>(
      {operations.size(), params::kBlocks, span / uint64_t{params::kLeastBlockNs}});
}

class SeriesMaker {
 public:
  SeriesMaker(const JobFacts& facts, uint64_t communicator, const Collectives& operations)
      : facts_(facts), operations_(operations) {
    series_.communicator = communicator;
    const size_t ranks = operations.front()->parts.size();
    const size_t blocks = blocks_of(operations);
    series_.blocks.resize(blocks);
    series_.late.assign(ranks, std::vector<double>(blocks));
    series_.computed_ns = series_.load = series_.late;
    series_.operations = operations.size();
  }

  BlockSeries make() {
    if (series_.blocks.empty()) return std::move(series_);
    int64_t before = operations_.front()->began;
    const size_t blocks = series_.blocks.size();
    for (size_t block = 0; block < blocks; ++block) {
      const size_t from = operations_.size() * block / blocks;
      const size_t to = operations_.size() * (block + 1) / blocks;
      series_.blocks[block].begin = before;
      for (size_t i = from; i < to; ++i) add(block, *operations_[i]);
      before = series_.blocks[block].end = std::max(before, operations_[to - 1]->ended);
      finish(block);
    }
    return std::move(series_);
  }

 private:
  void add(size_t block, const Operation& operation) {
    const int64_t transfer = std::max<int64_t>(0, operation.ended - operation.due);
    series_.blocks[block].transfer_ns += static_cast<double>(transfer);
    ++series_.blocks[block].operations;
    const OperationFigures& figures = figures_of(facts_, operation);
    if (operation.what == events::Operation::kAlltoallv) add_load(block, operation, figures);
    for (size_t rank = 0; rank < figures.ranks.size(); ++rank) {
      series_.late[rank][block] += figures.ranks[rank].late_ns;
      series_.computed_ns[rank][block] += figures.ranks[rank].ns;
    }
    add_delays(block, figures);
  }

  void add_load(size_t block, const Operation& operation, const OperationFigures& figures) {
    for (size_t rank = 0; rank < figures.asked; ++rank) {
      series_.load[rank][block] += static_cast<double>(operation.parts[rank].count);
    }
  }

  // Links come in order, and are mostly those of the operation before.
  void add_delays(size_t block, const OperationFigures& figures) {
    auto next = series_.delayed.begin();
    for (const auto& [link, delay_ns] : figures.delays_ns) {
      const auto at = series_.delayed.try_emplace(next, link);
      std::vector<double>& row = at->second;
      if (row.empty()) row.resize(series_.blocks.size());
      row[block] += delay_ns;
      next = std::next(at);
    }
  }

  // Sums become shares.
  void finish(size_t block) {
    const Block& facts = series_.blocks[block];
    const auto length = static_cast<double>(std::max<int64_t>(1, facts.end - facts.begin));
    for (std::vector<double>& row : series_.late) row[block] /= length;
    const auto least =
        static_cast<double>(params::kLeastDelayNs * static_cast<int64_t>(facts.operations));
    const bool matters = facts.transfer_ns >= params::kLeastTransfer * length;
    for (auto& [link, row] : series_.delayed) {
      if (block >= row.size()) row.resize(series_.blocks.size());
      row[block] = matters && std::abs(row[block]) >= least ? row[block] / facts.transfer_ns : 0;
    }
  }

  const JobFacts& facts_;
  const Collectives& operations_;
  BlockSeries series_;
};

}  // namespace

std::map<uint64_t, Collectives> completed_collectives(const JobFacts& facts, int64_t since_ns) {
  std::map<uint64_t, Collectives> by_communicator;
  for (const auto& [communicator, ended] : facts.index().collectives()) {
    auto at = OperationIndex::since(ended, since_ns);
    if (at == ended.end()) continue;
    Collectives& operations = by_communicator[communicator];
    for (; at != ended.end(); ++at) operations.push_back(at->second);
    put_in_order(operations);
  }
  return by_communicator;
}

std::vector<BlockSeries> make_series(const JobFacts& facts, int64_t since_ns) {
  std::vector<BlockSeries> series;
  for (const auto& [communicator, operations] : completed_collectives(facts, since_ns)) {
    series.push_back(SeriesMaker(facts, communicator, operations).make());
  }
  return series;
}

std::optional<DelayMatrix> delay_matrix(const JobFacts& facts, const BlockSeries& series) {
  const size_t ranks = series.late.size();
  if (series.delayed.empty() || ranks > params::kMostDelayRanks) return std::nullopt;
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  DelayMatrix matrix{.communicator = series.communicator,
                     .seconds = std::vector(ranks, std::vector<double>(ranks, kUnknown))};
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    matrix.processes.push_back(facts.process_of(series.communicator, rank));
  }
  for (const auto& [link, row] : series.delayed) {
    double ns = 0;
    for (size_t i = 0; i < row.size(); ++i) ns += row[i] * series.blocks[i].transfer_ns;
    matrix.seconds[link.first][link.second] = 1e-9 * ns / static_cast<double>(series.operations);
  }
  return matrix;
}

}  // namespace heddle::insight
