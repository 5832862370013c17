// Accounts: who holds how many bytes that `new` gave. Each block remembers the account that it was
// charged to, so it is taken off that account wherever it is given back. A program that uses this
// has its operators new and delete replaced.
#pragma once

#include <cstdint>

namespace heddle::vopr {

// What belongs to nobody: the simulated network, the checkers, the programs.
inline constexpr uint32_t kNobodysAccount = 0;
inline constexpr uint32_t kAccounts = 64;

// What is allocated from now on is charged to this account; gives the one before.
uint32_t charge(uint32_t account);

// Bytes that are allocated, as they were asked for.
int64_t bytes_on(uint32_t account);

// Whoever holds more ends the process with a line that says so, before the machine runs out.
inline constexpr int64_t kMostOnAnAccount = int64_t{1} << 30;

}  // namespace heddle::vopr
