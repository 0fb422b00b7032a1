// What actions throw inside of a definition when the job fails.
#pragma once

#include <stdexcept>
#include <utility>

#include "base/result.hpp"

namespace weft {

/// The job cannot go on; what() is one line with the chain of causes.
class JobFailure : public std::runtime_error {
 public:
  explicit JobFailure(Error error) : std::runtime_error(error.to_string()), error_(std::move(error)) {}
  const Error& error() const { return error_; }

 private:
  Error error_;
};

}  // namespace weft
