// Profiles as text for people and as JSON for programs. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "engine/master/profiles/record.hpp"

namespace weft::tools {

/// A row for each program. `now`: seconds since 1970.
std::string profiles_table(const std::vector<profiles::Record>& records, std::int64_t now);
std::string profiles_json(const std::vector<profiles::Record>& records, std::int64_t now);
/// The stages of one program, and each stage by the size of what its tasks read.
std::string profile_text(const std::vector<profiles::Record>& records);
std::string profile_json(const std::vector<profiles::Record>& records);

}  // namespace weft::tools
