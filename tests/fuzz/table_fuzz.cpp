// libFuzzer entry: any bytes as any message about tables. The first byte says which.
#include "tests/fuzz/table_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  weft::fuzz::read_table_message(data[0], {reinterpret_cast<const std::byte*>(data) + 1, size - 1});
  return 0;
}
