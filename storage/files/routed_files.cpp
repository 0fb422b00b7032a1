#include "storage/files/routed_files.hpp"

#include <utility>

#include "storage/files/foreign_stores.hpp"
#include "storage/remote_tables.hpp"
#include "storage/remote_waiting.hpp"

namespace weft::storage::files {
namespace {

class RoutedFiles final : public RemoteFiles, public TablesBesideFiles, public WaitsForMaster {
 public:
  RoutedFiles(std::shared_ptr<RemoteFiles> cluster, const std::string& scratch) : cluster_(std::move(cluster)), foreign_(scratch) {}

  using RemoteFiles::expand;
  Result<InputFiles> expand(const std::string& input, const DirectoryFilter& wanted) override {
    return of(input).expand(input, wanted);
  }
  Result<std::vector<RemotePiece>> pieces(const std::string& path, const FileVersion& listed) override {
    return of(path).pieces(path, listed);
  }
  Result<std::unique_ptr<RemoteFile>> open(const std::string& path, const FileVersion& listed) override {
    return of(path).open(path, listed);
  }
  Result<std::unique_ptr<RemoteOutput>> create(const std::string& path) override { return of(path).create(path); }
  Result<std::string> normal(const std::string& path) override { return of(path).normal(path); }
  Result<bool> exists(const std::string& path) override { return of(path).exists(path); }
  Result<void> make_directory(const std::string& path) override { return of(path).make_directory(path); }
  Result<void> take_over_directory(const std::string& path) override { return of(path).take_over_directory(path); }
  Result<void> make_subdirectory(const std::string& path) override { return of(path).make_subdirectory(path); }
  void leave_directory(const std::string& path) override { of(path).leave_directory(path); }
  Result<std::vector<std::string>> names(const std::string& directory) override { return of(directory).names(directory); }
  Result<void> rename(const std::string& from, const std::string& to, bool replace) override {
    return of(from).rename(from, to, replace);
  }
  Result<void> remove(const std::string& path) override { return of(path).remove(path); }
  RemotePublisher* publisher(const std::string& path) override { return of(path).publisher(path); }
  bool leaves_directories(const std::string& path) override { return of(path).leaves_directories(path); }

  RemoteTables* tables() override { return tables_beside(cluster_.get()); }
  void stop_waiting() override { stop_waiting_for_master(cluster_.get()); }

 private:
  RemoteFiles& of(const std::string& path) {
    RemoteFiles* const foreign = foreign_.of(path);
    return foreign != nullptr ? *foreign : *cluster_;
  }

  const std::shared_ptr<RemoteFiles> cluster_;
  const ForeignStores foreign_;
};

}  // namespace

std::shared_ptr<RemoteFiles> routed_files(std::shared_ptr<RemoteFiles> cluster, const std::string& scratch) {
  return std::make_shared<RoutedFiles>(std::move(cluster), scratch);
}

}  // namespace weft::storage::files
