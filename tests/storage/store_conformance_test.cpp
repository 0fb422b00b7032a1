#include "tests/storage/store_conformance.hpp"

#include <filesystem>

#include "storage/hdfs/hdfs_files.hpp"
#include "storage/objects/s3_files.hpp"
#include "tests/storage/hdfs_service.hpp"
#include "tests/storage/s3_service.hpp"

namespace weft::storage {
namespace {

class LocalStore final : public Store {
 public:
  RemoteFiles* files() override { return nullptr; }
  std::string url(const std::string& path) override { return directory_.path() + path; }
  void put(const std::string& path, const std::string& content) override {
    std::filesystem::create_directories(std::filesystem::path(url(path)).parent_path());
    test::write_file(url(path), content);
  }
  std::vector<std::string> names(const std::string& directory) override {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(url(directory))) found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  test::ScratchDirectory directory_;
};

http::HttpOptions impatient() {
  http::HttpOptions options;
  options.patience = std::chrono::seconds(60);
  options.first_pause = std::chrono::milliseconds(2);
  options.longest_pause = std::chrono::milliseconds(50);
  return options;
}

class S3Store : public Store {
 public:
  RemoteFiles* files() override { return files_.get(); }
  std::string url(const std::string& path) override { return "s3://books" + path; }

 protected:
  test::S3Service service_;

 private:
  const std::unique_ptr<RemoteFiles> files_ = objects::s3_files(service_.settings(), impatient());
};

class BadS3Store final : public S3Store {
 public:
  BadS3Store() { service_.set(R"({"slow_down": 0.03, "cut": 0.03, "seed": 5})"); }
};

class HdfsStore : public Store {
 public:
  RemoteFiles* files() override { return files_.get(); }
  std::string url(const std::string& path) override { return "hdfs://both" + path; }

 protected:
  test::HdfsService service_;

 private:
  const std::unique_ptr<RemoteFiles> files_ = hdfs::hdfs_files(service_.settings(), impatient());
};

class BadHdfsStore final : public HdfsStore {
 public:
  BadHdfsStore() { service_.set(R"({"busy": 0.03, "cut": 0.03, "lose": 0.03, "dead": true, "seed": 5})"); }
};

class OldHdfsStore final : public HdfsStore {
 public:
  OldHdfsStore() { service_.set(R"({"old": true})"); }
};

template <class Made>
StoreKind kind(const char* name) {
  return {name, [] { return std::make_unique<Made>(); }};
}

INSTANTIATE_TEST_SUITE_P(Kinds, Stores,
                         testing::Values(kind<LocalStore>("Local"), kind<S3Store>("S3"), kind<BadS3Store>("BadS3"),
                                         kind<HdfsStore>("Hdfs"), kind<BadHdfsStore>("BadHdfs"), kind<OldHdfsStore>("OldHdfs")),
                         store_name);

}  // namespace
}  // namespace weft::storage
