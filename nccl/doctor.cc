// See doctor.h; the checks are in doctor/.
#include "nccl/doctor.h"

#include "nccl/doctor/checks.h"

namespace heddle::nccl {

std::vector<Finding> examine(const HostFacts& facts) {
  std::vector<Finding> findings;
  doctor::check_plugin(facts, findings);
  doctor::check_libraries(facts, findings);
  doctor::check_settings(facts, findings);
  doctor::check_interfaces(facts, findings);
  doctor::check_host(facts, findings);
  doctor::check_options(facts, findings);
  doctor::ok(findings, "coverage",
             "heddle carries collectives and send/recv; one-sided and zero-SM traffic is not on "
             "heddle");
  return findings;
}

}  // namespace heddle::nccl
