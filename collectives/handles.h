// Handles: one line of text for each process, which the caller passes between processes itself.
// From those of all members of a communicator follows who they are, without a store or a message.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "collectives/driven_endpoint.h"
#include "collectives/members.h"

namespace heddle::collectives {

struct OwnHandle {
  uint64_t number = 0;  // of this process alone, and the same in all its handles
  uint32_t rank = 0;    // that it has had so far
  uint16_t port = 0;    // of its endpoint
};
// Where the process is as it is known now: on a host with several addresses that is not before its
// endpoint is bound to one, or a group of ranks on several hosts was made.
std::string handle_of(const DrivenEndpoint& endpoint, const OwnHandle& own);

struct HandleList {
  uint64_t uuid = 0;               // the same on all members; no list of theirs had it before
  std::vector<std::string> texts;  // of all members
  bool ordered = true;  // ranks are as the texts are; else as they were, and then by numbers
};
// The members that `list` names, of which `own` is one. Errors: kInvalid (it is not, or is of
// another endpoint; one is named twice, or two are at one address), kVersion (a text is no handle),
// kUnavailable (where a member is, is not known).
Result<Members> members_of(const HandleList& list, const OwnHandle& own);

}  // namespace heddle::collectives
