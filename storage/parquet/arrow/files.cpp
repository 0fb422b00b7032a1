#include "storage/parquet/arrow/files.hpp"

#include <arrow/buffer.h>
#include <arrow/result.h>

namespace weft::storage::parquet {
namespace {

class File : public ::arrow::io::RandomAccessFile {
 public:
  File(std::unique_ptr<Source> source, KeptError& kept) : source_(std::move(source)), kept_(kept) {}

  ::arrow::Status Close() override {
    closed_ = true;
    return ::arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  ::arrow::Result<std::int64_t> Tell() const override { return position_; }
  ::arrow::Status Seek(std::int64_t position) override {
    position_ = position;
    return ::arrow::Status::OK();
  }
  ::arrow::Result<std::int64_t> GetSize() override { return static_cast<std::int64_t>(source_->size()); }

  ::arrow::Result<std::int64_t> ReadAt(std::int64_t position, std::int64_t count, void* out) override {
    if (position < 0 || count < 0) return ::arrow::Status::Invalid("it names bytes that cannot be");
    std::size_t done = 0;
    const auto wanted = static_cast<std::size_t>(count);
    while (done < wanted) {
      const auto read =
          source_->read(static_cast<std::uint64_t>(position) + done, {static_cast<std::byte*>(out) + done, wanted - done});
      if (!read) return kept_.keep(read.error());
      if (*read == 0) break;
      done += *read;
    }
    return static_cast<std::int64_t>(done);
  }
  ::arrow::Result<std::shared_ptr<::arrow::Buffer>> ReadAt(std::int64_t position, std::int64_t count) override {
    // A damaged file may name more bytes than it has.
    const auto size = static_cast<std::int64_t>(source_->size());
    if (position < 0 || count < 0 || position > size || count > size - position)
      return ::arrow::Status::Invalid("it names bytes that it does not have");
    ARROW_ASSIGN_OR_RAISE(auto buffer, ::arrow::AllocateResizableBuffer(count));
    ARROW_ASSIGN_OR_RAISE(const std::int64_t read, ReadAt(position, count, buffer->mutable_data()));
    ARROW_RETURN_NOT_OK(buffer->Resize(read));
    return std::shared_ptr<::arrow::Buffer>(std::move(buffer));
  }
  ::arrow::Result<std::int64_t> Read(std::int64_t count, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const std::int64_t read, ReadAt(position_, count, out));
    position_ += read;
    return read;
  }
  ::arrow::Result<std::shared_ptr<::arrow::Buffer>> Read(std::int64_t count) override {
    ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(position_, count));
    position_ += buffer->size();
    return buffer;
  }

 private:
  const std::unique_ptr<Source> source_;
  KeptError& kept_;
  std::int64_t position_ = 0;
  bool closed_ = false;
};

class Stream : public ::arrow::io::OutputStream {
 public:
  Stream(std::unique_ptr<Sink> sink, KeptError& kept) : sink_(std::move(sink)), kept_(kept) {}

  ::arrow::Status Close() override {
    closed_ = true;
    return ::arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  ::arrow::Result<std::int64_t> Tell() const override { return written_; }
  ::arrow::Status Write(const void* data, std::int64_t count) override {
    if (auto done = sink_->append({static_cast<const std::byte*>(data), static_cast<std::size_t>(count)}); !done)
      return kept_.keep(std::move(done).error());
    written_ += count;
    return ::arrow::Status::OK();
  }

 private:
  const std::unique_ptr<Sink> sink_;
  KeptError& kept_;
  std::int64_t written_ = 0;
  bool closed_ = false;
};

}  // namespace

std::shared_ptr<::arrow::io::RandomAccessFile> arrow_file(std::unique_ptr<Source> source, KeptError& kept) {
  return std::make_shared<File>(std::move(source), kept);
}
std::shared_ptr<::arrow::io::OutputStream> arrow_stream(std::unique_ptr<Sink> sink, KeptError& kept) {
  return std::make_shared<Stream>(std::move(sink), kept);
}

}  // namespace weft::storage::parquet
