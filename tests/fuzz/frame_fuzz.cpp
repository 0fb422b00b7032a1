// libFuzzer entry: any bytes, cut anywhere, must neither crash the frame reader nor make it allocate beyond its bounds. The
// checksum stops almost every mutation, so it is made right for the first frame of every second input.
#include "tests/fuzz/frame_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  using namespace weft::rpc;
  if (size < 2) return 0;
  Buffer input = Buffer::copy_of({reinterpret_cast<const std::byte*>(data) + 2, size - 2});
  const std::size_t step = 1 + data[0] * std::size_t{7};
  if (data[1] % 2 == 1 && input.size() >= kFixedSize) {
    FrameHead head;
    head.kind = static_cast<FrameKind>(1 + data[1] / 2 % 6);
    head.header_length = static_cast<std::uint32_t>(input.size() - kFixedSize);
    const auto fixed = encode_head(head, input.view().subspan(kFixedSize));
    std::copy(fixed.begin(), fixed.end(), input.data());
  }
  fuzz::feed(input.view(), step, {1u << 20, 1u << 20, 8});
  return 0;
}
