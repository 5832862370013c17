// TestedLab: the lab that `heddle verify` tests: one that is up, or one of its own, which it takes
// down in the end.
#pragma once

#include <string>
#include <utility>

#include "apps/cli/verify/verify_options.h"
#include "base/result.h"
#include "lab/lab.h"

namespace heddle::cli {

class TestedLab {
 public:
  // `folder` gets the topology of a lab that is made without one.
  static Result<TestedLab> open(const VerifyOptions& options, const std::string& folder,
                                bool (*stopped)());
  TestedLab(TestedLab&& other) noexcept
      : lab_(std::move(other.lab_)), own_(std::exchange(other.own_, false)) {}
  TestedLab& operator=(TestedLab&&) = delete;
  ~TestedLab() { static_cast<void>(close()); }

  const lab::Lab& lab() const { return lab_; }
  Result<void> close();

 private:
  TestedLab(lab::Lab lab, bool own) : lab_(std::move(lab)), own_(own) {}

  lab::Lab lab_;
  bool own_;
};

}  // namespace heddle::cli
