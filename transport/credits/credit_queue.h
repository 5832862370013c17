// CreditQueue: the accounts that may be given more credit, in the order of their turns. Linked
// through the accounts, so that it allocates nothing.
#pragma once

#include "transport/credits/credit_account.h"

namespace heddle::transport {

class CreditQueue {
 public:
  bool empty() const { return first_ == nullptr; }
  CreditAccount& front() const { return *first_; }

  // It must not be in it.
  void push(CreditAccount& account) {
    account.queued = true;
    account.next = nullptr;
    (last_ == nullptr ? first_ : last_->next) = &account;
    last_ = &account;
  }
  // No effect where it is not in it.
  void remove(CreditAccount& account) {
    if (!account.queued) return;
    CreditAccount* previous = nullptr;
    for (CreditAccount* at = first_; at != &account; at = at->next) previous = at;
    (previous == nullptr ? first_ : previous->next) = account.next;
    if (last_ == &account) last_ = previous;
    account.queued = false;
  }

 private:
  CreditAccount* first_ = nullptr;
  CreditAccount* last_ = nullptr;
};

}  // namespace heddle::transport
