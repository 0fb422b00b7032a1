#include "schedulers/policies/tetris.hpp"

#include "schedulers/parts/packing.hpp"

namespace weft::schedulers {

Result<Composition> make_tetris(Options& options, const Registry&) {
  WEFT_ASSIGN(PackingOptions packing, take_packing(options));
  WEFT_ASSIGN(packing.bounded, options.choice<bool>("mode", {{"bounded", true}, {"paper", false}}, "bounded"));
  Composition parts;
  parts.jobs = packing_order(packing);
  parts.preplaces = packing.bounded;
  parts.in_turns = packing.bounded;
  return parts;
}

}  // namespace weft::schedulers
