// `heddle diagnose`: verdicts on a recorded job: who hangs or is slow.
#pragma once

namespace CLI {
class App;
}

namespace heddle::cli {

struct Invocation;

void add_diagnose_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
