// Threads: see thread.h.
#include "base/thread.h"

#include <pthread.h>
#include <signal.h>

#include <cstdio>
#include <exception>
#include <string>
#include <system_error>
#include <utility>

#include "base/check.h"

namespace heddle {
namespace {

class SignalsBlocked {  // the new thread inherits the mask
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

// Does not catch other exceptions: the C library cancels threads by one of them.
void run(const char* name, const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heddle: the thread %s ended with an exception: %s\n", name, error.what());
    std::terminate();
  }
}

}  // namespace

Result<Thread> start_thread(const char* name, std::function<void()> work) {
  const SignalsBlocked blocked;
  try {
    std::thread thread([name, work = std::move(work)] { run(name, work); });
    pthread_setname_np(thread.native_handle(), name);
    return Thread(std::move(thread));
  } catch (const std::system_error& error) {
    return fail(ErrorCode::kExhausted, std::string("cannot start the thread ") + name, error.what(),
                "raise the limit for threads: ulimit -u, or pids.max of the container");
  }
}

}  // namespace heddle
