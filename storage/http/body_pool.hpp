// Memory of answers' bodies that were read, for later answers: new memory costs as much as reading into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace weft::storage::http {

/// Keeps a few large bodies. Any thread.
class BodyPool {
 public:
  /// An empty string with room for that many bytes.
  std::string take(std::uint64_t bytes);
  /// Keeps the memory of a body, unless it is small or enough is kept already.
  void put(std::string body);

 private:
  std::mutex mutex_;  // guards what follows
  std::vector<std::string> spares_;
  std::size_t spare_bytes_ = 0;
};

}  // namespace weft::storage::http
