#include "schedulers/policies/tetris.hpp"

#include "schedulers/parts/packing.hpp"

namespace weft::schedulers {

Result<Composition> make_tetris(Options& options, const Registry&) {
  WEFT_ASSIGN(const PackingOptions packing, take_packing(options));
  Composition parts;
  parts.jobs = packing_order(packing);
  parts.preplaces = false;
  return parts;
}

}  // namespace weft::schedulers
