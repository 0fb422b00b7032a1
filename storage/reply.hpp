// The reply of each operation has a type of its own.
#pragma once

#include <utility>
#include <variant>

#include "base/result.hpp"

namespace weft::storage {

/// What a change is answered with.
struct Done {};

/// The alternative that answers the operation; corrupt when the reply is another.
template <class Operation, class Reply>
Result<typename Operation::Reply> reply_to(Result<Reply> reply) {
  if (!reply) return fail(std::move(reply).error());
  if (auto* const expected = std::get_if<typename Operation::Reply>(&*reply)) return std::move(*expected);
  return fail(Code::corrupt, "the reply is of another operation");
}

}  // namespace weft::storage
