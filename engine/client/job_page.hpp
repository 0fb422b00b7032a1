// The page of a job that runs by itself (--http): the program `weft` shows the job's event log as it grows.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <sys/types.h>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace weft::client {

/// "7078", "127.0.0.1:7078", "0.0.0.0:0" as HOST:PORT: without a host it is loopback. invalid_argument says what is wrong.
Result<std::string> page_address(const std::string& text);

/// A process that is there as long as this is, and that ends with this process, whatever ends it. Job programs link no HTTP.
class JobPage {
 public:
  /// `http`: as page_address() takes it. `log`: the event log, which is there. not_found when there is no program `weft` beside
  /// this program or in $PATH; otherwise the error is what it said: port in use, address not ours. Call it from a thread that lives
  /// as long as the job.
  static Result<std::unique_ptr<JobPage>> start(const std::string& http, const std::string& log);
  ~JobPage();
  JobPage(const JobPage&) = delete;
  JobPage& operator=(const JobPage&) = delete;

  /// "http://127.0.0.1:40123/jobs"
  const std::string& url() const { return url_; }

 private:
  JobPage(pid_t process, Fd output) : process_(process), output_(std::move(output)) {}
  Result<void> wait_until_shown();

  pid_t process_;
  Fd output_;  // of the process: it must not write to a pipe that nobody holds
  std::string url_;
};

/// Says on standard error where the page is.
void tell_page(const std::string& job, const JobPage& page, bool quiet);

}  // namespace weft::client
