// Survivors: of a communicator that has failed, the ranks that go on. Passes messages, losses and
// time to the agreement on them, and hands the connections between them to links, so that their
// next communicator uses these. The communicator's body drives it, once its calls have ended.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "collectives/communicator.h"
#include "collectives/execution/mesh.h"
#include "collectives/links.h"
#include "collectives/members.h"
#include "collectives/membership/membership_agreement.h"

namespace heddle::collectives {

class Survivors {
 public:
  // All must outlive it.
  Survivors(Mesh& mesh, Links& links, const Members& members);

  // This rank asks which ranks are left, from the next advance() on.
  void ask(const ShrinkOptions& options) { asked_ = options; }
  // True: something moved.
  bool advance();
  Nanos due_at() const;

  struct Left {
    Members members;              // of their next communicator
    std::vector<uint32_t> ranks;  // that they had in this one; of newcomers none
  };
  // Once; nothing until it is known. Errors: as MembershipAgreement::outcome(); kExhausted;
  // kInvalid (taken before).
  std::optional<Result<Left>> take();
  // Where the others may have agreed on a communicator with this rank, they learn that it has left.
  void leave();

 private:
  bool begun() const { return agreement_ && agreement_->joined(); }
  void begin(const ShrinkOptions& asked);
  bool pass_on();
  bool send(const MembershipAgreement::Sending& sending);
  void expect_pending();
  bool connections_ready(const RankSet& ranks);
  void conclude(const RankSet& ranks);
  void end(const Error& error);

  Mesh& mesh_;
  Links& links_;
  const Members& members_;
  std::optional<ShrinkOptions> asked_;
  bool taken_ = false;
  std::optional<MembershipAgreement> agreement_;
  std::vector<transport::Address> newcomers_;
  RankSet expected_;
  std::optional<Nanos> decided_at_;
  std::optional<Nanos> abort_at_;
  std::optional<Result<Left>> outcome_;
};

}  // namespace heddle::collectives
