// Made-up workloads: classes of jobs with sizes, shapes and times drawn from distributions, arriving at random.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "engine/simulator/workload.hpp"

namespace weft::simulator::workloads {

/// `text` holds "key=value" settings separated by commas, or names a TOML file of the same keys ("mix.toml", perhaps followed by
/// settings that override it). The same text and seed give the same workload. invalid_argument names key and remedy.
Result<Workload> generate(std::string_view text, std::uint64_t seed);

/// All keys with their meaning and defaults, as a TOML file.
std::string describe_generator();

}  // namespace weft::simulator::workloads
