// The scheduler of masters, jobs by themselves and simulations that are not told another.
#pragma once

namespace weft::schedulers {

inline constexpr const char* kDefaultScheduler = "fsp";

}  // namespace weft::schedulers
