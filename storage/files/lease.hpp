// A lease of the master, kept alive. Private to storage/files.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "storage/files/file_system_impl.hpp"

namespace weft::storage::files {

/// Renews the lease, at a third of its length, from a thread of its own until end(), which may be called several times; not
/// thread-safe.
class Lease {
 public:
  Lease(std::shared_ptr<FileSystemImpl> files, const Leased& leased);
  ~Lease() { end(); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  LeaseId id() const { return id_; }
  void end();
  /// Ends it, and asks the master once to drop it; if that fails, the lease runs out there.
  void abandon();

 private:
  void renew();

  const std::shared_ptr<FileSystemImpl> files_;
  const LeaseId id_;
  Duration every_;    // the renewing thread's, once it runs
  std::mutex mutex_;  // guards ended_
  std::condition_variable wake_;
  bool ended_ = false;
  std::thread renewer_;
};

}  // namespace weft::storage::files
