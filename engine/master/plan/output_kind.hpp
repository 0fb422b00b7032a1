// What a stage makes.
#pragma once

#include <cstdint>

namespace weft::plan {

enum class OutputKind : std::uint8_t {
  shuffle = 0,  // a segment with as many partitions as the stage has, readable as ShuffleId{stage id}
  result = 1,   // bytes for the driver: an action's partial result, or the name of a written file
};
constexpr OutputKind last_of(OutputKind) { return OutputKind::result; }

}  // namespace weft::plan
