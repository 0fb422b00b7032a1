// Keys with which workers ask each other for map outputs: a random number for each job, which the master tells only the workers
// that have something to do with the job.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/rpc/rpc.hpp"

namespace weft::shuffle {

/// Masters have given keys to jobs, and workers have shown them, since this protocol (docs/formats/frame.md).
inline constexpr rpc::Protocol kKeysSince = 2;

/// Reactor thread only.
class JobKeys {
 public:
  /// `on_refused` hears, in a line, of each peer that shows a wrong key; it may be called very often.
  explicit JobKeys(std::function<void(std::string)> on_refused = [](const std::string&) {}) : on_refused_(std::move(on_refused)) {}
  /// Shows none, and demands none: for tests and benchmarks.
  static std::shared_ptr<const JobKeys> none();

  /// From here to forget() map outputs of the job may be had. 0: none is demanded for them.
  void set(JobId job, std::uint64_t key) { keys_[job] = key; }
  void forget(JobId job) { keys_.erase(job); }
  /// To be shown with requests; 0: the job has none, or is not known.
  std::uint64_t of(JobId job) const;

  /// The lowest protocol that the master or a worker of the cluster speaks. While it is below kKeysSince, a request that shows no
  /// key is served: not all know them.
  void set_lowest(rpc::Protocol lowest) { lowest_ = lowest; }
  rpc::Protocol lowest() const { return lowest_; }
  /// permission_denied: that is not the key of the job. unavailable: the peer speaks an earlier protocol and shows none, which will
  /// be right if the master is about to say that such workers are there. not_found: the job is not known.
  Result<void> check(const rpc::Connection& peer, JobId job, std::uint64_t shown) const;

 private:
  std::function<void(std::string)> on_refused_;
  std::map<JobId, std::uint64_t> keys_;
  rpc::Protocol lowest_ = kKeysSince;
  bool demands_ = true;
};

}  // namespace weft::shuffle
