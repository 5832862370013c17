// NoMoreThreads: while one exists, the process cannot start threads, as under a thread limit: the
// default stack size exceeds any address space.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>

namespace heddle {

class NoMoreThreads {
 public:
  NoMoreThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t none;
    pthread_getattr_default_np(&none);
    EXPECT_EQ(pthread_attr_setstacksize(&none, size_t{1} << 48), 0);
    EXPECT_EQ(pthread_setattr_default_np(&none), 0);
    pthread_attr_destroy(&none);
  }
  ~NoMoreThreads() {
    EXPECT_EQ(pthread_setattr_default_np(&before_), 0);
    pthread_attr_destroy(&before_);
  }
  NoMoreThreads(const NoMoreThreads&) = delete;
  NoMoreThreads& operator=(const NoMoreThreads&) = delete;

 private:
  pthread_attr_t before_;
};

}  // namespace heddle
