#include "storage/rocks_files.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <unistd.h>

namespace weft::storage {
namespace {

using rocksdb::FileOptions;
using rocksdb::FSDirectory;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

/// Without a target it is a file that could not be made.
class FencedFile final : public FSWritableFile {
 public:
  FencedFile(FencedFiles& files, std::unique_ptr<FSWritableFile> target) : files_(files), target_(std::move(target)) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    size_ += data.size();
    return change([&] { return target_->Append(data, options, debug); });
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo& check,
                  IODebugContext* debug) override {
    size_ += data.size();
    return change([&] { return target_->Append(data, options, check, debug); });
  }
  IOStatus PositionedAppend(const Slice& data, std::uint64_t offset, const IOOptions& options, IODebugContext* debug) override {
    size_ = offset + data.size();
    return change([&] { return target_->PositionedAppend(data, offset, options, debug); });
  }
  IOStatus PositionedAppend(const Slice& data, std::uint64_t offset, const IOOptions& options,
                            const rocksdb::DataVerificationInfo& check, IODebugContext* debug) override {
    size_ = offset + data.size();
    return change([&] { return target_->PositionedAppend(data, offset, options, check, debug); });
  }
  IOStatus Truncate(std::uint64_t size, const IOOptions& options, IODebugContext* debug) override {
    size_ = size;
    return change([&] { return target_->Truncate(size, options, debug); });
  }
  IOStatus Flush(const IOOptions& options, IODebugContext* debug) override {
    return change([&] { return target_->Flush(options, debug); });
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    return change([&] { return target_->Sync(options, debug); });
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return change([&] { return target_->Fsync(options, debug); });
  }
  IOStatus RangeSync(std::uint64_t offset, std::uint64_t size, const IOOptions& options, IODebugContext* debug) override {
    return change([&] { return target_->RangeSync(offset, size, options, debug); });
  }
  /// The descriptor goes in any case.
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    return target_ ? files_.judge(target_->Close(options, debug)) : IOStatus::OK();
  }

  bool IsSyncThreadSafe() const override { return target_ && target_->IsSyncThreadSafe(); }
  bool use_direct_io() const override { return target_ && target_->use_direct_io(); }
  std::size_t GetRequiredBufferAlignment() const override {
    return target_ ? target_->GetRequiredBufferAlignment() : FSWritableFile::GetRequiredBufferAlignment();
  }
  void SetWriteLifeTimeHint(rocksdb::Env::WriteLifeTimeHint hint) override {
    if (target_) target_->SetWriteLifeTimeHint(hint);
  }
  std::uint64_t GetFileSize(const IOOptions&, IODebugContext*) override { return size_; }
  void SetPreallocationBlockSize(std::size_t size) override {
    if (target_) target_->SetPreallocationBlockSize(size);
  }
  /// Room that could not be had in advance is no failure.
  void PrepareWrite(std::size_t offset, std::size_t size, const IOOptions& options, IODebugContext* debug) override {
    if (target_ && !files_.fenced()) target_->PrepareWrite(offset, size, options, debug);
  }
  IOStatus InvalidateCache(std::size_t offset, std::size_t size) override {
    return target_ ? target_->InvalidateCache(offset, size) : IOStatus::OK();
  }

 private:
  template <class Change>
  IOStatus change(Change&& change) {
    return target_ && !files_.fenced() ? files_.judge(change()) : IOStatus::OK();
  }

  FencedFiles& files_;
  const std::unique_ptr<FSWritableFile> target_;
  std::uint64_t size_ = 0;
};

class FencedDirectory final : public FSDirectory {
 public:
  FencedDirectory(FencedFiles& files, std::unique_ptr<FSDirectory> target) : files_(files), target_(std::move(target)) {}
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return files_.fenced() ? IOStatus::OK() : files_.judge(target_->Fsync(options, debug));
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* debug, const rocksdb::DirFsyncOptions& how) override {
    return files_.fenced() ? IOStatus::OK() : files_.judge(target_->FsyncWithDirOptions(options, debug, how));
  }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override { return target_->Close(options, debug); }
  std::size_t GetUniqueId(char* id, std::size_t size) const override { return target_->GetUniqueId(id, size); }

 private:
  FencedFiles& files_;
  const std::unique_ptr<FSDirectory> target_;
};

class NoLock final : public rocksdb::FileLock {};

}  // namespace

FencedFiles::FencedFiles(const std::shared_ptr<rocksdb::FileSystem>& target, std::shared_ptr<rocksdb::Logger> log)
    : FileSystemWrapper(target), log_(std::move(log)) {}

IOStatus FencedFiles::failure() const {
  if (!fenced_.load()) return IOStatus::OK();
  const std::lock_guard lock(mutex_);
  return failure_;
}

IOStatus FencedFiles::judge(const IOStatus& done) {
  if (done.ok() || done.IsNotSupported()) return done;
  const std::lock_guard lock(mutex_);
  if (fenced_.load()) return IOStatus::OK();
  const std::string why = done.getState() == nullptr ? done.ToString() : done.getState();
  failure_ = why.ends_with(std::strerror(EDQUOT)) ? IOStatus::NoSpace(why) : done;
  fenced_.store(true);
  return IOStatus::OK();
}

