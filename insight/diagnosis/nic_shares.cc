// See nic_shares.h. Time goes from one begin or end to the next; each changes the parts of the
// passages that share one of its two NICs, and no others.
#include "insight/diagnosis/nic_shares.h"

#include <algorithm>

#include "insight/diagnosis/params.h"

namespace heddle::insight {
namespace {

struct Change {
  double at = 0;
  bool begins = false;
  uint32_t passage = 0;
};

std::vector<Change> changes_of(const std::vector<Passage>& passages) {
  std::vector<Change> changes;
  changes.reserve(2 * passages.size());
  for (uint32_t i = 0; i < passages.size(); ++i) {
    if (passages[i].end <= passages[i].begin) continue;
    changes.push_back({passages[i].begin, true, i});
    changes.push_back({passages[i].end, false, i});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.at != b.at ? a.at < b.at : a.begins < b.begins;  // ends come first
  });
  return changes;
}

class Sharing {
 public:
  Sharing(const std::vector<Passage>& passages, size_t ranks)
      : passages_(passages),
        sent_(ranks),
        received_(ranks),
        alone_(passages.size()),
        since_(passages.size()) {}

  std::vector<double> run() {
    for (const Change& change : changes_of(passages_)) {
      take(change);
      if (steps_ > params::kMostShareSteps) return {};
    }
    std::vector<double> shares(passages_.size(), 1.0);
    for (size_t i = 0; i < shares.size(); ++i) {
      const double span = passages_[i].end - passages_[i].begin;
      if (span > 0) shares[i] = alone_[i] / span;
    }
    return shares;
  }

 private:
  using Active = std::vector<uint32_t>;

  void take(const Change& change) {
    const Passage& passage = passages_[change.passage];
    Active& sent = sent_[passage.from];
    Active& received = received_[passage.to];
    settle(sent, change.at);
    settle(received, change.at);
    if (change.begins) {
      sent.push_back(change.passage);
      received.push_back(change.passage);
      since_[change.passage] = change.at;
    } else {
      std::erase(sent, change.passage);
      std::erase(received, change.passage);
    }
  }

  void settle(const Active& active, double now) {
    steps_ += active.size();
    for (const uint32_t i : active) {
      const Passage& passage = passages_[i];
      const size_t most = std::max(sent_[passage.from].size(), received_[passage.to].size());
      alone_[i] += (now - since_[i]) / static_cast<double>(most);
      since_[i] = now;
    }
  }

  const std::vector<Passage>& passages_;
  size_t steps_ = 0;
  std::vector<Active> sent_;  // that last, by rank
  std::vector<Active> received_;
  std::vector<double> alone_;  // by passage, what its time so far would have been
  std::vector<double> since_;  // counted until here
};

}  // namespace

std::vector<double> nic_shares(const std::vector<Passage>& passages, size_t ranks) {
  return Sharing(passages, ranks).run();
}

}  // namespace heddle::insight
