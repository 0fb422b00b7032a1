// Bytes between the writer of a file and the request that sends them: kept in an unlinked file, so that they can be sent again.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "storage/http/http_client.hpp"

namespace weft::storage::hdfs {

struct SpoolLimits {
  std::uint64_t ahead = 16u << 20;              // written and not sent
  std::uint64_t kept = std::uint64_t{1} << 30;  // the sent bytes of a larger file are dropped
};

/// One writer's thread; the sending thread calls the HttpBody of one request at a time.
class Spool {
 public:
  /// The error names the directory.
  static Result<std::shared_ptr<Spool>> create(const std::string& directory, SpoolLimits limits = {});

  /// Adds bytes at the end.
  Result<void> append(ByteView bytes);
  /// Nothing more comes.
  void close();
  /// All bytes from the beginning, as the body of a request, when the one before has ended. resource_exhausted when the beginning
  /// was dropped.
  static Result<std::shared_ptr<http::HttpBody>> body(const std::shared_ptr<Spool>& spool);
  /// Waits until not much is left to send: true. False when the request has ended. Each try of a request has a deadline.
  bool wait_for_room();
  std::uint64_t size() const;

 private:
  class Body;
  Spool(Fd file, SpoolLimits limits) : file_(std::move(file)), limits_(limits) {}
  Result<http::HttpBody::Taken> take(char* into, std::size_t room);
  void forget(std::uint64_t sent);

  const Fd file_;
  const SpoolLimits limits_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::uint64_t written_ = 0, sent_ = 0;
  std::uint64_t forgotten_ = 0;  // bytes at the beginning that the file has no more
  bool closed_ = false, ended_ = false;
};

}  // namespace weft::storage::hdfs
