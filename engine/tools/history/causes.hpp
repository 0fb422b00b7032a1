// Why attempts and jobs failed, as kinds of findings (findings.hpp).
#pragma once

#include <string>

#include "engine/tools/history/history.hpp"

namespace weft::history {

/// Why an attempt failed: "out_of_memory", "disk_full", "unreadable_input", "user_code", …
std::string cause_of(const LoggedAttempt& attempt);

/// Why a job failed or was killed, from its error alone: one of the above, or "wrong_demand", "killed", "lost_driver",
/// "lost_master"; "failed" when the error has none of the words known here.
std::string cause_of(const LoggedJob& job);

/// What to change. `cause` is what cause_of gives.
std::string advice_on(const std::string& cause);

}  // namespace weft::history
