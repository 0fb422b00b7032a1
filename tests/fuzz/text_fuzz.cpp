// libFuzzer entry: any bytes, as the kind of text that $WEFT_FUZZ_KIND names (a folder of the corpus), are read or refused with one
// line.
#include <cstdlib>

#include "tests/fuzz/text_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const char* const kind = std::getenv("WEFT_FUZZ_KIND");
  WEFT_ASSERT(kind != nullptr);
  weft::fuzz::read_text(kind, {reinterpret_cast<const char*>(data), size});
  return 0;
}
