#include "weft/detail/named_outputs.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "runtime/operators/external_sorter.hpp"
#include "storage/partition_path.hpp"
#include "weft/detail/task_file.hpp"

namespace weft::detail {
namespace {

constexpr std::size_t kOpenFiles = 16;  // each has a buffer
constexpr std::size_t kLongestName = 1000;

void check(const std::string& name) {
  bool fits = name.size() <= kLongestName && name.find_first_of(std::string_view("\n\0", 2)) == std::string::npos;
  for (std::size_t begin = 0; fits && begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const char first = begin < end ? name[begin] : '.';
    fits = first != '.' && first != '_' && end - begin <= 255;
    begin = end + 1;
  }
  if (!fits)
    throw std::invalid_argument(
        "'" + name.substr(0, 100) +
        "' is no name of a directory: it must not be empty, begin or end with '/', contain a line end, or have a "
        "part that begins with '.' or '_' (these are skipped when directories are read)");
}

/// A name, and a line or record of it.
using Line = std::pair<std::string_view, std::string_view>;
struct ByName {
  std::string_view operator()(const Line& line) const { return line.first; }
};

}  // namespace

class NamedOutputs::Impl {
 public:
  Impl(runtime::TaskContext& context, std::string work_directory, NamedFiles files)
      : context_(context), work_(std::move(work_directory)), how_(std::move(files)) {}

  void add(const std::string& name, std::string_view line) {
    auto found = files_.find(name);
    if (found == files_.end()) {
      check(name);
      if (files_.size() == kOpenFiles) {
        if (!others_) others_.emplace(context_.operators);
        others_->add(Line(name, line));
        return;
      }
      found = files_.try_emplace(name, context_, work_, next_suffix(), name, how_.compression).first;
      found->second.append(how_.header);
    }
    found->second.append(line);
  }

  std::string finish() {
    for (auto& [name, file] : files_) close(file, name);
    files_.clear();
    if (others_) {
      std::optional<TaskFile> file;
      std::string current;
      others_->drain([&](Line&& line) {
        if (!file || line.first != current) {
          if (file) close(*file, current);
          current = line.first;
          file.emplace(context_, work_, next_suffix(), current, how_.compression);
          file->append(how_.header);
        }
        file->append(line.second);
      });
      if (file) close(*file, current);
    }
    if (written_.empty()) written_ = "\n";  // a list of nothing
    return std::move(written_);
  }

 private:
  std::string next_suffix() { return "-" + std::to_string(opened_++); }
  void close(TaskFile& file, const std::string& name) { written_.append(file.close()).append("/").append(name).append("\n"); }

  runtime::TaskContext& context_;
  const std::string work_;
  const NamedFiles how_;
  std::map<std::string, TaskFile> files_;
  std::optional<runtime::ExternalSorter<Line, ByName>> others_;
  std::uint32_t opened_ = 0;
  std::string written_;
};

NamedOutputs::NamedOutputs(runtime::TaskContext& context, std::string work_directory, NamedFiles files)
    : impl_(std::make_unique<Impl>(context, std::move(work_directory), std::move(files))) {}
NamedOutputs::~NamedOutputs() = default;
void NamedOutputs::add(const std::string& name, std::string_view line) { impl_->add(name, line); }
std::string NamedOutputs::finish() { return impl_->finish(); }

class NamedRecords::Impl {
 public:
  explicit Impl(runtime::TaskContext& context) : sorter(context.operators) {}
  runtime::ExternalSorter<Line, ByName> sorter;
  std::string last;  // name that was checked
};

NamedRecords::NamedRecords(runtime::TaskContext& context) : impl_(std::make_unique<Impl>(context)) {}
NamedRecords::~NamedRecords() = default;
void NamedRecords::add(const std::string& name, ByteView record) {
  if (name.empty() || name != impl_->last) {
    check(name);
    impl_->last = name;
  }
  impl_->sorter.add(Line(name, {reinterpret_cast<const char*>(record.data()), record.size()}));
}
void NamedRecords::drain(void* self, void (*visit)(void* self, std::string_view name, ByteView record)) {
  impl_->sorter.drain([&](Line&& line) { visit(self, line.first, as_bytes(line.second)); });
}

std::string hive_directory(std::string_view key, const std::optional<std::string>& value) {
  return storage::partition_directory({std::string(key), value});
}

}  // namespace weft::detail
