// --sign of `heddle verify`: the key before the test, the signature after it.
#pragma once

#include <optional>

#include "acceptance/signature.h"
#include "apps/cli/verify/report_files.h"
#include "apps/cli/verify/verify_options.h"
#include "base/result.h"

namespace heddle::cli {

// Nothing without --sign. Errors: as PrivateKey::read(); kInvalid without a report.
Result<std::optional<acceptance::PrivateKey>> read_sign_key(const VerifyOptions& options);

// Signs a report that is written. Errors: as ReportFolder::replace(), with how to sign it later.
Result<void> sign_report(const VerifyOptions& options, const ReportFolder& folder,
                         const acceptance::PrivateKey& key, bool is_complete);

}  // namespace heddle::cli
