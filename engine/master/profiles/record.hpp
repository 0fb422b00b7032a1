// One stage's history as a line of JSON: in the store, in exports, and from the master to the command line.
//
//   {"program":"wordcount","stage":0,"name":"…","fingerprint":"00c0ffee…","runs":3,"learned":1764000000,"classes":[…], …}
//
// `classes` has an array for each size: log2 of the bytes that a task reads, then the sums of SizeClass in the order of their
// declaration, then of the histogram each bucket and its weight. Numbers have nine digits. `alone` has two numbers for each class,
// in the same order: SizeClass::alone and disk; records of releases without it are read as if nothing had been shared.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "engine/master/profiles/history.hpp"

namespace weft::profiles {

using Record = std::pair<StageKey, StageHistory>;

/// Without the end of the line.
std::string to_json(const StageKey& key, const StageHistory& stage);
/// corrupt, with the place: the text is no record, or one that cannot have been written.
Result<Record> parse_record(std::string_view text, std::string_view source, std::uint64_t line = 1);

/// The first line of an export: {"weft_profiles":1}.
std::string export_header();
/// Every line of an export. version_mismatch: it begins with another header.
Result<std::vector<Record>> parse_export(std::string_view text, std::string_view source);

}  // namespace weft::profiles
