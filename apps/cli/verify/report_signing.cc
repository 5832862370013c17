// See report_signing.h.
#include "apps/cli/verify/report_signing.h"

#include <fmt/format.h>

#include <utility>

namespace heddle::cli {

Result<std::optional<acceptance::PrivateKey>> read_sign_key(const VerifyOptions& options) {
  std::optional<acceptance::PrivateKey> none;
  if (options.sign.empty()) return none;
  if (options.report.empty() && options.resume.empty()) {
    return fail(ErrorCode::kInvalid, "cannot sign", "there is no report", "give --report FOLDER");
  }
  Result<acceptance::PrivateKey> key = acceptance::PrivateKey::read(options.sign);
  if (!key) return fail(std::move(key).error());
  return std::optional<acceptance::PrivateKey>(std::move(*key));
}

Result<void> sign_report(const VerifyOptions& options, const ReportFolder& folder,
                         const acceptance::PrivateKey& key, bool is_complete) {
  const Result<void> done = folder.replace({}, &key);
  if (done) return done;
  return fail(done.error().code, "cannot sign the report", done.error().message(),
              fmt::format("the report is {}; sign it with `heddle verify report {} --sign {}`",
                          is_complete ? "complete" : "written", options.report, options.sign));
}

}  // namespace heddle::cli
