// libFuzzer entry: the payload of a journal's record, and the status of a job in it, made from any bytes. Checksums are not what is
// tried: a record is made of the bytes, and read as the master would.
#include "engine/master/journal/journal_record.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const ByteView bytes(reinterpret_cast<const std::byte*>(data), size);
  if (const auto record = master::decode_record(bytes)) (void)master::to_frame(*record);
  if (const auto status = master::decode_status(bytes)) (void)master::encode_status(*status);
  return 0;
}
