// libFuzzer entry: replies to a request for map outputs, made from any bytes. None may write outside of the room that was reserved,
// end the process, or be taken for something else than what was sent.
#include "tests/fuzz/landing_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  static const auto pool = std::make_shared<shuffle::SharedPool>(4u << 20);
  const auto landed = shuffle::fuzz::land_by(shuffle::fuzz::Choices({reinterpret_cast<const std::byte*>(data), size}), pool);
  if (landed.honest) WEFT_ASSERT(landed.arrived && *landed.arrived && landed.found == landed.expected);
  return 0;
}