void FencedFiles::remove_made() {
  const std::lock_guard lock(mutex_);
  if (in_force_) return;
  for (const std::string& path : std::exchange(made_, {})) ::unlink(path.c_str());
}

template <class Change>
IOStatus FencedFiles::unless_fenced(Change&& change) {
  return fenced() ? IOStatus::OK() : judge(change());
}

template <class Open>
IOStatus FencedFiles::open(const std::string& path, std::unique_ptr<FSWritableFile>* file, Open&& open) {
  std::unique_ptr<FSWritableFile> target;
  const IOStatus opened = unless_fenced([&] { return open(&target); });
  if (!opened.ok()) return opened;
  if (target) {
    const std::lock_guard lock(mutex_);
    if (!in_force_) made_.insert(path);
  }
  *file = std::make_unique<FencedFile>(*this, std::move(target));
  return IOStatus::OK();
}

IOStatus FencedFiles::NewWritableFile(const std::string& path, const FileOptions& options, std::unique_ptr<FSWritableFile>* file,
                                      IODebugContext* debug) {
  return open(path, file, [&](auto* target) { return target_->NewWritableFile(path, options, target, debug); });
}

IOStatus FencedFiles::ReopenWritableFile(const std::string& path, const FileOptions& options, std::unique_ptr<FSWritableFile>* file,
                                         IODebugContext* debug) {
  std::unique_ptr<FSWritableFile> target;
  const IOStatus opened = unless_fenced([&] { return target_->ReopenWritableFile(path, options, &target, debug); });
  if (opened.ok()) *file = std::make_unique<FencedFile>(*this, std::move(target));
  return opened;
}

IOStatus FencedFiles::ReuseWritableFile(const std::string& path, const std::string& old, const FileOptions& options,
                                        std::unique_ptr<FSWritableFile>* file, IODebugContext* debug) {
  return open(path, file, [&](auto* target) { return target_->ReuseWritableFile(path, old, options, target, debug); });
}

IOStatus FencedFiles::NewDirectory(const std::string& path, const IOOptions& options, std::unique_ptr<FSDirectory>* directory,
                                   IODebugContext* debug) {
  std::unique_ptr<FSDirectory> target;
  const IOStatus opened = target_->NewDirectory(path, options, &target, debug);
  if (opened.ok()) *directory = std::make_unique<FencedDirectory>(*this, std::move(target));
  return opened;
}

/// What could not be deleted is found at the next opening.
IOStatus FencedFiles::DeleteFile(const std::string& path, const IOOptions& options, IODebugContext* debug) {
  return fenced() ? IOStatus::OK() : target_->DeleteFile(path, options, debug);
}

IOStatus FencedFiles::Truncate(const std::string& path, std::size_t size, const IOOptions& options, IODebugContext* debug) {
  return unless_fenced([&] { return target_->Truncate(path, size, options, debug); });
}

IOStatus FencedFiles::RenameFile(const std::string& from, const std::string& to, const IOOptions& options, IODebugContext* debug) {
  return unless_fenced([&] {
    IOStatus renamed = target_->RenameFile(from, to, options, debug);
    const std::lock_guard lock(mutex_);
    if (renamed.ok() && to.ends_with("/CURRENT")) in_force_ = true;
    if (renamed.ok() && made_.erase(from) != 0) made_.insert(to);
    return renamed;
  });
}

IOStatus FencedFiles::LinkFile(const std::string& from, const std::string& to, const IOOptions& options, IODebugContext* debug) {
  return unless_fenced([&] { return target_->LinkFile(from, to, options, debug); });
}

IOStatus FencedFiles::CreateDir(const std::string& path, const IOOptions& options, IODebugContext* debug) {
  return unless_fenced([&] { return target_->CreateDir(path, options, debug); });
}

IOStatus FencedFiles::CreateDirIfMissing(const std::string& path, const IOOptions& options, IODebugContext* debug) {
  return unless_fenced([&] { return target_->CreateDirIfMissing(path, options, debug); });
}

IOStatus FencedFiles::DeleteDir(const std::string& path, const IOOptions& options, IODebugContext* debug) {
  return fenced() ? IOStatus::OK() : target_->DeleteDir(path, options, debug);
}

IOStatus FencedFiles::LockFile(const std::string&, const IOOptions&, rocksdb::FileLock** lock, IODebugContext*) {
  *lock = new NoLock;
  return IOStatus::OK();
}

IOStatus FencedFiles::UnlockFile(rocksdb::FileLock* lock, const IOOptions&, IODebugContext*) {
  delete lock;
  return IOStatus::OK();
}

IOStatus FencedFiles::NewLogger(const std::string&, const IOOptions&, std::shared_ptr<rocksdb::Logger>* log, IODebugContext*) {
  *log = log_;
  return IOStatus::OK();
}

}  // namespace weft::storage
