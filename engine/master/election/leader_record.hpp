// A leader's record as the store keeps it: JSON. Private to engine/master/election.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "engine/master/election/election.hpp"

namespace weft::master {

/// {"cluster":"…","epoch":3,"leader":"…","address":"…","in_sync":["…"],"marks":{"…":"…"}}, without
/// "marks" where there are none. Equal records have equal texts.
std::string text_of(const LeaderRecord& record);
/// Members that are not known are passed over, because a later release may have written them. Otherwise corrupt, with `key`, which
/// says where the text is.
Result<LeaderRecord> parse_leader_record(std::string_view text, const std::string& key);

}  // namespace weft::master
