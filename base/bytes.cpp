#include "base/bytes.hpp"

#include <cstring>

#include "base/assert.hpp"

namespace weft {

Buffer Buffer::copy_of(ByteView bytes) {
  Buffer buffer(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer.data(), bytes.data(), bytes.size());
  return buffer;
}

void Buffer::truncate(std::size_t size) {
  WEFT_ASSERT(size <= size_);
  size_ = size;
}

SharedBytes::SharedBytes(Buffer buffer) {
  auto kept = std::make_shared<const Buffer>(std::move(buffer));
  bytes = kept->view();
  owner = std::move(kept);
}

}  // namespace weft
