#include "base/crc32c.hpp"

#include <algorithm>

#include <isa-l/crc.h>

#include "base/vector_state.hpp"

namespace weft {

std::uint32_t crc32c(ByteView bytes, std::uint32_t before) {
  constexpr std::size_t kStep = 1u << 30;  // the library takes an int
  std::uint32_t state = ~before;           // it neither inverts at the start nor at the end
  while (!bytes.empty()) {
    const auto step = bytes.first(std::min(bytes.size(), kStep));
    auto* data = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(step.data()));  // only read
    state = crc32_iscsi(data, static_cast<int>(step.size()), state);
    bytes = bytes.subspan(step.size());
  }
  clear_upper_halves();  // it leaves something in them where the processor has AVX-512
  return ~state;
}

}  // namespace weft
