// What readers, writers and the file system share.
#pragma once

#include <memory>
#include <string>

#include "base/rpc/rpc.hpp"
#include "storage/files/file_system.hpp"
#include "storage/master_connection.hpp"
#include "storage/retry.hpp"
#include "storage/transfer/chunk_client.hpp"

namespace weft::storage::files {

class FileSystemImpl final : public FileSystem, public std::enable_shared_from_this<FileSystemImpl> {
 public:
  FileSystemImpl(std::string master, rpc::Endpoint endpoint, FileSystemOptions options, rpc::Security security);
  ~FileSystemImpl() override;
  /// Sees whether the master is there.
  Result<void> begin();

  Result<std::unique_ptr<FileReader>> open(const std::string& path) override;
  Result<std::unique_ptr<FileWriter>> create(const std::string& path, const CreateOptions& options) override;
  Result<FileStatus> stat(const std::string& path) override;
  Result<std::vector<FileStatus>> list(const std::string& path) override;
  Result<FileLayout> layout(const std::string& path) override;
  Result<void> make_directory(const std::string& path, bool parents) override;
  Result<std::unique_ptr<DirectoryLease>> lease_directory(const std::string& path, bool take_over) override;
  Result<void> remove(const std::string& path, bool recursive) override;
  Result<void> rename(const std::string& from, const std::string& to, bool replace) override;
  Result<void> set_replication(const std::string& path, std::uint32_t replication) override;
  Result<void> set_mode(const std::string& path, std::uint32_t mode, bool recursive) override;
  Result<void> set_owner(const std::string& path, const std::string& user, bool recursive) override;
  Result<Usage> usage(const std::string& path) override;
  Result<void> check(const std::string& path, const Visit& visit) override;
  Result<FileReport> report() override;
  Result<void> set_quota(const std::string& user, const Quota& quota) override;
  Result<void> drain(const std::string& worker, bool on) override;
  Result<void> balance(double threshold) override;
  Result<void> leave_safe_mode() override;

  /// One request; asked again while the master is away, for as long as there is patience. `repeated` tells whether it was: then an
  /// earlier one may have been carried out though its answer was lost.
  template <class Operation>
  Result<typename Operation::Reply> ask(const Operation& operation, bool* repeated = nullptr) {
    return reply_to<Operation>(ask_for(FileRequest(operation), repeated));
  }
  template <class Operation>
  Result<typename Operation::Reply> ask_once(const Operation& operation, Duration deadline) {
    return reply_to<Operation>(ask_for_once(FileRequest(operation), deadline));
  }
  const FileSystemOptions& options() const { return options_; }
  ChunkClient& chunks() { return *chunks_; }

 private:
  Result<FileReply> ask_for(const FileRequest& request, bool* repeated);
  Result<FileReply> ask_for_once(const FileRequest& request, Duration deadline);

  FileSystemOptions options_;
  std::unique_ptr<rpc::Reactor> reactor_;
  MasterConnection master_;
  std::unique_ptr<ChunkClient> chunks_;
};

/// A place as the chunk client wants it: replicas on the reader's host first, then those in its rack ("": not known), then others.
ChunkLocation location_of(const ChunkPlace& place, const std::vector<NodeSite>& nodes, const std::string& host,
                          const std::string& rack);

/// `located` is the answer to a locate of all of one file.
std::unique_ptr<FileReader> make_reader(std::shared_ptr<FileSystemImpl> files, Located located);
std::unique_ptr<FileWriter> make_writer(std::shared_ptr<FileSystemImpl> files, std::string path, const Leased& leased,
                                        CreateOptions options);

}  // namespace weft::storage::files
