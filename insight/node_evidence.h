// Node evidence: what the machines of a verdict's place reported themselves about its time, as
// sentences of the verdict's evidence, and what is to be done by them. A machine's report alone
// makes no verdict: a job that runs well is well.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "insight/diagnosis.h"
#include "insight/node_history.h"

namespace heddle::insight {

// Adds sentences to the evidence of each verdict that has some, the gravest at most, the nearest to
// its begin first, and puts what is to be done by the gravest before its action.
void add_node_evidence(const NodeHistory& nodes, Diagnosis& diagnosis);

// The same of a diagnosis that is finished before the machines' events are read: only what is near
// a verdict is kept, so a verdict of the first minute has its evidence after weeks.
class NodeEvidence {
 public:
  explicit NodeEvidence(Diagnosis& diagnosis);
  void add(const NodePlace& place, const events::AnyEvent& event, int64_t at_ns);
  // Adds the evidence.
  void finish();

 private:
  struct Near {
    int64_t from_ns = 0;
    int64_t to_ns = 0;
    int64_t samples_to_ns = 0;
    std::set<std::string> hosts;
    NodeHistory nodes;
  };
  Diagnosis& diagnosis_;
  std::vector<Near> near_;  // by verdict
};

// "NVRM Xid 79 (GPU has fallen off the bus), GPU 0000:3b:00"
std::string kernel_message_text(const events::KernelMessage& message);

}  // namespace heddle::insight
