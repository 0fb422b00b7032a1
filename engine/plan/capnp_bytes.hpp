// One adapter between Cap'n Proto messages and bytes, for this folder: limits on reading, exceptions to errors.
// Includes Cap'n Proto: for .cpp files only.
#pragma once

#include <cstring>
#include <exception>
#include <string>

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "schedulers/view/resources.hpp"

namespace weft::plan::detail {

/// Between the struct of a schema and ours.
template <class Builder>
void write_resources(Builder out, const schedulers::Resources& resources) {
  out.setCpu(resources.cpu);
  out.setMemory(resources.memory);
  out.setDiskRead(resources.disk_read);
  out.setDiskWrite(resources.disk_write);
  out.setNetworkIn(resources.network_in);
  out.setNetworkOut(resources.network_out);
  out.setMapSlots(resources.map_slots);
  out.setReduceSlots(resources.reduce_slots);
}

template <class Reader>
schedulers::Resources read_resources(Reader in) {
  return {in.getCpu(),       in.getMemory(),     in.getDiskRead(), in.getDiskWrite(),
          in.getNetworkIn(), in.getNetworkOut(), in.getMapSlots(), in.getReduceSlots()};
}

inline Buffer to_buffer(capnp::MallocMessageBuilder& message) {
  const kj::Array<capnp::word> words = capnp::messageToFlatArray(message);
  const auto bytes = words.asBytes();
  return Buffer::copy_of(ByteView(reinterpret_cast<const std::byte*>(bytes.begin()), bytes.size()));
}

/// Calls read(reader of Root) under limits that follow from the size; any complaint of Cap'n Proto is Code::corrupt.
template <class Root, class Read>
auto from_bytes(ByteView bytes, const char* what, Read read) -> Result<decltype(read(typename Root::Reader()))> {
  if (bytes.empty() || bytes.size() % sizeof(capnp::word) != 0) {
    return fail(Code::corrupt, std::string(what) + " has a length that no message has");
  }
  try {
    kj::Array<capnp::word> words = kj::heapArray<capnp::word>(bytes.size() / sizeof(capnp::word));
    std::memcpy(words.begin(), bytes.data(), bytes.size());
    capnp::ReaderOptions options;
    options.traversalLimitInWords = 4 * words.size() + 64;  // everything is visited once or twice
    options.nestingLimit = 16;
    capnp::FlatArrayMessageReader reader(words, options);
    return read(reader.getRoot<Root>());
  } catch (const kj::Exception& error) {
    return fail(Code::corrupt, std::string(what) + " is damaged: " + error.getDescription().cStr());
  }
}

}  // namespace weft::plan::detail
