// Threads of heddle's own inside somebody's program: they take none of its signals, and their names
// tell whose they are (`top -H`, `ps -L`).
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace heddle {

// `name` has at most 15 characters. Throws std::system_error where there can be no more threads.
template <typename Work>
std::thread start_thread(const char* name, Work&& work) {
  class SignalsBlocked {  // for the new thread to inherit
   public:
    SignalsBlocked() {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

   private:
    sigset_t before_;
  };
  const SignalsBlocked blocked;
  std::thread thread(std::forward<Work>(work));
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace heddle
