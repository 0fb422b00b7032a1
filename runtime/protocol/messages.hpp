// How the messages of this folder are written. For its .cpp files only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/encoder.hpp"
#include "base/rpc/versioned.hpp"
#include "runtime/protocol/executor.hpp"
#include "runtime/protocol/task.hpp"
#include "runtime/protocol/worker.hpp"
#include "shuffle/store/mode.hpp"

namespace weft::rpc {

/// A job has thousands of these, most of them small: two varints each.
template <>
struct WireForm<std::vector<shuffle::PartitionSize>> {
  using Wire = std::string;
  using Sizes = std::vector<shuffle::PartitionSize>;
  static Wire to_wire(const Sizes& sizes);
  static Result<Sizes> from_wire(const Wire& bytes);
  static std::size_t bytes(const Sizes& sizes) { return sizes.size() * 6; }
};

/// Two lists of numbers, however many outputs there are.
template <>
struct WireForm<runtime::protocol::WrittenTable> {
  struct Wire {
    std::vector<std::uint32_t> counts;  // by output: one more than it has partitions; 0: not known
    std::vector<std::uint32_t> partitions;
  };
  struct Written {
    std::vector<std::uint32_t> counts;
    Pieces<std::uint32_t> partitions;
  };
  static Written to_wire(const runtime::protocol::WrittenTable& written);
  static Result<runtime::protocol::WrittenTable> from_wire(const Wire& lists);
  static std::size_t bytes(const runtime::protocol::WrittenTable& written);
};

}  // namespace weft::rpc

namespace weft::runtime::protocol {

/// A message whose values have to fit each other has a `Result<void> check(const M&)`, which is asked last.
template <class Schema, class M>
Result<M> decode_as(const rpc::Message& message, unsigned* skipped) {
  auto read = rpc::decode_versioned<Schema, M>(message.header.view(), M::kName, message.bulk.view(), skipped);
  if constexpr (requires(const M& value) { check(value); }) {
    if (read) WEFT_TRY(check(*read));
  }
  return read;
}

/// Defines encode() and decode() of a message whose struct of the schema, which the file includes, has its name.
#define WEFT_PROTOCOL_MESSAGE(M)                                     \
  template <>                                                        \
  rpc::Payload encode(M message) {                                   \
    return rpc::versioned_payload<wire::M>(message);                 \
  }                                                                  \
  template <>                                                        \
  Result<M> decode(const rpc::Message& message, unsigned* skipped) { \
    return decode_as<wire::M, M>(message, skipped);                  \
  }                                                                  \
  static_assert(true)

}  // namespace weft::runtime::protocol
