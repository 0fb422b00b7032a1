// Job programs that are started over HTTP: processes beside the master, each the driver of its job, as `weft submit` starts them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace weft::web {

/// Any thread.
class Submissions {
 public:
  /// What may be started are the programs in `directory`, with `--cluster` and `master` ("host:port").
  Submissions(std::string directory, std::string master);
  /// Kills the drivers that run. Their jobs end with them.
  ~Submissions();
  Submissions(const Submissions&) = delete;
  Submissions& operator=(const Submissions&) = delete;

  /// Returns the number of the submission when its program runs. `program` is a name without a directory. Its working directory is
  /// this process's. Errors: not_found (no such program), invalid_argument (a name with a directory, too many arguments),
  /// resource_exhausted (too many run).
  Result<std::uint64_t> start(const std::string& program, const std::vector<std::string>& arguments);
  /// Asks the driver and its children to end (SIGTERM); nothing happens when it has ended. not_found when there is none.
  Result<void> stop(std::uint64_t number);
  /// JSON (Submission in schemas.json); not_found when there is none, or it has ended and 256 later ones have come.
  Result<std::string> describe(std::uint64_t number) const;
  std::string list() const;

 private:
  struct Driver;

  /// Under the mutex; not_found.
  Result<const Driver*> driver(std::uint64_t number) const;
  void forget_the_oldest();

  const std::string directory_;
  const std::string master_;
  mutable std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, std::unique_ptr<Driver>> drivers_;
};

}  // namespace weft::web
