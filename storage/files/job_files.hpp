// Files that are not on this machine as inputs and outputs of jobs: those of a cluster, objects of S3 services, and files of HDFS.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "storage/access/remote.hpp"
#include "storage/transfer/rack_traffic.hpp"

namespace weft::storage::files {

struct JobFilesOptions {
  std::string master{};     // empty: every use of the cluster's files is an error that says what to do
  std::string host{};       // or worker, where the tasks run; empty: this machine
  std::string user{};       // owner of what is written; empty: the user of the process
  std::string directory{};  // for temporary files; empty: $TMPDIR, or /tmp
  std::shared_ptr<RackTally> racks = std::make_shared<RackTally>();  // as ChunkClientOptions::racks
  Duration at_first = std::chrono::seconds(5);                       // for a master that is away when it is needed first
};

/// Connects when it is first used.
std::shared_ptr<RemoteFiles> job_files(JobFilesOptions options);
/// As the environment says: for the tasks of a worker, which run in its rack.
std::shared_ptr<RemoteFiles> job_files_of_environment(std::shared_ptr<RackTally> racks);
/// "NAME=value" of all that is not empty, which job_files_of_environment() understands.
std::vector<std::string> environment_of(const JobFilesOptions& options);

}  // namespace weft::storage::files
